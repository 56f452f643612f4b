"""What the passes may look at: what the world and the seed say themselves, held once."""

import tracemalloc

from simia.synthesis.postprocess.edit import Context
from simia.types import Seed, UserMessage, WorldSpec

WORLD = WorldSpec(name="w", policy="Say ABC123 to all. " + "Be kind. " * 10_000, tools=(), licence="Apache-2.0")


def seed_of(world: WorldSpec, number: int, said: str = "Hello.") -> Seed:
    reference = (UserMessage(content=said),)
    return Seed(id=f"s-{number}", world=world, task="Do it.", reference=reference, licence="Apache-2.0")


def test_what_world_or_seed_say_is_known_in_lower_case() -> None:
    context = Context(WORLD, seed_of(WORLD, 1, said="I am XYZ789."))
    assert context.knows("abc123")
    assert context.knows("xyz789")
    assert not context.knows("uvw456")


def test_a_seed_knows_nothing_of_what_another_says() -> None:
    seeds = [seed_of(WORLD, number, said=f"I am number-{number}-.") for number in range(70)]
    contexts = [Context(WORLD, seed) for seed in seeds]
    for number, context in enumerate(contexts):
        assert [other for other in range(70) if context.knows(f"number-{other}-")] == [number]


def test_a_thousand_seeds_of_one_world_hold_its_text_once() -> None:
    contexts = [Context(WORLD, seed_of(WORLD, number)) for number in range(1000)]
    tracemalloc.start()
    try:
        for context in contexts:
            assert not context.knows("nothing of that kind")
            assert "be kind" in context.world_text
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 4_000_000

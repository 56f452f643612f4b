"""Making a suite: harvested worlds, drawn quotas, episodes; the same worlds and seed give the same bytes."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

import pytest

from simia import worlds
from simia.bench.build import Built, SuitePlan, build, with_sources
from simia.bench.collect import Walk, harvest
from simia.bench.explore import walks_of
from simia.bench.strata import PUBLISHED, Cell, scaled
from simia.bench.suite import pack
from simia.errors import ConfigError
from simia.seeds.calls import call_problem
from simia.types import State, WorldTask, canonical_json
from simia.worlds import ExecutableWorld, World

SMALL = SuitePlan(name="two", tasks=4, examples=2, drift=1, cells=scaled(PUBLISHED, 0.05))
Make = Callable[..., Built]


@pytest.fixture(scope="module")
def two() -> dict[str, World]:
    return {name: worlds.load(name) for name in ("bank", "shop")}


@pytest.fixture(scope="module")
def built(two: dict[str, World]) -> Built:
    return build(SMALL, two)


def packed(made: Built) -> bytes:
    return pack(made.head, made.episodes, made.samples)[0]


def test_the_same_worlds_and_seed_give_the_same_bytes(built: Built) -> None:
    again = {name: worlds.load(name) for name in ("shop", "bank")}
    assert packed(build(SMALL, again)) == packed(built)


def test_another_seed_gives_other_samples(built: Built, two: dict[str, World]) -> None:
    other = build(replace(SMALL, seed=1), two)
    assert {one.id for one in other.samples} != {one.id for one in built.samples}


def test_every_cell_has_its_quota(built: Built) -> None:
    for cell in SMALL.cells:
        drawn = sum(cell.holds(sample) for sample in built.samples)
        assert drawn == cell.count - built.drawn.short_by_cell.get(cell.name, 0)


def test_no_question_stands_twice(built: Built) -> None:
    assert set(Counter(sample.id for sample in built.samples).values()) == {1}


def test_the_head_says_how_many_samples_of_each_cell_come_from_which_world(built: Built) -> None:
    for cell in SMALL.cells:
        counted = Counter(sample.world for sample in built.samples if cell.holds(sample))
        assert built.head.worlds_by_cell[cell.name] == counted
    assert built.head.quotas == {cell.name: cell.count for cell in SMALL.cells}


def test_the_head_names_licence_maker_and_seed(built: Built) -> None:
    assert (built.head.name, built.head.licence, built.head.seed) == ("two", "Apache-2.0", 0)
    assert built.head.made_by.startswith("simia ")


def test_the_worlds_carry_the_code_of_every_tool(built: Built) -> None:
    assert built.head.worlds.keys() == {"bank", "shop"}
    for spec in built.head.worlds.values():
        assert all(f"def {tool.name}(" in (tool.source or "") for tool in spec.tools)


@pytest.mark.parametrize("name", worlds.names())
def test_every_own_world_has_the_code_of_every_tool(name: str) -> None:
    assert all(tool.source for tool in with_sources(worlds.load(name)).tools)


def test_each_world_has_its_episodes_in_their_roles(built: Built) -> None:
    roles = Counter((one.world, one.role) for one in built.episodes)
    assert roles == {
        ("bank", "example"): 2,
        ("bank", "drift"): 1,
        ("shop", "example"): 2,
        ("shop", "drift"): 1,
    }


def test_no_episode_begins_in_the_state_of_a_sample(built: Built) -> None:
    states = {canonical_json(sample.state) for sample in built.samples}
    assert all(canonical_json(one.initial_state) not in states for one in built.episodes)


def test_large_states_are_left_out(built: Built, two: dict[str, World]) -> None:
    largest = max(len(canonical_json(sample.state)) for sample in built.samples)
    smaller = build(replace(SMALL, max_state=largest - 1), two)
    assert max(len(canonical_json(sample.state)) for sample in smaller.samples) < largest


def test_the_number_of_transitions_is_told_by_world(two: dict[str, World]) -> None:
    told: dict[str, int] = {}
    made = build(SMALL, two, told.__setitem__)
    assert told == made.harvested
    assert min(told.values()) > 10


def test_a_suite_may_be_drawn_from_transitions_that_were_harvested_before(built: Built, two: dict[str, World]) -> None:
    before = [
        sample
        for name, world in two.items()
        for sample in harvest(name, world, map(Walk.gold, world.tasks(SMALL.tasks, SMALL.seed)), seed=SMALL.seed)
    ]
    assert packed(build(SMALL, two, harvested=reversed(before))) == packed(built)


def test_harvested_transitions_of_the_tasks_of_episodes_are_left_out(two: dict[str, World]) -> None:
    plain = build(SMALL, two)
    shown = plain.episodes[0]
    world = two[shown.world]
    task = next(one for one in world.tasks(8, SMALL.seed + 1_000_003) if one.id == shown.id)
    leaked = list(harvest(shown.world, world, [Walk.gold(task)]))
    made = build(SMALL, two, harvested=[*leaked, *plain.samples])
    assert leaked
    assert not {one.id for one in leaked} & {one.id for one in made.samples}


def test_harvested_transitions_of_a_world_that_is_not_named_are_refused(built: Built, two: dict[str, World]) -> None:
    with pytest.raises(ConfigError, match="the transitions are of 'shop' too: name it among the worlds"):
        build(SMALL, {"bank": two["bank"]}, harvested=[one for one in built.samples if one.world == "shop"])


def test_worlds_without_anything_to_draw_are_refused(two: dict[str, World]) -> None:
    huge = Cell("99", 5, ("beyond",), sizes=(99,))
    with pytest.raises(ConfigError, match="no transition of bank, shop belongs to a cell"):
        build(replace(SMALL, cells=(huge,)), two)


def test_a_cell_that_is_short_is_named(two: dict[str, World]) -> None:
    huge = Cell("99", 5, ("beyond",), sizes=(99,))
    made = build(replace(SMALL, cells=(*SMALL.cells, huge)), two)
    assert made.drawn.short_by_cell["99"] == 5
    assert made.head.worlds_by_cell["99"] == {}


class _FixedTasks(ExecutableWorld):
    """A bank with twelve tasks that are the same whatever the seed, as the worlds of other packages have them."""

    def __init__(self) -> None:
        bank = worlds.load("bank")
        super().__init__(bank.spec, bank._actions)
        self._list = list(bank.tasks(12, seed=5))

    def initial_state(self, rng: random.Random) -> State:
        raise NotImplementedError

    def tasks(self, count: int | None = None, seed: int = 0) -> Iterator[WorldTask]:
        return islice(self._list, count)

    def long_tasks(self, count: int, seed: int = 0, least_calls: int = 12) -> Iterator[WorldTask]:
        return self.tasks(count, seed)


def test_examples_drift_and_samples_come_from_different_tasks_also_of_a_fixed_list() -> None:
    made = build(SuitePlan(name="fixed", examples=3, drift=3, cells=scaled(PUBLISHED, 0.05)), {"bank": _FixedTasks()})
    examples = {one.id for one in made.episodes if one.role == "example"}
    followed = {one.id for one in made.episodes if one.role == "drift"}
    begun = [one.initial_state for one in made.episodes]

    assert (len(examples), len(followed), examples & followed) == (3, 3, set())
    assert not any(sample.state in begun for sample in made.samples)


def test_no_sample_is_a_call_that_does_not_fit_the_tools(built: Built, two: dict[str, World]) -> None:
    for name, world in two.items():
        harvested = harvest(name, world, walks_of(world, 60, 0))
        assert all(call_problem(world.spec, sample.call) is None for sample in harvested)

"""The bundled seeds are what the executable worlds say, call by call."""

from pathlib import Path

import orjson
import pytest

from simia import seeds, worlds
from simia.seeds.front_door import BUNDLED
from simia.seeds.invariants import violations
from simia.seeds.world_folder import check_world
from simia.types import AssistantMessage, Message, Seed, ToolMessage, UserMessage
from simia.worlds import make_seeds

WORLDS = make_seeds.SEEDED


def bundled(name: str) -> list[Seed]:
    return list(seeds.read(f"bundled:{name}"))


def calls_of(messages: tuple[Message, ...]) -> list[str]:
    return [call.name for message in messages if isinstance(message, AssistantMessage) for call in message.tool_calls]


@pytest.mark.parametrize("name", WORLDS)
def test_executing_every_call_again_gives_the_bundled_observations(name: str) -> None:
    world = worlds.load(name)
    for seed in bundled(name):
        state = seed.initial_state
        assert state is not None
        expected = {message.call_id: message for message in seed.reference if isinstance(message, ToolMessage)}
        for message in seed.reference:
            for call in message.tool_calls if isinstance(message, AssistantMessage) else ():
                transition, state = world.run(state, call)
                assert (transition.observation, transition.is_error) == (
                    expected[call.id].content,
                    expected[call.id].is_error,
                )


@pytest.mark.parametrize("name", WORLDS)
def test_every_state_on_the_way_obeys_the_laws_of_the_world(name: str) -> None:
    world = worlds.load(name)
    for seed in bundled(name):
        state = seed.initial_state
        assert state is not None
        for message in seed.reference:
            for call in message.tool_calls if isinstance(message, AssistantMessage) else ():
                state = world.run(state, call)[1]
                assert violations(world.spec, state) == ()


def test_the_bundled_files_are_what_the_maker_makes(tmp_path: Path) -> None:
    make_seeds.write(tmp_path)
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    shipped = {path.relative_to(BUNDLED): path.read_bytes() for path in BUNDLED.rglob("*") if path.is_file()}
    assert made == shipped


@pytest.mark.parametrize("name", WORLDS)
def test_a_bundled_world_folder_describes_the_executable_world(name: str) -> None:
    assert bundled(name)[0].world == worlds.load(name).spec


@pytest.mark.parametrize("name", WORLDS)
def test_the_check_finds_nothing_in_a_bundled_world_folder(name: str) -> None:
    assert check_world(BUNDLED / name) == []


@pytest.mark.parametrize("name", WORLDS)
def test_there_are_twenty_seeds_and_each_tool_is_called(name: str) -> None:
    found = bundled(name)
    called = {call for seed in found for call in calls_of(seed.reference)}
    assert len(found) == 20
    assert called == set(worlds.load(name).spec.tool)


@pytest.mark.parametrize("name", WORLDS)
def test_the_seeds_hold_errors_parallel_calls_and_conversations_without_any_change(name: str) -> None:
    found = bundled(name)
    with_error = [s for s in found if any(isinstance(m, ToolMessage) and m.is_error for m in s.reference)]
    parallel = [s for s in found if any(isinstance(m, AssistantMessage) and len(m.tool_calls) > 1 for m in s.reference)]
    assert len(with_error) >= 3
    assert len(parallel) >= 5


@pytest.mark.parametrize("name", WORLDS)
def test_every_conversation_starts_with_the_user_and_ends_with_the_agents_words(name: str) -> None:
    for seed in bundled(name):
        last = seed.reference[-1]
        assert isinstance(seed.reference[0], UserMessage)
        assert isinstance(last, AssistantMessage)
        assert last.content
        assert not last.tool_calls


@pytest.mark.parametrize("name", WORLDS)
def test_no_two_seeds_open_with_the_same_words(name: str) -> None:
    openings = [message.content for seed in bundled(name) if isinstance(message := seed.reference[0], UserMessage)]
    assert len({text[:25].lower() for text in openings}) == len(openings)


@pytest.mark.parametrize("name", WORLDS)
def test_every_result_fits_the_returns_schema_of_its_tool(name: str) -> None:
    tools = worlds.load(name).spec.tool
    for seed in bundled(name):
        for message in seed.reference:
            if isinstance(message, ToolMessage) and not message.is_error:
                schema = tools[message.name].returns_schema
                assert schema is not None
                assert schema.violations(orjson.loads(message.content)) == ()


@pytest.mark.parametrize("name", WORLDS)
def test_the_seeds_carry_the_licence_that_lies_beside_them(name: str) -> None:
    assert {seed.licence for seed in bundled(name)} == {"Apache-2.0"}
    assert "Apache-2.0" in (BUNDLED / name / "LICENSE").read_text(encoding="utf-8")

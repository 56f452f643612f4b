"""BFCL's APIs as worlds: rebuilt from their states, the objects do what they do when they live through a whole task."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from simia.errors import ConfigError, StateError
from simia.seeds.calls import call_problem
from simia.seeds.invariants import violations
from simia.types import State, ToolCall, WorldTask
from simia.worlds.bfcl import BfclWorld
from simia.worlds.bfcl_package import APIS, CATEGORIES, Package
from simia.worlds.bfcl_state import Words, fill, state_of
from simia.worlds.door import open_world

pytest.importorskip("bfcl", reason="needs the extra bfcl")
pytestmark = [pytest.mark.bfcl, pytest.mark.slow]

DRAW = {
    "authenticate_travel",
    "book_flight",
    "fund_account",
    "get_current_speed",
    "get_outside_temperature_from_google",
    "make_transaction",
    "purchase_insurance",
    "register_credit_card",
    "send_message",
}


@cache
def package() -> Package:
    return Package()


@cache
def world(name: str, category: str | None = None) -> BfclWorld:
    return BfclWorld(name, category)


@cache
def tasks(category: str) -> dict[str, tuple[BfclWorld, WorldTask]]:
    """Every task of a category with a world that has it."""
    return {task.id: (world(api, category), task) for api in APIS for task in world(api, category).tasks()}


def lived(task: WorldTask) -> Iterator[tuple[ToolCall, str, bool, dict[str, Any]]]:
    """The gold calls of a task made on objects that live on: call, observation, is it an error, the objects."""
    objects = package().objects(task.initial_state)
    for call in task.gold:
        yield call, *package().perform(objects, call), objects


def given(objects: dict[str, Any]) -> list[int]:
    return [instance._random.given for instance in objects.values() if hasattr(instance, "_random")]


def without_token_life(state: State) -> State:
    travel = {name: value for name, value in state.get("TravelAPI", {}).items() if name != "token_expires_in"}
    return {**state, "TravelAPI": travel}


@pytest.mark.parametrize("category", CATEGORIES)
def test_the_official_checker_accepts_the_gold_calls_of_every_task(category: str) -> None:
    missed = [task.id for one, task in tasks(category).values() if not one.reached(task, task.gold)]
    assert missed == []
    assert len(tasks(category)) == 200


@pytest.mark.parametrize("category", CATEGORIES)
def test_the_official_checker_refuses_the_gold_calls_without_the_last(category: str) -> None:
    assert not any(one.reached(task, task.gold[:-1]) for one, task in tasks(category).values())
    assert not any(one.reached(task, ()) for one, task in tasks(category).values())


@pytest.mark.parametrize("category", CATEGORIES)
def test_states_rebuilt_for_every_call_go_the_way_of_objects_that_live_on(category: str) -> None:
    for one, task in tasks(category).values():
        state = task.initial_state
        for call, observation, is_error, objects in lived(task):
            fits = call_problem(one._tools_for(state, call), call) is None
            transition, state = one.run(state, call)
            assert transition.is_error == is_error
            assert transition.observation == observation or not fits
            whole = {api: state_of(instance) for api, instance in objects.items()}
            if category == "composite":
                # A refused call uses up some of the life of an access token; here it changes nothing.
                assert without_token_life(whole) == without_token_life(state)
            else:
                assert whole == state


@pytest.mark.parametrize("category", CATEGORIES)
def test_a_state_of_any_task_is_json_and_gives_back_equal_objects(category: str) -> None:
    for _, task in tasks(category).values():
        for *_, objects in lived(task):
            for api, instance in objects.items():
                state = state_of(instance)
                assert json.loads(json.dumps(state)) == state
                rebuilt = type(instance)()
                fill(rebuilt, state, package()._module(api))
                assert state_of(rebuilt) == state
                public = {name: value for name, value in vars(instance).items() if not name.startswith("_")}
                assert {name: value for name, value in vars(rebuilt).items() if not name.startswith("_")} == public


@pytest.mark.parametrize("category", CATEGORIES)
def test_a_run_leaves_its_state_alone_and_its_delta_leads_to_the_state_after(category: str) -> None:
    for one, task in tasks(category).values():
        state = task.initial_state
        assert violations(one.spec, state) == ()
        for call in task.gold:
            text = json.dumps(state)
            transition, after = one.run(state, call)
            assert one.run(state, call) == (transition, after)
            assert json.dumps(state) == text
            assert transition.delta is not None
            assert transition.delta.apply(state) == after
            assert not transition.is_error or after == state
            state = after


@pytest.mark.parametrize("category", CATEGORIES)
def test_only_tools_that_are_not_listed_draw_random_numbers(category: str) -> None:
    for _, task in tasks(category).values():
        before = given(package().objects(task.initial_state))
        for call, *_, objects in lived(task):
            drawn = given(objects)
            assert drawn == before or package().draws(call.name)
            before = drawn


def test_the_tools_that_draw_are_left_out_of_the_spec() -> None:
    documented = {tool.name for api in APIS for tool in package().tools(api)}
    listed = {name for api in APIS for name in world(api).spec.tool}
    assert documented - listed == DRAW
    assert len(documented) == 129


def test_the_generator_of_a_state_goes_on_where_it_was() -> None:
    import random

    ours, theirs = Words(141053), random.Random(141053)
    for low, high in ((0, 1), (10_000, 99_999), (100_000_000_000, 999_999_999_999)):
        assert ours.randint(low, high) == theirs.randint(low, high)
        assert ours.uniform(low, high) == theirs.uniform(low, high)
        ours = Words(141053, ours.given)


def test_gold_calls_that_do_not_fit_the_documentation_are_errors_in_the_package_too() -> None:
    found: Counter[str] = Counter()
    for category in CATEGORIES:
        for one, task in tasks(category).values():
            for call, _, is_error, _ in lived(task):
                if call_problem(one._tools_for(task.initial_state, call), call) is not None:
                    assert is_error
                    found[category] += 1
    assert found["composite"] == found.total() == 109


def test_what_the_checker_did_before_changes_no_task() -> None:
    names = [name for name, (_, task) in tasks("long_context").items() if "TravelAPI" in task.initial_state][:10]
    before = {name: tasks("long_context")[name][1].initial_state for name in names}
    for name in names:
        one, task = tasks("long_context")[name]
        assert one.reached(task, task.gold)
    assert {name: tasks("long_context")[name][0]._task(name).initial_state for name in names} == before


def test_what_is_no_tool_of_bfcl_never_reaches_the_checker_that_would_evaluate_it(tmp_path: Path) -> None:
    one, task = next(iter(tasks("base").values()))
    mark = tmp_path / "mark"
    for name, arguments in (
        ("open", {"file": str(mark), "mode": "w"}),
        ("ls", {f"a=open({str(mark)!r}, 'w'), a": True}),
    ):
        one.reached(task, (*task.gold, ToolCall(id="1", name=name, arguments=arguments)))
    assert not mark.exists()


def test_a_world_of_one_api_has_every_task_that_involves_it_and_lists_its_tools_only() -> None:
    found = world("TwitterAPI")
    assert all("TwitterAPI" in task.initial_state for task in found.tasks())
    assert set(found.spec.tool) == {tool.name for tool in package().tools("TwitterAPI")}
    both = open_world("bfcl:TravelAPI+TwitterAPI")
    assert all({"TravelAPI", "TwitterAPI"} == set(task.initial_state) for task in both.tasks())
    assert len(list(open_world("bfcl:TravelAPI+TwitterAPI:base").tasks())) == 10


def test_a_tool_of_an_api_that_the_task_does_not_involve_is_unknown() -> None:
    task = next(world("TradingBot", "base").tasks())
    transition, _ = world("TradingBot", "base").run(
        task.initial_state, ToolCall(id="1", name="cd", arguments={"folder": ".."})
    )
    assert transition.is_error
    assert "unknown tool 'cd'; available tools: add_to_watchlist" in transition.observation


def test_the_code_of_a_tool_comes_with_its_helpers() -> None:
    code = world("GorillaFileSystem").source_of("cd")
    assert code is not None
    assert "def cd(self, folder: str)" in code
    assert "def _navigate_to_directory(" in code


def test_an_unknown_api_or_category_is_an_error_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="GorillaFileSystem, MathAPI"):
        open_world("bfcl:Files")
    with pytest.raises(ConfigError, match="base, miss_func"):
        open_world("bfcl:MathAPI:hard")
    with pytest.raises(ConfigError, match=r"no task of BFCL involves all of MathAPI\+TwitterAPI"):
        open_world("bfcl:MathAPI+TwitterAPI")


def test_two_processes_answer_alike_whatever_their_hash_seed_and_time_zone(
    printed_by_two_processes: Callable[[str], list[bytes]],
) -> None:
    code = """
from simia.types.value import content_id
from simia.worlds.bfcl_package import APIS
from simia.worlds.door import open_world
for api in APIS:
    world = open_world(f"bfcl:{api}")
    for task in world.tasks():
        state = task.initial_state
        for call in task.gold:
            transition, state = world.run(state, call)
            print(content_id([transition.model_dump(mode="json"), state]))
"""
    answers = printed_by_two_processes(code)
    assert answers[0] == answers[1]
    assert len(answers[0].splitlines()) > 5961


def test_a_directory_in_itself_is_told_and_not_followed() -> None:
    world = open_world("bfcl:GorillaFileSystem")
    state: State = {
        "GorillaFileSystem": {
            "root": {"home": {"type": "directory", "contents": {"a": {"type": "directory", "contents": {}}}}},
            "_current_dir": ["home"],
        }
    }
    with pytest.raises(StateError, match="the directory a stands in itself"):
        world.run(state, ToolCall(id="c", name="cp", arguments={"source": "a", "destination": "a"}))

"""AgentDojo's suites as worlds: on the small states every call does what it does in the living environment."""

import json
from collections.abc import Callable
from functools import cache

import pytest

from simia.errors import ConfigError
from simia.seeds.invariants import violations
from simia.types import StateDelta, ToolCall, WorldTask
from simia.worlds.agentdojo import SUITES, AgentDojoWorld, _dumped
from simia.worlds.door import open_world

pytest.importorskip("agentdojo", reason="needs the extra agentdojo")
pytestmark = [pytest.mark.agentdojo, pytest.mark.slow]

COUNTS = {"workspace": 40, "travel": 20, "banking": 16, "slack": 21}
BY_NOTHING = {"workspace": 17, "travel": 14, "banking": 7, "slack": 0}
"""Tasks whose only aim is that the user is told something, which calls do not show."""


@cache
def world(suite: str) -> AgentDojoWorld:
    return AgentDojoWorld(suite)


@cache
def tasks(suite: str) -> tuple[WorldTask, ...]:
    return tuple(world(suite).tasks())


@pytest.mark.parametrize("suite", SUITES)
def test_agentdojo_finds_every_task_done_after_its_gold_calls(suite: str) -> None:
    missed = [task.id for task in tasks(suite) if not world(suite).reached(task, task.gold)]
    assert missed == []
    assert len(tasks(suite)) == COUNTS[suite]


@pytest.mark.parametrize("suite", SUITES)
def test_only_the_tasks_that_ask_are_done_by_doing_nothing(suite: str) -> None:
    done = [task for task in tasks(suite) if world(suite).reached(task, ())]
    assert len(done) == BY_NOTHING[suite]
    without_the_last = [task for task in tasks(suite) if world(suite).reached(task, task.gold[:-1])]
    assert without_the_last == done


@pytest.mark.parametrize("suite", SUITES)
def test_every_call_does_on_the_small_state_what_it_does_in_the_living_environment(suite: str) -> None:
    for task in tasks(suite):
        env = world(suite)._tasks[task.id].init_environment(world(suite)._fresh())
        small, whole = task.initial_state, _dumped(env)
        for call in task.gold:
            observation, is_error, _ = world(suite)._perform(env, call.name, call.arguments)
            before, whole = whole, _dumped(env)
            transition, small = world(suite).run(small, call)
            assert (transition.observation, transition.is_error) == (observation, is_error)
            assert transition.delta == StateDelta.between(before, whole)


@pytest.mark.parametrize("suite", SUITES)
def test_an_environment_rebuilt_from_its_state_has_that_state(suite: str) -> None:
    for task in tasks(suite):
        env = world(suite)._tasks[task.id].init_environment(world(suite)._fresh())
        for call in task.gold:
            world(suite)._perform(env, call.name, call.arguments)
        assert _dumped(world(suite)._loaded(_dumped(env))) == _dumped(env)


@pytest.mark.parametrize("suite", SUITES)
def test_a_run_leaves_its_state_alone_and_its_delta_leads_to_the_state_after(suite: str) -> None:
    for task in tasks(suite):
        state = task.initial_state
        assert violations(world(suite).spec, state) == ()
        for call in task.gold:
            text = json.dumps(state)
            transition, after = world(suite).run(state, call)
            assert world(suite).run(state, call) == (transition, after)
            assert json.dumps(state) == text
            assert transition.delta is not None
            assert transition.delta.apply(state) == after
            state = after
        assert violations(world(suite).spec, state) == ()


def test_the_states_of_workspace_hold_what_the_task_is_about() -> None:
    sizes = sorted(len(json.dumps(task.initial_state)) for task in tasks("workspace"))
    assert sizes[len(sizes) // 2] < 5_000
    assert sizes[-1] < 30_000


def test_a_call_inside_an_argument_is_a_gold_call_of_its_own_before() -> None:
    from agentdojo.functions_runtime import FunctionCall

    inner = FunctionCall(function="get_current_day", args={})
    outer = FunctionCall(function="search_calendar_events", args={"query": "", "date": inner})
    calls, _ = world("workspace")._resolved([outer], world("workspace")._fresh())
    assert calls == [
        ("get_current_day", {}),
        ("search_calendar_events", {"query": "", "date": "2024-05-15"}),
    ]


def test_participants_stand_in_the_order_in_which_they_were_named() -> None:
    guests = ["zoe@example.com", "adam@example.com", "mia@example.com", "zoe@example.com"]
    arguments = {
        "title": "Lunch",
        "start_time": "2024-05-20 12:00",
        "end_time": "2024-05-20 13:00",
        "participants": guests,
    }
    state = tasks("workspace")[0].initial_state
    call = ToolCall(id="1", name="create_calendar_event", arguments=arguments)
    _, after = world("workspace").run(state, call)
    event = max(after["calendar"]["events"].values(), key=lambda row: int(row["id_"]))
    assert event["participants"] == [*guests[:3], "emma.johnson@bluesparrowtech.com"]
    mail = max(after["inbox"]["emails"].values(), key=lambda row: int(row["id_"]))
    assert mail["timestamp"] == "2024-05-15T12:00:00"


def test_what_a_tool_refuses_is_an_error_that_changes_nothing() -> None:
    state = tasks("workspace")[0].initial_state
    call = ToolCall(id="1", name="delete_email", arguments={"email_id": "none"})
    transition, after = world("workspace").run(state, call)
    assert transition.is_error
    assert transition.observation == "ValueError: Email with ID 'none' not found."
    assert after == state


def test_an_unknown_suite_is_an_error_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="workspace, travel, banking, slack"):
        open_world("agentdojo:bank")


def test_two_processes_answer_alike_whatever_their_hash_seed_and_time_zone(
    printed_by_two_processes: Callable[[str], list[bytes]],
) -> None:
    code = """
from simia.types.value import content_id
from simia.worlds.agentdojo import SUITES
from simia.worlds.door import open_world
for suite in SUITES:
    world = open_world(f"agentdojo:{suite}")
    for task in world.tasks():
        state = task.initial_state
        for call in task.gold:
            transition, state = world.run(state, call)
            print(content_id([transition.model_dump(mode="json"), state]))
"""
    answers = printed_by_two_processes(code)
    assert answers[0] == answers[1]
    assert len(answers[0].splitlines()) == 339

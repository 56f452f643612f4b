"""tau2's domains as worlds: on the small states every call shows and changes what it does in the whole environment."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from simia.errors import ConfigError
from simia.seeds.invariants import violations
from simia.seeds.tau2_domain import Domain
from simia.types import State, StateDelta, ToolCall, Transition, WorldTask
from simia.worlds.door import open_world
from simia.worlds.tau2 import Tau2World

pytest.importorskip("tau2", reason="needs the extra tau2")
pytestmark = [pytest.mark.tau2, pytest.mark.slow]

BASE = {"airline": 50, "retail": 114, "telecom": 114}
TRAIN = {"airline": 30, "retail": 74, "telecom": 74}
Run = tuple[list[State], list[Transition]]


@cache
def world(domain: str) -> Tau2World:
    return Tau2World(domain, "base")


@cache
def tasks(domain: str) -> tuple[WorldTask, ...]:
    return tuple(world(domain).tasks())


@cache
def runs(domain: str) -> dict[str, Run]:
    """The states and the transitions of all gold calls, by task."""
    found = {}
    for task in tasks(domain):
        states, transitions = [task.initial_state], []
        for call in task.gold:
            transition, after = world(domain).run(states[-1], call)
            states.append(after)
            transitions.append(transition)
        found[task.id] = (states, transitions)
    return found


@cache
def whole(domain: str) -> Domain:
    return Domain(domain)


@cache
def originals(domain: str) -> dict[str, Any]:
    return {f"tau2:{domain}:{task.id}": task for task in whole(domain).tasks("base")}


def by_id(state: State) -> State:
    """A telecom state with its lists of entities as tables, so that a change names the entity."""
    if "company" not in state:
        return state
    tables = {name: {str(next(iter(row.values()))): row for row in rows} for name, rows in state["company"].items()}
    return {**state, "company": tables}


@pytest.mark.parametrize("domain", BASE)
def test_the_gold_calls_get_the_official_reward_in_every_task(domain: str) -> None:
    missed = [task.id for task in tasks(domain) if not world(domain).reached(task, task.gold)]
    assert missed == []
    assert len(tasks(domain)) == BASE[domain]


def test_without_its_last_call_no_gold_of_telecom_gets_the_reward() -> None:
    assert not any(world("telecom").reached(task, task.gold[:-1]) for task in tasks("telecom"))


def test_without_the_call_that_changes_something_the_reward_is_lost() -> None:
    lost = kept = 0
    for task in tasks("retail")[:20]:
        calls = tuple(call for call in task.gold if call.name not in whole("retail").writes)
        if world("retail").reached(task, calls):
            kept += 1
        else:
            lost += 1
    assert (lost, kept) == (18, 2)  # two of the twenty ask for no change


@pytest.mark.parametrize("domain", BASE)
def test_the_gold_calls_show_and_change_on_the_small_state_what_they_do_in_the_whole_environment(domain: str) -> None:
    pristine: State | None = None
    for task in tasks(domain):
        original = originals(domain)[task.id]
        if pristine is None or original.initial_state is not None:
            _, pristine = whole(domain).full(original, [])
        steps, after = whole(domain).full(original, whole(domain).gold(original))
        states, transitions = runs(domain)[task.id]
        assert [(step[3], step[4]) for step in steps] == [(one.observation, one.is_error) for one in transitions]
        small = StateDelta.between(by_id(states[0]), by_id(states[-1]))
        assert small == StateDelta.between(by_id(pristine), by_id(after))


@pytest.mark.parametrize("domain", BASE)
def test_a_run_leaves_its_state_alone_and_its_delta_leads_to_the_state_after(domain: str) -> None:
    for task in tasks(domain):
        states, transitions = runs(domain)[task.id]
        for before, call, transition, after in zip(states[:-1], task.gold, transitions, states[1:], strict=True):
            text = json.dumps(before)
            assert world(domain).run(before, call) == (transition, after)
            assert json.dumps(before) == text
            assert transition.delta is not None
            assert transition.delta.apply(before) == after


@pytest.mark.parametrize("domain", BASE)
def test_the_small_states_obey_the_state_schema_and_fit_a_prompt(domain: str) -> None:
    for states, _ in runs(domain).values():
        assert violations(world(domain).spec, states[0]) == ()
        assert violations(world(domain).spec, states[-1]) == ()
        assert len(json.dumps(states[0])) < 50_000


@pytest.mark.parametrize("domain", TRAIN)
def test_the_tasks_are_those_of_the_train_split_unless_another_is_named(domain: str) -> None:
    held_out = {f"tau2:{domain}:{task.id}" for task in whole(domain).tasks("test")}
    found = set(open_world(f"tau2:{domain}")._sources)  # type: ignore[attr-defined]
    assert len(found) == TRAIN[domain]
    assert not found & held_out


def test_the_first_tasks_come_in_the_order_of_the_package() -> None:
    assert [task.id for task in world("telecom").tasks(3, seed=5)] == list(originals("telecom"))[:3]


def test_what_the_user_does_in_telecom_is_a_tool_that_says_so() -> None:
    tools = world("telecom").spec.tool
    by_user = {name for name, tool in tools.items() if tool.description.startswith("Done by the user")}
    assert len(by_user) == 30
    assert len(tools) == 43
    assert {call.name for task in tasks("telecom") for call in task.gold} & by_user


def test_a_call_that_does_not_fit_is_refused_in_the_words_of_simia() -> None:
    task = tasks("retail")[0]
    call = task.gold[0].model_copy(update={"arguments": {}})
    transition, after = world("retail").run(task.initial_state, call)
    assert transition.is_error
    assert "invalid arguments for" in transition.observation
    assert after == task.initial_state


def test_a_vpn_that_one_task_breaks_is_whole_in_all_others() -> None:
    broken = next(task for task in tasks("telecom") if any(call.name == "disconnect_vpn" for call in task.gold))
    state = broken.initial_state
    assert state["user_device"]["device"]["vpn_details"]["server_performance"] == "poor"
    for name in ("disconnect_vpn", "connect_vpn"):
        _, state = world("telecom").run(state, ToolCall(id="1", name=name, arguments={}))
    assert state["user_device"]["device"]["vpn_details"]["server_performance"] == "excellent"


def test_a_new_bill_has_an_id_that_follows_from_the_state() -> None:
    task = next(task for task in tasks("telecom") if any(call.name == "refuel_data" for call in task.gold))
    call = next(call for call in task.gold if call.name == "refuel_data")
    state = json.loads(json.dumps(task.initial_state))
    for bill in state["company"]["bills"]:
        bill["status"] = "Paid"
    first, after = world("telecom").run(state, call)
    assert world("telecom").run(state, call) == (first, after)
    (new,) = [bill for bill in after["company"]["bills"] if bill["bill_id"] == "B00000000"]
    assert new["status"] == "Draft"
    new["status"] = "Paid"
    assert "B00000001" in json.dumps(world("telecom").run(after, call)[1])


def test_where_a_call_changes_the_other_side_its_code_shows_how_company_and_device_learn_from_one_another() -> None:
    user = {tool.name for tool in world("telecom").spec.tools if tool.description.startswith("Done by the user")}
    looks = [
        ToolCall(id="1", name=name, arguments={})
        for name in sorted(user)
        if not world("telecom").spec.tool[name].parameters.get("required")
    ]
    changing = set()
    for task in tasks("telecom"):
        states, _ = runs("telecom")[task.id]
        calls = [*zip(states, task.gold, strict=False), *((states[0], look) for look in looks)]
        for state, call in calls:
            delta = world("telecom").run(state, call)[0].delta or StateDelta()
            other = "company" if call.name in user else "user_device"
            if any(change.path[0] == other for change in delta.changes):
                changing.add(call.name)
    assert changing >= {"make_payment", "send_payment_request", "resume_line", "enable_roaming", "refuel_data"}
    assert [name for name in changing if "def sync_tools" not in (world("telecom").source_of(name) or "")] == []


def test_a_task_of_another_world_is_not_judged() -> None:
    with pytest.raises(ConfigError, match="has no task"):
        world("retail").reached(tasks("telecom")[0], ())


def test_an_unknown_domain_or_split_is_an_error_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="airline, retail, telecom"):
        open_world("tau2:bank")
    with pytest.raises(ConfigError, match="train, test, base"):
        open_world("tau2:airline:all")


def test_two_processes_answer_alike_whatever_their_hash_seed_and_time_zone(
    printed_by_two_processes: Callable[[str], list[bytes]],
) -> None:
    code = """
from simia.types.value import content_id
from simia.worlds.door import open_world
for domain in ("airline", "retail", "telecom"):
    world = open_world(f"tau2:{domain}:base")
    for task in world.tasks(4):
        state = task.initial_state
        for call in task.gold:
            transition, state = world.run(state, call)
            print(content_id([transition.model_dump(mode="json"), state]))
"""
    answers = printed_by_two_processes(code)
    assert answers[0] == answers[1]
    assert len(answers[0].splitlines()) >= 30

"""Calls that are not gold: each kind does what it says."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.bench.perturb import ILL_FORMED, KINDS, perturbed
from simia.seeds.calls import call_problem
from simia.types import State, ToolCall, ToolSpec, WorldSpec
from simia.worlds import load

ORDER = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
MOVE = {
    "type": "object",
    "properties": {"moves": {"type": "array", "items": ORDER}, "note": {"type": "string"}},
    "required": ["moves", "note"],
}
LOOK = {"type": "object", "properties": {"page": {"type": "integer"}}}
WORLD = WorldSpec(
    name="depot",
    policy="",
    tools=(
        ToolSpec(name="get_order", parameters=ORDER),
        ToolSpec(name="move_orders", parameters=MOVE),
        ToolSpec(name="list_orders", parameters=LOOK),
        ToolSpec(name="what_day", parameters={"type": "object"}),
    ),
    licence="Apache-2.0",
)
STATE: State = {
    "today": "O-1",
    "orders": {"O-1": {"total": 1}, "O-2": {"total": 2}, "O-17": {"total": 3}},
    "people": {"P-1": {"name": "O-1"}},
    "tags": ["O-9"],
    "nothing": {},
    "mixed": {"O-5": 1},
}
GET = ToolCall(id="call_7", name="get_order", arguments={"order_id": "O-1"})
MOVED = ToolCall(
    id="call_8", name="move_orders", arguments={"moves": [{"order_id": "O-2"}, {"order_id": "O-17"}], "note": "urgent"}
)


def of(
    call: ToolCall, seed: int = 0, others: tuple[ToolCall, ...] = (), state: State = STATE
) -> dict[str, list[ToolCall]]:
    found: dict[str, list[ToolCall]] = {}
    for kind, other in perturbed(WORLD, state, call, others, random.Random(seed)):
        found.setdefault(kind, []).append(other)
    return found


def values(call: ToolCall, seeds: int, kind: str) -> set[str]:
    return {of(call, seed)[kind][0].arguments["order_id"] for seed in range(seeds)}


def test_ids_are_found_in_tables_at_any_depth_where_there_is_none_above() -> None:
    deep: State = {"kit": {"db": {"orders": STATE["orders"]}, "day": "today"}}
    found = of(GET, state=deep)
    assert found["other_id"][0].arguments["order_id"] in ("O-2", "O-17")
    assert found["wrong_id"][0].arguments["order_id"] not in STATE["orders"]


def test_a_wrong_id_is_one_that_the_state_does_not_have_but_is_spelled_alike() -> None:
    wrong = values(GET, 50, "wrong_id")
    assert len(wrong) > 10
    assert not wrong & set(STATE["orders"])
    assert all(one.startswith("O-") and one[2:].isdigit() for one in wrong)


def test_another_id_is_one_of_the_same_table() -> None:
    assert values(GET, 50, "other_id") == {"O-2", "O-17"}


def test_the_only_id_of_a_table_has_no_other() -> None:
    call = ToolCall(id="c", name="get_order", arguments={"order_id": "P-1"})
    assert "other_id" not in of(call)
    assert "wrong_id" in of(call)


def test_one_id_deep_in_the_arguments_is_changed_and_nothing_else() -> None:
    for seed in range(20):
        changed = of(MOVED, seed)["wrong_id"][0].arguments
        kept = [new == old for new, old in zip(changed["moves"], MOVED.arguments["moves"], strict=True)]
        assert sorted(kept) == [False, True]
        assert changed["note"] == "urgent"


@pytest.mark.parametrize("text", ["urgent", "O-5", "O-9", "orders", ""])
def test_a_text_that_names_no_record_is_no_id(text: str) -> None:
    found = of(ToolCall(id="c", name="get_order", arguments={"order_id": text}))
    assert not {"wrong_id", "other_id"} & set(found)


def test_a_call_of_another_task_is_made_here() -> None:
    others = tuple(ToolCall(id=f"c{n}", name="get_order", arguments={"order_id": f"X-{n}"}) for n in range(5))
    made = [of(GET, seed, others)["elsewhere"][0] for seed in range(60)]
    assert all(call in others for call in made)
    assert all(call in made for call in others)


def test_without_other_tasks_nothing_comes_from_elsewhere() -> None:
    assert "elsewhere" not in of(GET)


def test_every_tool_that_needs_no_argument_is_a_look() -> None:
    assert [(call.name, call.arguments) for call in of(GET)["look"]] == [("list_orders", {}), ("what_day", {})]


def test_a_required_argument_is_left_out() -> None:
    left = {tuple(sorted(of(MOVED, seed)["missing_argument"][0].arguments)) for seed in range(20)}
    assert left == {("moves",), ("note",)}


def test_an_argument_has_the_wrong_type() -> None:
    call = of(GET)["wrong_type"][0]
    assert call.name == GET.name
    assert call_problem(WORLD, call) is not None


def test_a_tool_is_called_that_there_is_not() -> None:
    assert of(GET)["unknown_tool"][0].name not in WORLD.tool


def test_a_call_without_required_arguments_has_none_to_leave_out() -> None:
    assert set(of(ToolCall(id="c", name="what_day", arguments={}))) == {"look", "unknown_tool"}


def test_the_call_itself_stays_as_it_was() -> None:
    kept = MOVED.model_dump()
    of(MOVED)
    assert MOVED.model_dump() == kept


def test_every_perturbation_keeps_the_place_of_the_call() -> None:
    assert {call.id for calls in of(GET).values() for call in calls} == {GET.id}


def test_an_id_is_misspelled_although_every_number_of_its_length_is_taken() -> None:
    state: State = {"rows": {str(number): {"n": number} for number in range(100)}}
    wrong = of(ToolCall(id="c", name="get_order", arguments={"order_id": "7"}), state=state)["wrong_id"][0]
    assert wrong.arguments["order_id"] not in state["rows"]


@pytest.mark.parametrize("record", ["anna", "", "42", "O-"])
def test_an_id_of_any_spelling_is_misspelled(record: str) -> None:
    state: State = {"rows": {record: {"n": 1}}}
    wrong = of(ToolCall(id="c", name="get_order", arguments={"order_id": record}), state=state)["wrong_id"][0]
    assert wrong.arguments["order_id"] not in state["rows"]


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_the_same_draw_makes_the_same_calls(seed: int) -> None:
    assert of(MOVED, seed, (GET,)) == of(MOVED, seed, (GET,))


def test_the_kinds_are_those_that_are_named_but_for_the_repeated_call() -> None:
    assert set(of(GET, 0, (MOVED,))) == set(KINDS) - {"repeated"}


def test_in_the_bank_exactly_the_ill_formed_kinds_do_not_fit_the_tools() -> None:
    bank = load("bank")
    fits: dict[str, set[bool]] = {}
    previous: tuple[ToolCall, ...] = ()
    for task in bank.tasks(30, 0):
        for call in task.gold:
            drawn: Any = perturbed(bank.spec, task.initial_state, call, previous, random.Random(task.id))
            for kind, other in drawn:
                fits.setdefault(kind, set()).add(call_problem(bank.spec, other) is None)
        previous = task.gold
    assert {kind for kind, found in fits.items() if found == {False}} == ILL_FORMED
    assert all(found == {True} for kind, found in fits.items() if kind not in ILL_FORMED)

"""Playing a task without a terminal: calls as they are typed, what they change, and taking them back."""

from typing import Any

import pytest

from simia import worlds
from simia.errors import ConfigError, FormatError, StateError
from simia.types import ABSENT, ToolSpec, WorldTask
from simia.worlds.call_line import completions, read_call, spelled, usage
from simia.worlds.play import Play, looked_up, task_at

BANK = worlds.load("bank")
TOOL = ToolSpec(
    name="write",
    parameters={
        "type": "object",
        "properties": {
            "to": {"type": "string"},
            "number": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "loud": {"type": "boolean"},
            "any": {},
        },
        "required": ["to", "number"],
    },
)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", {}),
        ("to=ada number=5", {"to": "ada", "number": 5}),
        ("to=12", {"to": "12"}),
        ("to=true loud=true", {"to": "true", "loud": True}),
        ("to=for lunch number=5", {"to": "for lunch", "number": 5}),
        ('to="for number=3" number=5', {"to": "for number=3", "number": 5}),
        ("to='a=1 b=2' number=5", {"to": "a=1 b=2", "number": 5}),
        ("to==A1+B2", {"to": "=A1+B2"}),
        ("to=it's fine", {"to": "it's fine"}),
        ("to=[draft] plan", {"to": "[draft] plan"}),
        ('tags=["a", "b c"] number=1', {"tags": ["a", "b c"], "number": 1}),
        ("tags=a,b c", {"tags": ["a", "b c"]}),
        ("any=1", {"any": 1}),
        ("any=one", {"any": "one"}),
        ("number=many", {"number": "many"}),
        ('{"to": "ada", "number": 5}', {"to": "ada", "number": 5}),
        ("strange=1", {"strange": 1}),
    ],
)
def test_a_call_as_it_is_typed(text: str, arguments: dict[str, Any]) -> None:
    assert read_call(TOOL, text) == arguments


def test_the_name_of_the_only_argument_may_be_left_out() -> None:
    account = BANK.spec.tool["get_account"]
    assert read_call(account, "A-231") == read_call(account, "account_id=A-231") == {"account_id": "A-231"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ada 5", r"'ada 5' is no argument; write: write to=\.\.\. number=\.\.\. \[tags=\.\.\.\]"),
        ("{to: ada}", "no JSON"),
        ("tags=[1, number=2", r"the value of tags is no JSON \(Expecting value\): \[1,"),
    ],
)
def test_what_is_no_call_is_told_with_how_one_is_written(text: str, problem: str) -> None:
    with pytest.raises(FormatError, match=problem):
        read_call(TOOL, text)


@pytest.mark.parametrize(
    "arguments",
    [{"to": "ada", "number": 5}, {"to": "a b", "tags": ["x"]}, {"to": "5", "loud": False}, {"to": ""}, {"to": 'a"b'}],
)
def test_a_call_that_is_spelled_reads_back(arguments: dict[str, Any]) -> None:
    assert read_call(TOOL, spelled("write", arguments).partition(" ")[2]) == arguments


def test_every_gold_call_can_be_typed() -> None:
    for name in worlds.names():
        world = worlds.load(name)
        for task in world.tasks(12, 3):
            for call in task.gold:
                line = spelled(call.name, call.arguments)
                assert read_call(world.spec.tool[call.name], line.partition(" ")[2]) == call.arguments


def test_usage_has_brackets_around_what_may_be_left_out() -> None:
    assert usage(BANK.spec.tool["list_transfers"]) == "list_transfers account_id=... [since=...]"


STATE = {
    "accounts": {"A-1": {"kind": "savings", "cards": []}, "A-2": {"kind": "current", "cards": []}},
    "files": {"/a.txt": {"size": 1}, "/a": {"size": 2}},
    "today": "2025-01-01",
}


@pytest.mark.parametrize(
    ("before", "word", "fitting"),
    [
        ("", "tra", ["transfer "]),
        ("", "co", ["code "]),
        ("tool ", "pay", ["pay_many"]),
        ("transfer ", "", ["source=", "target=", "amount=", "memo="]),
        ("transfer source=A-1 ", "", ["target=", "amount=", "memo="]),
        ("transfer source=", "A-", ["A-1", "A-2"]),
        ('set_card_limits card_ids=["', "A-2", ["A-2"]),
        ("state ", "acc", ["accounts"]),
        ("state ", "accounts.", ["accounts.A-1", "accounts.A-2"]),
        ("state ", "files./a.", ["files./a.size", "files./a.txt"]),
        ("goal ", "", []),
    ],
)
def test_what_a_word_may_become(before: str, word: str, fitting: list[str]) -> None:
    assert completions(BANK.spec, STATE, ["state", "code", "tool", "goal"], before, word) == fitting


def test_an_argument_with_listed_values_becomes_one_of_them() -> None:
    office = worlds.load("office").spec
    assert completions(office, {}, [], "share_documents access=", "") == ["edit", "read"]


@pytest.mark.parametrize(
    ("path", "value"),
    [("", STATE), ("today", "2025-01-01"), ("files./a.txt.size", 1), ("files./a.size", 2), ("list.1.x", 7)],
)
def test_a_path_leads_through_keys_with_dots_and_through_lists(path: str, value: Any) -> None:
    assert looked_up({**STATE, "list": [0, {"x": 7}]} if path else STATE, path) == value


def test_a_path_that_leads_nowhere_is_told_where_it_ends() -> None:
    with pytest.raises(StateError, match="no 'A-3' in accounts; there is A-1, A-2"):
        looked_up(STATE, "accounts.A-3")
    with pytest.raises(StateError, match=r"no 'accouns.A-1' in the state; there is accounts, files, today"):
        looked_up(STATE, "accouns.A-1")
    with pytest.raises(StateError, match="no 'x' in today; there is a value"):
        looked_up(STATE, "today.x")


@pytest.fixture
def task() -> WorldTask:
    return task_at(BANK, 3, 1)


def test_gold_calls_reach_the_goal_and_undo_leads_back(task: WorldTask) -> None:
    play = Play(BANK, task)
    states = [play.state]
    while (call := play.next_gold) is not None:
        play.call(call.name, call.arguments)
        states.append(play.state)
    assert play.is_reached()
    assert all(holds for _, holds in play.laws())
    for state in reversed(states[:-1]):
        assert play.undo() is not None
        assert play.state == state
    assert play.undo() is None
    assert not play.is_reached()
    assert play.next_gold == task.gold[0]


def test_a_gold_call_counts_whoever_makes_it_and_another_call_does_not(task: WorldTask) -> None:
    play = Play(BANK, task)
    play.call("frozen_accounts", {})
    assert play.next_gold == task.gold[0]
    play.call(task.gold[0].name, task.gold[0].arguments)
    assert play.next_gold == task.gold[1]


def test_a_step_tells_old_and_new_values() -> None:
    task = next(task for task in BANK.tasks(20, 3) if any(call.name == "close_account" for call in task.gold))
    play = Play(BANK, task)
    steps = [play.call(call.name, call.arguments) for call in task.gold]
    closed = task.gold[-1].arguments["account_id"]
    found = {one.path: (one.old, one.new) for one in steps[-1].differences}
    assert found["accounts", closed, "status"] == ("open", "closed")
    assert all(new is ABSENT for path, (_, new) in found.items() if path[0] == "standing_orders")


def test_a_restart_forgets_every_call(task: WorldTask) -> None:
    play = Play(BANK, task)
    play.call("month_end", {})
    play.restart()
    assert (play.state, play.steps) == (task.initial_state, [])


def test_a_task_that_there_is_not_is_refused_with_the_last_one() -> None:
    class Two(type(BANK)):  # type: ignore[misc]
        def tasks(self, count: int | None = None, seed: int = 0) -> Any:
            return super().tasks(min(count or 2, 2), seed)

    with pytest.raises(ConfigError, match="the world bank has no task 5: the last one is --task 1"):
        task_at(Two(), 0, 5)

"""A world compared with itself in a fresh process, and the calls that are tried beside the gold ones."""

import sys

import pytest

from simia import worlds
from simia.errors import SimiaError
from simia.types import ToolCall
from simia.worlds import World
from simia.worlds.check import check
from simia.worlds.digest import TASKS, digests, digests_elsewhere
from simia.worlds.trials import looks, trials

BANK = worlds.load("bank")


def test_a_fresh_process_does_what_this_one_does() -> None:
    assert check(BANK, 3, name="bank") == []


def problems_if_elsewhere(monkeypatch: pytest.MonkeyPatch, **other: str) -> list[tuple[str, str]]:
    def elsewhere(name: str, tasks: int, seed: int) -> dict[str, str]:
        return {**digests(BANK, tasks, seed), **other}

    monkeypatch.setattr("simia.worlds.check.digests_elsewhere", elsewhere)
    return [(finding.where, finding.problem) for finding in check(BANK, 1, name="bank")]


def test_a_tool_that_depends_on_its_process_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert problems_if_elsewhere(monkeypatch, month_end="other") == [
        ("tool month_end", "a fresh process with another PYTHONHASHSEED and TZ gives something else")
    ]


def test_of_tasks_that_depend_on_their_process_nothing_else_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = problems_if_elsewhere(monkeypatch, **{TASKS: "other", "month_end": "other"})
    assert [where for where, _ in problems] == ["the tasks"]


def test_a_process_that_fails_is_told_by_its_last_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SimiaError, match=r"the fresh process ended with .*no world 'jars'"):
        digests_elsewhere("jars", 1, 0)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(SimiaError, match="the fresh process ended with exit code 1"):
        digests_elsewhere("jars", 1, 0)


def test_hashes_tell_tools_tasks_and_seeds_apart() -> None:
    first, again, other = digests(BANK, 2, 0), digests(BANK, 2, 0), digests(BANK, 2, 1)
    assert first == again
    assert first.keys() >= {TASKS, "month_end"}
    assert first[TASKS] != other[TASKS]


def test_trials_break_a_call_in_every_way_and_take_the_next_row() -> None:
    call = ToolCall(id="call_1", name="take", arguments={"jar": "a", "number": 2})
    tried = [(one.name, one.arguments) for one in trials({"jars": {"a": {}, "b": {}}}, call)]
    assert tried == [
        ("take_now", {"jar": "a", "number": 2}),
        ("take", {"number": 2}),
        ("take", {"jar": [["?"]], "number": 2}),
        ("take", {"jar": "a"}),
        ("take", {"jar": "a", "number": [["?"]]}),
        ("take", {"jar": "a", "number": 2, "nonsense": 1}),
        ("take", {"jar": "a0", "number": 2}),
        ("take", {"jar": "b", "number": 2}),
    ]


def test_looks_are_the_tools_that_need_no_argument() -> None:
    world: World = BANK
    assert [call.name for call in looks(world.spec)] == ["todays_journal", "frozen_accounts", "month_end"]

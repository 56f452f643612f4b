"""How much a failed call explains: what each mode leaves of an explanation."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simia.formats.calls import dump_json
from simia.seeds.calls import call_problem
from simia.simulate import FeedbackMode, reduced
from simia.types import Seed, ToolCall

LUNCH = "Sarah is at lunch from 12:00 to 13:00; propose a time after 13:00, for example 13:30"

explanations = st.one_of(
    st.text(max_size=200),
    st.lists(
        st.sampled_from(
            [
                "x",
                "no such book",
                ";",
                ". ",
                ", because ",
                " because",
                ": ",
                ", ",
                "(",
                "available",
                "tools",
                "valid",
                "\n",
            ]
        ),
        max_size=16,
    ).map("".join),
)
observations = st.one_of(explanations, explanations.map(lambda text: dump_json({"error": text})))
modes: st.SearchStrategy[FeedbackMode] = st.sampled_from(["rich", "terse", "bare"])


def shown(text: str, mode: FeedbackMode) -> str:
    error = orjson.loads(reduced(dump_json({"error": text}), mode))["error"]
    assert isinstance(error, str)
    return error


def test_rich_leaves_the_explanation_as_it_is() -> None:
    assert shown(LUNCH, "rich") == LUNCH


def test_terse_says_what_is_wrong_and_not_what_to_do() -> None:
    assert shown(LUNCH, "terse") == "Sarah is at lunch from 12:00 to 13:00"


def test_bare_says_that_it_failed() -> None:
    assert reduced(dump_json({"error": LUNCH}), "bare") == '{"error":"failed"}'


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("no such book", "no such book"),
        ("no such book. Search first.", "no such book"),
        ("version 2.1 is gone; take 3.0", "version 2.1 is gone"),
        ("no copy is in, because all are lent", "no copy is in"),
        ("no copy is in because all are lent", "no copy is in"),
        ("unknown colour 'mauve', valid colours are: red, blue", "unknown colour 'mauve'"),
        ("unknown colour 'mauve' (known: red, blue)", "unknown colour 'mauve'"),
        ("no tool 'a' available tools: b, c", "no tool 'a'"),
        ("no copies available: all lent", "no copies available: all lent"),
        ("invalid date: 2025-02-30", "invalid date: 2025-02-30"),
        ("first line\nsecond line", "first line"),
        ("; nothing before", "nothing before"),
        ("", "failed"),
        (";", "failed"),
        ("word " * 30, ("word " * 16).strip()),
        ("w" * 100, "w" * 80),
    ],
)
def test_terse_keeps_the_first_clause(text: str, clause: str) -> None:
    assert shown(text, "terse") == clause


def test_terse_does_not_list_the_tools_that_there_are(seed: Seed) -> None:
    problem = call_problem(seed.world, ToolCall(id="call_1", name="burn_book", arguments={}))
    assert problem is not None
    assert shown(problem, "terse") == "unknown tool 'burn_book'"


def test_an_observation_that_is_no_error_object_is_the_explanation() -> None:
    assert reduced("Error: gone; try again", "terse") == '{"error":"Error: gone"}'
    assert reduced('{"code":7}', "terse") == dump_json({"error": '{"code":7}'})


def test_what_stands_beside_the_error_explains_too_and_is_left_out() -> None:
    assert reduced('{"error":"gone","hint":"try B-377"}', "terse") == '{"error":"gone"}'


@given(observation=observations, mode=modes)
def test_reduced_again_it_stays_as_it_is(observation: str, mode: FeedbackMode) -> None:
    once = reduced(observation, mode)
    assert reduced(once, mode) == once


@given(observation=observations)
def test_terse_is_one_error_of_at_most_eighty_characters(observation: str) -> None:
    value = orjson.loads(reduced(observation, "terse"))
    assert value.keys() == {"error"}
    assert 0 < len(value["error"]) <= 80


@given(one=observations, two=observations)
def test_bare_tells_no_two_failures_apart(one: str, two: str) -> None:
    assert reduced(one, "bare") == reduced(two, "bare")

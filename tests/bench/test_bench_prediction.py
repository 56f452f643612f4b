"""Reading an answer: as much of it as can be read, and why the rest cannot."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.bench.pairs import answer_text
from simia.bench.prediction import Prediction, read_prediction
from simia.bench.sample import Sample
from simia.bench.score import score
from simia.formats.calls import dump_json
from simia.formats.json_text import read_json
from simia.types import Put, Remove, State, StateDelta, ToolCall, Transition


def read(value: Any, *, with_changes: bool = True) -> Prediction:
    return read_prediction(value, with_changes=with_changes, reply="word by word")


def test_a_whole_answer_is_read_whole() -> None:
    changes = [{"op": "put", "path": ["a", "b.c"], "value": 1}, {"op": "remove", "path": ["d"]}]
    assert read({"observation": {"n": 1}, "is_error": False, "changes": changes}) == Prediction(
        observation='{"n":1}',
        is_error=False,
        changes=(Put(path=("a", "b.c"), value=1), Remove(path=("d",))),
        reply="word by word",
    )


@pytest.mark.parametrize("value", [[], [{"observation": "x"}], "text", 3, None, True])
def test_what_is_no_object_is_unreadable(value: Any) -> None:
    answer = read(value)
    assert answer.problem == "unreadable: the reply is no JSON object"
    assert (answer.observation, answer.changes, answer.reply) == (None, None, "word by word")


def test_a_text_is_shown_as_it_is() -> None:
    assert read({"observation": "Done.", "changes": []}).observation == "Done."


@pytest.mark.parametrize(("shown", "text"), [(None, "null"), (0, "0"), (False, "false"), ([], "[]"), ([1.5], "[1.5]")])
def test_any_other_value_is_shown_as_json(shown: Any, text: str) -> None:
    answer = read({"observation": shown, "changes": []})
    assert (answer.observation, answer.problem) == (text, "")


def test_an_answer_without_observation_is_none() -> None:
    answer = read({"changes": [{"op": "remove", "path": ["d"]}]})
    assert answer.problem == "unreadable: the reply has no observation"
    assert answer.changes is None


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ([{"op": "put", "path": ["a"]}], "changes/0/put/value: Field required"),
        ([{"op": "put", "path": [], "value": 1}], "changes/0/put/path: Tuple should have at least 1 item"),
        ([{"op": "remove", "path": ["a"]}, {"op": "twist"}], "changes/1: Input tag 'twist'"),
        ([{"op": "put", "path": ["a", 0], "value": 1}], "changes/0/put/path/1: Input should be a valid string"),
        ([{"op": "put", "path": "a.b", "value": 1}], "changes/0/put/path: Input should be a valid tuple"),
        ([{"op": "remove", "path": ["a"], "value": 1}], "changes/0/remove/value: Extra inputs"),
        (None, "changes: Input should be a valid tuple"),
        ({"a": 1}, "changes: Input should be a valid tuple"),
    ],
)
def test_changes_that_make_no_sense_are_a_problem_that_says_where_and_the_observation_counts(
    changes: Any, where: str
) -> None:
    answer = read({"observation": "Done.", "changes": changes})
    assert answer.problem.startswith(f"unreadable: {where}")
    assert (answer.observation, answer.changes) == ("Done.", None)


def test_of_two_problems_the_first_is_told() -> None:
    assert read({"changes": 1}).problem == "unreadable: the reply has no observation"


def test_an_answer_without_changes_has_no_next_state() -> None:
    answer = read({"observation": "Done."})
    assert (answer.problem, answer.changes) == ("unreadable: the reply has no changes", None)


def test_where_no_changes_are_asked_for_none_are_read() -> None:
    answer = read({"observation": "Done.", "changes": "nonsense"}, with_changes=False)
    assert (answer.changes, answer.problem) == (None, "")


@pytest.mark.parametrize(("flag", "is_error"), [(True, True), (False, False), (None, None), ("true", None), (1, None)])
def test_the_flag_is_true_or_false_or_not_told(flag: Any, is_error: bool | None) -> None:
    assert read({"observation": "Done.", "is_error": flag}).is_error is is_error


def test_a_result_that_is_nothing_but_an_error_is_one_whatever_the_flag_says() -> None:
    assert read({"observation": {"error": "no such order"}, "is_error": False}).is_error is True
    assert read({"observation": {"error": "none", "n": 1}, "is_error": False}).is_error is False


def test_what_else_stands_in_the_answer_is_passed_over() -> None:
    assert read({"thoughts": "hm", "observation": "Done.", "is_error": False, "changes": []}).problem == ""


def test_a_world_that_keeps_no_state_predicts_no_changes() -> None:
    assert Prediction.of(Transition(observation="x")).changes is None


def test_a_world_that_changes_nothing_predicts_that() -> None:
    answer = Prediction.of(Transition(observation="x", is_error=True, delta=StateDelta()))
    assert answer == Prediction(observation="x", is_error=True, changes=())


keys = st.sampled_from(["a", "b", "a.b", "error"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([0.5, 1.0, 1e300]) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)
states = st.dictionaries(keys, values, max_size=3)
texts = st.text(st.characters(codec="utf-8"), max_size=6) | values.map(dump_json)


@given(states, states, texts)
@settings(max_examples=200, deadline=None)
def test_the_right_reply_is_read_as_the_truth(before: State, after: State, observation: str) -> None:
    sample = Sample(
        id="s",
        world="w",
        origin="gold",
        call=ToolCall(id="c", name="t", arguments={}),
        state=before,
        observation=observation,
        is_error=False,
        delta=StateDelta.between(before, after),
    )
    text = answer_text(sample)
    verdict = score(sample, read_prediction(read_json(text)[0], with_changes=True, reply=text))
    assert (verdict.feedback_match, verdict.config_match, verdict.problem) == (True, True, "")

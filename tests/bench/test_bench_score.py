"""Exact verdicts: whole states are compared, and each change is right, missed, invented or wrong."""

import copy
import json
import time
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simia.bench.prediction import Prediction, read_prediction
from simia.bench.sample import Sample
from simia.bench.score import ChangeCounts, score, score_states, similarity
from simia.types import Change, Put, Remove, State, StateDelta, ToolCall, same

STATE: State = {"orders": {"O-1": {"status": "open", "total": 10}, "O-2": {"status": "open"}}, "next": 3, "a.b": 1}
CANCELLED = Put(path=("orders", "O-1", "status"), value="cancelled")
COUNTED = Put(path=("next",), value=4)
GONE = Remove(path=("orders", "O-2"))


def made(*changes: Change, state: State = STATE, observation: str = '{"ok": true}', is_error: bool = False) -> Sample:
    call = ToolCall(id="call_1", name="cancel", arguments={})
    delta = StateDelta(changes=changes)
    return Sample(
        id="s",
        world="w",
        origin="gold",
        call=call,
        state=state,
        observation=observation,
        is_error=is_error,
        delta=delta,
    )


def said(*changes: Change, observation: str = '{"ok": true}', is_error: bool = False) -> Prediction:
    return Prediction(observation=observation, is_error=is_error, changes=changes)


def test_the_true_changes_are_right() -> None:
    verdict = score(made(CANCELLED, COUNTED, GONE), said(CANCELLED, COUNTED, GONE))
    assert verdict.config_match
    assert set(verdict.right) == {CANCELLED.path, COUNTED.path, GONE.path}


def test_the_order_of_changes_does_not_count() -> None:
    assert score(made(CANCELLED, COUNTED, GONE), said(GONE, COUNTED, CANCELLED)).config_match


def test_a_change_that_is_left_out_is_missed() -> None:
    verdict = score(made(CANCELLED, COUNTED), said(CANCELLED))
    assert not verdict.config_match
    assert (verdict.right, verdict.missed) == ((CANCELLED.path,), (COUNTED.path,))


def test_a_change_that_nobody_made_is_invented() -> None:
    verdict = score(made(CANCELLED), said(CANCELLED, COUNTED))
    assert not verdict.config_match
    assert (verdict.right, verdict.invented) == ((CANCELLED.path,), (COUNTED.path,))


def test_another_value_at_a_true_place_is_wrong() -> None:
    verdict = score(made(CANCELLED), said(Put(path=CANCELLED.path, value="closed")))
    assert not verdict.config_match
    assert (verdict.right, verdict.wrong) == ((), (CANCELLED.path,))


def test_null_where_a_key_goes_away_is_wrong() -> None:
    assert score(made(GONE), said(Put(path=GONE.path, value=None))).wrong == (GONE.path,)


def test_removing_a_key_that_becomes_null_is_wrong() -> None:
    assert score(made(Put(path=("next",), value=None)), said(Remove(path=("next",)))).wrong == (("next",),)


def test_true_is_not_one() -> None:
    assert score(made(Put(path=("next",), value=True)), said(Put(path=("next",), value=1))).wrong == (("next",),)


def test_one_is_one_point_zero() -> None:
    assert score(made(COUNTED), said(Put(path=("next",), value=4.0))).config_match


def test_a_key_with_a_dot_is_one_key() -> None:
    assert score(made(Put(path=("a.b",), value=2)), said(Put(path=("a.b",), value=2))).config_match


def test_a_whole_record_that_holds_the_true_change_is_right() -> None:
    whole = Put(path=("orders", "O-1"), value={"total": 10, "status": "cancelled"})
    assert score(made(CANCELLED), said(whole)).config_match


def test_a_whole_record_that_forgets_a_value_invents_its_removal() -> None:
    whole = Put(path=("orders", "O-1"), value={"status": "cancelled"})
    verdict = score(made(CANCELLED), said(whole))
    assert (verdict.config_match, verdict.invented) == (False, (("orders", "O-1", "total"),))


def test_a_value_put_again_as_it_was_is_no_change() -> None:
    assert score(made(CANCELLED), said(CANCELLED, Put(path=("next",), value=3))).config_match


def test_a_change_that_a_later_one_takes_back_is_no_change() -> None:
    assert score(made(), said(COUNTED, Put(path=("next",), value=3))).config_match


def test_destroying_the_state_where_nothing_changes_is_wrong() -> None:
    verdict = score(made(), said(*(Remove(path=(key,)) for key in STATE)))
    assert not verdict.config_match
    assert set(verdict.invented) == {(key,) for key in STATE}


def test_doing_nothing_is_right_where_nothing_changes() -> None:
    assert score(made(), said()).config_match


def test_a_change_that_does_not_fit_the_state_is_a_failure_with_a_reason() -> None:
    verdict = score(made(CANCELLED), said(CANCELLED, Remove(path=("nowhere",))))
    assert verdict.config_match is False
    assert verdict.problem == "does not fit the state: nothing to remove at 'nowhere'"
    assert verdict.missed == (CANCELLED.path,)


def test_the_observation_counts_although_the_changes_do_not_fit() -> None:
    verdict = score(made(), said(Remove(path=("nowhere",))))
    assert (verdict.feedback_match, verdict.config_match) == (True, False)


def test_an_unreadable_answer_fails_everything_also_where_nothing_changes() -> None:
    verdict = score(made(), Prediction(problem="unreadable: no JSON", reply="?"))
    assert (verdict.feedback_match, verdict.config_match, verdict.error_match) == (False, False, False)
    assert verdict.problem == "unreadable: no JSON"


def test_an_unreadable_answer_misses_every_true_change() -> None:
    verdict = score(made(CANCELLED, COUNTED), Prediction(problem="refused: no", reply=""))
    assert verdict.counts.recall == 0.0
    assert verdict.counts.precision is None


def test_unreadable_changes_fail_although_the_observation_is_right() -> None:
    answer = read_prediction({"observation": {"ok": True}, "changes": [{"op": "twist"}]}, with_changes=True)
    verdict = score(made(), answer)
    assert (verdict.feedback_match, verdict.config_match) == (True, False)
    assert verdict.problem.startswith("unreadable: changes/0")


def test_where_the_state_was_hidden_there_is_no_config_match() -> None:
    verdict = score(made(CANCELLED), Prediction(observation='{"ok":true}', is_error=False), with_changes=False)
    assert (verdict.feedback_match, verdict.config_match, verdict.missed) == (True, None, ())


@pytest.mark.parametrize(("true", "told", "match"), [(True, True, True), (True, False, False), (False, True, False)])
def test_saying_whether_the_call_fails_is_judged_apart(true: bool, told: bool, match: bool) -> None:
    assert score(made(is_error=true), said(is_error=told)).error_match is match


def test_not_saying_whether_the_call_fails_is_no_match() -> None:
    assert not score(made(), Prediction(observation='{"ok": true}', changes=())).error_match


def test_precision_and_recall_are_shares_of_the_predicted_and_of_the_true_changes() -> None:
    wrong = Put(path=("next",), value=9)
    invented = Put(path=("x",), value=1), Put(path=("y",), value=1)
    verdict = score(made(CANCELLED, COUNTED, GONE), said(CANCELLED, wrong, *invented))
    assert verdict.counts.precision == 1 / 4
    assert verdict.counts.recall == 1 / 3


def test_without_any_change_precision_and_recall_are_undefined() -> None:
    verdict = score(made(), said())
    assert (verdict.counts.precision, verdict.counts.recall) == (None, None)


def test_counts_of_several_predictions_are_summed() -> None:
    one, other = score(made(CANCELLED), said(COUNTED)).counts, score(made(COUNTED, GONE), said(COUNTED)).counts
    assert one + other == ChangeCounts(right=1, missed=2, invented=1, wrong=0)
    assert ((one + other).precision, (one + other).recall) == (1 / 2, 1 / 3)


@pytest.mark.parametrize(
    ("shown", "truth", "alike"),
    [
        ('{"b": 1.0, "a": [2]}', '{"a":[2],"b":1}', 1.0),
        (" done\n", "done", 1.0),
        (None, "done", 0.0),
        ("", "done", 0.0),
        ("quite another thing", "done", 0.0),
        ('{"status":"open","id":"O-1"}', '{"id": "O-1", "status": "closed"}', 0.75),
        ("order O-1 was cancelled", "order O-2 was cancelled", 0.75),
        ('{"n":-5}', '{"n":5}', 0.5),
        ("[1, 2]", "1 2", 0.999),
        ("a b", "a, b", 0.999),
    ],
)
def test_observations_are_alike_by_their_words(shown: str | None, truth: str, alike: float) -> None:
    assert similarity(made(observation=truth), Prediction(observation=shown)) == alike


@pytest.mark.parametrize("word", ["a", "{number}", "{odd}"])
def test_long_observations_are_compared_by_their_first_words(word: str) -> None:
    long = " ".join(word.format(number=number, odd=number % 2) for number in range(50_000))
    began_s = time.process_time()
    assert similarity(made(observation=long), Prediction(observation=f"{long} more")) == 0.999
    assert similarity(made(observation=long), Prediction(observation=f"x {long}")) > 0.99
    assert time.process_time() - began_s < 1


def test_a_matching_observation_costs_no_comparison_of_words() -> None:
    sample = made(observation=json.dumps({"rows": list(range(300))}))
    assert similarity(sample, Prediction(observation=json.dumps({"rows": list(range(300))}, indent=1))) == 1.0


@pytest.mark.parametrize("text", ["[" * 900 + "]" * 900, '{"a": ' * 300 + "1" + "}" * 300, '"\\ud800"', "9" * 5_000])
def test_odd_json_has_words_too(text: str) -> None:
    assert 0 <= similarity(made(observation=text), Prediction(observation="a")) < 1
    assert 0 <= similarity(made(observation="a"), Prediction(observation=text)) < 1


def test_states_alone_are_compared_as_changes_are() -> None:
    verdict = score_states({"a": 1, "b": 1}, {"a": 2, "c": 1}, {"a": 3, "b": 2})
    assert (verdict.wrong, verdict.invented) == ((("a",), ("b",)), (("c",),))
    assert not verdict.config_match


keys = st.sampled_from(["a", "b", "a.b", "1"])
leaves = st.sampled_from([None, True, False, 0, 1, 1.0, 2**70, "", "a", "1"])
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=3), max_leaves=8
)
states = st.dictionaries(keys, values, max_size=4)


def questioned(before: State, after: State) -> tuple[Sample, list[Change]]:
    delta = StateDelta.between(before, after)
    return made(*delta.changes, state=before), list(delta.changes)


@given(states, states, st.randoms(use_true_random=False))
@settings(max_examples=80, deadline=None)
def test_the_truth_is_always_right(before: State, after: State, draw: Any) -> None:
    sample, changes = questioned(before, after)
    draw.shuffle(changes)
    verdict = score(sample, said(*changes))
    assert (verdict.config_match, len(verdict.right)) == (True, len(changes))
    assert verdict.counts.recall == verdict.counts.precision == (1.0 if changes else None)


@given(states, states, st.data())
@settings(max_examples=80, deadline=None)
def test_the_truth_without_one_change_is_never_right(before: State, after: State, data: st.DataObject) -> None:
    sample, changes = questioned(before, after)
    assume(changes)
    dropped = changes.pop(data.draw(st.integers(0, len(changes) - 1)))
    verdict = score(sample, said(*changes))
    assert (verdict.config_match, verdict.missed) == (False, (dropped.path,))


@given(states, states, values, st.data())
@settings(max_examples=80, deadline=None)
def test_the_truth_with_one_other_value_is_never_right(
    before: State, after: State, value: Any, data: st.DataObject
) -> None:
    sample, changes = questioned(before, after)
    assume(changes)
    place = data.draw(st.integers(0, len(changes) - 1))
    old = changes[place]
    assume(isinstance(old, Remove) or not same(old.value, value))
    changes[place] = Put(path=old.path, value=value)
    assert score(sample, said(*changes)).config_match is False


@given(states, states, st.data())
@settings(max_examples=80, deadline=None)
def test_the_truth_with_one_change_more_is_never_right(before: State, after: State, data: st.DataObject) -> None:
    sample, changes = questioned(before, after)
    tables = [(), *((key,) for key, value in after.items() if isinstance(value, dict))]
    parent = data.draw(st.sampled_from(tables))
    changes.append(Put(path=(*parent, "never there"), value=data.draw(values)))
    verdict = score(sample, said(*changes))
    assert verdict.config_match is False
    assert verdict.invented or verdict.wrong


@given(states, states, st.data())
@settings(max_examples=80, deadline=None)
def test_the_truth_with_one_key_removed_is_never_right(before: State, after: State, data: st.DataObject) -> None:
    sample, changes = questioned(before, after)
    assume(after)
    changes.append(Remove(path=(data.draw(st.sampled_from(sorted(after))),)))
    assert score(sample, said(*changes)).config_match is False


@given(states, states, states)
@settings(max_examples=80, deadline=None)
def test_every_path_that_is_predicted_or_true_is_sorted_once(before: State, after: State, predicted: State) -> None:
    sample, changes = questioned(before, after)
    made_up = StateDelta.between(before, predicted).changes
    verdict = score(sample, said(*made_up))
    sorted_paths = [*verdict.right, *verdict.missed, *verdict.invented, *verdict.wrong]
    assert sorted(sorted_paths) == sorted({change.path for change in (*changes, *made_up)})
    assert verdict.config_match == same(predicted, after)


@given(states, states)
@settings(max_examples=80, deadline=None)
def test_scoring_changes_neither_state_nor_answer(before: State, after: State) -> None:
    sample, changes = questioned(before, after)
    answer = said(*changes)
    kept = copy.deepcopy((sample.model_dump(), answer.model_dump()))
    score(sample, answer)
    assert (sample.model_dump(), answer.model_dump()) == kept


@pytest.mark.parametrize("reply", [{}, {"foo": 1}, {"observation": "{}"}, {"changes": []}])
def test_a_reply_that_lacks_a_part_is_wrong_also_where_nothing_changes(reply: dict[str, Any]) -> None:
    sample = Sample(
        id="1",
        world="w",
        origin="gold",
        call=ToolCall(id="call_1", name="look", arguments={}),
        state={"a": 1},
        observation="[]",
        is_error=False,
        delta=StateDelta(),
    )
    verdict = score(sample, read_prediction(reply, with_changes=True))
    assert (verdict.config_match, verdict.feedback_match) == (False, False)
    assert verdict.problem

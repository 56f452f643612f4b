"""The rule that EnvSimBench was released with: each of its faults, beside what our rule says of the same answer."""

import asyncio
import json
import warnings
from typing import Any

import pytest

from simia.bench.baselines import DoNothing
from simia.bench.prediction import Prediction, read_prediction
from simia.bench.published import PublishedVerdict, object_in, published_verdict
from simia.bench.sample import Sample
from simia.bench.score import score
from simia.bench.strata import GROUPS, PUBLISHED, Cell
from simia.types import Change, JsonObject, Put, Remove, State, StateDelta, ToolCall

STATE: State = {"orders": {"O-1": {"status": "open"}, "O-2": {"status": "open"}}, "next": 3, "tags": ["x", {"n": 1}]}
CANCELLED = Put(path=("orders", "O-1", "status"), value="cancelled")
FAILED = PublishedVerdict(False, False)
STOPPED = PublishedVerdict(False, False, is_counted=False)


def made(
    *changes: Change,
    state: State = STATE,
    observation: str = '{"ok": true}',
    is_error: bool = False,
    arguments: JsonObject | None = None,
) -> Sample:
    return Sample(
        id="s",
        world="w",
        origin="gold",
        call=ToolCall(id="call_1", name="cancel", arguments=arguments or {}),
        state=state,
        observation=observation,
        is_error=is_error,
        delta=StateDelta(changes=changes),
    )


def said(*changes: Change, observation: str = '{"ok": true}') -> Prediction:
    return Prediction(observation=observation, is_error=False, changes=changes)


def replied(reply: Any) -> Prediction:
    """What simia reads in a reply that is valid JSON."""
    text = json.dumps(reply)
    return read_prediction(json.loads(text), with_changes=True, reply=text)


def verdicts(sample: Sample, prediction: Prediction) -> tuple[bool, bool | None]:
    """Config Match by the released rule and by ours."""
    return published_verdict(sample, prediction).config_match, score(sample, prediction).config_match


def test_both_rules_take_the_truth_for_right() -> None:
    assert verdicts(made(CANCELLED), said(CANCELLED)) == (True, True)


def test_both_rules_take_a_missed_change_for_wrong() -> None:
    assert verdicts(made(CANCELLED), said()) == (False, False)


def test_both_rules_take_another_value_for_wrong() -> None:
    assert verdicts(made(CANCELLED), said(Put(path=CANCELLED.path, value="closed"))) == (False, False)


def test_an_invented_change_is_not_punished_by_the_released_rule() -> None:
    assert verdicts(made(CANCELLED), said(CANCELLED, Put(path=("next",), value=99))) == (True, False)


def test_destroying_the_state_where_nothing_changes_is_right_by_the_released_rule() -> None:
    assert verdicts(made(), said(*(Remove(path=(key,)) for key in STATE))) == (True, False)


def test_a_removed_key_is_never_right_by_the_released_rule() -> None:
    gone = Remove(path=("orders", "O-2"))
    assert verdicts(made(gone), said(gone)) == (False, True)


def test_null_in_the_place_of_a_removed_key_is_right_by_the_released_rule() -> None:
    gone = Remove(path=("orders", "O-2"))
    assert verdicts(made(gone), said(Put(path=gone.path, value=None))) == (True, False)


def test_one_removal_among_right_changes_makes_all_of_them_wrong_by_the_released_rule() -> None:
    changes = CANCELLED, Remove(path=("next",))
    assert verdicts(made(*changes), said(*changes)) == (False, True)


def test_a_key_with_a_dot_is_never_right_by_the_released_rule() -> None:
    dotted = Put(path=("a.b",), value=2)
    assert verdicts(made(dotted, state={"a.b": 1}), said(dotted)) == (False, True)


def test_a_key_with_a_dot_is_right_by_the_released_rule_where_two_keys_lead_to_its_value() -> None:
    dotted = Put(path=("a.b",), value=2)
    assert verdicts(made(dotted, state={"a.b": 1, "a": {}}), said(Put(path=("a", "b"), value=2))) == (True, False)


@pytest.mark.parametrize(("told", "true"), [(1, True), (0, False), (True, 1), ([False], [0])])
def test_true_equals_one_by_the_released_rule(told: Any, true: Any) -> None:
    assert verdicts(made(Put(path=("next",), value=true)), said(Put(path=("next",), value=told))) == (True, False)


def test_true_put_over_one_is_no_change_by_the_released_rule() -> None:
    assert verdicts(made(Put(path=("next",), value=True), state={"next": 1}), said()) == (True, False)


def test_a_change_that_does_not_fit_is_passed_over_by_the_released_rule() -> None:
    assert verdicts(made(CANCELLED), said(CANCELLED, Remove(path=("nowhere",)))) == (True, False)


def test_missing_parents_are_made_by_the_released_rule() -> None:
    sample = made(Put(path=("a",), value={"b": {"c": 1}}), state={})
    assert verdicts(sample, said(Put(path=("a", "b", "c"), value=1))) == (True, False)


def test_a_place_in_a_list_can_be_named_by_the_released_rule() -> None:
    sample = made(Put(path=("tags",), value=["y", {"n": 1}]))
    assert verdicts(sample, said(Put(path=("tags", "0"), value="y"))) == (True, False)


def test_a_list_grows_to_the_place_that_is_named_by_the_released_rule() -> None:
    sample = made(Put(path=("tags",), value=["x", {"n": 1}, None, "y"]))
    assert verdicts(sample, said(Put(path=("tags", "3"), value="y"))) == (True, False)


def test_a_place_beyond_reason_ends_the_sample_not_the_memory() -> None:
    assert published_verdict(made(), said(Put(path=("tags", "999999999999"), value=1))) == STOPPED


def test_json_of_another_shape_leaves_the_denominator() -> None:
    for reply in ([1, 2], "done", 5, True):
        answer = replied(reply)
        assert published_verdict(made(), answer) == STOPPED
        assert score(made(), answer).config_match is False


def test_text_that_cannot_be_parsed_stays_in_the_denominator() -> None:
    answer = Prediction(problem="unreadable: no JSON", reply="I cannot do this.")
    assert published_verdict(made(), answer) == FAILED
    assert score(made(), answer).config_match is False


def test_null_is_taken_for_text_that_cannot_be_parsed() -> None:
    assert published_verdict(made(), replied(None)) == FAILED


def test_nobody_answering_stays_in_the_denominator() -> None:
    assert published_verdict(made(), Prediction(problem="refused: no")) == FAILED


@pytest.mark.parametrize("changes", ["abc", [1], ["x"], [None], 5, None, {"path": 1}, [{"op": "put", "path": [[]]}]])
def test_changes_of_another_shape_leave_the_denominator(changes: Any) -> None:
    answer = replied({"observation": {"ok": True}, "changes": changes})
    assert published_verdict(made(), answer) == STOPPED
    assert score(made(), answer).config_match is False


def test_a_change_of_an_unknown_kind_is_a_put_by_the_released_rule() -> None:
    change = {"op": "set", "path": ["orders", "O-1", "status"], "value": "cancelled"}
    assert verdicts(made(CANCELLED), replied({"observation": {"ok": True}, "changes": [change]})) == (True, False)


def test_a_path_may_be_a_text_with_dots_by_the_released_rule() -> None:
    change = {"op": "put", "path": "orders.O-1.status", "value": "cancelled"}
    assert verdicts(made(CANCELLED), replied({"observation": {"ok": True}, "changes": [change]})) == (True, False)


def test_the_first_braces_are_the_answer_by_the_released_rule() -> None:
    text = 'With {} as arguments: {"observation": {"ok": true}, "changes": []}'
    answer = Prediction(observation='{"ok":true}', changes=(), reply=text)
    assert published_verdict(made(), answer) == PublishedVerdict(False, True)


def test_json_with_text_behind_it_cannot_be_parsed_by_the_released_rule() -> None:
    text = '{"observation": {"ok": true}, "changes": []} That is all.'
    answer = Prediction(observation='{"ok":true}', changes=(), reply=text)
    assert published_verdict(made(), answer) == FAILED
    assert score(made(), answer).config_match


def test_json_in_a_fence_is_read() -> None:
    text = 'Here:\n```json\n{"observation": {"ok": true}, "changes": []}\n```\nDone.'
    assert published_verdict(made(), Prediction(reply=text)) == PublishedVerdict(True, True)


def test_of_a_python_list_of_records_the_first_one_counts_alone() -> None:
    sample = made(observation="[{'id': 1}, {'id': 2}]")
    answer = said(observation="[{'id': 1}, {'id': 9}]")
    assert published_verdict(sample, answer).feedback_match
    assert not score(sample, answer).feedback_match


def test_observations_in_json_and_in_python_are_equal_by_the_released_rule() -> None:
    sample, answer = made(observation="{'ok': True, 'why': None}"), said(observation='{"why": null, "ok": 1}')
    assert published_verdict(sample, answer).feedback_match
    assert not score(sample, answer).feedback_match


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("{'a': {'b': 1}}", {"a": {"b": 1}}),
        ('{"a": [1]}', {"a": [1]}),
        ("None", None),
        ("null", "null"),
        ("true", True),
        ("'quoted'", "quoted"),
        ("'{\"a\": 'b'}'", {"a": "b"}),
        ("said {'a': 1} and {'b': 2}", {"a": 1}),
        ("```\n[1]\n```", [1]),
        ("", ""),
        (7, 7),
    ],
)
def test_what_the_rule_takes_a_text_for(text: Any, value: Any) -> None:
    assert object_in(text) == value


def test_a_backslash_that_python_does_not_know_is_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert object_in("{'a': '\\d'}") == {"a": "\\d"}


def test_judging_leaves_answer_and_state_as_they_were() -> None:
    answer = said(Put(path=("a",), value={}), Put(path=("a", "b"), value=1), Put(path=("tags", "1", "n"), value=2))
    sample = made()
    kept = answer.model_dump(), sample.model_dump()
    published_verdict(sample, answer)
    assert (answer.model_dump(), sample.model_dump()) == kept


def of_cell(cell: Cell) -> Sample:
    """A sample of ``cell`` in which no key goes away."""
    size = 0 if "no_change" in cell.groups or "failure" in cell.groups else (cell.sizes or (7,))[0]
    changes = [Put(path=(f"k{number}",), value=1) for number in range(size)]
    arguments: dict[str, Any] = {f"a{number}": 1 for number in range(cell.arguments or 0)}
    return made(*changes, is_error="failure" in cell.groups, arguments=arguments)


def overall(cells: tuple[Cell, ...], answer: Prediction) -> tuple[float, float]:
    """Config Match in per cent over the published quotas, by the released rule and by ours."""
    samples = [(cell.count, of_cell(cell)) for cell in cells]
    assert all(cell.holds(sample) for cell, (_, sample) in zip(cells, samples, strict=True))
    total = sum(count for count, _ in samples)
    released = sum(count * published_verdict(sample, answer).config_match for count, sample in samples)
    ours = sum(count * bool(score(sample, answer).config_match) for count, sample in samples)
    return 100 * released / total, 100 * ours / total


def test_doing_nothing_gets_exactly_25_per_cent_of_the_published_quotas_by_either_rule() -> None:
    nothing = asyncio.run(DoNothing().answer(made()))
    assert overall(PUBLISHED, nothing) == (25.0, 25.0)


def test_destroying_the_state_gets_the_same_25_per_cent_by_the_released_rule_and_nothing_by_ours() -> None:
    destroyed = said(*(Remove(path=(key,)) for key in STATE))
    assert overall(PUBLISHED, destroyed) == (25.0, 0.0)


def test_the_published_quotas_are_20_failures_80_unchanging_and_50_200_50_changing() -> None:
    counts = {name: sum(cell.count for cell in PUBLISHED if name in cell.groups) for name in GROUPS}
    assert counts == {"failure": 20, "no_change": 80, "simple": 50, "medium": 200, "difficult": 50, "beyond": 0}

"""What a run came to: verdicts, and rates over any selection of them."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simia import worlds
from simia.bench.published import published_verdict
from simia.bench.results import Results, by, read_results
from simia.bench.run import SUITE_FILE, Examination, measure
from simia.bench.score import score, similarity
from simia.bench.settings import BenchSettings
from simia.bench.strata import CHANGING
from simia.bench.suite import Suite, read_suite
from simia.errors import ConfigError, ServerFailed, StoreError
from simia.models.cast import Cast
from simia.models.scripted import Answer
from simia.store import Manifest, Run
from simia.types import ChatRequest

MakeCast = Callable[..., Cast]
Measure = Callable[..., Results]


@pytest.fixture
def measured(suite_file: Path, make_cast: MakeCast, tmp_path: Path) -> Measure:
    """The results of a run over the small suite; a text is a baseline, a function a model."""

    def take(who: Any, folder: str = "run", **given: Any) -> Results:
        name = f"baseline:{who}" if isinstance(who, str) else "scripted"
        settings = BenchSettings.model_validate({"suite": str(suite_file), "model": {"name": name}} | given)
        cast = None if isinstance(who, str) else make_cast(who)
        examination = Examination(settings, read_suite(suite_file), suite_file, cast, worlds.load)
        asyncio.run(measure(examination, tmp_path / folder))
        return read_results(tmp_path / folder)

    return take


def test_every_answer_has_its_verdict_by_both_rules(measured: Measure, suite: Suite) -> None:
    results = measured("oracle")
    assert {verdict.sample.id for verdict in results.verdicts} == {sample.id for sample in suite.samples}
    for verdict in results.verdicts:
        assert verdict.score == score(verdict.sample, verdict.prediction)
        assert verdict.published == published_verdict(verdict.sample, verdict.prediction)


def test_rates_are_over_all_or_over_a_selection(measured: Measure, suite: Suite) -> None:
    results = measured("do-nothing")
    still = sum(sample.size == 0 for sample in suite.samples)
    whole, changing = results.config_match(), results.config_match(results.changing())
    assert whole is not None
    assert changing is not None
    assert (whole.hits, whole.count) == (still, len(suite.samples))
    assert (changing.hits, changing.count) == (0, len(suite.samples) - still)


def test_changing_and_unchanging_are_all(measured: Measure) -> None:
    results = measured("echo")
    assert {verdict.group for verdict in results.changing()} <= set(CHANGING)
    assert {verdict.group for verdict in results.unchanging()} == {"failure", "no_change"}
    assert len(results.changing()) + len(results.unchanging()) == len(results.verdicts)


def test_groups_stand_in_the_order_of_their_keys(measured: Measure) -> None:
    groups = by(measured("echo").verdicts, lambda verdict: verdict.sample.size)
    assert list(groups) == sorted(groups)
    assert sum(map(len, groups.values())) == 39


def test_a_run_in_the_hidden_setting_has_no_config_match(measured: Measure) -> None:
    results = measured(lambda request: '{"observation": {"success": true}, "is_error": false}', setting="hidden")
    assert results.config_match() is None
    assert results.feedback_match().count == len(results.verdicts)
    assert {verdict.score.config_match for verdict in results.verdicts} == {None}


def test_samples_that_nobody_answered_are_in_no_rate(measured: Measure) -> None:
    asked = iter(range(10**6))

    def broken(request: ChatRequest) -> Answer:
        return ServerFailed("status 500") if next(asked) % 3 == 0 else "no json"

    results = measured(broken)
    assert (results.unanswered, len(results.verdicts), results.asked) == (13, 26, 39)
    assert results.feedback_match().count == 26
    assert not results.is_complete


def test_answers_that_cannot_be_read_are_in_every_rate_and_counted_by_their_word(measured: Measure) -> None:
    asked = iter(range(10**6))
    misfit = {"observation": 1, "is_error": False, "changes": [{"op": "remove", "path": ["no", "such"]}]}

    def odd(request: ChatRequest) -> Answer:
        return misfit if next(asked) % 3 == 0 else "no json"

    results = measured(odd)
    assert results.problems() == {"unreadable": 26, "does not fit the state": 13}
    assert results.feedback_match().count == 39
    assert results.is_complete


def test_a_limited_run_is_complete_with_its_own_samples(measured: Measure) -> None:
    results = measured("echo", limit=10)
    assert (len(results.verdicts), results.asked, results.is_complete) == (10, 10, True)


def test_a_run_that_has_not_begun_has_no_verdict(measured: Measure, tmp_path: Path) -> None:
    measured("echo")
    (tmp_path / "run/streams/answers.jsonl").unlink()
    results = read_results(tmp_path / "run")
    assert (results.verdicts, results.drifts, results.unanswered) == ((), (), 0)
    assert results.feedback_match().value is None


def test_similarity_is_the_mean_over_all_answers(measured: Measure) -> None:
    assert measured("oracle").similarity == 1.0
    echo = measured("echo", "echo")
    values = [similarity(verdict.sample, verdict.prediction) for verdict in echo.verdicts]
    assert echo.similarity == pytest.approx(sum(values) / len(values))
    assert echo.feedback_match().value < echo.similarity < 1  # type: ignore[operator]


def test_similarity_of_no_answer_is_none(measured: Measure, tmp_path: Path) -> None:
    measured("echo")
    (tmp_path / "run/streams/answers.jsonl").unlink()
    assert read_results(tmp_path / "run").similarity is None


def test_episodes_come_back_step_by_step(measured: Measure, suite: Suite) -> None:
    results = measured("oracle", drift=1)
    assert [len(steps) for steps in results.drifts] == [len(one.steps) for one in suite.episodes if one.role == "drift"]
    assert all(step.state_match for steps in results.drifts for step in steps)


def test_a_run_of_simia_synth_is_told_as_none(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", Manifest(run="shop", version="0.1.0", created="now", config={})):
        pass
    with pytest.raises(ConfigError, match="is no run of simia bench run: it holds no suite; simia runs show"):
        read_results(tmp_path / "run")


def test_a_folder_without_a_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="name the folder that was given to --run"):
        read_results(tmp_path / "nowhere")


def test_a_suite_that_was_cut_in_its_run_is_to_be_copied_there_again(measured: Measure) -> None:
    suite = measured(lambda request: "{}", limit=2).folder / SUITE_FILE
    suite.write_bytes(suite.read_bytes()[:-9])
    with pytest.raises(
        ConfigError, match=r"is cut or damaged .*: copy the suite that the run was begun with there again"
    ):
        read_results(suite.parent)

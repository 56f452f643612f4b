"""The self-check of the instrument: what simulators that need no model get, on every world that is measured on."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from simia import worlds
from simia.bench.baselines import NAMES, Baseline, baseline
from simia.bench.published import published_verdict
from simia.bench.sample import Sample
from simia.bench.score import Score, score
from simia.bench.strata import CHANGING, group_of
from simia.bench.suite import Suite
from simia.errors import ConfigError
from simia.formats.calls import dump_json, load_json
from simia.types import ToolCall

Judged = Callable[[str], dict[str, Score]]


@pytest.fixture(scope="module")
def judged(suite: Suite) -> Judged:
    """The scores of a baseline by sample."""
    known: dict[str, dict[str, Score]] = {}

    def scores(name: str) -> dict[str, Score]:
        if name not in known:
            subject = subject_of(name, suite)
            known[name] = {one.id: score(one, asyncio.run(subject.answer(one))) for one in suite.samples}
        return known[name]

    return scores


def subject_of(name: str, suite: Suite) -> Baseline:
    return baseline(name, suite, "constrained", worlds.load)


def of_world(suite: Suite, name: str) -> list[Sample]:
    return [sample for sample in suite.samples if sample.world == name]


@pytest.mark.parametrize("name", worlds.BENCHMARK)
def test_the_suite_has_samples_of_the_world_that_change_something(suite: Suite, name: str) -> None:
    assert any(group_of(sample) in CHANGING for sample in of_world(suite, name))


@pytest.mark.parametrize("name", worlds.BENCHMARK)
def test_the_world_itself_is_always_right(suite: Suite, judged: Judged, name: str) -> None:
    scores = [judged("oracle")[sample.id] for sample in of_world(suite, name)]
    assert all(one.config_match and one.feedback_match and one.error_match and not one.problem for one in scores)


@pytest.mark.parametrize("name", worlds.BENCHMARK)
def test_doing_nothing_is_never_right_where_something_changes(suite: Suite, judged: Judged, name: str) -> None:
    changing = [sample for sample in of_world(suite, name) if group_of(sample) in CHANGING]
    assert not any(judged("do-nothing")[sample.id].config_match for sample in changing)


def test_doing_nothing_is_always_right_where_nothing_changes(suite: Suite, judged: Judged) -> None:
    unchanging = [sample for sample in suite.samples if sample.size == 0]
    assert unchanging
    assert all(judged("do-nothing")[sample.id].config_match for sample in unchanging)


def test_doing_nothing_never_says_that_a_call_failed(suite: Suite, judged: Judged) -> None:
    assert all(judged("do-nothing")[sample.id].error_match is not sample.is_error for sample in suite.samples)


def test_echo_says_back_the_arguments_and_changes_nothing(suite: Suite) -> None:
    sample = next(one for one in suite.samples if one.call.arguments)
    said = asyncio.run(subject_of("echo", suite).answer(sample))
    assert load_json(said.observation or "") == sample.call.arguments
    assert (said.changes, said.is_error) == ((), False)


def test_nearest_replays_the_first_of_the_most_similar_steps(suite: Suite) -> None:
    subject = subject_of("nearest", suite)
    steps = {
        (name, step.call.name, dump_json(step.call.arguments)): (name, step)
        for name in suite.head.worlds
        for episode in reversed(suite.examples(name))
        for step in reversed(episode.steps)
    }
    for name, step in steps.values():
        asked = suite.samples[0].model_copy(update={"world": name, "call": step.call})
        said = asyncio.run(subject.answer(asked))
        assert said.observation == step.observation
        assert (said.is_error, said.changes) == (step.is_error, step.delta.changes)


def test_nearest_says_nothing_of_a_tool_that_no_example_calls(suite: Suite) -> None:
    asked = suite.samples[0].model_copy(update={"call": ToolCall(id="call_1", name="fly", arguments={})})
    said = asyncio.run(subject_of("nearest", suite).answer(asked))
    assert (said.observation, said.changes) == ("{}", ())


def test_copying_an_example_is_hardly_ever_right_where_something_changes(suite: Suite, judged: Judged) -> None:
    changing = [sample for sample in suite.samples if group_of(sample) in CHANGING]
    assert sum(bool(judged("nearest")[sample.id].config_match) for sample in changing) < 0.1 * len(changing)


@pytest.mark.parametrize("name", NAMES)
def test_every_baseline_answers_the_same_again(suite: Suite, name: str) -> None:
    first, second = subject_of(name, suite), subject_of(name, suite)
    for sample in suite.samples[::7]:
        assert asyncio.run(first.answer(sample)) == asyncio.run(second.answer(sample))


def test_doing_nothing_gets_by_the_released_rule_what_it_gets_by_ours(suite: Suite, judged: Judged) -> None:
    subject = subject_of("do-nothing", suite)
    for sample in suite.samples:
        released = published_verdict(sample, asyncio.run(subject.answer(sample)))
        assert released.config_match is judged("do-nothing")[sample.id].config_match


def test_an_unknown_baseline_is_told_the_known_ones(suite: Suite) -> None:
    with pytest.raises(ConfigError, match="no baseline 'best'; there are baseline:oracle, baseline:do-nothing"):
        subject_of("best", suite)


def test_an_oracle_without_its_world_is_refused(suite: Suite) -> None:
    name, spec = next(iter(suite.head.worlds.items()))
    head: Any = suite.head.model_copy(update={"worlds": {"atlantis": spec}})
    with pytest.raises(ConfigError, match="no executable world 'atlantis'"):
        subject_of("oracle", Suite(head, (), (), suite.sha256))
    assert name in worlds.names()

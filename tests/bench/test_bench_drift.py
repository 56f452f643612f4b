"""Drift: a simulator goes on from its own state, along the calls of a gold trajectory."""

import asyncio
from collections.abc import Callable

import pytest

from simia import worlds
from simia.bench.baselines import DoNothing, Oracle
from simia.bench.drift import DriftAnswer, DriftStep, compare, drift
from simia.bench.prediction import Prediction
from simia.bench.sample import Episode, Sample
from simia.bench.suite import Suite
from simia.errors import EndpointLost
from simia.types import Put, StateDelta, ToolMessage


class Scripted:
    """A subject that answers by a function, and remembers what it was asked."""

    name = "scripted"

    def __init__(self, answer: Callable[[Sample], Prediction]) -> None:
        self._answer = answer
        self.asked: list[Sample] = []

    async def answer(self, sample: Sample) -> Prediction:
        self.asked.append(sample)
        return self._answer(sample)


def right(sample: Sample) -> Prediction:
    return Prediction(observation=sample.observation, is_error=sample.is_error, changes=sample.delta.changes)


def touched(sample: Sample) -> Prediction:
    """The right answer, and a note in the state that nobody asked for."""
    note = Put(path=("touched",), value=sample.id)
    return right(sample).model_copy(update={"changes": (*sample.delta.changes, note)})


@pytest.fixture(scope="module")
def episode(suite: Suite) -> Episode:
    """The longest episode that drift is measured on."""
    return max((one for one in suite.episodes if one.role == "drift"), key=lambda one: len(one.steps))


def followed(
    episode: Episode, answer: Callable[[Sample], Prediction], *, hidden: bool = False
) -> tuple[tuple[DriftStep, ...], Scripted]:
    subject = Scripted(answer)
    answers = asyncio.run(drift(subject, episode, hidden=hidden))
    return compare(episode, answers, hidden=hidden), subject


@pytest.mark.parametrize("name", worlds.BENCHMARK)
def test_the_world_itself_never_drifts(suite: Suite, name: str) -> None:
    oracle = Oracle(suite, worlds.load)
    episodes = [one for one in suite.episodes if one.world == name and one.role == "drift"]
    assert episodes
    for one in episodes:
        steps = compare(one, asyncio.run(drift(oracle, one, hidden=False)), hidden=False)
        assert len(steps) == len(one.steps)
        assert all(step.state_match and step.feedback_match and step.distance == 0 for step in steps)


def test_doing_nothing_is_right_as_long_as_nothing_has_changed(episode: Episode) -> None:
    steps = compare(episode, asyncio.run(drift(DoNothing(), episode, hidden=False)), hidden=False)
    assert any(step.has_changed for step in steps)
    assert all(step.state_match is not step.has_changed for step in steps)


def test_the_own_state_is_what_is_asked_next(episode: Episode) -> None:
    _, subject = followed(episode, touched)
    assert [sample.state.get("touched") for sample in subject.asked] == [
        None,
        *(sample.id for sample in subject.asked[:-1]),
    ]


def test_what_was_invented_once_stays_wrong(episode: Episode) -> None:
    steps, _ = followed(episode, touched)
    assert [step.state_match for step in steps] == [False] * len(steps)
    assert {step.distance for step in steps} == {1}


def test_the_distance_counts_the_values_that_differ(episode: Episode) -> None:
    silent, _ = followed(episode, lambda sample: Prediction(observation="", changes=()))
    true, changed = episode.initial_state, []
    for step in episode.steps:
        true = step.delta.apply(true)
        changed.append(StateDelta.between(episode.initial_state, true).size)
    assert [step.distance for step in silent] == changed


@pytest.mark.parametrize(
    "broken",
    [
        Prediction(problem="unreadable: no JSON"),
        Prediction(observation="{}", changes=(Put(path=("no", "such", "place"), value=1),)),
    ],
)
def test_a_step_that_cannot_be_read_or_applied_leaves_the_state(episode: Episode, broken: Prediction) -> None:
    _, subject = followed(episode, lambda sample: broken)
    assert all(sample.state == episode.initial_state for sample in subject.asked)


def test_after_an_unreadable_step_the_episode_goes_on(episode: Episode) -> None:
    first = f"{episode.id}/0"
    steps, _ = followed(episode, lambda sample: Prediction(problem="x: y") if sample.id == first else right(sample))
    assert [step.number for step in steps] == list(range(1, len(episode.steps) + 1))
    assert [step.feedback_match for step in steps] == [False] + [True] * (len(steps) - 1)


def test_the_history_holds_what_the_simulator_said(episode: Episode) -> None:
    _, subject = followed(episode, lambda sample: Prediction(observation=f"said {sample.id}", changes=()))
    results = [message for message in subject.asked[-1].history if isinstance(message, ToolMessage)]
    assert [result.content for result in results] == [f"said {sample.id}" for sample in subject.asked[:-1]]


def test_every_call_is_the_gold_one(episode: Episode) -> None:
    _, subject = followed(episode, lambda sample: Prediction(problem="x: y"))
    assert [sample.call for sample in subject.asked] == [step.call for step in episode.steps]


def test_a_hidden_state_has_neither_match_nor_distance(episode: Episode) -> None:
    steps, subject = followed(episode, right, hidden=True)
    assert {(step.state_match, step.distance) for step in steps} == {(None, None)}
    assert all(step.feedback_match for step in steps)
    true = episode.initial_state
    for sample, step in zip(subject.asked, episode.steps, strict=True):  # who looks behind the curtain sees the world
        assert sample.state == true
        true = step.delta.apply(true)


def test_the_oracle_is_right_at_every_step_that_it_cannot_see(episode: Episode) -> None:
    world = worlds.load(episode.world)
    steps, _ = followed(episode, lambda sample: Prediction.of(world.run(sample.state, sample.call)[0]), hidden=True)
    assert all(step.feedback_match for step in steps)


def test_an_endpoint_that_is_gone_ends_the_episode_with_an_error(episode: Episode) -> None:
    def gone(sample: Sample) -> Prediction:
        raise EndpointLost("gone")

    with pytest.raises(EndpointLost):
        followed(episode, gone)


def test_answers_come_back_from_disk_as_they_were(episode: Episode) -> None:
    answers = asyncio.run(drift(Scripted(touched), episode, hidden=False))
    again = DriftAnswer.model_validate_json(answers.model_dump_json())
    assert compare(episode, again, hidden=False) == compare(episode, answers, hidden=False)

"""Multi-step drift: the simulator goes on from its own state, along the calls of a gold trajectory.

At each step it is asked the gold call on the state that its own answers led to; a step whose answer cannot be read or
applied leaves that state as it is. State and observation are compared with the truth at every step, so that the curve
over the steps shows how long a simulated episode can be trusted.
"""

from dataclasses import dataclass

from simia.bench.normal import same_observation
from simia.bench.prediction import Prediction
from simia.bench.sample import Episode, Sample, exchange
from simia.bench.subjects import Subject
from simia.errors import StateError
from simia.types import Message, State, StateDelta, UserMessage, Value, differences


class DriftAnswer(Value):
    """What was said at each step of an episode, in order."""

    steps: tuple[Prediction, ...]


@dataclass(frozen=True, slots=True)
class DriftStep:
    """One step against the truth. ``state_match`` and ``distance``, the number of values that differ, are None where
    the state was hidden; ``has_changed`` says whether the truth has changed up to here at all.
    """

    number: int
    feedback_match: bool
    state_match: bool | None
    distance: int | None
    has_changed: bool


async def drift(subject: Subject, episode: Episode, *, hidden: bool) -> DriftAnswer:
    """Follow ``episode`` with ``subject``, which goes on from its own state; where it sees none (``hidden``), from its
    own observations, while the world goes on as it would.

    Raises:
        ModelError: nobody answered; the episode is asked again from its beginning.
    """
    state = episode.initial_state
    history: tuple[Message, ...] = (UserMessage(content=episode.instruction),)
    answers: list[Prediction] = []
    for number, step in enumerate(episode.steps):
        sample = Sample(
            id=f"{episode.id}/{number}",
            world=episode.world,
            origin="drift",
            call=step.call,
            state=state,
            observation=step.observation,
            is_error=step.is_error,
            delta=step.delta,
            history=history,
        )
        answer = await subject.answer(sample)
        answers.append(answer)
        state = step.delta.apply(state) if hidden else _after(state, answer)
        history = (*history, *exchange(step.call, answer.observation or "", is_error=bool(answer.is_error)))
    return DriftAnswer(steps=tuple(answers))


def compare(episode: Episode, answer: DriftAnswer, *, hidden: bool) -> tuple[DriftStep, ...]:
    """Each step of ``answer`` against the truth of ``episode``; steps are counted from 1."""
    true, own = episode.initial_state, episode.initial_state
    found = []
    for number, (step, prediction) in enumerate(zip(episode.steps, answer.steps, strict=False), start=1):
        true = step.delta.apply(true)
        own = own if hidden else _after(own, prediction)
        shown = prediction.observation
        distance = None if hidden else len(differences(true, own))
        found.append(
            DriftStep(
                number=number,
                feedback_match=shown is not None and same_observation(shown, step.observation),
                state_match=None if distance is None else distance == 0,
                distance=distance,
                has_changed=bool(differences(episode.initial_state, true)),
            )
        )
    return tuple(found)


def _after(state: State, prediction: Prediction) -> State:
    if prediction.changes is None:
        return state
    try:
        return StateDelta(changes=prediction.changes).apply(state)
    except StateError:
        return state

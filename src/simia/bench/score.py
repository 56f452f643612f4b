"""How right a prediction is: exact verdicts over whole states, and what was missed, invented or wrong.

Config Match is true only if applying the predicted changes to the state gives exactly the true next state. The released
scorer of EnvSimBench looks at the true changes only; :mod:`simia.bench.published` has it, for comparison.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simia.bench.normal import same_observation
from simia.bench.prediction import Prediction
from simia.bench.sample import Sample
from simia.errors import StateError
from simia.types import Path, Put, State, StateDelta, differences, same


@dataclass(frozen=True, slots=True)
class Score:
    """The verdicts on one prediction.

    ``config_match`` is None where the simulator was not asked for changes. ``problem`` says why an answer could not be
    read or applied; it is a failure all the same. ``right``, ``missed``, ``invented`` and ``wrong`` are the paths of
    changes: made and true, true but not made, made but not true, made at a true place with another value.
    """

    feedback_match: bool
    config_match: bool | None
    error_match: bool
    problem: str = ""
    right: tuple[Path, ...] = ()
    missed: tuple[Path, ...] = ()
    invented: tuple[Path, ...] = ()
    wrong: tuple[Path, ...] = ()

    @property
    def precision(self) -> float | None:
        """The share of the predicted changes that are true; None where none was predicted."""
        made = len(self.right) + len(self.wrong) + len(self.invented)
        return len(self.right) / made if made else None

    @property
    def recall(self) -> float | None:
        """The share of the true changes that were predicted; None where nothing changed."""
        true = len(self.right) + len(self.wrong) + len(self.missed)
        return len(self.right) / true if true else None


def score(sample: Sample, prediction: Prediction, *, with_changes: bool = True) -> Score:
    """The verdicts on ``prediction``. With ``with_changes`` False the state was hidden: Feedback Match only."""
    shown = prediction.observation
    feedback = shown is not None and same_observation(shown, sample.observation)
    error = prediction.is_error is not None and prediction.is_error == sample.is_error
    if not with_changes:
        return Score(feedback, None, error, prediction.problem)
    problem = prediction.problem
    predicted: State | None = None
    if prediction.changes is not None:
        try:
            predicted = StateDelta(changes=prediction.changes).apply(sample.state)
        except StateError as cause:
            problem = problem or f"does not fit the state: {cause}"
    if predicted is None:
        missed = tuple(change.path for change in sample.delta.changes)
        return Score(feedback, False, error, problem, missed=missed)
    return _compared(sample.state, predicted, sample.state_after, feedback, error, problem)


def score_states(before: State, predicted: State, truth: State) -> Score:
    """The verdict on a predicted next state alone, with the changes sorted into right, missed, invented and wrong."""
    return _compared(before, predicted, truth, True, True, "")


def _compared(before: State, predicted: State, truth: State, feedback: bool, error: bool, problem: str) -> Score:
    made = dict(differences(before, predicted))
    true = dict(differences(before, truth))
    right: list[Path] = []
    missed: list[Path] = []
    wrong: list[Path] = []
    for path, value in true.items():
        if path not in made:
            missed.append(path)
        elif made[path] is value or same(made[path], value):
            right.append(path)
        else:
            wrong.append(path)
    invented = [path for path in made if path not in true]
    return Score(
        feedback_match=feedback,
        config_match=not (missed or wrong or invented),
        error_match=error,
        problem=problem,
        right=tuple(right),
        missed=tuple(missed),
        invented=tuple(invented),
        wrong=tuple(wrong),
    )


def spelled(delta: StateDelta) -> Mapping[str, Any]:
    """The changes of ``delta`` for a person: path to value, or to None where the key goes away."""
    return {" > ".join(change.path): change.value if isinstance(change, Put) else None for change in delta.changes}

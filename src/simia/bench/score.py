"""How right a prediction is: exact verdicts over whole states, and what was missed, invented or wrong.

Config Match is true only if applying the predicted changes to the state gives exactly the true next state. The released
scorer of EnvSimBench looks at the true changes only; :mod:`simia.bench.published` has it, for comparison.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice

from simia.bench.normal import NOT_JSON, parsed, same_observation
from simia.bench.prediction import Prediction
from simia.bench.sample import Sample
from simia.errors import StateError
from simia.types import Path, State, StateDelta, canonical_json, differences, same

_WORD = re.compile(r'[^\s{}\[\]",:]+')
_MOST_WORDS = 400
_NEARLY = 0.999  # of words that are alike in texts that do not say the same


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
    def counts(self) -> "ChangeCounts":
        """How many changes were right, missed, invented and wrong."""
        return ChangeCounts(len(self.right), len(self.missed), len(self.invented), len(self.wrong))


@dataclass(frozen=True, slots=True)
class ChangeCounts:
    """Changes of one or more predictions, counted."""

    right: int = 0
    missed: int = 0
    invented: int = 0
    wrong: int = 0

    @property
    def true(self) -> int:
        """How many changes there were to predict."""
        return self.right + self.wrong + self.missed

    @property
    def precision(self) -> float | None:
        """The share of the predicted changes that are true; None where none was predicted."""
        made = self.right + self.wrong + self.invented
        return self.right / made if made else None

    @property
    def recall(self) -> float | None:
        """The share of the true changes that were predicted; None where nothing changed."""
        return self.right / self.true if self.true else None

    def __add__(self, other: "ChangeCounts") -> "ChangeCounts":
        return ChangeCounts(
            self.right + other.right,
            self.missed + other.missed,
            self.invented + other.invented,
            self.wrong + other.wrong,
        )


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


def similarity(sample: Sample, prediction: Prediction) -> float:
    """How alike the words of the two observations are, from 0 to 1; 1 exactly where they say the same.

    Words are what stands between white space and the punctuation of JSON, JSON with its keys sorted; of each side the
    first 400 count. It is no verdict: an id of one other digit is a wrong observation, and nearly the same text.
    Takes up to some 20 ms.
    """
    shown = prediction.observation
    if shown is None:
        return 0.0
    if same_observation(shown, sample.observation):
        return 1.0
    alike = SequenceMatcher(None, _words(shown), _words(sample.observation), autojunk=False).ratio()
    return min(alike, _NEARLY)


def _words(text: str) -> list[str]:
    value = parsed(text)
    with suppress(RecursionError):
        text = text if value is NOT_JSON else canonical_json(value).decode()
    return [word.group() for word in islice(_WORD.finditer(text), _MOST_WORDS)]

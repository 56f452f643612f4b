"""The scoring rule that EnvSimBench was released with, faults included, for comparison with its published table.

Written after the behaviour of the evaluation script of github.com/cookieApril/EnvSimBench, commit 938c5ce, which is
given the reply word by word, under the names that simia's prompt asks for. What it gets wrong, each a test: it looks at
the true changes only, so that invented changes are never punished and a simulator that changes nothing is right
wherever nothing changes; a key that goes away can never be right, unless by ``null`` in its place; a key with a dot is
looked for as two; ``true`` equals ``1``; of a list of records spelled as Python does, the first one counts alone; and a
reply that is JSON of another shape leaves the denominator. Its figures stand in columns of their own, never beside ours
without a label.
"""

import ast
import copy
import json
import re
import warnings
from dataclasses import dataclass
from typing import Any

from simia.bench.prediction import Prediction
from simia.bench.sample import Sample
from simia.types import State

_FENCED = re.compile(r"```(?:json)?\s*([\s\S]*?)```", re.IGNORECASE)
_BRACED = re.compile(r"\{[\s\S]*?\}")
_REMOVALS = ("remove", "delete", "removed")
_LONGEST_LIST = 10_000  # the script fills a list up to the place that a path names, however far that is


@dataclass(frozen=True, slots=True)
class PublishedVerdict:
    """What the released rule says. ``is_counted`` False: the reply leaves the denominator."""

    feedback_match: bool
    config_match: bool
    is_counted: bool = True


def published_verdict(sample: Sample, prediction: Prediction) -> PublishedVerdict:
    """The released rule on the reply, read as its script reads one; on what was predicted where there is no reply."""
    answer = _json_in(prediction.reply) if prediction.reply else _spelled(prediction)
    if answer is None:
        return PublishedVerdict(False, False)
    predicted = copy.deepcopy(sample.state)
    try:
        shown = answer.get("observation")
        for change in answer.get("changes", []):
            _apply(predicted, change)
    except (AttributeError, TypeError, IndexError):  # the script stops over this sample, and goes on without it
        return PublishedVerdict(False, False, is_counted=False)
    feedback = bool(object_in(shown) == object_in(sample.observation))
    return PublishedVerdict(feedback, _holds_true_changes(predicted, sample.state, sample.state_after))


def _spelled(prediction: Prediction) -> dict[str, Any] | None:
    if prediction.observation is None and prediction.changes is None:
        return None
    return prediction.model_dump(include={"observation", "changes"})


def _holds_true_changes(predicted: State, before: State, after: State) -> bool:
    for path, value in _dotted_changes(before, after, ""):
        here: Any = predicted
        for key in path.split("."):
            if not isinstance(here, dict) or key not in here:
                return False
            here = here[key]
        if here != value:
            return False
    return True


def _dotted_changes(before: State, after: State, prefix: str) -> list[tuple[str, Any]]:
    """Path with dots and the value after, None for a key that went away."""
    found: list[tuple[str, Any]] = []
    for key in sorted({*before, *after}):
        path = f"{prefix}.{key}" if prefix else key
        if key in before and key in after and isinstance(before[key], dict) and isinstance(after[key], dict):
            found += _dotted_changes(before[key], after[key], path)
        elif key not in before or key not in after or before[key] != after[key]:
            found.append((path, after.get(key)))
    return found


def _apply(state: State, change: Any) -> None:
    """Make the change where it fits, with the parents that it needs; else leave the state alone.

    Raises:
        AttributeError, TypeError, IndexError: the script stops over such a change.
    """
    path, value = change.get("path"), change.get("value", change.get("after"))
    if not path:
        return
    *parents, last = path if isinstance(path, list | tuple) else str(path).split(".")
    here: Any = state
    for key in parents:
        if isinstance(here, dict):
            here = here.setdefault(key, {})
        elif isinstance(here, list) and (place := _place(key)) is not None:
            here += ({} for _ in range(len(here), place + 1))
            here = here[place]
        else:
            return
    place = _place(last) if isinstance(here, list) else None
    if change.get("op") in _REMOVALS:
        if isinstance(here, dict):
            here.pop(last, None)
        elif place is not None and 0 <= place < len(here):
            del here[place]
    elif isinstance(here, dict):
        here[last] = value
    elif place is not None:
        here += [None] * (place + 1 - len(here))
        here[place] = value


def _place(key: Any) -> int | None:
    try:
        place = int(key)
    except (ValueError, TypeError, OverflowError):
        return None
    if place > _LONGEST_LIST:
        raise IndexError(place)
    return place


def object_in(value: Any) -> Any:
    """What the rule takes a text for: the JSON or Python literal in it, or the text."""
    if not isinstance(value, str):
        return value
    texts = [value]
    stripped = value.strip()
    if stripped[:1] in ("'", '"') and stripped[-1:] == stripped[:1]:
        texts.append(stripped[1:-1])
    for text in texts:
        found = _json_in(text)
        if found is not None:
            return found
        is_one, literal = _read(ast.literal_eval, text)
        if is_one:
            return literal
    return value


def _json_in(text: str) -> Any:
    """The value in a code fence, the whole text, or the value between the first braces; None where there is none."""
    fenced = _FENCED.search(text)
    if fenced is not None:
        inner = fenced.group(1).strip()
        for read in (json.loads, ast.literal_eval):
            is_one, value = _read(read, inner)
            if is_one:
                return value
    is_one, value = _read(json.loads, text)
    braced = None if is_one else _BRACED.search(text)
    if braced is not None:
        is_one, value = _read(json.loads, braced.group(0))
        if not is_one:
            _, value = _read(ast.literal_eval, braced.group(0))
    return value


def _read(read: Any, text: str) -> tuple[bool, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns about backslashes that it does not know
            return True, read(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return False, None

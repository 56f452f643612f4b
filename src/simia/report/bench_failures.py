"""The failed samples of a page as data for its script: what was true, what was said, and where the two part."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from simia.bench.prediction import Prediction
from simia.bench.results import Verdict
from simia.bench.sample import Sample
from simia.bench.score import Score
from simia.bench.strata import GROUPS, group_of
from simia.errors import FormatError, StateError
from simia.formats.calls import dump_json, load_json
from simia.report.bench_entries import Entry
from simia.report.selection import Reservoir, share_out
from simia.types import ABSENT, AssistantMessage, Change, Message, Path, Put, State, StateDelta, ToolMessage

MOST_SHOWN = 500
"""Failed samples of one run in a page."""

_MOST_IN_ALL = 2_000
_MOST_CHANGES = 60
_LONGEST = 4_000  # characters of an observation, of a value or of a reply
_LONGEST_KEY = 200
_LONGEST_HISTORY = 6_000
_MOST_STATES = 1_500_000  # characters of states in a page
_EXACT = 2.0**53  # below it every whole number is a float

UNUSABLE = "could not be read or applied"
STATE = "wrong next state"
MISSED = "missed a change"
INVENTED = "invented a change"
WRONG = "changed to another value"
OBSERVATION = "wrong observation"
FLAG = "wrong error flag"


def kinds_of(verdict: Verdict) -> list[str]:
    """How ``verdict`` failed; empty where nothing did. Of an answer that could not be used, missed changes are not
    said apart.
    """
    score, prediction = verdict.score, verdict.prediction
    usable = not score.problem
    found = (
        (UNUSABLE, not usable),
        (STATE, score.config_match is False),
        (MISSED, usable and bool(score.missed)),
        (INVENTED, bool(score.invented)),
        (WRONG, bool(score.wrong)),
        (OBSERVATION, not score.feedback_match and (usable or prediction.observation is not None)),
        (FLAG, not score.error_match and (usable or prediction.is_error is not None)),
    )
    return [kind for kind, holds in found if holds]


@dataclass
class Failures:
    """What the script of the page reads. A sample, a state and a tool's code stand there once, however many runs failed
    on them. ``shown`` and ``failed`` are counts by run.
    """

    samples: dict[str, dict[str, Any]] = field(default_factory=dict)
    items: list[dict[str, Any]] = field(default_factory=list)
    shown: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    _states: "_Pool" = field(default_factory=lambda: _Pool(_MOST_STATES))
    _codes: "_Pool" = field(default_factory=lambda: _Pool(_MOST_STATES))

    @classmethod
    def of(cls, shown: Sequence[Entry], most: int = MOST_SHOWN) -> "Failures":
        """The failed samples of ``shown``, at most ``most`` of each, spread over the strata."""
        failures = cls()
        cap = min(most, max(1, _MOST_IN_ALL // max(1, len(shown))))
        is_conversation_wanted = any(entry.is_hidden for entry in shown)
        for entry in shown:
            failed = [verdict for verdict in entry.run.verdicts if kinds_of(verdict)]
            chosen = _spread(failed, cap)
            failures.failed.append(len(failed))
            failures.shown.append(len(chosen))
            for verdict in chosen:
                key = failures._sample(entry, verdict.sample, with_history=is_conversation_wanted)
                failures.items.append(_item(entry, verdict, key))
        failures._tell_who_was_right(shown)
        return failures

    def as_json(self) -> dict[str, Any]:
        """The data as it is embedded."""
        return {
            "samples": self.samples,
            "items": self.items,
            "states": self._states.texts,
            "codes": self._codes.texts,
        }

    def _sample(self, entry: Entry, sample: Sample, *, with_history: bool) -> str:
        suite = entry.run.suite
        key = f"{suite.sha256[:8]}/{sample.id}"
        if key in self.samples:
            return key
        tool = suite.head.worlds[sample.world].tool.get(sample.call.name)
        self.samples[key] = {
            "id": sample.id,
            "world": sample.world,
            "tool": sample.call.name,
            "origin": sample.origin,
            "group": GROUPS.index(group_of(sample)),
            "size": sample.size,
            "arguments": cut(dump_json(sample.call.arguments)),
            "observation": cut(comparable(sample.observation)),
            "is_error": sample.is_error,
            "state": self._states.put(dump_json(sample.state)),
            "code": self._codes.put((tool.source if tool is not None else None) or ""),
            "history": cut(_conversation(sample.history), _LONGEST_HISTORY) if with_history else "",
            "right": [],
            "wrong": [],
        }
        return key

    def _tell_who_was_right(self, shown: Sequence[Entry]) -> None:
        for entry in shown:
            prefix = entry.run.suite.sha256[:8]
            for verdict in entry.run.verdicts:
                sample = self.samples.get(f"{prefix}/{verdict.sample.id}")
                if sample is not None:
                    sample["right" if entry.is_right(verdict) else "wrong"].append(entry.place)


class _Pool:
    """Texts by number, each once, up to a number of characters in all."""

    def __init__(self, most: int) -> None:
        self.texts: list[str] = []
        self._places: dict[str, int] = {}
        self._left = most

    def put(self, text: str) -> int | None:
        """The number of ``text``, or None where there is no room, or nothing to store."""
        place = self._places.get(text)
        if place is not None or not text or len(text) > self._left:
            return place
        self._left -= len(text)
        self.texts.append(text)
        return self._places.setdefault(text, len(self._places))


def comparable(text: str) -> str:
    """``text``, or where it is JSON, one spelling of its value: compact, keys sorted, ``1.0`` as ``1``. So what differs
    in two texts is what Feedback Match calls different.
    """
    try:
        value = load_json(text)
        return json.dumps(_plain(value), separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    except (FormatError, RecursionError, OverflowError):
        return text


def cut(text: str, longest: int = _LONGEST) -> str:
    """``text``, shortened, with a word about how much is gone."""
    return text if len(text) <= longest else f"{text[:longest]} … ({len(text) - longest:,} more characters)"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT else value


def _spread(failed: Sequence[Verdict], cap: int) -> list[Verdict]:
    """At most ``cap`` of ``failed``: each stratum's share, drawn alike from its samples, in their order."""
    if len(failed) <= cap:
        return list(failed)
    counts: dict[str, int] = {group: sum(verdict.group == group for verdict in failed) for group in GROUPS}
    reservoirs = {group: Reservoir[int](share) for group, share in share_out(cap, counts).items()}
    for number, verdict in enumerate(failed):
        place = reservoirs[verdict.group].place()
        if place is not None:
            reservoirs[verdict.group].put(place, number)
    return [failed[number] for number in sorted(n for reservoir in reservoirs.values() for n in reservoir.items)]


def _item(entry: Entry, verdict: Verdict, key: str) -> dict[str, Any]:
    prediction, score = verdict.prediction, verdict.score
    changes = [] if entry.is_hidden else list(_changes(verdict.sample, prediction, score))
    return {
        "run": entry.place,
        "sample": key,
        "kinds": kinds_of(verdict),
        "problem": cut(score.problem),
        "observation": None if prediction.observation is None else cut(comparable(prediction.observation)),
        "shown_right": score.feedback_match,
        "state_right": score.config_match,
        "flag_right": score.error_match,
        "is_error": prediction.is_error,
        "changes": changes[:_MOST_CHANGES],
        "more": max(0, len(changes) - _MOST_CHANGES),
        "reply": cut(prediction.reply),
    }


def _changes(sample: Sample, prediction: Prediction, score: Score) -> Iterable[dict[str, Any]]:
    """True and predicted changes path by path, the wrong ones first; values are JSON text, absent ones are left out."""
    predicted: State | None = None
    if prediction.changes is not None:
        try:
            predicted = StateDelta(changes=prediction.changes).apply(sample.state)
        except StateError:
            for change in prediction.changes:
                yield _proposed(change)
    for kind, paths in (
        ("wrong", score.wrong),
        ("missed", score.missed),
        ("invented", score.invented),
        ("right", score.right),
    ):
        for path in paths:
            row: dict[str, Any] = {"kind": kind, "path": _spelled(path)}
            for name, state in (("before", sample.state), ("truth", sample.state_after), ("said", predicted)):
                value = ABSENT if state is None else _at(state, path)
                if value is not ABSENT:
                    row[name] = cut(dump_json(value))
            yield row


def _proposed(change: Change) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": "proposed", "path": _spelled(change.path)}
    if isinstance(change, Put):
        row["said"] = cut(dump_json(change.value))
    return row


def _spelled(path: Path) -> list[str]:
    return [cut(key, _LONGEST_KEY) for key in path]


def _at(state: State, path: Path) -> Any:
    here: Any = state
    for key in path:
        if not isinstance(here, dict) or key not in here:
            return ABSENT
        here = here[key]
    return here


def _conversation(messages: Sequence[Message]) -> str:
    lines = []
    for message in messages:
        if isinstance(message, ToolMessage):
            lines.append(f"{message.name} showed: {message.content}")
            continue
        if message.content:
            lines.append(f"{message.role}: {message.content}")
        if isinstance(message, AssistantMessage):
            lines += [f"call: {call.name} {dump_json(call.arguments)}" for call in message.tool_calls]
    return "\n".join(lines)

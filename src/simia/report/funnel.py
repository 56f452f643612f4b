"""The numbers of a run: how many items came through each stage, why the others did not, and how the kept ones look."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

STAGE_ORDER = ("prefilter", "generate", "postprocess")
"""The stages of a synthesis in the order in which items pass them; a stream of another name follows after."""

_SEEN = {"prefilter": "Seeds read", "generate": "Trajectories attempted"}
_LEFT = {
    "prefilter": "Seeds after the prefilter",
    "generate": "Trajectories generated",
    "postprocess": "Trajectories kept",
}


@dataclass(frozen=True, slots=True)
class StageTally:
    """What one stage did. ``dropped`` counts by rule and ``failed`` by error class."""

    name: str
    kept: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, int] = field(default_factory=dict)

    @property
    def seen(self) -> int:
        """Every item that has an outcome: kept + dropped + failed."""
        return self.kept + sum(self.dropped.values()) + sum(self.failed.values())

    @property
    def reasons(self) -> tuple[tuple[str, int], ...]:
        """The drop rules with their counts, the most frequent first, equal ones by name."""
        return tuple(sorted(self.dropped.items(), key=lambda pair: (-pair[1], pair[0])))


@dataclass(frozen=True, slots=True)
class Step:
    """One bar of the funnel: ``count`` of ``whole``, where ``whole`` is the first bar of the same unit (seeds or
    trajectories); ``opens`` marks that first bar.
    """

    label: str
    count: int
    whole: int
    opens: bool = False

    @property
    def share(self) -> float:
        """``count / whole``, and 0 where there was nothing."""
        return self.count / self.whole if self.whole else 0.0


@dataclass(frozen=True, slots=True)
class Funnel:
    """The stages of one run in order."""

    stages: tuple[StageTally, ...]

    @classmethod
    def of(cls, stages: Iterable[StageTally]) -> "Funnel":
        """The funnel of ``stages`` in whatever order they come."""
        known = {name: place for place, name in enumerate(STAGE_ORDER)}
        return cls(tuple(sorted(stages, key=lambda stage: (known.get(stage.name, len(known)), stage.name))))

    @property
    def steps(self) -> tuple[Step, ...]:
        """The bars: seeds first, then trajectories; a share is always of the unit's own beginning."""
        steps: list[Step] = []
        whole: int | None = None
        for stage in self.stages:
            opening = _SEEN.get(stage.name)
            if opening is not None or whole is None:
                whole = stage.seen
                steps.append(Step(opening or f"Seen by {stage.name}", whole, whole, opens=True))
            steps.append(Step(_LEFT.get(stage.name, f"Left after {stage.name}"), stage.kept, whole))
        return tuple(steps)

    @property
    def delivered(self) -> int:
        """What the last stage kept, or 0 before any stage."""
        return self.stages[-1].kept if self.stages else 0

    @property
    def is_finished(self) -> bool:
        """Whether the last stage of a synthesis has begun, so that what it kept are training examples."""
        return any(stage.name == STAGE_ORDER[-1] for stage in self.stages)


class Anatomy:
    """How kept trajectories look: counts that grow one trajectory at a time, in memory that does not grow with them.

    It reads the JSON form of a trajectory (``Trajectory.model_dump(mode="json")`` or a line of a stream), not the
    model, because validation costs twenty times the counting.
    """

    def __init__(self) -> None:
        self.lengths: Counter[int] = Counter()
        self.calls: Counter[int] = Counter()
        self.tools: Counter[str] = Counter()
        self.tool_errors: Counter[str] = Counter()
        self.stop_reasons: Counter[str] = Counter()
        self.repairs: Counter[str] = Counter()
        self.licences: Counter[str] = Counter()
        self.trajectories = 0

    def add(self, trajectory: Mapping[str, Any]) -> None:
        """Count one trajectory in."""
        messages = trajectory["messages"]
        self.trajectories += 1
        self.lengths[len(messages)] += 1
        self.stop_reasons[trajectory.get("stop_reason", "completed")] += 1
        # "pass: particulars": the pass is what can be counted.
        self.repairs.update({repair.partition(":")[0] for repair in trajectory.get("repairs", ())})
        licence = (trajectory.get("provenance") or {}).get("licence")
        if licence:
            self.licences[licence] += 1
        calls = 0
        for message in messages:
            if message["role"] == "assistant":
                for call in message.get("tool_calls", ()):
                    calls += 1
                    self.tools[call["name"]] += 1
            elif message["role"] == "tool" and message.get("is_error"):
                self.tool_errors[message["name"]] += 1
        self.calls[calls] += 1


@dataclass(frozen=True, slots=True)
class Bin:
    """One column of a histogram: whole numbers from ``low`` to ``high``, both included."""

    low: int
    high: int
    count: int

    @property
    def label(self) -> str:
        """``7`` or ``7-9``."""
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


def histogram(counts: Mapping[int, int], most_bins: int = 24) -> tuple[Bin, ...]:
    """Columns of equal width that cover ``counts`` without a gap, at most ``most_bins`` of them; empty for nothing."""
    present = [value for value, count in counts.items() if count]
    if not present:
        return ()
    first, last = min(present), max(present)
    width = -(-(last - first + 1) // most_bins)
    bins = []
    for low in range(first, last + 1, width):
        high = min(low + width - 1, last) if width > 1 else low
        bins.append(Bin(low, high, sum(counts.get(value, 0) for value in range(low, high + 1))))
    return tuple(bins)


def quantile(counts: Mapping[int, int], share: float) -> int | None:
    """The smallest value that at least ``share`` of the counted ones do not exceed, or None for nothing."""
    total = sum(counts.values())
    if not total:
        return None
    passed = 0
    for value in sorted(counts):
        passed += counts[value]
        if passed >= share * total:
            return value
    return max(counts)

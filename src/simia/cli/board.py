"""What a run has done so far, counted while it works.

The board watches through the pipeline's ``Observer``: its methods only count, under a lock, because they are called
once per item on the stage's thread, while a thread of its own shows the numbers.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from simia.store import Counts
from simia.types import Dropped, Failed, Kept, Outcome, Value

# So many failures in a row, and the speed so far says nothing of what is to come.
_STUCK = 5


@dataclass(slots=True)
class StageProgress:
    """One stage's numbers. ``before`` is what earlier runs had done, which says nothing about today's speed."""

    name: str
    total: int | None
    started_s: float
    before: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    failed_in_a_row: int = 0
    is_interrupted: bool = False
    waiting: str = ""
    finished_s: float | None = None

    @property
    def done(self) -> int:
        """Items with an outcome."""
        return self.kept + self.dropped.total() + self.failed.total()

    def left_s(self, now_s: float) -> float | None:
        """Seconds until the stage is through at the average speed since it began; None where nothing tells, as while
        one item after another fails.
        """
        settled = self.done - self.before
        is_stuck = self.failed_in_a_row >= _STUCK
        if self.total is None or settled <= 0 or self.finished_s is not None or is_stuck:
            return None
        return (self.total - self.done) * (now_s - self.started_s) / settled


class Board:
    """An observer that counts."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._stages: dict[str, StageProgress] = {}

    def started(self, stage: str, total: int | None, done: Counts) -> None:
        """A stage begins. Items that failed earlier run again, so they are not done."""
        with self._lock:
            self._stages[stage] = StageProgress(
                stage,
                total,
                self._clock(),
                before=done.seen - done.failed,
                kept=done.kept,
                dropped=Counter(done.dropped),
            )

    def settled(self, stage: str, key: str, outcome: Outcome[Value] | Outcome[bytes]) -> None:
        """One more item."""
        with self._lock:
            counted = self._stages[stage]
            counted.failed_in_a_row = counted.failed_in_a_row + 1 if isinstance(outcome, Failed) else 0
            if isinstance(outcome, Kept):
                counted.kept += 1
            elif isinstance(outcome, Dropped):
                counted.dropped[outcome.rule] += 1
            else:
                counted.failed[outcome.error] += 1

    def waiting(self, stage: str, in_flight: int, reason: str) -> None:
        """The stage takes nothing new."""
        with self._lock:
            self._stages[stage].waiting = f"{in_flight} in flight, {reason}"

    def finished(self, stage: str, counts: Counts) -> None:
        """The stage is over; its counts are the truth."""
        with self._lock:
            counted = self._stages[stage]
            counted.kept, counted.dropped = counts.kept, Counter(counts.dropped)
            counted.waiting, counted.finished_s = "", self._clock()
            counted.is_interrupted = counts.interrupted

    def stages(self) -> tuple[StageProgress, ...]:
        """A copy of the numbers, in the order in which the stages began."""
        with self._lock:
            return tuple(
                replace(stage, dropped=stage.dropped.copy(), failed=stage.failed.copy())
                for stage in self._stages.values()
            )

    def now_s(self) -> float:
        """The board's clock."""
        return self._clock()

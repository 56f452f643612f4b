"""What an error means for an item, and the tally of outcomes."""

from collections import Counter

from simia.errors import (
    AuthenticationFailed,
    ConfigError,
    CostCeilingReached,
    EndpointLost,
    ModelNotFound,
    SimiaError,
    StoreError,
)
from simia.store import Counts, Stream
from simia.types import Dropped, Failed, Kept, Outcome, Value

FATAL = (CostCeilingReached, EndpointLost, AuthenticationFailed, ModelNotFound, StoreError, ConfigError)
"""Errors after which no item can go on: the stage ends, and the item that met one has no outcome."""


def failure(error: SimiaError) -> Failed:
    """The outcome of an item that ``error`` ended. A foreign error, wrapped at the boundary, keeps its own name."""
    cause = error.__cause__
    name = type(cause).__name__ if type(error) is SimiaError and cause is not None else type(error).__name__
    return Failed(name, str(error))


class Tally:
    """Counts outcomes as they come."""

    def __init__(self) -> None:
        self.seen = 0
        self._kept = 0
        self._failed = 0
        self._dropped: Counter[str] = Counter()

    def add(self, outcome: Outcome[Value] | Outcome[bytes]) -> None:
        """One item met ``outcome``."""
        if isinstance(outcome, Kept):
            self._kept += 1
        elif isinstance(outcome, Dropped):
            self._dropped[outcome.rule] += 1
        else:
            self._failed += 1

    def add_done(self, stream: Stream, ordinal: int) -> None:
        """One item was kept or dropped by an earlier run."""
        rule = stream.rule_of(ordinal)
        if rule is None:
            self._kept += 1
        else:
            self._dropped[rule] += 1

    def counts(self, *, abandoned: int, interrupted: bool) -> Counts:
        """The sum. ``abandoned`` items were seen and then given up without an outcome; they count as not seen.

        Raises:
            ValueError: an item has no outcome, or two.
        """
        return Counts(
            seen=self.seen - abandoned,
            kept=self._kept,
            failed=self._failed,
            dropped=dict(self._dropped),
            interrupted=interrupted,
        )


def check_order(ordinal: int, last: int, stage: str) -> None:
    """Demand that ordinals rise, so that no item can be seen twice.

    Raises:
        ConfigError: ``ordinal`` does not come after ``last``.
    """
    if ordinal <= last:
        raise ConfigError(f"stage {stage!r} got item {ordinal} after item {last}: a source must count upwards")

"""Who watches a stage at work."""

from typing import Protocol

from simia.store import Counts
from simia.types import Outcome, Value


class Observer(Protocol):
    """Told of everything while it happens, on the thread of the stage; must return at once and keep nothing big."""

    def started(self, stage: str, total: int | None, done: Counts) -> None:
        """The stage begins; ``total`` is unknown for a source without length, ``done`` is from earlier runs."""
        ...

    def settled(self, stage: str, key: str, outcome: Outcome[Value] | Outcome[bytes]) -> None:
        """An item has its outcome, and the outcome is written."""
        ...

    def waiting(self, stage: str, in_flight: int, reason: str) -> None:
        """No new items are taken, for ``reason``; ``in_flight`` are still at work."""
        ...

    def finished(self, stage: str, counts: Counts) -> None:
        """The stage is over and everything is on the disk."""
        ...


class Silent:
    """An observer that does nothing."""

    def started(self, stage: str, total: int | None, done: Counts) -> None:
        """Nothing."""

    def settled(self, stage: str, key: str, outcome: Outcome[Value] | Outcome[bytes]) -> None:
        """Nothing."""

    def waiting(self, stage: str, in_flight: int, reason: str) -> None:
        """Nothing."""

    def finished(self, stage: str, counts: Counts) -> None:
        """Nothing."""

"""Which items a page shows, when a run has more of them than a page can hold."""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from simia.types import JsonObject

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shown:
    """One row of the page's list. ``value`` has the keys of a trajectory, or is None where a stage left nothing."""

    ordinal: int
    key: str
    stage: str
    status: str
    rule: str = ""
    detail: str = ""
    value: JsonObject | None = None

    def as_json(self) -> dict[str, Any]:
        """The row as the page's script reads it."""
        return {
            "key": self.key,
            "stage": self.stage,
            "status": self.status,
            "rule": self.rule,
            "detail": self.detail,
            "value": self.value,
        }


class Reservoir(Generic[T]):
    """At most ``size`` of the items it is offered, each with the same chance, in one pass (Vitter's algorithm R).

    The same offers give the same choice, so that two pages of one run show the same items.
    """

    def __init__(self, size: int, seed: int = 0) -> None:
        self._size = size
        self._rng = random.Random(seed)
        self._items: list[T] = []
        self.offered = 0

    def place(self) -> int | None:
        """Where the next offered item goes, or None where it is passed over. Counts as one offer.

        Asked before the item is built, so that an item that is passed over costs nothing.
        """
        self.offered += 1
        if len(self._items) < self._size:
            return len(self._items)
        drawn = self._rng.randrange(self.offered)
        return drawn if drawn < self._size else None

    def put(self, place: int, item: T) -> None:
        """Store ``item`` where :meth:`place` said."""
        if place == len(self._items):
            self._items.append(item)
        else:
            self._items[place] = item

    @property
    def items(self) -> tuple[T, ...]:
        """The chosen items, in no particular order."""
        return tuple(self._items)


def share_out(cap: int, wanted: dict[str, int]) -> dict[str, int]:
    """How many rows each group gets of ``cap``: equal shares, and what a small group leaves goes to the others.

    A run that keeps 2 % must not show a page without a kept trajectory, nor one that keeps 98 % a page without a
    dropped one.
    """
    shares = dict.fromkeys(wanted, 0)
    left = min(cap, sum(wanted.values()))
    while left:
        open_groups = [group for group in wanted if shares[group] < wanted[group]]
        each = max(left // len(open_groups), 1)
        for group in open_groups:
            step = min(each, wanted[group] - shares[group], left)
            shares[group] += step
            left -= step
    return shares


def conversation_of(value: JsonObject) -> JsonObject | None:
    """The parts of a stored value that the page shows: a trajectory as it is, a seed in a trajectory's shape.

    None for a value that is no conversation.
    """
    if "messages" in value:
        return value
    if "reference" not in value:
        return None
    return {
        "world": value.get("world"),
        "task": value.get("task", ""),
        "messages": value["reference"],
        "initial_state": value.get("initial_state"),
        "metadata": value.get("metadata", {}),
        "provenance": {"seed": value.get("id"), "licence": value.get("licence")},
    }


def in_order(rows: Iterable[Shown]) -> list[Shown]:
    """Rows by their place in the run."""
    return sorted(rows, key=lambda row: (row.ordinal, row.key, row.stage))

"""What became of an item: exactly one of kept, dropped, failed."""

from dataclasses import dataclass
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Kept(Generic[T_co]):
    """The item goes on as ``value``."""

    value: T_co


@dataclass(frozen=True, slots=True)
class Dropped:
    """A rule decided against the item: its name, stable and countable, and the particulars."""

    rule: str
    detail: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The item could not be judged: infrastructure, not content. ``error`` is the class name. Resume tries again."""

    error: str
    message: str


Outcome = Kept[T_co] | Dropped | Failed

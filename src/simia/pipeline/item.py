"""What goes through a stage, and what a stage is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from simia.types import Outcome, Value

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)
V = TypeVar("V", bound=Value)
V_co = TypeVar("V_co", bound=Value, covariant=True)


@dataclass(frozen=True, slots=True)
class Item(Generic[T_co]):
    """One thing to work on. ``ordinal`` is its place in the source, the same in every run; ``key`` names it."""

    ordinal: int
    key: str
    value: T_co


class Stage(Protocol[T_contra, V_co]):
    """One step of the work on each item. It keeps nothing from item to item and never sees an item twice at once."""

    @property
    def name(self) -> str:
        """The stage's name in streams, logs and messages."""
        ...

    async def __call__(self, item: Item[T_contra]) -> Outcome[V_co]:
        """What becomes of the item.

        Raises:
            SimiaError: the item failed, or, for the errors in ``pipeline.FATAL``, no item can go on.
        """
        ...


Pass = Callable[[Item[T]], Outcome[V]] | Callable[[Item[T]], Outcome[bytes]]
"""A stage that waits for nothing; the value it keeps may be given as JSON bytes."""

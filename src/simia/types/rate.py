"""A rate and how sure it is: Wilson's score interval."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

_Z95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Rate:
    """``hits`` of ``count``; ``low`` and ``high`` bound the true rate with 95 % confidence."""

    hits: int
    count: int

    @property
    def value(self) -> float | None:
        """The share of hits, or None of nothing."""
        return self.hits / self.count if self.count else None

    @property
    def low(self) -> float:
        """The lower bound."""
        return wilson(self.hits, self.count)[0]

    @property
    def high(self) -> float:
        """The upper bound."""
        return wilson(self.hits, self.count)[1]

    @classmethod
    def of(cls, verdicts: Iterable[bool]) -> "Rate":
        """The rate of true ones."""
        listed = list(verdicts)
        return cls(sum(listed), len(listed))


def wilson(hits: int, count: int, z: float = _Z95) -> tuple[float, float]:
    """The score interval of Wilson (1927) for a proportion; ``(0, 1)`` of nothing.

    Unlike the normal approximation it stays inside 0 to 1 and is useful at 0 % and 100 %.
    """
    if not count:
        return 0.0, 1.0
    share = hits / count
    scale = 1 + z * z / count
    centre = (share + z * z / (2 * count)) / scale
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / scale
    # The bounds at none and all are exact, whatever the rounding.
    return (0.0 if hits == 0 else max(0.0, centre - half)), (1.0 if hits == count else min(1.0, centre + half))

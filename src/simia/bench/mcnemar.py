"""The paired comparison of two simulators on the same samples: McNemar's exact test."""

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two simulators on the same samples: how often only the first, only the second was right; ``p_value`` is of the
    exact two-sided McNemar test, that neither is better.
    """

    only_first: int
    only_second: int
    both: int
    neither: int
    p_value: float


def mcnemar(first: Iterable[bool], second: Iterable[bool]) -> Pairing:
    """The paired comparison of two rows of verdicts on the same samples in the same order.

    The exact binomial test, since a benchmark has few samples on which two simulators differ.
    """
    pairs = list(zip(first, second, strict=True))
    only_first = sum(a and not b for a, b in pairs)
    only_second = sum(b and not a for a, b in pairs)
    both = sum(a and b for a, b in pairs)
    differing = only_first + only_second
    tail = sum(math.comb(differing, k) for k in range(min(only_first, only_second) + 1)) / 2**differing
    p_value = 1.0 if differing == 0 else min(1.0, 2 * tail)
    return Pairing(only_first, only_second, both, len(pairs) - both - differing, p_value)

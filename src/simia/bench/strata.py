"""How hard a sample is: three axes, the cells that EnvSimBench draws from, and its quotas.

The axes (arXiv 2605.07247, section on the benchmark, and the released sampling script): whether the call failed, how
many values it changed, and how many arguments it has. The published suite has 400 samples: 20 failures; 80 calls that
change nothing, 40 without arguments and 40 with one; 25 each with one and two changes; 50 each with three, four, five
and six; and 50 with seven to twelve.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from simia.bench.sample import Sample
from simia.errors import ConfigError

Group = Literal["failure", "no_change", "simple", "medium", "difficult", "beyond"]

GROUPS: tuple[Group, ...] = ("failure", "no_change", "simple", "medium", "difficult", "beyond")
"""The strata from easy to hard. ``beyond`` is more than twelve changes, which the published suite has not."""

GROUP_WORDS: dict[Group, str] = {
    "failure": "refused",
    "no_change": "no change",
    "simple": "1-2 changes",
    "medium": "3-6 changes",
    "difficult": "7-12 changes",
    "beyond": "over 12 changes",
}
"""What people read instead: what fails in a benchmark are simulators, and a call that the world turns down is refused.
"""

CHANGING: tuple[Group, ...] = ("simple", "medium", "difficult", "beyond")

LARGEST = 12
"""The number of changes that the published suite ends with."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Samples that share a quota: those of ``groups`` whose number of changes is among ``sizes``, and that have so many
    ``arguments``; where the latter are None any number will do.
    """

    name: str
    count: int
    groups: tuple[Group, ...]
    sizes: tuple[int, ...] | None = None
    arguments: int | None = None

    def holds(self, sample: Sample) -> bool:
        """Whether ``sample`` belongs here."""
        return (
            group_of(sample) in self.groups
            and (self.sizes is None or sample.size in self.sizes)
            and self.arguments in (None, sample.argument_count)
        )


PUBLISHED: tuple[Cell, ...] = (
    Cell("failure", 20, ("failure",)),
    Cell("no_change/0", 40, ("no_change",), arguments=0),
    Cell("no_change/1", 40, ("no_change",), arguments=1),
    Cell("1", 25, ("simple",), sizes=(1,)),
    Cell("2", 25, ("simple",), sizes=(2,)),
    Cell("3", 50, ("medium",), sizes=(3,)),
    Cell("4", 50, ("medium",), sizes=(4,)),
    Cell("5", 50, ("medium",), sizes=(5,)),
    Cell("6", 50, ("medium",), sizes=(6,)),
    Cell("7-12", 50, ("difficult",)),
)
"""The cells of EnvSimBench with their quotas, 400 in all."""

BALANCE2: tuple[Cell, ...] = (
    Cell("failure", 1000, ("failure",)),
    Cell("no_change", 1000, ("no_change",)),
    Cell("simple", 2000, ("simple",)),
    Cell("complex", 2230, ("medium", "difficult", "beyond")),
)
"""The mixture that the published simulator was trained on, 6,230 in all: the README of EnvSimBench."""


def group_of(sample: Sample) -> Group:
    """The stratum of ``sample``. A call that failed is a failure, however little it changed."""
    if sample.is_error:
        return "failure"
    size = sample.size
    if size == 0:
        return "no_change"
    if size <= 2:
        return "simple"
    if size <= 6:
        return "medium"
    return "difficult" if size <= LARGEST else "beyond"


def scaled(cells: Iterable[Cell], factor: float) -> tuple[Cell, ...]:
    """``cells`` with their quotas multiplied, each at least one."""
    return tuple(replace(cell, count=max(1, round(cell.count * factor))) for cell in cells)


def with_quotas(cells: tuple[Cell, ...], words: Iterable[str]) -> tuple[Cell, ...]:
    """``cells`` with the quotas that words such as ``failure=40`` or ``7-12=0`` set; a quota of 0 leaves a cell out.

    Raises:
        ConfigError: a word names no cell, or its number is none.
    """
    counts = {cell.name: cell.count for cell in cells}
    for word in words:
        name, sign, number = word.partition("=")
        if not sign or name not in counts or not number.isdecimal():
            raise ConfigError(f"{word!r} is no quota: write CELL=COUNT with a cell of {', '.join(counts)}")
        counts[name] = int(number)
    return tuple(replace(cell, count=counts[cell.name]) for cell in cells if counts[cell.name])

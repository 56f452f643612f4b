"""Where a run is wrong, by world, tool and stratum."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simia.bench.leaderboard import rate_text
from simia.bench.results import Verdict, by
from simia.bench.strata import GROUP_WORDS, GROUPS, Group
from simia.report.bench_entries import Entry
from simia.types.rate import Rate

_SHADES = 5


@dataclass(frozen=True, slots=True)
class Cell:
    """A rate with the class of its shade; empty where nothing was asked."""

    rate: Rate

    @property
    def text(self) -> str:
        """``3/20``."""
        return f"{self.rate.hits}/{self.rate.count}" if self.rate.count else ""

    @property
    def share(self) -> str:
        """The rate in per cent."""
        return rate_text(self.rate)

    @property
    def shade(self) -> str:
        """``h0`` for the worst fifth to ``h4`` for the best; only none is ``h0`` at 0, only all ``h4`` at 100."""
        if self.rate.value is None:
            return "none"
        return f"h{min(int(self.rate.value * _SHADES), _SHADES - 1)}"


@dataclass(frozen=True, slots=True)
class HeatRow:
    """A world or a tool with its cells: all of its samples, then by stratum."""

    world: str
    tool: str
    whole: Cell
    cells: Sequence[Cell]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Rows, those first that are surest to be bad, under the names of the strata."""

    groups: Sequence[Group]
    rows: Sequence[HeatRow]

    @property
    def header(self) -> tuple[str, ...]:
        """What the columns of strata are called."""
        return tuple(GROUP_WORDS[group] for group in self.groups)


def by_world(entry: Entry) -> HeatMap:
    """World by stratum."""
    return _heat(entry, lambda verdict: (verdict.sample.world, ""))


def by_tool(entry: Entry) -> HeatMap:
    """Tool by stratum."""
    return _heat(entry, lambda verdict: (verdict.sample.world, verdict.sample.call.name))


def _heat(entry: Entry, name: Callable[[Verdict], tuple[str, str]]) -> HeatMap:
    met = {verdict.group for verdict in entry.run.verdicts}
    groups = [group for group in GROUPS if group in met]
    rows = []
    for (world, tool), verdicts in by(entry.run.verdicts, name).items():
        cells = by(verdicts, lambda verdict: verdict.group)
        rows.append(
            HeatRow(
                world, tool, Cell(entry.rate(verdicts)), [Cell(entry.rate(cells.get(group, ()))) for group in groups]
            )
        )
    # By the upper bound: 2 of 12 is worse than 0 of 1, as far as one can know.
    rows.sort(key=lambda row: (row.whole.rate.high, row.world, row.tool))
    return HeatMap(groups, rows)

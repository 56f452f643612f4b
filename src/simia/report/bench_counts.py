"""Where a run is wrong, by world, tool and stratum; and what it gets wrong, counted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simia.bench.intervals import Rate
from simia.bench.leaderboard import rate_text
from simia.bench.results import Verdict, by
from simia.bench.score import ChangeCounts
from simia.bench.strata import GROUP_WORDS, GROUPS, Group
from simia.report.bench_entries import Entry
from simia.report.charts import count_text, share_text

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


@dataclass(frozen=True, slots=True)
class WrongRow:
    """One thing that can go wrong, counted in each run. ``level`` 1 is a part of the row of level 0 above it."""

    name: str
    counts: Sequence[str]
    level: int = 0


def went_wrong(shown: Sequence[Entry]) -> list[WrongRow]:
    """What went wrong in each of ``shown``, from unusable answers to single changes."""
    tallies = [_Tally.of(entry) for entry in shown]
    words = sorted({word for tally in tallies for word in tally.problems})

    def row(name: str, count: Callable[[_Tally], str], level: int = 0) -> WrongRow:
        return WrongRow(name, [count(tally) for tally in tallies], level)

    def state(count: Callable[[_Tally], int]) -> Callable[[_Tally], str]:
        return lambda tally: "-" if tally.is_hidden else count_text(count(tally))

    return [
        row("answers", lambda tally: count_text(tally.answers)),
        row("answers that could not be read or applied", lambda tally: count_text(sum(tally.problems.values()))),
        *(row(word.replace("_", " "), _problem_count(word), level=1) for word in words),
        row("wrong next state", state(lambda tally: tally.wrong_states)),
        row("wrong observation", lambda tally: count_text(tally.wrong_observations)),
        row("mean text similarity, 0 to 1", lambda tally: tally.similarity, level=1),
        row("though the state is right", state(lambda tally: tally.only_observation), level=1),
        row("wrong error flag", lambda tally: count_text(sum(tally.flags))),
        row("the world refused, the simulator did not", lambda tally: count_text(tally.flags[0]), level=1),
        row("the simulator refused, the world did not", lambda tally: count_text(tally.flags[1]), level=1),
        row("not said", lambda tally: count_text(tally.flags[2]), level=1),
        row("true changes", state(lambda tally: tally.changes.true)),
        row("missed", state(lambda tally: tally.changes.missed), level=1),
        row("given another value", state(lambda tally: tally.changes.wrong), level=1),
        row("invented changes", state(lambda tally: tally.changes.invented)),
        row("precision over changes", lambda tally: _share(tally.changes.precision)),
        row("recall over changes", lambda tally: _share(tally.changes.recall)),
    ]


@dataclass(frozen=True, slots=True)
class _Tally:
    """Sums over a run. ``flags``: refused and taken for done, done and taken for refused, not said."""

    is_hidden: bool
    answers: int
    problems: dict[str, int]
    wrong_states: int
    wrong_observations: int
    only_observation: int
    flags: tuple[int, int, int]
    similarity: str
    changes: ChangeCounts

    @classmethod
    def of(cls, entry: Entry) -> "_Tally":
        verdicts = entry.run.verdicts
        scores = [verdict.score for verdict in verdicts]
        flags = [
            (verdict.sample.is_error, verdict.prediction.is_error)
            for verdict in verdicts
            if not verdict.score.error_match
        ]
        return cls(
            is_hidden=entry.is_hidden,
            answers=len(verdicts),
            problems=entry.run.problems(),
            wrong_states=sum(score.config_match is False for score in scores),
            wrong_observations=sum(not score.feedback_match for score in scores),
            only_observation=sum(score.config_match is True and not score.feedback_match for score in scores),
            flags=(flags.count((True, False)), flags.count((False, True)), sum(said is None for _, said in flags)),
            similarity="-" if entry.run.similarity is None else f"{entry.run.similarity:.2f}",
            changes=sum((score.counts for score in scores), ChangeCounts()),
        )


def _problem_count(word: str) -> Callable[[_Tally], str]:
    return lambda tally: count_text(tally.problems.get(word, 0))


def _share(share: float | None) -> str:
    return "-" if share is None else share_text(share)

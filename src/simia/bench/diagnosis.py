"""What runs get wrong, counted: from answers that say nothing to single changes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simia.bench.leaderboard import Table
from simia.bench.naming import named
from simia.bench.results import Results
from simia.bench.score import ChangeCounts

NOTE = "Changes are counted one by one over all samples; those that an unusable answer should have made are missed."
"""What a reader of the counts must know."""


def diagnosis(runs: Sequence[Results]) -> Table:
    """A column for each run, as every table orders them; parts of a row stand below it, after a dash."""
    order = named(runs)
    rows = went_wrong([run for _, run in order])
    cells = tuple((f"- {row.name}" if row.level else row.name, *row.counts) for row in rows)
    return Table("What went wrong", ("counted", *(name for name, _ in order)), cells, NOTE)


@dataclass(frozen=True, slots=True)
class WrongRow:
    """One thing that can go wrong, counted in each run. ``level`` 1 is a part of the row of level 0 above it."""

    name: str
    counts: Sequence[str]
    level: int = 0


def went_wrong(runs: Sequence[Results]) -> list[WrongRow]:
    """What went wrong in each of ``runs``, from unusable answers to single changes."""
    tallies = [_Tally.of(run) for run in runs]
    words = sorted({word for tally in tallies for word in tally.problems})

    def row(name: str, count: Callable[[_Tally], str], level: int = 0) -> WrongRow:
        return WrongRow(name, [count(tally) for tally in tallies], level)

    def state(count: Callable[[_Tally], int]) -> Callable[[_Tally], str]:
        return lambda tally: "-" if tally.is_hidden else _count(count(tally))

    return [
        row("answers", lambda tally: _count(tally.answers)),
        row("answers that could not be read or applied", lambda tally: _count(sum(tally.problems.values()))),
        *(row(word.replace("_", " "), _problem_count(word), level=1) for word in words),
        row("wrong next state", state(lambda tally: tally.wrong_states)),
        row("wrong observation", lambda tally: _count(tally.wrong_observations)),
        row("mean text similarity, 0 to 1", lambda tally: tally.similarity, level=1),
        row("though the state is right", state(lambda tally: tally.only_observation), level=1),
        row("wrong error flag", lambda tally: _count(sum(tally.flags))),
        row("the world refused, the simulator did not", lambda tally: _count(tally.flags[0]), level=1),
        row("the simulator refused, the world did not", lambda tally: _count(tally.flags[1]), level=1),
        row("not said", lambda tally: _count(tally.flags[2]), level=1),
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
    def of(cls, run: Results) -> "_Tally":
        verdicts = run.verdicts
        scores = [verdict.score for verdict in verdicts]
        flags = [
            (verdict.sample.is_error, verdict.prediction.is_error)
            for verdict in verdicts
            if not verdict.score.error_match
        ]
        return cls(
            is_hidden=run.settings.setting == "hidden",
            answers=len(verdicts),
            problems=run.problems(),
            wrong_states=sum(score.config_match is False for score in scores),
            wrong_observations=sum(not score.feedback_match for score in scores),
            only_observation=sum(score.config_match is True and not score.feedback_match for score in scores),
            flags=(flags.count((True, False)), flags.count((False, True)), sum(said is None for _, said in flags)),
            similarity="-" if run.similarity is None else f"{run.similarity:.2f}",
            changes=sum((score.counts for score in scores), ChangeCounts()),
        )


def _problem_count(word: str) -> Callable[[_Tally], str]:
    return lambda tally: _count(tally.problems.get(word, 0))


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share * 100:.1f} %".replace(".0 %", " %")


def _count(count: int) -> str:
    return f"{count:,}"

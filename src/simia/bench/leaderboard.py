"""Runs side by side as tables: the leaderboard, the released rule beside the published figures, paired comparisons."""

import csv
import io
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

from simia.bench.intervals import Rate, mcnemar
from simia.bench.results import Results, Verdict, by
from simia.bench.strata import CHANGING, GROUPS, Group

GROUP_NAMES: dict[Group, str] = {
    "failure": "failure",
    "no_change": "no change",
    "simple": "1-2 changes",
    "medium": "3-6",
    "difficult": "7-12",
    "beyond": "over 12",
}
"""How tables call the strata."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table as text: a title, what its columns are, its rows, and a sentence below it. The first ``keys`` columns say
    what a row is about.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    keys: int = 1

    def as_markdown(self) -> str:
        """The table in Markdown, its title as a heading."""
        lines = [f"### {self.title}", "", _row(self.header), _row("---" for _ in self.header)]
        lines += [_row(row) for row in self.rows]
        return "\n".join([*lines, *(["", self.note] if self.note else [])]) + "\n"


@dataclass(frozen=True)
class PublishedRow:
    """A row of the published table, in per cent; ``by_size`` is by number of changes, 0 to 6 and 7 to 12."""

    model: str
    unchanged: float
    overall: float
    by_size: tuple[float, ...]
    changing: float | None = None


@cache
def published_rows() -> tuple[PublishedRow, ...]:
    """What EnvSimBench published (arXiv 2605.07247), by its own rule on its own samples: a reference, nothing more."""
    data = tomllib.loads((Path(__file__).parent / "published.toml").read_text(encoding="utf-8"))
    return tuple(PublishedRow(**{**row, "by_size": tuple(row["by_size"])}) for row in data["row"])


@cache
def published_source() -> str:
    """Where the published figures stand."""
    data = tomllib.loads((Path(__file__).parent / "published.toml").read_text(encoding="utf-8"))
    return str(data["source"])


def leaderboard(runs: Sequence[Results]) -> Table:
    """One row a run, best Config Match first; the runs without one last, by Feedback Match."""
    groups = [group for group in GROUPS if any(v.group == group for run in runs for v in run.verdicts)]
    header = ("simulator", "setting", "samples", "Config Match", *(GROUP_NAMES[group] for group in groups))
    rows = []
    for name, run in _named(runs):
        cells = by(run.verdicts, lambda verdict: verdict.group)
        config = [rate_text(run.config_match(cells.get(group, ()))) for group in groups]
        rows.append(
            (
                name,
                _setting_text(run),
                _count_text(run),
                interval_text(run.config_match()),
                *config,
                interval_text(run.feedback_match()),
                str(sum(run.problems().values())),
            )
        )
    note = (
        "Config Match: share of samples whose whole next state is right, with the 95 % interval of Wilson, overall and "
        "by stratum. Feedback Match: share whose observation is right. No answer: replies that could not be read or "
        "applied; what is missing counts as wrong."
    )
    return Table("Leaderboard", (*header, "Feedback Match", "no answer"), tuple(rows), note)


def released_rule(runs: Sequence[Results]) -> Table:
    """The same runs by the rule that EnvSimBench was released with, beside what it published."""
    rows: list[tuple[str, ...]] = []
    for name, run in _named(runs):
        if run.settings.setting == "hidden":
            continue
        rows.append(
            (
                name,
                run.suite.head.name,
                _published_rate(run.unchanging()),
                _published_rate(run.changing()),
                _published_rate(run.verdicts),
            )
        )
    for row in published_rows():
        changing = "-" if row.changing is None else _per_cent(row.changing / 100)
        rows.append(
            (
                row.model,
                "published",
                _per_cent(row.unchanged / 100),
                changing,
                _per_cent(row.overall / 100),
            )
        )
    note = (
        "Config Match by the released rule, which looks at true changes only: what is invented is not punished, and "
        f"removed keys and keys with dots are never right. Published rows: {published_source()}; other samples, other "
        "prompts, so they are a reference and no comparison."
    )
    return Table("By the released rule", ("simulator", "suite", "no change", "changes", "all"), tuple(rows), note)


def by_size(runs: Sequence[Results]) -> Table:
    """Config Match by the number of changes; a row for each run that has one."""
    seeing = [(name, run) for name, run in _named(runs) if run.settings.setting != "hidden"]
    sizes = sorted({verdict.sample.size for _, run in seeing for verdict in run.verdicts})
    rows = []
    for name, run in seeing:
        cells = by(run.verdicts, lambda verdict: verdict.sample.size)
        rows.append((name, *(rate_text(run.config_match(cells.get(size, ()))) for size in sizes)))
    return Table("Config Match by number of changes", ("simulator", *map(str, sizes)), tuple(rows))


def drift_table(runs: Sequence[Results]) -> Table | None:
    """State and observation by step, for the runs that followed episodes; None where none did."""
    rows = []
    for name, run in _named(runs):
        for number in range(1, max(map(len, run.drifts), default=0) + 1):
            here = [steps[number - 1] for steps in run.drifts if len(steps) >= number]
            changed = Rate.of(step.state_match is True for step in here if step.has_changed)
            has_state = run.settings.setting != "hidden"
            rows.append(
                (
                    name,
                    str(number),
                    str(len(here)),
                    rate_text(Rate.of(step.feedback_match for step in here)),
                    rate_text(Rate.of(step.state_match is True for step in here) if has_state else None),
                    f"{rate_text(changed)} of {changed.count}" if has_state and changed.count else "-",
                )
            )
    if not rows:
        return None
    header = ("simulator", "step", "episodes", "Feedback Match", "state right", "once changed")
    note = (
        "The simulator goes on from its own state. State right: the whole state after the step is the true one. Once "
        "changed: the same among the episodes whose true state is no longer the initial one. Some episodes end earlier."
    )
    return Table("Drift by step", header, tuple(rows), note, keys=2)


def heat(run: Results, axis: Callable[[Verdict], str], title: str) -> Table:
    """One run by world or by tool, with stratum columns."""
    rows = []
    for name, verdicts in by(run.verdicts, axis).items():
        changing = [verdict for verdict in verdicts if verdict.group in CHANGING]
        rows.append(
            (
                name,
                str(len(verdicts)),
                rate_text(run.config_match(verdicts)),
                rate_text(run.config_match(changing)),
                rate_text(run.feedback_match(verdicts)),
            )
        )
    header = (title, "samples", "Config Match", "on changes", "Feedback Match")
    return Table(f"{run.label}: by {title}", header, tuple(rows))


def paired(runs: Sequence[Results]) -> Table | None:
    """Each pair of runs on the samples that both answered; None of fewer than two runs."""
    rows = []
    for (name, first), (other, second) in combinations(_named(runs), 2):
        a, b = _config_by_id(first), _config_by_id(second)
        shared = sorted(a.keys() & b.keys())
        if not shared:
            continue
        result = mcnemar([a[key] for key in shared], [b[key] for key in shared])
        rows.append(
            (
                name,
                other,
                str(len(shared)),
                str(result.only_first),
                str(result.only_second),
                f"{result.p_value:.3g}",
            )
        )
    if not rows:
        return None
    header = ("first", "second", "samples", "only first", "only second", "p")
    note = (
        "Config Match on the samples that both answered: how many only the first, only the second has right, and p of "
        "the exact McNemar test."
    )
    return Table("Pairs", header, tuple(rows), note, keys=2)


def as_csv(tables: Iterable[Table]) -> str:
    """The rows of all tables, each with its table's title first."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for table in tables:
        writer.writerow(("table", *table.header))
        writer.writerows((table.title, *row) for row in table.rows)
    return out.getvalue()


def rate_text(rate: Rate | None) -> str:
    """``36.0 %``, or ``-`` of nothing; none and all are ``0 %`` and ``100 %``."""
    return "-" if rate is None or rate.value is None else _per_cent(rate.value)


def interval_text(rate: Rate | None) -> str:
    """``36.2 % (30-43)``, or ``-`` of nothing."""
    if rate is None or rate.value is None:
        return "-"
    return f"{100 * rate.value:.1f} % ({100 * rate.low:.0f}-{100 * rate.high:.0f})"


def _config_by_id(run: Results) -> dict[str, bool]:
    return {
        verdict.sample.id: verdict.score.config_match
        for verdict in run.verdicts
        if verdict.score.config_match is not None
    }


def _published_rate(verdicts: Iterable[Verdict]) -> str:
    counted = [verdict.published for verdict in verdicts if verdict.published.is_counted]
    return rate_text(Rate.of(verdict.config_match for verdict in counted))


def _named(runs: Sequence[Results]) -> list[tuple[str, Results]]:
    """The runs, best first, each with its simulator's name; runs of one simulator with their setting too, and where
    that is the same with their folder.
    """
    ranked = sorted(runs, key=_rank)
    labels = Counter(run.label for run in ranked)
    settings = Counter((run.label, _setting_text(run)) for run in ranked)
    named = []
    for run in ranked:
        parts = [run.label]
        if labels[run.label] > 1:
            alike = settings[run.label, _setting_text(run)] > 1
            parts.append(str(run.folder) if alike else _setting_text(run))
        named.append((", ".join(parts), run))
    return named


def _setting_text(run: Results) -> str:
    return run.settings.setting + (" boxed" if run.settings.boxed else "")


def _rank(run: Results) -> tuple[float, float, str]:
    config = run.config_match()
    value = -1.0 if config is None or config.value is None else config.value
    return (-value, -(run.feedback_match().value or 0.0), run.label)


def _count_text(run: Results) -> str:
    return str(len(run.verdicts)) if run.is_complete else f"{len(run.verdicts)} of {run.asked}"


def _per_cent(share: float) -> str:
    return f"{100 * share:.0f} %" if share in (0.0, 1.0) else f"{100 * share:.1f} %"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

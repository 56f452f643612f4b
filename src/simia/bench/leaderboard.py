"""Runs side by side as tables: the leaderboard, the released rule beside the published figures, paired comparisons."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from simia.bench.figures import released_rate
from simia.bench.mcnemar import mcnemar
from simia.bench.naming import named, setting_text, suite_names
from simia.bench.reference import published_notes, published_rows, published_source
from simia.bench.remarks import remarks
from simia.bench.results import Results, Verdict, by
from simia.bench.sizes import bucket_name, size_bucket
from simia.bench.strata import GROUP_WORDS, GROUPS
from simia.types.rate import Rate

SIMILARITY = "similarity"
SIMILARITY_NOTE = " Similarity: how alike the words of the observations are, 0 to 1, the mean; 1 is a match."
"""The column of :attr:`simia.bench.results.Results.similarity`, and what the note says of it at its end."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table as text: a title, what its columns are, its rows, and what they mean. The first ``keys`` columns say what
    a row is about. ``remarks`` are what a reader must know before the figures.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    keys: int = 1
    remarks: tuple[str, ...] = ()

    def as_markdown(self) -> str:
        """The table in Markdown, its title as a heading."""
        lines = [f"### {self.title}", ""]
        for remark in self.remarks:
            lines += [f"> {remark}", ""]
        lines += [_row(self.header), _row("---" for _ in self.header)]
        lines += [_row(row) for row in self.rows]
        return "\n".join([*lines, *(["", self.note] if self.note else [])]) + "\n"


def leaderboard(runs: Sequence[Results]) -> Table:
    """One row a run, as :func:`ranked`."""
    order, suites = named(runs), _suite_column(runs)
    groups = [group for group in GROUPS if any(v.group == group for run in runs for v in run.verdicts)]
    header = ("simulator", "setting", *_suite_header(suites), "samples", "Config Match")
    rows = []
    for name, run in order:
        cells = by(run.verdicts, lambda verdict: verdict.group)
        config = [counted_text(run.config_match(cells.get(group, ()))) for group in groups]
        rows.append(
            (
                name,
                setting_text(run),
                *suites[run.suite.sha256],
                _count_text(run),
                interval_text(run.config_match()),
                *config,
                interval_text(run.feedback_match()),
                "-" if run.similarity is None else f"{run.similarity:.2f}",
                str(sum(run.problems().values())),
            )
        )
    note = (
        "Config Match: share of samples whose whole next state is right, with the 95 % interval of Wilson, and by "
        "stratum how many of how many. Feedback Match: share whose observation is right. Unusable: replies that "
        f"could not be read or applied; they count as wrong.{SIMILARITY_NOTE}"
    )
    header = (*header, *(GROUP_WORDS[group] for group in groups), "Feedback Match", SIMILARITY, "unusable")
    return Table("Leaderboard", header, tuple(rows), note, remarks=tuple(remarks(order)))


def by_stratum(runs: Sequence[Results]) -> Table:
    """Both rates of each run by stratum, with their intervals."""
    order, suites = named(runs), _suite_column(runs)
    rows = []
    for name, run in order:
        cells = by(run.verdicts, lambda verdict: verdict.group)
        for group in GROUPS:
            if group in cells:
                config, feedback = run.config_match(cells[group]), run.feedback_match(cells[group])
                counts = (str(len(cells[group])), interval_text(config), interval_text(feedback))
                rows.append((name, *suites[run.suite.sha256], GROUP_WORDS[group], *counts))
    keys = ("simulator", *_suite_header(suites), "stratum")
    return Table("By stratum", (*keys, "samples", "Config Match", "Feedback Match"), tuple(rows), keys=len(keys))


def released_rule(runs: Sequence[Results]) -> Table:
    """The same runs by the rule that EnvSimBench was released with, beside what it published."""
    suites = suite_names(runs)
    rows: list[tuple[str, ...]] = []
    for name, run in named(runs):
        if run.settings.setting == "hidden":
            continue
        rows.append(
            (
                name,
                suites[run.suite.sha256],
                _released_text(run.unchanging()),
                _released_text(run.changing()),
                _released_text(run.verdicts),
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
        "removed keys and keys with dots are never right. No change: refused calls are among them. Published rows: "
        f"{published_source()}; other samples, other prompts, so they are a reference and no comparison. "
        f"{published_notes()}"
    )
    return Table("By the released rule", ("simulator", "suite", "no change", "changes", "all"), tuple(rows), note)


def by_size(runs: Sequence[Results]) -> Table:
    """Config Match by the number of changes; a row for each run that has one."""
    seeing = [(name, run) for name, run in named(runs) if run.settings.setting != "hidden"]
    suites = _suite_column([run for _, run in seeing])
    sizes = sorted({size_bucket(verdict.sample) for _, run in seeing for verdict in run.verdicts})
    rows = []
    for name, run in seeing:
        cells = by(run.verdicts, lambda verdict: size_bucket(verdict.sample))
        config = [rate_text(run.config_match(cells.get(size, ()))) for size in sizes]
        rows.append((name, *suites[run.suite.sha256], *config))
    header = ("simulator", *_suite_header(suites), *map(bucket_name, sizes))
    return Table("Config Match by number of changes", header, tuple(rows))


def drift_table(runs: Sequence[Results]) -> Table | None:
    """State and observation by step, how many of how many, for the runs that followed episodes; None where none did."""
    drifting = [(name, run) for name, run in named(runs) if run.drifts]
    if not drifting:
        return None
    suites = _suite_column([run for _, run in drifting])
    longest = max(len(steps) for _, run in drifting for steps in run.drifts)
    rows = []
    for name, run in drifting:
        by_step = [[steps[place] for steps in run.drifts if len(steps) > place] for place in range(longest)]
        rates = {"Feedback Match": [Rate.of(step.feedback_match for step in here) for here in by_step]}
        if run.settings.setting != "hidden":
            rates["state right"] = [Rate.of(step.state_match is True for step in here) for here in by_step]
            rates["once changed"] = [
                Rate.of(step.state_match is True for step in here if step.has_changed) for here in by_step
            ]
        for what, found in rates.items():
            cells = (f"{rate.hits}/{rate.count}" if rate.count else "-" for rate in found)
            rows.append((name, *suites[run.suite.sha256], what, *cells))
    keys = ("simulator", *_suite_header(suites), "right after step")
    note = (
        "The simulator goes on from its own state, where it sees none from its own observations. State right: the "
        "whole state after the step is the true one. Once changed: the same among the episodes whose true state is no "
        "longer the initial one. Some episodes end earlier."
    )
    steps = (str(place + 1) for place in range(longest))
    return Table("Drift by step", (*keys, *steps), tuple(rows), note, keys=len(keys))


def paired(runs: Sequence[Results]) -> Table | None:
    """Each pair of runs of one suite on the samples that both answered; None where there is no such pair."""
    rows = []
    for (name, first), (other, second) in combinations(named(runs), 2):
        if first.suite.sha256 != second.suite.sha256:
            continue
        sees = "hidden" not in (first.settings.setting, second.settings.setting)
        a, b = _matches_by_id(first, sees), _matches_by_id(second, sees)
        shared = sorted(a.keys() & b.keys())
        if not shared:
            continue
        result = mcnemar([a[key] for key in shared], [b[key] for key in shared])
        rows.append(
            (
                name,
                other,
                "Config Match" if sees else "Feedback Match",
                str(len(shared)),
                str(result.only_first),
                str(result.only_second),
                f"{result.p_value:.3g}",
            )
        )
    if not rows:
        return None
    header = ("first", "second", "measure", "samples", "only first", "only second", "p")
    note = (
        "On the samples that both answered: how many only the first, only the second has right, and p of the exact "
        "McNemar test. Where one of them has no Config Match, by Feedback Match. Each p is that of its pair alone: of "
        "twenty pairs that do not differ, one is expected to have p below 0.05."
    )
    return Table("Pairs", header, tuple(rows), note, keys=2)


def rate_text(rate: Rate | None) -> str:
    """``36.0 %``, or ``-`` of nothing; none and all are ``0 %`` and ``100 %``."""
    return "-" if rate is None or rate.value is None else _per_cent(rate.value)


def interval_text(rate: Rate | None) -> str:
    """``36.2 % (30-43)``, or ``-`` of nothing."""
    if rate is None or rate.value is None:
        return "-"
    return f"{100 * rate.value:.1f} % ({100 * rate.low:.0f}-{100 * rate.high:.0f})"


def counted_text(rate: Rate | None) -> str:
    """``35 % (7/20)``, or ``-`` of nothing."""
    if rate is None or rate.value is None:
        return "-"
    return f"{100 * rate.value:.0f} % ({rate.hits}/{rate.count})"


def _released_text(verdicts: Sequence[Verdict]) -> str:
    return rate_text(released_rate(verdicts))


def _matches_by_id(run: Results, by_config: bool) -> dict[str, bool]:
    return {
        verdict.sample.id: verdict.score.config_match is True if by_config else verdict.score.feedback_match
        for verdict in run.verdicts
    }


def _suite_column(runs: Sequence[Results]) -> dict[str, tuple[str, ...]]:
    """What a row says of its suite, by the suite's SHA-256: nothing where all runs have one."""
    names = suite_names(runs)
    return {sha256: (name,) if len(names) > 1 else () for sha256, name in names.items()}


def _suite_header(column: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    return ("suite",) if len(column) > 1 else ()


def _count_text(run: Results) -> str:
    return str(len(run.verdicts)) if run.is_complete else f"{len(run.verdicts)} of {run.asked}"


def _per_cent(share: float) -> str:
    return f"{100 * share:.0f} %" if share in (0.0, 1.0) else f"{100 * share:.1f} %"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

"""The curves of a benchmark's page: Config Match over the number of changes, and matches over the steps of drift."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from simia.bench.drift import DriftStep
from simia.bench.leaderboard import Table, rate_text
from simia.bench.reference import PublishedRow, published_notes, published_rows
from simia.bench.results import by
from simia.bench.sizes import BEYOND, REFUSED, size_bucket
from simia.bench.strata import LARGEST
from simia.report.bench_entries import Entry
from simia.report.lines import Line, Reference, Tick, rates_chart
from simia.types.rate import Rate

_REFERENCES = (
    "published, other samples, released rule: a reference, no comparison (published: 0 changes, refusals included)"
)
_PUBLISHED = "(published, other samples, released rule; 0 changes with refusals included)"
_MOST_STEPS = 24


@dataclass(frozen=True, slots=True)
class Curve:
    """A chart with the runs that have a line in it, and the same numbers as a table. ``references`` says what the thin
    lines are, where there are any.
    """

    title: str
    chart: Markup
    entries: Sequence[Entry]
    table: Table
    references: str = ""


def cliff(shown: Sequence[Entry]) -> Curve | None:
    """Config Match over the number of changes; None where no run has one."""
    seeing = [entry for entry in shown if not entry.is_hidden and entry.run.verdicts]
    if not seeing:
        return None
    sizes = {entry.place: by(entry.run.verdicts, lambda verdict: size_bucket(verdict.sample)) for entry in seeing}
    met = {size for groups in sizes.values() for size in groups}
    axis = [size for size in range(REFUSED, BEYOND + 1) if size in met or 0 <= size <= LARGEST]
    ticks = [_size_tick(size, {len(groups.get(size, ())) for groups in sizes.values()}) for size in axis]
    lines = [
        Line(
            entry.name,
            entry.place,
            [
                (place, entry.rate(sizes[entry.place][size]))
                for place, size in enumerate(axis)
                if size in sizes[entry.place]
            ],
            first=axis.index(0),
        )
        for entry in seeing
    ]
    references = [_published(row, axis) for row in published_rows()]
    title = "Config Match by number of changes"
    chart = rates_chart(title, ticks, lines, references)
    return Curve(title, chart, seeing, _table(title, ticks, lines), _REFERENCES)


def published_table() -> Table:
    """The reference lines of :func:`cliff` in numbers."""
    header = ("model", "0, refusals included", *map(str, range(1, 7)), "7-12")
    rows = tuple((row.model, *(f"{value:.0f} %" for value in row.by_size)) for row in published_rows())
    return Table("Published", header, rows, published_notes())


def drift_curves(shown: Sequence[Entry]) -> list[Curve]:
    """State and observation over the steps of an episode; none where no run followed any."""
    drifting = [entry for entry in shown if entry.run.drifts]
    seeing = [entry for entry in drifting if not entry.is_hidden]
    curves = []
    if seeing:
        curves.append(
            _drift("State right after step k", seeing, lambda step: step.state_match is True, _unchanged(seeing))
        )
    if drifting:
        curves.append(_drift("Observation right at step k", drifting, lambda step: step.feedback_match))
    return curves


def _size_tick(size: int, counts: set[int]) -> Tick:
    below = str(max(counts))
    if size == REFUSED:
        return Tick("refused calls", "ref.", below)
    if size == BEYOND:
        return Tick(f"more than {LARGEST} changes", f">{LARGEST}", below)
    return Tick({0: "no change", 1: "1 change"}.get(size, f"{size} changes"), str(size), below)


def _published(row: PublishedRow, axis: Sequence[int]) -> Reference:
    """A line that is level where one figure stands for several places, 7 to 12."""
    zero, single, last = axis.index(0), row.by_size[:-1], row.by_size[-1]
    values = [(zero + size, value / 100) for size, value in enumerate(single)]
    values += [(zero + size, last / 100) for size in (len(single), LARGEST)]
    return Reference(row.model, values, _PUBLISHED)


def _drift(
    title: str, shown: Sequence[Entry], is_right: Callable[[DriftStep], bool], reference: Reference | None = None
) -> Curve:
    longest = min(_MOST_STEPS, max(len(steps) for entry in shown for steps in entry.run.drifts))
    lines = [
        Line(entry.name, entry.place, [(place, _at(entry, place, is_right)) for place in range(longest)])
        for entry in shown
    ]
    counts = [{line.rates[place][1].count for line in lines} for place in range(longest)]
    ticks = [Tick(f"step {place + 1}", str(place + 1), str(max(met))) for place, met in enumerate(counts)]
    chart = rates_chart(title, ticks, lines, [] if reference is None else [reference])
    return Curve(title, chart, shown, _table(title, ticks, lines), "" if reference is None else reference.name)


def _at(entry: Entry, place: int, is_right: Callable[[DriftStep], bool]) -> Rate:
    return Rate.of(is_right(steps[place]) for steps in entry.run.drifts if len(steps) > place)


def _unchanged(seeing: Sequence[Entry]) -> Reference:
    """What a simulator that never changes anything gets on the episodes of the run that followed most."""
    drifts = max((entry.run.drifts for entry in seeing), key=len)
    longest = min(_MOST_STEPS, max(map(len, drifts)))
    values = []
    for place in range(longest):
        here = [steps[place] for steps in drifts if len(steps) > place]
        values.append((place, sum(not step.has_changed for step in here) / len(here)))
    return Reference("what changing nothing gets", values)


def _table(title: str, ticks: Sequence[Tick], lines: Sequence[Line]) -> Table:
    rows = []
    for line in lines:
        rates = dict(line.rates)
        cells = [rates.get(place, Rate(0, 0)) for place in range(len(ticks))]
        rows.append((line.name, *(f"{rate_text(rate)} of {rate.count}" if rate.count else "-" for rate in cells)))
    return Table(title, ("simulator", *(tick.name for tick in ticks)), tuple(rows))

"""The tables of :mod:`simia.bench.leaderboard` as the page sets them: marks and bars beside the words, the columns that
matter most where a phone shows them first, and what was published apart from what was measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from simia.bench.leaderboard import SIMILARITY, SIMILARITY_NOTE, leaderboard, released_rule
from simia.bench.reference import published_rows
from simia.report.bench_entries import Entry
from simia.report.lines import interval_bar, swatch

_NOTHING = Markup("")
_LAST = ("setting", "samples", "suite")


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a table, and a bar below it where there is one."""

    text: str
    bar: Markup = _NOTHING


@dataclass(frozen=True, slots=True)
class Row:
    """A row with the mark of its run."""

    name: str
    cells: Sequence[Cell]
    swatch: Markup = _NOTHING


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table of the page. ``references`` are rows that others published."""

    header: Sequence[str]
    rows: Sequence[Row]
    note: str
    references: Sequence[Row] = ()


def board(shown: Sequence[Entry]) -> PageTable:
    """The leaderboard. Its remarks are the page's warnings, and similarity stands under what went wrong."""
    table = leaderboard([entry.run for entry in shown])
    order = [place for place in _order(table.header) if table.header[place] != SIMILARITY]
    rows = []
    for entry, words in zip(shown, table.rows, strict=True):
        rates = {"Config Match": entry.run.config_match(), "Feedback Match": entry.run.feedback_match()}
        bars = {name: interval_bar(rate) for name, rate in rates.items() if rate is not None}
        cells = [_cell(words[place], bars.get(table.header[place], _NOTHING)) for place in order]
        rows.append(Row(entry.name, cells, swatch(entry.place)))
    header = [table.header[0], *(table.header[place] for place in order)]
    return PageTable(header, rows, table.note.removesuffix(SIMILARITY_NOTE))


def released(shown: Sequence[Entry]) -> PageTable:
    """Our rows by the released rule, and apart from them what was published."""
    seeing = [entry for entry in shown if not entry.is_hidden]
    table = released_rule([entry.run for entry in seeing])
    order = _order(table.header)
    ours, others = table.rows[: len(seeing)], table.rows[len(seeing) :]
    assert len(others) == len(published_rows())
    rows = [
        Row(entry.name, [Cell(words[place]) for place in order], swatch(entry.place))
        for entry, words in zip(seeing, ours, strict=True)
    ]
    references = [Row(words[0], [Cell(words[place]) for place in order]) for words in others]
    return PageTable([table.header[0], *(table.header[place] for place in order)], rows, table.note, references)


def _cell(text: str, bar: Markup) -> Cell:
    """What stands in brackets, counts or an interval, goes below, so that the columns stay narrow."""
    rate, bracket, rest = text.partition(" (")
    below = Markup('<span class="below">{}</span>').format(rest.removesuffix(")")) if bracket else _NOTHING
    return Cell(rate, bar + below)


def _order(header: Sequence[str]) -> list[int]:
    """The columns after the first, those last that say what was asked and not what came of it."""
    return sorted(range(1, len(header)), key=lambda place: header[place] in _LAST)

"""``simia bench report`` and ``show``: what was measured, and what it was measured on."""

import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from simia.cli.console import examples, is_terminal, result, result_facts, result_table, result_text
from simia.cli.files import write_text
from simia.cli.runs import open_run
from simia.errors import ConfigError

if TYPE_CHECKING:
    from simia.bench.leaderboard import Table

T = TypeVar("T")

SUITE_HELP = "A bundled suite, or a file of simia bench build."

_GAP = 2  # between two columns
_NAME = 17  # characters of a name on one line, where there is little room


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(
        epilog=examples(
            "simia bench report runs/embedded",
            "simia bench report runs/embedded runs/mini runs/nothing --html bench.html",
            "simia bench report runs/* --markdown leaderboard.md --csv leaderboard.csv",
        )
    )(report)
    app.command(epilog=examples("simia bench show simbench-400"))(show)


def report(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders of simia bench run.")],
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write one self-contained page.", show_default=False)
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the tables as Markdown.", show_default=False)
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write every rate with its counts as CSV, one a row.", show_default=False),
    ] = None,
) -> None:
    """Compare runs: a leaderboard, Config Match by number of changes, and what went wrong."""
    from simia.bench import leaderboard
    from simia.bench.diagnosis import diagnosis
    from simia.bench.figures import as_csv
    from simia.bench.results import read_results

    outputs = [path.resolve() for path in (html, markdown, csv) if path is not None]
    if len(set(outputs)) < len(outputs):
        raise ConfigError("two of --html, --markdown and --csv name one file: give each its own")
    distinct = list({folder.resolve(): folder for folder in reversed(folders)}.values())[::-1]
    for folder in distinct:
        open_run(folder).close()
    runs = [read_results(folder) for folder in distinct]
    found = (
        leaderboard.leaderboard(runs),
        leaderboard.by_stratum(runs),
        leaderboard.by_size(runs),
        leaderboard.paired(runs),
        diagnosis(runs),
        leaderboard.drift_table(runs),
        leaderboard.released_rule(runs),
    )
    tables = [table for table in found if table is not None and table.rows]
    texts = (markdown, "\n".join(table.as_markdown() for table in tables)), (csv, as_csv(runs))
    for path, text in texts:
        if path is not None:
            write_text(path, text)
    if html is not None:
        from simia.report.bench_page import render_bench_page

        write_text(html, render_bench_page(runs))
    for table in tables:  # last, since who reads them may not read them to their end
        print_table(table)
    for path in (markdown, csv, html):
        if path is not None:
            result(str(path))


def show(suite: Annotated[str, typer.Argument(help=SUITE_HELP)] = "simbench-400") -> None:
    """What a suite holds: its cells, and where their samples come from."""
    from simia.bench.suite import read_suite, suite_path

    found = read_suite(suite_path(suite))
    head = found.head
    result_facts(
        [
            ("suite", f"{head.name} {head.version} ({head.licence}), made by {head.made_by} with seed {head.seed}"),
            ("SHA-256", found.sha256),
            ("samples", f"{len(found.samples)} in {len(head.worlds)} worlds, {len(found.episodes)} episodes"),
        ]
    )
    rows = []
    for cell, by_world in _in_order(head.worlds_by_cell):
        shares = ", ".join(f"{world} {count}" for world, count in by_world.items())
        rows.append((cell, str(sum(by_world.values())), str(len(by_world)), shares))
    result_table(("cell", "samples", "worlds", "samples by world"), rows, numbers=(1, 2))


def print_table(table: "Table") -> None:
    """The table; on a terminal that is too narrow in parts, each with the columns that say what a row is about."""
    result(table.title)
    for remark in table.remarks:
        result_text(remark)
    for columns in _parts(table):
        result_table(
            [table.header[place] for place in columns],
            [[row[place] for place in columns] for row in table.rows],
            numbers=[place for place, column in enumerate(columns) if _is_number(table, column)],
        )
        result()
    if table.note:
        result_text(table.note)
        result()


def _parts(table: "Table") -> Iterator[list[int]]:
    """The places of the columns of each part. Long names wrap rather than take the others' place."""
    widths = [max(map(len, column)) + _GAP for column in zip(table.header, *table.rows, strict=True)]
    room = shutil.get_terminal_size().columns if is_terminal(sys.stdout) else sum(widths)
    keys = list(range(table.keys))
    widths[: table.keys] = [min(width, _NAME + _GAP) for width in widths[: table.keys]]
    part, used = [*keys], sum(widths[: table.keys])
    for place, width in enumerate(widths[table.keys :], start=table.keys):
        if used + width > room + _GAP and part != keys:
            yield part
            part, used = [*keys], sum(widths[: table.keys])
        part.append(place)
        used += width
    yield part


def _is_number(table: "Table", column: int) -> bool:
    return column > 0 and all(row[column][:1].isdigit() or row[column] == "-" for row in table.rows)


def _in_order(cells: Mapping[str, T]) -> list[tuple[str, T]]:
    """The cells of a suite from easy to hard, whatever order the file has them in."""
    from simia.bench.strata import PUBLISHED

    places = {cell.name: place for place, cell in enumerate(PUBLISHED)}
    return sorted(cells.items(), key=lambda pair: (places.get(pair[0], len(places)), pair[0]))

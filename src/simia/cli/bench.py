"""``simia bench``: how faithfully a simulator plays a world."""

import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from simia.cli import bench_data, bench_fidelity
from simia.cli.console import examples, is_terminal, result, result_facts, result_table, result_text, say
from simia.cli.errors import ExitCode, exit_code_of, tell, writing
from simia.cli.resuming import all_words, demand_folder, same_command, without_ceiling
from simia.cli.runs import open_run
from simia.cli.summary import tell_examples
from simia.cli.synth import MaxCostOption, QuietOption
from simia.errors import ConfigError, CorruptStream, ManifestMismatch, RunLocked, SimiaError

if TYPE_CHECKING:
    from simia.bench.leaderboard import Table
    from simia.bench.run import Examination, Measured

app = typer.Typer(
    no_args_is_help=True,
    help="Measure simulators against executable worlds: [cyan]run[/cyan], [cyan]report[/cyan], [cyan]build[/cyan].",
)
bench_data.add_to(app)
bench_fidelity.add_to(app)

T = TypeVar("T")

_GAP = 2  # between two columns
_NAME = 17  # characters of a name on one line, where there is little room
_SUITE_HELP = "A bundled suite, or a file of simia bench build."


@app.command(
    epilog=examples(
        "simia bench run --model baseline:do-nothing --run runs/nothing",
        "simia bench run --model embedded --limit 150 --run runs/embedded",
        "simia bench run --model gpt-4.1-mini --setting tracked --run runs/mini --max-cost 2",
        "simia bench run --model gpt-4.1-mini --setting tracked --run runs/mini --resume",
    )
)
def run(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]", help="Settings, for example temperature=0.7.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="A model as for simia synth, or [cyan]baseline:oracle[/cyan], [cyan]baseline:do-nothing[/cyan], "
            "[cyan]baseline:echo[/cyan], [cyan]baseline:nearest[/cyan].",
            show_default=False,
        ),
    ] = None,
    suite: Annotated[str, typer.Option(help=_SUITE_HELP)] = "simbench-400",
    setting: Annotated[
        str,
        typer.Option(help="What the simulator sees: constrained (state and code), tracked (state), hidden (history)."),
    ] = "constrained",
    limit: Annotated[int, typer.Option(min=0, help="Ask only so many samples, stratified; 0 is all.")] = 0,
    drift: Annotated[
        int, typer.Option(min=0, help="Follow so many episodes per world on the simulator's own state.")
    ] = 0,
    boxed: Annotated[
        bool, typer.Option("--boxed", help="Send broken answers back, as simia's own simulators do.")
    ] = False,
    folder: Annotated[
        Path | None, typer.Option("--run", metavar="DIR", help="The folder of the run.", show_default=False)
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in the folder.")] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Only check the settings and estimate tokens and cost; with --resume of what the run still lacks.",
        ),
    ] = False,
    max_cost: MaxCostOption = None,
    quiet: QuietOption = False,
) -> None:
    """Ask a simulator every sample of a suite. Exit code 1 where some were not answered."""
    from simia.bench.run import Examination
    from simia.bench.settings import BenchSettings
    from simia.config import checked, with_overrides
    from simia.worlds.door import open_world

    given = {"suite": suite, "setting": setting, "limit": limit, "drift": drift, "boxed": boxed}
    settings = checked(BenchSettings, with_overrides({**given}, all_words(words, model, max_cost)), "simia bench run")
    if folder is None and (resume or not dry_run):
        raise ConfigError("no folder for the run: add --run DIR, for example --run runs/bench")
    if folder is not None and (resume or not dry_run):
        demand_folder(folder, resume=resume)
    resumed = folder if resume else None
    examination = Examination.settle(settings, os.environ, open_world, resumed=resumed)
    if not quiet:
        say(f"model: {examination.reason}")
    if dry_run or folder is None:
        _rehearse(examination, resumed, quiet=quiet)
        return
    _take(examination, folder, resume=resume, quiet=quiet)


@app.command(
    epilog=examples(
        "simia bench report runs/embedded",
        "simia bench report runs/embedded runs/mini runs/nothing --html bench.html",
        "simia bench report runs/* --markdown leaderboard.md --csv leaderboard.csv",
    )
)
def report(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders of simia bench run.")],
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write one self-contained page.", show_default=False)
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the tables as Markdown.", show_default=False)
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the tables as CSV.", show_default=False)
    ] = None,
) -> None:
    """Compare runs: a leaderboard, Config Match by number of changes, and what went wrong."""
    from simia.bench import leaderboard
    from simia.bench.results import read_results

    for folder in folders:
        open_run(folder).close()
    runs = [read_results(folder) for folder in folders]
    found = (
        leaderboard.leaderboard(runs),
        leaderboard.by_size(runs),
        leaderboard.paired(runs),
        leaderboard.drift_table(runs),
        leaderboard.released_rule(runs),
    )
    tables = [table for table in found if table is not None and table.rows]
    for table in tables:
        _print(table)
    texts = (markdown, "\n".join(table.as_markdown() for table in tables)), (csv, leaderboard.as_csv(tables))
    for path, text in texts:
        if path is not None:
            _write(path, text)
    if html is not None:
        from simia.report.bench_page import render_bench_page

        _write(html, render_bench_page(runs))


@app.command(epilog=examples("simia bench show simbench-400"))
def show(suite: Annotated[str, typer.Argument(help=_SUITE_HELP)] = "simbench-400") -> None:
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


def _take(examination: "Examination", folder: Path, *, resume: bool, quiet: bool) -> None:
    from simia.bench.run import measure
    from simia.cli.board import Board
    from simia.cli.progress import ModelSide, shown
    from simia.cli.stopping import Aborted, run_until_stopped

    board, model_side = Board(), ModelSide(examination.settings.model.max_cost)
    again = same_command("--resume")
    began_s = time.monotonic()
    try:
        with shown(board, model_side, quiet=quiet):
            measured = run_until_stopped(
                lambda stop: measure(
                    examination, folder, resume=resume, observer=board, stop=stop, watch=model_side.watch
                )
            )
    except (RunLocked, ManifestMismatch, ConfigError):
        raise
    except SimiaError as error:
        tell(error)
        if (folder / "run.json").exists() and not isinstance(error, CorruptStream):
            say(f"what was answered is in {folder}; go on with: {shlex.join(again)}")
        raise typer.Exit(exit_code_of(error)) from error
    except Aborted:
        say(f"stopped at once; what was answered is in {folder}; go on with: {shlex.join(again)}")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    _conclude(measured, folder, again, time.monotonic() - began_s)


def _conclude(measured: "Measured", folder: Path, again: list[str], took_s: float) -> None:
    from simia.bench import leaderboard
    from simia.bench.results import read_results
    from simia.cli.progress import clock_text, usage_line

    results = read_results(folder)
    if results.verdicts:
        _print(leaderboard.leaderboard([results]))
        problems = ", ".join(f"{word} {count}" for word, count in results.problems().items())
        if problems:
            say(f"answers that could not be read or applied: {problems}")
    usage = usage_line(measured.totals)
    result(f"took {clock_text(took_s)}" + (f"; used: {usage}" if usage else ""))
    result(f"run: {folder} (simia bench report {shlex.quote(str(folder))} --html bench.html)")
    if measured.ceiling is not None:
        tell(measured.ceiling)
        say(f"go on with a higher ceiling in the place of USD: {shlex.join(without_ceiling(again))} --max-cost USD")
        raise typer.Exit(exit_code_of(measured.ceiling))
    if measured.interrupted:
        say(f"stopped; go on with: {shlex.join(again)}")
        raise typer.Exit(ExitCode.INTERRUPTED)
    if measured.failed:
        tell_examples(folder, measured.stages)
        what = "samples or episodes" if results.settings.drift else "samples"
        say(f"{measured.failed:,} {what} were not answered; try them again with: {shlex.join(again)}")
        raise typer.Exit(ExitCode.SOME_FAILED)


def _rehearse(examination: "Examination", resumed: Path | None, *, quiet: bool) -> None:
    from simia.bench.rehearsal import estimate
    from simia.report.usage import cost_text

    guess = estimate(examination, resumed)
    result_facts(
        [
            ("samples", f"{guess.samples:,} of {examination.suite.head.name}"),
            ("drift", f"{guess.episodes:,} episodes with {guess.steps:,} steps"),
            ("requests", f"{guess.requests:,}"),
            ("tokens in", f"about {guess.prompt_tokens:,}, the longest prompt {guess.longest_prompt_tokens:,}"),
            ("tokens out", f"about {guess.completion_tokens:,}"),
            ("cost", cost_text(guess.cost)),
        ]
    )
    if not quiet:
        say("estimated from prompts as they would be asked; no model was asked, nothing was written")


def _print(table: "Table") -> None:
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


def _write(path: Path, text: str) -> None:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    result(str(path))


def _in_order(cells: Mapping[str, T]) -> list[tuple[str, T]]:
    """The cells of a suite from easy to hard, whatever order the file has them in."""
    from simia.bench.strata import PUBLISHED

    places = {cell.name: place for place, cell in enumerate(PUBLISHED)}
    return sorted(cells.items(), key=lambda pair: (places.get(pair[0], len(places)), pair[0]))

"""``simia bench``: how faithfully a simulator plays a world."""

import os
import shlex
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simia.cli import bench_collect, bench_data, bench_fidelity, bench_report
from simia.cli.bench_report import SUITE_HELP, print_table
from simia.cli.console import examples, result, result_facts, say
from simia.cli.resuming import all_words, demand_folder, recorded, same_command
from simia.cli.summary import tell_examples
from simia.cli.synth import DryRunOption, MaxCostOption, QuietOption, ResumeOption, RunOption
from simia.cli.taking import Taking
from simia.errors import ConfigError

if TYPE_CHECKING:
    from simia.bench.run import Examination, Measured

app = typer.Typer(
    no_args_is_help=True,
    help="Measure simulators against executable worlds: [cyan]run[/cyan], [cyan]report[/cyan], [cyan]build[/cyan].",
)


@app.command(
    epilog=examples(
        "simia bench run --model baseline:do-nothing --run runs/nothing",
        "simia bench run --model embedded --limit 150 --run runs/embedded",
        "simia bench run --model gpt-4.1-mini --setting tracked --run runs/mini --max-cost 2",
        "simia bench run --run runs/mini --resume",
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
    suite: Annotated[str | None, typer.Option(help=f"{SUITE_HELP} [simbench-400]", show_default=False)] = None,
    setting: Annotated[
        str | None,
        typer.Option(
            help="What the simulator sees: [cyan]constrained[/cyan] (state and code; if you say nothing), "
            "[cyan]tracked[/cyan] (state), [cyan]hidden[/cyan] (history).",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=0, help="Ask only so many samples, stratified; 0 is all of them.", show_default=False),
    ] = None,
    drift: Annotated[
        int | None,
        typer.Option(min=0, help="Follow so many episodes per world on the simulator's own state.", show_default=False),
    ] = None,
    boxed: Annotated[
        bool, typer.Option("--boxed", help="Send broken answers back, as simia's own simulators do.")
    ] = False,
    folder: RunOption = None,
    resume: ResumeOption = False,
    dry_run: DryRunOption = False,
    max_cost: MaxCostOption = None,
    quiet: QuietOption = False,
) -> None:
    """Ask a simulator every sample of a suite. Exit code 1 where some were not answered."""
    from simia.bench.run import Examination, measure
    from simia.bench.settings import BenchSettings
    from simia.config import checked, with_overrides
    from simia.worlds.door import open_world

    if folder is None and (resume or not dry_run):
        raise ConfigError("no folder for the run: add --run DIR, for example --run runs/bench")
    if folder is not None and (resume or not dry_run):
        demand_folder(folder, "simia bench run", resume=resume)
    begun = recorded(folder) if resume and folder is not None else {}  # what is not said stays as it was
    given = all_words(
        words, model, max_cost, suite=suite, setting=setting, limit=limit, drift=drift, boxed=boxed or None
    )
    settings = checked(BenchSettings, with_overrides(begun, given), "simia bench run")
    resumed = folder if resume else None
    examination = Examination.settle(settings, os.environ, open_world, resumed=resumed)
    if not quiet:
        say(f"model: {examination.reason}")
        _tell_limits(examination)
    if dry_run or folder is None:
        _rehearse(examination, resumed, quiet=quiet)
        return
    taking = Taking(folder, same_command("--resume"), "what was answered")
    measured = taking.run(partial(measure, examination, folder, resume=resume), settings.model.max_cost, quiet=quiet)
    _conclude(measured, taking)


def _conclude(measured: "Measured", taking: Taking) -> None:
    from simia.bench import leaderboard
    from simia.bench.results import read_results

    folder = measured.folder
    results = read_results(folder)
    if results.verdicts:
        for table in (leaderboard.leaderboard([results]), leaderboard.drift_table([results])):
            if table is not None:
                print_table(table)
        problems = ", ".join(f"{word} {count}" for word, count in results.problems().items())
        if problems:
            say(f"answers that could not be read or applied: {problems}")
    result(taking.took_text(measured.totals))
    result(f"run: {folder} (simia bench report {shlex.quote(str(folder))} --html bench.html)")
    if measured.ceiling is not None:
        taking.leave_at_ceiling(measured.ceiling)
    if measured.interrupted:
        taking.leave_stopped()
    if measured.failed:
        tell_examples(folder, measured.stages)
        what = "samples or episodes" if results.settings.drift else "samples"
        taking.leave_failed(f"{measured.failed:,} {what} were not answered")


def _tell_limits(examination: "Examination") -> None:
    """Say it where the suite has fewer episodes than are to be followed, or right answers that cannot be given."""
    from simia.bench.rehearsal import unsayable

    locked = unsayable(examination)
    if locked:
        say(
            f"boxed: {locked:,} of the right answers do not fit the form that simia holds its simulators to, so nobody "
            "can give them; without --boxed all can be given"
        )
    asked, suite = examination.settings.drift, examination.suite
    by_world = Counter(episode.world for episode in suite.episodes if episode.role == "drift")
    short = [f"{name} {by_world[name]}" for name in sorted(suite.head.worlds) if by_world[name] < asked]
    if short:
        say(f"fewer than {asked} episodes to measure drift on: {', '.join(short)}; all of them are followed")


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
        if examination.settings.boxed:
            times = 1 + examination.settings.max_repairs
            say(f"boxed: an answer that is sent back is asked again, so up to {times} times as much")


bench_report.add_to(app)
bench_data.add_to(app)
bench_collect.add_to(app)
bench_fidelity.add_to(app)

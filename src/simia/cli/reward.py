"""``simia reward``: whether a reward can be trusted."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simia.cli.bench_report import print_table
from simia.cli.console import examples, result, result_facts, say
from simia.cli.files import write_text
from simia.cli.resuming import all_words, demand_folder, recorded, same_command
from simia.cli.summary import tell_examples
from simia.cli.synth import DryRunOption, MaxCostOption, ModelOption, QuietOption, ResumeOption, RunOption
from simia.cli.taking import Taking
from simia.errors import ConfigError

if TYPE_CHECKING:
    from simia.environment.reward.calibration_run import Measured, Trial

app = typer.Typer(no_args_is_help=True, help="Measure who judges the episodes of an agent: [cyan]calibrate[/cyan].")

COMMAND = "simia reward calibrate"


@app.callback()
def _group() -> None:
    """Keeps ``calibrate`` a command of its own, although there is no other."""


@app.command(
    epilog=examples(
        "simia reward calibrate --model gpt-4.1-mini --run runs/judge --max-cost 2",
        "simia reward calibrate --run runs/judge --resume --tasks 10",
        "simia reward calibrate --world library --world bank --tasks 2 --votes 1 --run runs/small",
        "simia reward calibrate --model gpt-4.1-mini --dry-run",
    )
)
def calibrate(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]", help="Settings, for example judge.max_repairs=0."),
    ] = None,
    model: ModelOption = None,
    world: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORLD",
            help="An executable world (simia world ls) to take tasks from; may be given several times. "
            "Without it airline, bank, library and shop.",
            show_default=False,
        ),
    ] = None,
    tasks: Annotated[
        int | None, typer.Option(min=1, help="So many tasks in each world; nine episodes each. [5]", show_default=False)
    ] = None,
    votes: Annotated[
        int | None, typer.Option(min=1, help="So many votes of the judge on each episode. [3]", show_default=False)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Draws the tasks and the episodes. [0]", show_default=False)] = None,
    folder: RunOption = None,
    resume: ResumeOption = False,
    dry_run: DryRunOption = False,
    max_cost: MaxCostOption = None,
    as_json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write every figure as JSON.", show_default=False)
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the tables as Markdown.", show_default=False)
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Measure a judge against executable truth: how often it is right, and what fools it.

    The episodes are made by program and executed in worlds. Exit code 1 where some were not judged.
    """
    from simia.cli.stopping import run_loop
    from simia.config import checked, with_overrides
    from simia.environment.reward.calibration_run import CalibrationSettings, Trial, judging_cast, measure
    from simia.worlds.door import open_world

    if folder is None and (resume or not dry_run):
        raise ConfigError("no folder for the run: add --run DIR, for example --run runs/judge")
    if folder is not None and (resume or not dry_run):
        demand_folder(folder, COMMAND, resume=resume)
    if as_json is not None and markdown is not None and as_json.resolve() == markdown.resolve():
        raise ConfigError("--json and --markdown name one file: give each its own")
    begun = recorded(folder) if resume and folder is not None else {}  # what is not said stays as it was
    given = all_words(words, model, max_cost, tasks=tasks, seed=seed, **{"judge.votes": votes})
    values = with_overrides(begun, given) | ({"worlds": world} if world else {})
    settings = checked(CalibrationSettings, values, COMMAND)
    cast = judging_cast(settings, os.environ)
    trial = run_loop(Trial.settle(settings, cast, open_world))
    if not quiet:
        say(f"model: {cast.reasons[0]}")
    if dry_run or folder is None:
        _rehearse(trial, folder if resume else None, quiet=quiet)
        return
    taking = Taking(folder, same_command("--resume"), "what was judged")
    measured = taking.run(partial(measure, trial, folder, resume=resume), settings.model.max_cost, quiet=quiet)
    _write(measured, trial, as_json, markdown)
    _conclude(measured, taking)


def _write(measured: "Measured", trial: "Trial", as_json: Path | None, markdown: Path | None) -> None:
    import orjson

    from simia.report.calibration import calibration_tables

    found = measured.calibration
    tables = calibration_tables(found, trial.cast.names) if found.verdicts else ()
    if as_json is not None:
        figures = {"judge": trial.cast.names, **found.as_json()}
        write_text(as_json, orjson.dumps(figures, option=orjson.OPT_INDENT_2).decode() + "\n")
    if markdown is not None:
        write_text(markdown, "\n".join(table.as_markdown() for table in tables))
    for table in tables:
        print_table(table)
    for path in (as_json, markdown):
        if path is not None:
            result(str(path))


def _conclude(measured: "Measured", taking: Taking) -> None:
    from simia.environment.reward.calibration_run import VERDICTS

    result(taking.took_text(measured.totals))
    result(f"run: {taking.folder}")
    if measured.ceiling is not None:
        taking.leave_at_ceiling(measured.ceiling)
    if measured.counts.interrupted:
        taking.leave_stopped()
    if measured.counts.failed:
        tell_examples(taking.folder, {VERDICTS: measured.counts})
        taking.leave_failed(f"{measured.counts.failed:,} episodes were not judged")


def _rehearse(trial: "Trial", resumed: Path | None, *, quiet: bool) -> None:
    from simia.environment.reward.calibration_run import estimate
    from simia.report.usage import cost_text

    guess = estimate(trial, resumed)
    settings = trial.settings
    result_facts(
        [
            ("episodes", f"{guess.episodes:,} of {settings.tasks} tasks in each of {', '.join(settings.worlds)}"),
            ("requests", f"{guess.requests:,}"),
            ("tokens in", f"about {guess.prompt_tokens:,}, the longest prompt {guess.longest_prompt_tokens:,}"),
            ("tokens out", f"about {guess.completion_tokens:,}"),
            ("cost", cost_text(guess.cost)),
        ]
    )
    if not quiet:
        times = 1 + settings.judge.max_repairs
        say("estimated from prompts as they would be asked; no model was asked, nothing was written")
        say(f"a vote that cannot be read is asked again, so up to {times} times as much")

"""``simia synth``: from seeds to training files; and its stages one by one."""

import os
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simia.cli.console import examples, result, result_facts, say
from simia.cli.errors import ExitCode, exit_code_of, tell
from simia.errors import ConfigError, ManifestMismatch, RunLocked, SimiaError

if TYPE_CHECKING:
    from simia.store import Manifest
    from simia.synthesis.cast import Cast
    from simia.synthesis.recipe import Recipe
    from simia.synthesis.run import Summary

_STAGES = ("prefilter", "generate", "postprocess", "export")
_STAGE_HELP = {
    "prefilter": "Judge the seeds of a run, by rules and, if the recipe says so, by a model.",
    "generate": "Write the conversations that a run still lacks.",
    "postprocess": "Mend, check and de-duplicate a run's conversations anew. Asks no model and costs nothing.",
    "export": "Write a run's training files and their card anew. Asks no model and costs nothing.",
}
_ASKS_NO_MODEL = frozenset({"postprocess", "export"})

RecipeArgument = Annotated[
    str,
    typer.Argument(
        metavar="RECIPE", help="A bundled recipe (shop, office, tau2-retail ...), a .toml file, or a world folder."
    ),
]
WordsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[KEY=VALUE]", help="Settings, for example count=50 simulate.mode=turns."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
ModelOption = Annotated[
    str | None,
    typer.Option(
        help="A model's name at the endpoint, [cyan]embedded[/cyan], or [cyan]gguf:PATH[/cyan]. Without it: "
        "OPENAI_BASE_URL or OPENAI_API_KEY, else a running Ollama, else the embedded model.",
        show_default=False,
    ),
]
MaxCostOption = Annotated[
    float | None, typer.Option(min=0, metavar="USD", help="Stop before the run costs more.", show_default=False)
]


def add_to(app: typer.Typer) -> None:
    """Register ``synth`` and one command per stage."""
    app.command(
        epilog=examples(
            "simia synth shop count=20 --run runs/first",
            "simia synth shop count=20 --run runs/first --resume",
            "simia synth shop count=20 --dry-run",
            "simia synth tau2-retail --run runs/retail --model qwen3-32b --max-cost 5",
        )
    )(synth)
    for stage in _STAGES:
        app.command(
            name=stage,
            help=_STAGE_HELP[stage],
            rich_help_panel="The stages of a run, one by one",
            epilog=examples(f"simia {stage} runs/first"),
        )(_stage_command(stage))


def synth(
    recipe: RecipeArgument,
    words: WordsArgument = None,
    run: Annotated[
        Path | None, typer.Option("--run", metavar="DIR", help="The folder of the run.", show_default=False)
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in the folder.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate requests, tokens and cost.")] = False,
    max_cost: MaxCostOption = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Make at most so many conversations, whatever the recipe says.", show_default=False),
    ] = None,
    model: ModelOption = None,
    until: Annotated[
        str | None, typer.Option(metavar="STAGE", help=f"Stop after this stage: {', '.join(_STAGES)}.")
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Make training files from seeds: prefilter the seeds, generate conversations, postprocess them, export."""
    from simia.synthesis.recipe import read_recipe

    settings = read_recipe(recipe, _words(words, model, max_cost))
    if limit is not None and limit < settings.count:
        settings = settings.model_copy(update={"count": limit})
    from simia.synthesis.cast import choose_cast

    if dry_run:
        _print_estimate(settings, choose_cast(settings, os.environ))
        return
    if run is None:
        raise ConfigError(f"no folder for the run: add --run DIR, for example --run runs/{settings.name}")
    if until is not None and until not in _STAGES:
        raise ConfigError(f"no stage {until!r}: the stages are {', '.join(_STAGES)}")
    stages = _STAGES if until is None else _STAGES[: _STAGES.index(until) + 1]
    _begin_in(run, resume=resume)
    cast = choose_cast(settings, os.environ)
    _take(settings, cast, run, stages, resume=resume, quiet=quiet, again=_resume_command())


def _stage_command(stage: str) -> Any:
    def command(
        run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)],
        model: ModelOption = None,
        max_cost: MaxCostOption = None,
        quiet: QuietOption = False,
    ) -> None:
        from simia.store import Run
        from simia.synthesis.cast import choose_cast

        with Run.read(run) as opened:
            manifest = opened.manifest
        settings = _recipe_of(manifest, _words(None, model, max_cost))
        cast = _cast_of(manifest, settings) if stage in _ASKS_NO_MODEL else choose_cast(settings, os.environ)
        _take(settings, cast, run, (stage,), resume=True, quiet=quiet, again=f"simia {stage} {shlex.quote(str(run))}")

    def without_model(
        run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)],
        quiet: QuietOption = False,
    ) -> None:
        command(run, None, None, quiet)

    return without_model if stage in _ASKS_NO_MODEL else command


def _take(
    recipe: "Recipe",
    cast: "Cast",
    folder: Path,
    stages: tuple[str, ...],
    *,
    resume: bool,
    quiet: bool,
    again: str,
) -> None:
    """Take the stages, show them, say what came of it, and leave with the exit code that fits."""
    from simia.cli.board import Board
    from simia.cli.progress import ModelSide, shown
    from simia.cli.stopping import Aborted, run_until_stopped
    from simia.synthesis.run import synthesise

    if not quiet:
        for reason in cast.reasons:
            say(f"model: {reason}")
        if cast.settled(recipe).simulate.profile == "small":
            say("small model: short prompts and replies (simulate.profile=full for the others)")
    board, model_side = Board(), ModelSide(recipe.model.max_cost)
    began_s = time.monotonic()
    try:
        with shown(board, model_side, quiet=quiet):
            summary = run_until_stopped(
                lambda stop: synthesise(
                    recipe,
                    cast,
                    folder,
                    resume=resume,
                    stages=stages,
                    observer=board,
                    stop=stop,
                    watch=model_side.watch,
                )
            )
    except (RunLocked, ManifestMismatch, ConfigError):
        raise
    except SimiaError as error:
        tell(error)
        if (folder / "run.json").exists():
            say(f"what was made is in {folder}; go on with: {again}")
        raise typer.Exit(exit_code_of(error)) from error
    except Aborted:
        say(f"stopped at once; what was answered is in {folder}; go on with: {again}")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    _print_summary(summary, time.monotonic() - began_s)
    if summary.interrupted or any(counts.interrupted for counts in summary.stages.values()):
        say(f"stopped; go on with: {again}")
        raise typer.Exit(ExitCode.INTERRUPTED)
    if summary.failed:
        say(f"{summary.failed:,} items failed; try them again with: {again}")
        raise typer.Exit(ExitCode.SOME_FAILED)
    if any(counts.seen and not counts.kept for counts in summary.stages.values()):
        _tell_why_nothing_was_kept(folder)
        raise typer.Exit(ExitCode.SOME_FAILED)


def _print_summary(summary: "Summary", took_s: float) -> None:
    from simia.cli.progress import clock_text, usage_line

    parts = []
    for name, counts in summary.stages.items():
        dropped = f", {counts.dropped_total:,} dropped" if counts.dropped_total else ""
        failed = f", {counts.failed:,} failed" if counts.failed else ""
        parts.append(f"{name} kept {counts.kept:,} of {counts.seen:,}{dropped}{failed}")
    result("; ".join([*parts, f"took {clock_text(took_s)}"]))
    if usage := usage_line(summary.totals):
        result(f"used: {usage}")
    result(f"run: {summary.folder} (simia runs show {shlex.quote(str(summary.folder))})")
    if summary.exported is not None:
        folder = summary.exported.folder
        for path in (summary.exported.card, *(folder / file.path for file in summary.exported.files)):
            result(str(path))
        if summary.exported.non_commercial:
            say(f"note: {', '.join(summary.exported.non_commercial)} forbids commercial use of these files")


def _tell_why_nothing_was_kept(folder: Path) -> None:
    """The first item that was dropped by the most frequent rule, because its particulars say what to mend."""
    from simia.report import read_funnel
    from simia.store import Run

    with Run.read(folder) as run:
        empty = [stage for stage in read_funnel(run).stages if stage.seen and not stage.kept]
        for stage in empty:
            rule, count = stage.reasons[0]
            for _, key, dropped in run.stream(stage.name).dropped():
                if dropped.rule == rule:
                    say(f"{stage.name} kept nothing; {count:,} times {rule}, for example {key}: {dropped.detail}")
                    break


def _print_estimate(recipe: "Recipe", cast: "Cast") -> None:
    from simia.report.usage import cost_text
    from simia.synthesis.estimate import estimate

    for reason in cast.reasons:
        say(f"model: {reason}")
    guess = estimate(recipe, cast)
    result_facts(
        [
            ("conversations", f"{guess.conversations:,} from {guess.seeds:,} seeds"),
            ("requests", f"{guess.requests:,}"),
            ("tokens in", f"about {guess.prompt_tokens:,}, the longest prompt {guess.longest_prompt_tokens:,}"),
            ("tokens out", f"about {guess.completion_tokens:,}"),
            ("cost", cost_text(guess.cost)),
        ]
    )
    say(
        f"estimated from {guess.sampled:,} rendered prompts, one try each, nothing cached; nothing was asked or written"
    )


def _words(words: list[str] | None, model: str | None, max_cost: float | None) -> list[str]:
    """The settings of the command line, options after words, because they are more explicit."""
    import orjson

    extra = [] if model is None else [f"model.name={orjson.dumps(model).decode()}"]
    if max_cost is not None:
        extra.append(f"model.max_cost={max_cost!r}")
    return [*(words or []), *extra]


def _recipe_of(manifest: "Manifest", words: list[str]) -> "Recipe":
    """The recipe that a run was made by. How its model is reached is not recorded: the environment says it."""
    from simia.config import checked, with_overrides
    from simia.synthesis.recipe import Recipe

    return checked(Recipe, with_overrides(manifest.config, words), "the recipe in run.json")


def _cast_of(manifest: "Manifest", recipe: "Recipe") -> "Cast":
    """The cast that a run was made by, for stages that ask no model: it opens nothing and needs no endpoint."""
    from simia.models.choose import ChosenModel
    from simia.synthesis.cast import Cast

    def refuse() -> Any:
        raise ConfigError("this stage asks no model")

    chosen = ChosenModel(manifest.model, f"{manifest.model} made this run; none is asked", recipe.model, False, refuse)
    return Cast({"model": chosen})


def _begin_in(folder: Path, *, resume: bool) -> None:
    """Refuse a folder that cannot be meant before anything is fetched or asked."""
    if resume and not (folder / "run.json").exists():
        raise ConfigError(f"{folder} holds no run to go on with: leave --resume out, or check --run")
    if not resume and (folder / "run.json").exists():
        raise ConfigError(f"{folder} holds a run already: add --resume to go on with it, or take another --run")


def _resume_command() -> str:
    """The very command that was given, with ``--resume``."""
    words = [word for word in sys.argv[1:] if word != "--resume"]
    return shlex.join(["simia", *words, "--resume"])

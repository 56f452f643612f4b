"""``simia synth``: from seeds to training files; and its stages one by one."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simia.cli.console import examples, say
from simia.cli.errors import ExitCode
from simia.cli.rehearsal import rehearse, say_models
from simia.cli.resuming import all_words, demand_folder, same_command
from simia.cli.runs import open_run
from simia.cli.summary import may_pass, print_summary, tell_examples
from simia.cli.taking import Taking
from simia.errors import ConfigError

if TYPE_CHECKING:
    from simia.models.cast import Cast
    from simia.store import Manifest
    from simia.synthesis.recipe import Recipe

_STAGES = ("prefilter", "generate", "postprocess", "export")
_STAGE_HELP = {
    "prefilter": "Judge the seeds of a run, by rules and, if the recipe says so, by a model.",
    "generate": "Write the conversations that a run still lacks.",
    "postprocess": "Mend, check and de-duplicate a run's conversations anew. Asks no model and costs nothing.",
    "export": "Write a run's training files and their card anew. Asks no model and costs nothing.",
}
_STAGE_EXAMPLES = {
    "prefilter": ("simia prefilter runs/first", "simia prefilter runs/first model.max_in_flight=8"),
    "generate": ("simia generate runs/first", "simia generate runs/first count=200 --max-cost 5"),
    "postprocess": ("simia postprocess runs/first", "simia postprocess runs/first dedup.near=0.8"),
    "export": ("simia export runs/first", 'simia export runs/first \'export.formats=["trl", "openai"]\''),
}
_STAGE_SETTING = {
    "prefilter": "model.max_in_flight=8",
    "generate": "count=200",
    "postprocess": "dedup.near=0.8",
    "export": "export.reasoning=strip",
}
_ASKS_NO_MODEL = frozenset({"postprocess", "export"})

RecipeArgument = Annotated[
    str,
    typer.Argument(
        metavar="RECIPE",
        help="A bundled recipe (shop, office, tau2-retail ...), a .toml file, a world folder, or a seed file.",
    ),
]
WordsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[KEY=VALUE]", help="Settings, for example count=50 simulate.mode=turns."),
]
RunOption = Annotated[
    Path | None, typer.Option("--run", metavar="DIR", help="The folder of the run.", show_default=False)
]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Go on with the run in the folder.")]
DryRunOption = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Only check the settings and estimate tokens and cost; with --resume of what the run still lacks.",
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
ModelOption = Annotated[
    str | None,
    typer.Option(
        help="A model's name at the endpoint, [cyan]embedded[/cyan], [cyan]gguf:PATH[/cyan], or "
        "[cyan]cassette:FILE[/cyan]. Without it the recipe's, else that of OPENAI_BASE_URL or OPENAI_API_KEY, else a "
        "running Ollama's, else the embedded one.",
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
            "simia synth shop count=40 --run runs/first --resume",
            "simia synth tau2-retail --run runs/retail --model gpt-4.1-mini --max-cost 5",
        )
    )(synth)
    for stage in _STAGES:
        app.command(
            name=stage,
            help=_STAGE_HELP[stage],
            rich_help_panel="The stages of a run, one by one",
            epilog=examples(*_STAGE_EXAMPLES[stage]),
        )(_stage_command(stage))


def synth(
    recipe: RecipeArgument,
    words: WordsArgument = None,
    run: RunOption = None,
    resume: ResumeOption = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Only check the settings and estimate requests, tokens and cost; with --resume of what the run still "
            "lacks.",
        ),
    ] = False,
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

    settings = read_recipe(recipe, all_words(words, model, max_cost))
    if limit is not None and limit < settings.count:
        settings = settings.model_copy(update={"count": limit})
    from simia.synthesis.cast import choose_cast

    if until is not None and until not in _STAGES:
        raise ConfigError(f"no stage {until!r}: the stages are {', '.join(_STAGES)}")
    stages = _STAGES if until is None else _STAGES[: _STAGES.index(until) + 1]
    if run is None and (resume or not dry_run):
        raise ConfigError(f"no folder for the run: add --run DIR, for example --run runs/{settings.name}")
    if run is None or dry_run:
        rehearse(settings, choose_cast(settings, os.environ), stages, run if resume else None, quiet=quiet)
        return
    demand_folder(run, "simia synth", resume=resume)
    cast = choose_cast(settings, os.environ)
    _take(settings, cast, run, stages, resume=resume, quiet=quiet, again=same_command("--resume"))


def _stage_command(stage: str) -> Any:
    change = typer.Argument(
        metavar="[KEY=VALUE]", help=f"What the run may change, for example {_STAGE_SETTING[stage]}."
    )

    def command(
        run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)],
        words: Annotated[list[str] | None, change] = None,
        model: ModelOption = None,
        max_cost: MaxCostOption = None,
        quiet: QuietOption = False,
    ) -> None:
        from simia.synthesis.cast import choose_cast
        from simia.synthesis.recipe import recipe_of

        with open_run(run) as opened:
            manifest = opened.manifest
        _demand_used_by(stage, words or [])
        settings = recipe_of(manifest.config, all_words(words, model, max_cost))
        cast = _cast_of(manifest, settings) if stage in _ASKS_NO_MODEL else choose_cast(settings, os.environ)
        _take(settings, cast, run, (stage,), resume=True, quiet=quiet, again=same_command())

    def without_model(
        run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)],
        words: Annotated[list[str] | None, change] = None,
        quiet: QuietOption = False,
    ) -> None:
        command(run, words, None, None, quiet)

    return without_model if stage in _ASKS_NO_MODEL else command


def _take(
    recipe: "Recipe",
    cast: "Cast",
    folder: Path,
    stages: tuple[str, ...],
    *,
    resume: bool,
    quiet: bool,
    again: list[str],
) -> None:
    """Take the stages, show them, say what came of it, and leave with the exit code that fits."""
    from simia.synthesis.cast import settled
    from simia.synthesis.run import synthesise

    if not quiet:
        say_models(cast)
        if settled(recipe, cast).simulate.profile == "small":
            say("small model: short prompts and replies (simulate.profile=full for the others)")
    taking = Taking(folder, again, "what was made", "what was answered")
    work = partial(synthesise, recipe, cast, folder, resume=resume, stages=stages)
    summary = taking.run(work, recipe.model.max_cost, quiet=quiet)
    print_summary(summary, taking.took_s)
    if summary.interrupted or any(counts.interrupted for counts in summary.stages.values()):
        taking.leave_stopped()
    tell_examples(folder, summary.stages)
    if summary.ceiling is not None:
        taking.leave_at_ceiling(summary.ceiling)
    if summary.failed:
        if may_pass(folder, summary.stages):
            taking.leave_failed(f"{summary.failed:,} items failed")
        say(f"{summary.failed:,} items failed, and would fail again in the same way: see above for what to do")
        raise typer.Exit(ExitCode.SOME_FAILED)
    is_empty = summary.exported is not None and not summary.exported.records
    if is_empty or any(counts.seen and not counts.kept for counts in summary.stages.values()):
        raise typer.Exit(ExitCode.SOME_FAILED)


def _demand_used_by(stage: str, words: list[str]) -> None:
    """Refuse a setting that ``stage`` would only write down, so that ``run.json`` tells what was really used."""
    from simia.synthesis.recipe import USED_BY

    for word in words:
        section = word.partition("=")[0].partition(".")[0]
        if USED_BY.get(section, stage) != stage:
            raise ConfigError(f"{word}: the stage {stage} does not use it; give it to simia {USED_BY[section]}")


def _cast_of(manifest: "Manifest", recipe: "Recipe") -> "Cast":
    """The cast that a run was made by, for stages that ask no model: it opens nothing and needs no endpoint."""
    from simia.models.cast import Cast
    from simia.models.choose import ChosenModel

    def refuse() -> Any:
        raise ConfigError("this stage asks no model")

    chosen = ChosenModel(manifest.model, f"{manifest.model} made this run; none is asked", recipe.model, False, refuse)
    return Cast({"model": chosen})

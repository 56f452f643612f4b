"""``simia train``: agents that learn."""

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from simia.cli.console import examples, result, result_facts, say
from simia.cli.errors import ExitCode
from simia.cli.resuming import all_words, demand_folder, recorded, same_command
from simia.cli.synth import MaxCostOption, ModelOption, QuietOption, RunOption
from simia.cli.taking import Taking
from simia.cli.waiting import Waiting
from simia.errors import ConfigError

if TYPE_CHECKING:
    from simia.models.cast import Cast
    from simia.train.grpo import Learned
    from simia.train.recipe import GrpoRecipe
    from simia.worlds import World

app = typer.Typer(no_args_is_help=True, help="Train agents: [cyan]grpo[/cyan].")

COMMAND = "simia train grpo"


@app.callback()
def _group() -> None:
    """Keeps ``grpo`` a command of its own, although there is no other yet."""


@app.command(
    epilog=examples(
        "simia train grpo tiny --run runs/tiny",
        "simia train grpo shop.toml --run runs/shop --resume learn.steps=200",
        "simia train grpo mine.toml --run runs/mine --model gpt-4.1-mini --max-cost 20",
        "simia train grpo mine.toml --dry-run",
    )
)
def grpo(
    recipe: Annotated[
        str | None,
        typer.Argument(metavar="RECIPE", help="A .toml file or a bundled recipe (tiny).", show_default=False),
    ] = None,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]", help="Settings, for example learn.steps=20.")
    ] = None,
    run: RunOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in the folder from its last checkpoint.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only check the settings, the world and the models; write nothing.")
    ] = False,
    max_cost: MaxCostOption = None,
    model: ModelOption = None,
    quiet: QuietOption = False,
) -> None:
    """Train an agent by reinforcement learning (GRPO) in a simulated or executable environment.

    --model plays the environment (tools, user, judge); the agent that learns is agent.model. Ctrl-C saves a checkpoint
    after the step at hand. Exit code 1 where the run stopped early.
    """
    from simia.environment.recipe import choose_players, world_of
    from simia.train.beginning import demand_trl
    from simia.train.recipe import read_recipe, recipe_of
    from simia.worlds.door import open_world

    if run is None and (resume or not dry_run):
        raise ConfigError("no folder for the run: add --run DIR, for example --run runs/grpo")
    words = words or []
    if recipe is not None and "=" in recipe:  # with --resume the recipe may be left out
        words, recipe = [recipe, *words], None
    given = all_words(words, model, max_cost)
    if run is not None and (resume or not dry_run):
        demand_folder(run, COMMAND, resume=resume)
    if recipe is None and not (resume and run is not None):
        raise ConfigError("no recipe: give a .toml file or a bundled one (simia train grpo tiny --run runs/tiny)")
    settings = (
        recipe_of(recorded(run), given) if recipe is None and run is not None else read_recipe(recipe or "", given)
    )
    demand_trl()
    world = world_of(settings, open_world)
    cast = choose_players(settings, os.environ, world)
    if not quiet:
        for reason in cast.reasons if cast is not None else ("programs play the environment: no model is asked",):
            say(f"environment: {reason}")
    if dry_run or run is None:
        _rehearse(settings)
        return
    _take(settings, cast, world, run, resume=resume, quiet=quiet)


def _rehearse(recipe: "GrpoRecipe") -> None:
    learn = recipe.learn
    result_facts(
        [
            ("agent", recipe.agent.model),
            ("environment", f"{recipe.environment.world or recipe.environment.seeds}, {recipe.environment.dynamics}"),
            ("steps", f"{learn.steps:,}, each of {learn.groups:,} groups of {learn.group_size:,} episodes"),
            ("episodes", f"{learn.steps * learn.groups * learn.group_size:,}"),
        ]
    )


def _take(
    recipe: "GrpoRecipe", cast: "Cast | None", world: "World | None", folder: Path, *, resume: bool, quiet: bool
) -> None:
    from simia.train.grpo import grpo as learn

    # Threads of torch that wait by spinning take the processor from whoever else works on this machine, and several of
    # them from each other. Read when torch is imported, which nobody has done yet.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    taking = Taking(folder, same_command("--resume"), "what was learned up to the last checkpoint")

    def row(step: int, figures: Mapping[str, float]) -> None:
        if not quiet:
            say(_row_text(step, recipe.learn.steps, figures))

    try:
        with taking.telling(), _stopping() as stop:
            learned = learn(
                recipe,
                cast,
                world,
                folder,
                resume=resume,
                should_stop=lambda: bool(stop),
                on_row=row,
                on_wait=Waiting(),
            )
    except KeyboardInterrupt:
        say(f"stopped at once; go on from the last checkpoint with: {shlex.join(taking.again)}")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    _conclude(learned, recipe, taking)


def _conclude(learned: "Learned", recipe: "GrpoRecipe", taking: Taking) -> None:
    from simia.report.training_page import write_page

    page = write_page(learned.folder)
    for name, told in (("trained", "in the environment of the training"), ("executed", "in the executable world")):
        if name in learned.after:
            before = f"{learned.before[name]:.0%} before, " if name in learned.before else ""
            lost = f" ({learned.unscored[name]:.0%} masked)" if name in learned.unscored else ""
            result(
                f"success on held-out tasks {told}: {before}{learned.after[name]:.0%} after step {learned.step:,}{lost}"
            )
    masked = f", {learned.masked:,} masked" if learned.masked else ""
    result(f"{learned.episodes:,} episodes{masked}; {taking.took_text(learned.totals)}")
    result(f"run: {learned.folder} (agent in {learned.folder / 'model'}, curves in {learned.folder / 'curves.csv'})")
    result(f"page: {page}")
    if learned.interrupted:
        taking.leave_stopped(f"stopped after step {learned.step:,} of {recipe.learn.steps:,}")


def _row_text(step: int, steps: int, figures: Mapping[str, float]) -> str:
    parts = [f"step {step:,}/{steps:,}"]
    for name, label, form in (
        ("reward", "reward", "{:.3f}"),
        ("success", "success", "{:.0%}"),
        ("turns", "turns", "{:.1f}"),
        ("masked", "masked", "{:.0%}"),
        ("environment_s", "rollout", "{:.1f} s"),
        ("step_s", "step", "{:.1f} s"),
        ("cost", "cost", "${:.4f}"),
    ):
        if name in figures and not (name in ("masked", "cost") and not figures[name]):
            parts.append(f"{label} {form.format(figures[name])}")
    return ", ".join(parts)


@contextmanager
def _stopping() -> Iterator[list[int]]:
    """A list that the first Ctrl-C, or SIGTERM, puts something into; the second one interrupts at once."""
    from simia.cli.stopping import signals_to

    asked: list[int] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        if len(asked) > 1:
            raise KeyboardInterrupt
        say("stopping after this step, with a checkpoint; Ctrl-C again to stop at once")

    with signals_to(on_signal):
        yield asked

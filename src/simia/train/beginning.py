"""What is settled before a training begins: what it is made from, and what makes it impossible."""

from datetime import UTC, datetime
from pathlib import Path

from simia import __version__
from simia.environment.arena import prompts_of
from simia.environment.tasks import seed_tasks
from simia.errors import ConfigError, ExtraMissing, ManifestMismatch
from simia.models.cast import Cast
from simia.prompts import hashes
from simia.store import Manifest, Run
from simia.train.recipe import GrpoRecipe
from simia.types import content_id
from simia.worlds import World


def manifest_of(recipe: GrpoRecipe, cast: Cast | None, world: World | None) -> Manifest:
    """What a run of ``recipe`` is made from.

    Raises:
        ConfigError: a base URL holds a secret.
        SeedError: the seeds cannot be used.
    """
    if recipe.environment.seeds is not None:
        seeds = list(seed_tasks(recipe.environment.seeds, limit=recipe.environment.tasks))
        made_from = {recipe.environment.seeds: content_id([task.content_id for task in seeds])}
        licences = tuple(sorted({task.seed.licence for task in seeds}))
    else:
        made_from = {} if world is None else {f"world {world.spec.name}": world.spec.content_id}
        licences = () if world is None else (world.spec.licence,)
    return Manifest(
        run=recipe.name,
        version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        config=recipe.recorded(),
        prompts=hashes(prompts_of(recipe.environment)),
        seeds=made_from,
        licences=licences,
        model="programs" if cast is None else cast.names,
        model_reason="no model plays the environment" if cast is None else "; ".join(cast.reasons),
    )


def demand_tasks(count: int, recipe: GrpoRecipe) -> None:
    """Make sure that a step has as many tasks as it has groups.

    Raises:
        ConfigError: there are fewer; TRL would train nothing.
    """
    groups = recipe.learn.groups
    if count < groups:
        raise ConfigError(
            f"a step plays {groups} different tasks (learn.groups) and there are {count}: raise environment.tasks, "
            "where there are more, or lower learn.groups"
        )


def demand_same_length(recipe: GrpoRecipe, folder: Path) -> None:
    """Make sure that the run in ``folder`` can be gone on with for as many steps as ``recipe`` has.

    Raises:
        ManifestMismatch: its learning rate depends on their number.
        StoreError: there is no run.
    """
    with Run.read(folder) as run:
        begun = run.manifest.config.get("learn")
    steps = begun.get("steps") if isinstance(begun, dict) else None
    if recipe.learn.schedule != "constant" and steps is not None and steps != recipe.learn.steps:
        raise ManifestMismatch(
            f"the learning rate of {folder} falls to 0 at step {steps:,} (learn.schedule={recipe.learn.schedule}), so "
            'that other learn.steps are another run: begin one with another --run; with learn.schedule="constant" from '
            "the start a run can go on for longer",
            ("config.learn.steps",),
        )


def demand_trl() -> None:
    """Make sure that the extra ``trl`` is there, before anything is begun.

    Raises:
        ExtraMissing: it is not.
    """
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("torch", "transformers", "trl", "datasets", "peft", "accelerate")):
        raise ExtraMissing("trl", "training an agent")

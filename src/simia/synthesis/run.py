"""The run of a recipe: four stages over one run folder, each of which can be taken alone and resumed."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from simia.errors import AuthenticationFailed, ConfigError, CostCeilingReached, ModelNotFound, StoreError
from simia.models.cast import Cast
from simia.models.meter import MeterTotals
from simia.pipeline import Observer, Silent
from simia.pipeline.metered import MeteredRun, Watch, metered_run
from simia.store import Counts
from simia.synthesis.cast import settled
from simia.synthesis.export import ExportReport, ExportStopped, check_formats
from simia.synthesis.manifest import ASKING, STAGES, manifest_of, manifest_to_resume
from simia.synthesis.postprocess import Postprocess
from simia.synthesis.recipe import FREE, GROWING, Recipe
from simia.synthesis.sources import seed_items
from simia.synthesis.stages import Context, export_run, generate, postprocess, prefilter_seeds
from simia.types import ChatModel, WorldSpec

_OF_THE_RECIPE = (AuthenticationFailed, ConfigError, ModelNotFound)


@dataclass
class Summary:
    """What a run came to. ``stages`` holds the counts of the stages that were taken; ``exported`` the files.

    ``ceiling`` says that the run's cost ended it before its time; what was made up to then is exported all the same.
    ``unread_seeds`` failed in the prefilter, and no conversation was asked for: it would be made from the others alone.
    ``late_seeds`` passed the prefilter when conversations were made already, and are not used.
    """

    folder: Path
    stages: dict[str, Counts] = field(default_factory=dict)
    exported: ExportReport | None = None
    totals: MeterTotals | None = None
    interrupted: bool = False
    ceiling: CostCeilingReached | None = None
    unread_seeds: int = 0
    late_seeds: int = 0

    @property
    def failed(self) -> int:
        """Items that failed, over all stages."""
        return sum(counts.failed for counts in self.stages.values())


async def synthesise(
    recipe: Recipe,
    cast: Cast,
    folder: Path,
    *,
    resume: bool = False,
    stages: tuple[str, ...] = STAGES,
    observer: Observer | None = None,
    stop: asyncio.Event | None = None,
    watch: Watch | None = None,
) -> Summary:
    """Take the recipe through ``stages`` in ``folder``. ``watch`` is given the meter and the limit to show them.

    ``prefilter`` and ``generate`` go on where they were; ``postprocess`` and ``export`` cost nothing and are made anew,
    also where the cost ceiling ended the others. Where seeds failed in ``prefilter``, ``generate`` does not begin in
    the same call: taken alone it does, without them. A new run that fails before anything is made leaves no folder, and
    one that the model's name, key or settings end before anything was paid for neither, so that the corrected recipe
    can begin in it.

    Raises:
        ConfigError: an unknown stage, one whose input was not made yet, or settings or seeds that cannot be used.
        StoreError: the run folder; see :class:`simia.store.Run`.
        ModelError: a model that no item can do without is gone.
    """
    unknown = [stage for stage in stages if stage not in STAGES]
    if unknown:
        raise ConfigError(f"no stage {', '.join(unknown)}: the stages are {', '.join(STAGES)}")
    recipe = settled(recipe, cast)
    demand_usable(recipe, cast, stages)
    if resume:
        manifest = manifest_to_resume(recipe, cast, folder, stages)
    else:
        next(iter(seed_items(recipe.seeds)), None)  # what cannot be read at all is told before there is a folder
        manifest = manifest_of(recipe, cast)
    summary = Summary(folder)
    with metered_run(
        folder, manifest, cast, resume=resume, free=FREE, growing=GROWING, begins_anew=_OF_THE_RECIPE, watch=watch
    ) as metered:
        context = Context(recipe, cast, metered.run, metered.meter, observer or Silent(), stop)
        await _take(context, metered, stages, summary)
        summary.totals = metered.meter.totals()
    return summary


async def _take(context: Context, metered: MeteredRun, stages: tuple[str, ...], summary: Summary) -> None:
    run = context.run
    if ASKING & set(stages):
        try:
            async with metered.models() as models:
                await _ask(context, models, stages, summary)
        except CostCeilingReached as reached:
            summary.ceiling = reached
            made = [stage for stage in stages if stage in ASKING and stage in run.stream_names()]
            summary.stages |= {stage: run.stream(stage).counts() for stage in made}
            if not run.stream("generate").counts().seen:
                return
        if summary.unread_seeds:
            return
    if not summary.interrupted and "postprocess" in stages:
        summary.stages["postprocess"] = postprocess(context)
        summary.interrupted = summary.stages["postprocess"].interrupted
    if not summary.interrupted and "export" in stages:
        try:
            summary.exported = export_run(run, context.recipe, stop=context.stop)
        except ExportStopped:
            summary.interrupted = True


def demand_usable(recipe: Recipe, cast: Cast, stages: tuple[str, ...]) -> None:
    """Say what is wrong with the settings before anything is begun or paid for.

    Raises:
        ConfigError: a price, a pass or an export format cannot be had.
    """
    if ASKING & set(stages):
        cast.demand_prices()
    Postprocess(recipe.postprocess, _no_world)
    check_formats(recipe.export.formats)


def _no_world(world_id: str) -> WorldSpec:
    raise StoreError(f"no run holds the world {world_id} yet")


async def _ask(context: Context, models: dict[str, ChatModel], stages: tuple[str, ...], summary: Summary) -> None:
    if "prefilter" in stages:
        summary.stages["prefilter"] = await prefilter_seeds(context, models)
        summary.interrupted = summary.stages["prefilter"].interrupted
        if "generate" in stages and not context.run.stream("generate").counts().seen:
            summary.unread_seeds = summary.stages["prefilter"].failed
    if "generate" in stages and not summary.interrupted and not summary.unread_seeds:
        summary.stages["generate"], summary.late_seeds = await generate(context, models)
        summary.interrupted = summary.stages["generate"].interrupted

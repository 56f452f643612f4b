"""The run of a recipe: four stages over one run folder, each of which can be taken alone and resumed."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from simia.errors import ConfigError, CostCeilingReached, RecordError, SimiaError, StoreError
from simia.models.adaptive import AdaptiveLimit
from simia.models.meter import Meter, MeterTotals
from simia.pipeline import Item, Observer, Pass, Silent, Stage, run_pass, run_stage
from simia.simulate import PlannedSeed, TrajectorySimulator, TurnSimulator
from simia.store import Counts, Run
from simia.synthesis import prefilter
from simia.synthesis.cast import Cast
from simia.synthesis.dedup import Dedup
from simia.synthesis.export import ExportReport, ExportStopped, check_formats, export
from simia.synthesis.generation import PlannedItems
from simia.synthesis.manifest import ASKING, STAGES, manifest_of, manifest_to_resume
from simia.synthesis.postprocess import Postprocess
from simia.synthesis.recipe import FREE, GROWING, Recipe
from simia.synthesis.seed_table import SeedTable, StoredSeed
from simia.synthesis.sources import seed_items
from simia.types import ChatModel, Dropped, Kept, Outcome, Seed, Trajectory, WorldSpec

_METER_EVERY = 64  # outcomes between two notes of usage and cost


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


@dataclass(frozen=True)
class _Context:
    recipe: Recipe
    cast: Cast
    run: Run
    meter: Meter
    observer: Observer
    stop: asyncio.Event | None
    limit: AdaptiveLimit


async def synthesise(
    recipe: Recipe,
    cast: Cast,
    folder: Path,
    *,
    resume: bool = False,
    stages: tuple[str, ...] = STAGES,
    observer: Observer | None = None,
    stop: asyncio.Event | None = None,
    watch: Callable[[Meter, AdaptiveLimit], None] | None = None,
) -> Summary:
    """Take the recipe through ``stages`` in ``folder``. ``watch`` is given the meter and the limit to show them.

    ``prefilter`` and ``generate`` go on where they were; ``postprocess`` and ``export`` cost nothing and are made anew,
    also where the cost ceiling ended the others. Where seeds failed in ``prefilter``, ``generate`` does not begin in
    the same call: taken alone it does, without them. A new run that fails before anything is made leaves no folder, so
    that the corrected recipe can begin in it.

    Raises:
        ConfigError: an unknown stage, one whose input was not made yet, or settings or seeds that cannot be used.
        StoreError: the run folder; see :class:`simia.store.Run`.
        ModelError: a model that no item can do without is gone.
    """
    unknown = [stage for stage in stages if stage not in STAGES]
    if unknown:
        raise ConfigError(f"no stage {', '.join(unknown)}: the stages are {', '.join(STAGES)}")
    recipe = cast.settled(recipe)
    demand_usable(recipe, cast, stages)
    if resume:
        manifest = manifest_to_resume(recipe, cast, folder, stages)
        opened = Run.resume(folder, manifest, free=FREE, growing=GROWING)
    else:
        next(iter(seed_items(recipe.seeds)), None)  # what cannot be read at all is told before there is a folder
        opened = Run.create(folder, manifest_of(recipe, cast))
    summary = Summary(folder)
    with opened as run:
        meter = Meter(run.load_meter())
        if resume:
            meter.catch_up(run.replies.usage(), cast.price_of)
        limit = AdaptiveLimit(cast.chosen["model"].settings.max_in_flight)
        if watch is not None:
            watch(meter, limit)
        context = _Context(recipe, cast, run, meter, observer or Silent(), stop, limit)
        try:
            await _take(context, stages, summary)
        except SimiaError:
            if not resume and run.is_empty:
                run.discard()
            raise
        summary.totals = meter.totals()
    return summary


async def _take(context: _Context, stages: tuple[str, ...], summary: Summary) -> None:
    run = context.run
    if ASKING & set(stages):
        try:
            await _with_models(context, stages, summary)
        except CostCeilingReached as reached:
            summary.ceiling = reached
            made = [stage for stage in stages if stage in ASKING and stage in run.stream_names()]
            summary.stages |= {stage: run.stream(stage).counts() for stage in made}
            if not run.stream("generate").counts().seen:
                return
        if summary.unread_seeds:
            return
    if not summary.interrupted and "postprocess" in stages:
        summary.stages["postprocess"] = _postprocess(context)
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


async def _with_models(context: _Context, stages: tuple[str, ...], summary: Summary) -> None:
    async with context.cast.opened(context.meter, context.run.replies, limit=context.limit) as models:
        try:
            if "prefilter" in stages:
                summary.stages["prefilter"] = await _prefilter(context, models)
                summary.interrupted = summary.stages["prefilter"].interrupted
                if "generate" in stages and not context.run.stream("generate").counts().seen:
                    summary.unread_seeds = summary.stages["prefilter"].failed
            if "generate" in stages and not summary.interrupted and not summary.unread_seeds:
                summary.stages["generate"] = await _generate(context, models, summary)
                summary.interrupted = summary.stages["generate"].interrupted
        finally:
            context.run.save_meter(context.meter.as_dict())


class _Prefilter:
    """A stage: rules, then the judge where there is one; a kept seed is stored with its world by name."""

    name = "prefilter"

    def __init__(self, run: Run, judge: Stage[Seed, Seed] | None) -> None:
        self._run = run
        self._judge = judge

    async def __call__(self, item: Item[Seed | RecordError]) -> Outcome[StoredSeed]:
        value = item.value
        if isinstance(value, RecordError):
            return Dropped("bad_record", str(value))
        outcome = prefilter.apply_rules(value)
        if isinstance(outcome, Kept) and self._judge is not None:
            outcome = await self._judge(Item(item.ordinal, item.key, value))
        if not isinstance(outcome, Kept):
            return outcome
        return Kept(StoredSeed.of(outcome.value, self._run.worlds.put(outcome.value.world)))


async def _prefilter(context: _Context, models: dict[str, ChatModel]) -> Counts:
    recipe, run = context.recipe, context.run
    judge = prefilter.SeedJudge(models["judge"], recipe.prefilter) if recipe.prefilter.judge else None
    return await run_stage(
        _Prefilter(run, judge),
        seed_items(recipe.seeds),
        run.stream("prefilter"),
        in_flight=context.cast.in_flight,
        observer=context.observer,
        stop=context.stop,
        total=recipe.seeds.limit,
    )


class _Generate:
    """The simulator as a stage of this run, which notes usage and cost as it goes."""

    name = "generate"

    def __init__(self, simulator: Stage[PlannedSeed, Trajectory], context: _Context) -> None:
        self._simulator = simulator
        self._context = context
        self._settled = 0

    async def __call__(self, item: Item[PlannedSeed]) -> Outcome[Trajectory]:
        outcome = await self._simulator(item)
        self._settled += 1
        if self._settled % _METER_EVERY == 0:
            self._context.run.save_meter(self._context.meter.as_dict())
        return outcome


async def _generate(context: _Context, models: dict[str, ChatModel], summary: Summary) -> Counts:
    recipe, run = context.recipe, context.run
    seeds = _kept_seeds(run)
    summary.late_seeds = seeds.left_out
    await run.commit()  # the seeds, before it is said which they are
    seeds.fix()
    items = PlannedItems(recipe, seeds)
    return await run_stage(
        _Generate(simulator(recipe, models), context),
        items,
        run.stream("generate"),
        in_flight=context.cast.in_flight,
        observer=context.observer,
        stop=context.stop,
        total=len(items),
    )


def simulator(recipe: Recipe, models: dict[str, ChatModel]) -> TrajectorySimulator | TurnSimulator:
    """The simulator that the recipe names, with the models of its roles."""
    settings = recipe.simulate.model_copy(update={"seed": recipe.seed})
    if recipe.simulate.mode == "trajectory":
        return TrajectorySimulator(models["model"], settings, recipe.name)
    return TurnSimulator(models["tools"], settings, recipe.name, user_model=models["user"], agent_model=models["agent"])


def _kept_seeds(run: Run) -> SeedTable:
    table = SeedTable(run)
    if not len(table):
        counts = run.stream("prefilter").counts()
        if not counts.seen:
            raise ConfigError(f"{run.folder} has no prefiltered seeds yet: run the stage prefilter first")
        raise ConfigError(f"no seed passed the prefilter ({_why_no_seed(run)}): mend the seeds")
    return table


def _why_no_seed(run: Run) -> str:
    stream = run.stream("prefilter")
    counts = stream.counts()
    for _, key, failed in stream.failed():
        return f"{counts.failed} failed, for example {key}: {failed.error}: {failed.message}"
    rule = max(counts.dropped, key=lambda name: counts.dropped[name])
    example = next(f"{key}: {why.detail}" for _, key, why in stream.dropped() if why.rule == rule)
    reasons = ", ".join(f"{count} {name}" for name, count in counts.dropped.items())
    return f"{reasons}; for example {example}"


def _postprocess(context: _Context) -> Counts:
    recipe, run = context.recipe, context.run
    source = run.stream("generate")
    if not source.counts().seen:
        raise ConfigError(f"{run.folder} has no generated conversations yet: run the stage generate first")
    seeds = _kept_seeds(run)
    passes = Postprocess(recipe.postprocess, run.worlds.get, seeds.by_id)
    dedup = Dedup(recipe.dedup, seeds)

    def judge(item: Item[bytes]) -> Outcome[bytes]:
        outcome = passes.process(item.value)
        if isinstance(outcome, Dropped):
            return outcome
        return dedup.check(outcome.value.trajectory, item.ordinal) or Kept(outcome.value.raw)

    work: Pass[bytes, Trajectory] = judge
    return run_pass(
        "postprocess",
        work,
        _raw_items(run),
        run.restart_stream("postprocess"),
        observer=context.observer,
        stop=context.stop,
        total=source.counts().kept,
    )


def _raw_items(run: Run) -> Iterator[Item[bytes]]:
    for ordinal, key, raw in run.stream("generate").raw_kept():
        yield Item(ordinal, key, raw)


def export_run(run: Run, recipe: Recipe, *, stop: asyncio.Event | None = None) -> ExportReport:
    """Write the training files and the card of what ``run`` kept, into its folder ``export``.

    Raises:
        ExportStopped: ``stop`` was set; an earlier export is as it was.
        ConfigError: nothing was postprocessed yet.
        StoreError: a file cannot be written.
    """
    stream = run.stream("postprocess")
    if not stream.counts().seen and "postprocess" not in run.stream_names():
        raise ConfigError(f"{run.folder} has no postprocessed conversations yet: run the stage postprocess first")
    return export(run, recipe.export, stop=stop)

"""The run of a recipe: four stages over one run folder, each of which can be taken alone and resumed."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from simia import __version__
from simia.errors import ConfigError, RecordError
from simia.models.adaptive import AdaptiveLimit
from simia.models.meter import Meter, MeterTotals
from simia.pipeline import Item, Observer, Pass, Silent, Stage, run_pass, run_stage
from simia.prompts import hashes
from simia.simulate import PlannedSeed, TrajectorySimulator, TurnSimulator, trajectory, turns
from simia.store import Counts, Manifest, Run
from simia.synthesis import prefilter
from simia.synthesis.cast import Cast
from simia.synthesis.dedup import Dedup
from simia.synthesis.export import ExportReport, export
from simia.synthesis.generation import PlannedItems
from simia.synthesis.postprocess import Postprocess
from simia.synthesis.recipe import Recipe
from simia.synthesis.seed_table import SeedTable, StoredSeed
from simia.synthesis.sources import fingerprint, seed_items
from simia.types import ChatModel, Dropped, Kept, Outcome, Seed, Trajectory

STAGES = ("prefilter", "generate", "postprocess", "export")
"""The stages of a synthesis run in their order; all but ``export`` are also the names of streams."""

_METER_EVERY = 64  # outcomes between two notes of usage and cost


@dataclass
class Summary:
    """What a run came to. ``stages`` holds the counts of the stages that were taken; ``exported`` the files."""

    folder: Path
    stages: dict[str, Counts] = field(default_factory=dict)
    exported: ExportReport | None = None
    totals: MeterTotals | None = None
    interrupted: bool = False

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

    ``prefilter`` and ``generate`` go on where they were; ``postprocess`` and ``export`` cost nothing and are made anew.

    Raises:
        ConfigError: an unknown stage, or one whose input was not made yet.
        StoreError: the run folder; see :class:`simia.store.Run`.
        ModelError: a model that no item can do without is gone, or the cost ceiling is reached.
    """
    unknown = [stage for stage in stages if stage not in STAGES]
    if unknown:
        raise ConfigError(f"no stage {', '.join(unknown)}: the stages are {', '.join(STAGES)}")
    recipe = cast.settled(recipe)
    asks_models = bool({"prefilter", "generate"} & set(stages))
    if asks_models or not resume:
        manifest = manifest_of(recipe, cast)
    else:
        with Run.read(folder) as made:
            manifest = made.manifest  # what was made stays what it is, wherever the seed files have gone since
    summary = Summary(folder)
    with Run.resume(folder, manifest) if resume else Run.create(folder, manifest) as run:
        meter = Meter(run.load_meter())
        if resume:
            meter.catch_up(run.replies.usage(), cast.price_of)
        limit = AdaptiveLimit(cast.chosen["model"].settings.max_in_flight)
        if watch is not None:
            watch(meter, limit)
        context = _Context(recipe, cast, run, meter, observer or Silent(), stop, limit)
        if asks_models:
            await _with_models(context, stages, summary)
        if not summary.interrupted and "postprocess" in stages:
            summary.stages["postprocess"] = _postprocess(context)
            summary.interrupted = summary.stages["postprocess"].interrupted
        if not summary.interrupted and "export" in stages:
            summary.exported = export_run(run, recipe)
        summary.totals = meter.totals()
    return summary


def manifest_of(recipe: Recipe, cast: Cast) -> Manifest:
    """What a run of ``recipe`` by ``cast`` is made from.

    Raises:
        SeedError: a seed file cannot be read.
    """
    names = trajectory.PROMPTS if recipe.simulate.mode == "trajectory" else turns.PROMPTS
    if recipe.prefilter.judge:
        names = (*names, *prefilter.PROMPTS)
    return Manifest(
        run=recipe.name,
        version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        config=recipe.decisive(),
        prompts=hashes(names),
        seeds=fingerprint(recipe.seeds),
        licences=(recipe.seeds.licence,) if recipe.seeds.licence else (),
        model=cast.names,
        model_reason="; ".join(cast.reasons),
    )


async def _with_models(context: _Context, stages: tuple[str, ...], summary: Summary) -> None:
    async with context.cast.opened(context.meter, context.run.replies, limit=context.limit) as models:
        try:
            if "prefilter" in stages:
                summary.stages["prefilter"] = await _prefilter(context, models)
                summary.interrupted = summary.stages["prefilter"].interrupted
            if "generate" in stages and not summary.interrupted:
                summary.stages["generate"] = await _generate(context, models)
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


async def _generate(context: _Context, models: dict[str, ChatModel]) -> Counts:
    recipe, run = context.recipe, context.run
    items = PlannedItems(recipe, _kept_seeds(run))
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
    table = SeedTable(run, run.stream("prefilter"))
    if not len(table):
        counts = run.stream("prefilter").counts()
        if not counts.seen:
            raise ConfigError(f"{run.folder} has no prefiltered seeds yet: run the stage prefilter first")
        reasons = ", ".join(f"{count} {rule}" for rule, count in counts.dropped.items())
        raise ConfigError(f"no seed passed the prefilter ({reasons or f'{counts.failed} failed'}): mend the seeds")
    return table


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


def export_run(run: Run, recipe: Recipe) -> ExportReport:
    """Write the training files and the card of what ``run`` kept, into its folder ``export``.

    Raises:
        ConfigError: nothing was postprocessed yet.
        StoreError: a file cannot be written.
    """
    stream = run.stream("postprocess")
    if not stream.counts().seen and "postprocess" not in run.stream_names():
        raise ConfigError(f"{run.folder} has no postprocessed conversations yet: run the stage postprocess first")
    return export(run, recipe.export)

"""The four stages of a synthesis run, each over the open run: what goes in, what is done to it, where it goes."""

import asyncio
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from simia.errors import ConfigError, RecordError
from simia.models.cast import Cast
from simia.models.meter import Meter
from simia.pipeline import Item, Observer, Pass, Stage, run_pass, run_stage
from simia.simulate import PlannedSeed, TrajectorySimulator, TurnSimulator
from simia.store import Counts, Run
from simia.synthesis import prefilter
from simia.synthesis.dedup import Dedup
from simia.synthesis.export import ExportReport, export
from simia.synthesis.generation import PlannedItems
from simia.synthesis.postprocess import Postprocess
from simia.synthesis.recipe import Recipe
from simia.synthesis.seed_table import SeedTable, StoredSeed
from simia.synthesis.sources import seed_items
from simia.types import ChatModel, Dropped, Kept, Outcome, Seed, Trajectory

_METER_EVERY = 64  # outcomes between two notes of usage and cost


@dataclass(frozen=True)
class Context:
    """What the stages of one run share."""

    recipe: Recipe
    cast: Cast
    run: Run
    meter: Meter
    observer: Observer
    stop: asyncio.Event | None


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


async def prefilter_seeds(context: Context, models: dict[str, ChatModel]) -> Counts:
    """Judge the seeds, by rules and, where the recipe says so, by a model."""
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

    def __init__(self, simulator: Stage[PlannedSeed, Trajectory], context: Context) -> None:
        self._simulator = simulator
        self._context = context
        self._settled = 0

    async def __call__(self, item: Item[PlannedSeed]) -> Outcome[Trajectory]:
        outcome = await self._simulator(item)
        self._settled += 1
        if self._settled % _METER_EVERY == 0:
            self._context.run.save_meter(self._context.meter.as_dict())
        return outcome


async def generate(context: Context, models: dict[str, ChatModel]) -> tuple[Counts, int]:
    """Write the conversations that the run still lacks. Also gives how many seeds were kept too late to be used."""
    recipe, run = context.recipe, context.run
    seeds = _kept_seeds(run)
    await run.commit()  # the seeds, before it is said which they are
    seeds.fix()
    items = PlannedItems(recipe, seeds)
    counts = await run_stage(
        _Generate(simulator(recipe, models), context),
        items,
        run.stream("generate"),
        in_flight=context.cast.in_flight,
        observer=context.observer,
        stop=context.stop,
        total=len(items),
    )
    return counts, seeds.left_out


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


def postprocess(context: Context) -> Counts:
    """Mend, check and de-duplicate what was written, anew."""
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
        ConfigError: not everything that was generated is postprocessed, because it grew since or the stage was stopped.
        StoreError: a file cannot be written.
    """
    remedy = f"run simia postprocess {shlex.quote(str(run.folder))} first"
    if "postprocess" not in run.stream_names():
        raise ConfigError(f"{run.folder} has no postprocessed conversations yet: {remedy}")
    left = run.stream("generate").counts().kept - run.stream("postprocess").counts().seen
    if left > 0:
        raise ConfigError(f"{left:,} conversations of {run.folder} are not postprocessed yet: {remedy}")
    return export(run, recipe.export, stop=stop)

"""Makes a suite: harvests worlds, draws the quotas, adds episodes. The same worlds and seed give the same bytes."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from simia.bench.collect import episode_of, harvest
from simia.bench.explore import walks_of
from simia.bench.sample import Episode, Sample
from simia.bench.sampling import Drawn, Sampler
from simia.bench.strata import PUBLISHED, Cell
from simia.bench.suite import SuiteHead
from simia.errors import ConfigError
from simia.seeds.calls import call_problem
from simia.types import WorldSpec, WorldTask, canonical_json
from simia.worlds import World

# Added to the seed. A task that is an episode is never walked for samples, and an example never for drift.
_EXAMPLES = 1_000_003
_DRIFT = 2_000_003
_TRIED = 25  # tasks for each one that drift is measured on, where not every task will do


@dataclass(frozen=True)
class SuitePlan:
    """What a suite is made of.

    ``tasks`` are walked in each world, and every call on the way and beside it may become a sample. ``examples`` and
    ``drift`` are episodes per world, to show to simulators and to measure drift on, the latter of calls only that fit
    the world's tools. States of more than ``max_state`` bytes of compact JSON are left out.
    """

    name: str
    version: str = "1"
    seed: int = 0
    tasks: int = 400
    examples: int = 4
    drift: int = 4
    cells: tuple[Cell, ...] = PUBLISHED
    max_state: int = 16_000


@dataclass
class Built:
    """A suite before it is written, and what was there to choose from."""

    head: SuiteHead
    episodes: tuple[Episode, ...]
    samples: tuple[Sample, ...]
    drawn: Drawn
    harvested: dict[str, int]


def build(
    plan: SuitePlan,
    worlds: Mapping[str, World],
    said: Callable[[str, int], None] = lambda name, count: None,
    *,
    harvested: Iterable[Sample] | None = None,
) -> Built:
    """Harvest ``worlds`` by name, or take the transitions in ``harvested``, and draw the suite; calls that do not fit
    the tools of their world are left out, since no simulator is asked about them. ``said`` is told each world's number
    of transitions.

    Raises:
        ConfigError: there is nothing to draw from.
    """
    sampler = Sampler(plan.cells, plan.seed)
    episodes: list[Episode] = []
    for name, world in sorted(worlds.items()):
        episodes += _episodes(plan, name, world)
    shown = {(one.world, one.instruction) for one in episodes if one.steps}
    counts = dict.fromkeys(sorted(worlds), 0)
    too_large = 0
    for sample in _harvest(plan, worlds, {one.id for one in episodes}) if harvested is None else harvested:
        if sample.world not in counts:
            raise ConfigError(f"the transitions are of {sample.world!r} too: name it among the worlds")
        counts[sample.world] += 1
        is_question = harvested is None or _is_question(sample, worlds[sample.world], shown)
        is_large = len(canonical_json(sample.state)) > plan.max_state
        too_large += is_large
        if is_question and not is_large:
            sampler.add(sample)
    for name, count in counts.items():
        said(name, count)
    drawn = sampler.draw()
    if not drawn.samples:
        if not sum(counts.values()):
            raise ConfigError("there is no transition to draw from")
        raise ConfigError(
            f"no transition of {', '.join(worlds)} belongs to a cell of the suite; {too_large:,} of "
            f"{sum(counts.values()):,} have a state of more than {plan.max_state:,} bytes (--max-state)"
        )
    head = SuiteHead(
        name=plan.name,
        version=plan.version,
        licence=_licences(world.spec for world in worlds.values()),
        made_by="simia bench build",
        seed=plan.seed,
        worlds={name: with_sources(world) for name, world in sorted(worlds.items())},
        quotas={cell.name: cell.count for cell in plan.cells},
        worlds_by_cell=drawn.worlds_by_cell,
    )
    return Built(head, tuple(episodes), tuple(drawn.samples), drawn, counts)


def _harvest(plan: SuitePlan, worlds: Mapping[str, World], shown: Collection[str]) -> Iterator[Sample]:
    for name, world in sorted(worlds.items()):
        yield from harvest(name, world, walks_of(world, plan.tasks, plan.seed, without=shown), seed=plan.seed)


def _is_question(sample: Sample, world: World, shown: Collection[tuple[str, str]]) -> bool:
    """Whether a sample that was harvested earlier may be in a suite: it fits the tools, and is of no task of an
    episode, which ``shown`` has as world and instruction.
    """
    instruction = sample.history[0].content if sample.history else ""
    return (sample.world, instruction) not in shown and call_problem(world.spec, sample.call) is None


def _episodes(plan: SuitePlan, name: str, world: World) -> Iterator[Episode]:
    """Examples, and episodes to measure drift on: never of the same task, also where a world has a fixed list of them,
    whatever the seed.
    """
    examples = list(islice(world.tasks(plan.examples, plan.seed + _EXAMPLES), plan.examples))
    yield from (episode_of(name, world, task, "example") for task in examples)
    shown = {task.id for task in examples}
    others = _followed(world, world.long_tasks(_TRIED * plan.drift + len(shown), plan.seed + _DRIFT))
    walked = islice((task for task in others if task.id not in shown), plan.drift)
    yield from (episode_of(name, world, task, "drift") for task in walked)


def with_sources(world: World) -> WorldSpec:
    """The spec of ``world`` with the code of each tool, where it can be had."""
    tools = (tool.model_copy(update={"source": world.source_of(tool.name)}) for tool in world.spec.tools)
    return world.spec.model_copy(update={"tools": tuple(tools)})


def _followed(world: World, tasks: Iterable[WorldTask]) -> Iterator[WorldTask]:
    """Those of ``tasks`` whose every call a simulator can be asked about."""
    return (task for task in tasks if all(call_problem(world.spec, call) is None for call in task.gold))


def _licences(specs: Iterable[WorldSpec]) -> str:
    return " AND ".join(sorted({spec.licence for spec in specs}))

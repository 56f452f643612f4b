"""Training data for a simulator: each transition of a training world as a prompt and the answer to it.

The prompt is word by word what ``simia bench run`` asks in the constrained setting, and the answer is what would be
right. The worlds of the benchmark are held out as worlds, so that no policy, code or state of theirs is ever learned.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from simia import __version__
from simia.bench.build import with_sources
from simia.bench.collect import harvest
from simia.bench.explore import walks_of
from simia.bench.prediction import right_answer
from simia.bench.sample import Sample
from simia.bench.sampling import Drawn, Sampler
from simia.bench.strata import BALANCE2, GROUP_WORDS, GROUPS, Cell, group_of
from simia.config import rng_for
from simia.errors import ConfigError
from simia.formats.calls import dump_json
from simia.models.scripted import ScriptedModel
from simia.prompts import hashes
from simia.simulate import SimulateSettings
from simia.simulate.constrained import PROMPTS, ConstrainedDynamics
from simia.synthesis.export import ExportedFile, ExportSettings, write
from simia.synthesis.export.card import Card, render
from simia.types import (
    AssistantMessage,
    Provenance,
    SystemMessage,
    Trajectory,
    TransitionQuery,
    UserMessage,
    WorldSpec,
    content_id,
)
from simia.worlds import BENCHMARK, World

_EVERYTHING = 10**9
_EXPORT = ExportSettings(formats=("prompt-completion", "llamafactory"), name="simulator")


@dataclass(frozen=True)
class PairPlan:
    """What the data are made of: ``tasks`` are walked in each world, ``cells`` are the mixture."""

    seed: int = 0
    tasks: int = 2000
    cells: tuple[Cell, ...] = BALANCE2
    export: ExportSettings = _EXPORT


@dataclass
class Pairs:
    """What was written."""

    files: tuple[ExportedFile, ...]
    drawn: Drawn
    by_world: dict[str, int] = field(default_factory=dict)


def demand_training(names: tuple[str, ...]) -> None:
    """Refuse worlds that simulators are measured on.

    Raises:
        ConfigError: one of them is.
    """
    held_out = [name for name in names if name in BENCHMARK]
    if held_out:
        raise ConfigError(
            f"{', '.join(held_out)}: simulators are measured on these worlds, so none is trained on them; training "
            "worlds are listed by simia world ls"
        )


def write_pairs(
    plan: PairPlan,
    worlds: Mapping[str, World],
    folder: Path,
    said: Callable[[str, int], None] = lambda name, count: None,
) -> Pairs:
    """Harvest ``worlds``, draw the mixture, and write it under ``folder`` with a card.

    Raises:
        ConfigError: a world is held out or has no code, or an export format is unknown.
        StoreError: a file cannot be written.
    """
    demand_training(tuple(worlds))
    sampler = Sampler(plan.cells, plan.seed)
    for name, world in sorted(worlds.items()):
        count = 0
        for sample in harvest(name, world, walks_of(world, plan.tasks, plan.seed), seed=plan.seed):
            sampler.add(sample)
            count += 1
        said(name, count)
    drawn = sampler.draw()
    if not drawn.samples:
        raise ConfigError(f"no transition of {', '.join(worlds)} belongs to the mixture")
    spelled = _Speller({name: with_sources(world) for name, world in worlds.items()}, plan.seed)
    samples = list(drawn.samples)
    rng_for(plan.seed, "pairs").shuffle(samples)
    by_world = dict(sorted(Counter(sample.world for sample in samples).items()))

    def card(files: tuple[ExportedFile, ...]) -> str:
        return render(
            Card(
                name=plan.export.name,
                run="simia bench sft",
                version=__version__,
                model="none",
                records=len(samples),
                licences=sorted({world.spec.licence for world in worlds.values()}),
                files=files,
                worlds=by_world,
                prompts=hashes(PROMPTS),
                notes={
                    f'answers to calls with the outcome "{name}"': count for name, count in _strata(samples).items()
                },
                about=_about(len(samples), plan),
            )
        )

    files = write(plan.export.formats, spelled.all(samples), spelled.world, folder, plan.export, card)
    return Pairs(files, drawn, by_world)


def answer_text(sample: Sample) -> str:
    """The reply that is right: the compact JSON that the prompt asks for."""
    return dump_json(right_answer(sample))


class _Speller:
    """Samples as conversations of one exchange. What is a world to the export is the system message of one tool."""

    def __init__(self, specs: Mapping[str, WorldSpec], seed: int) -> None:
        self._specs = specs
        settings = SimulateSettings(state_chars=_EVERYTHING, history_chars=_EVERYTHING, structured=False, seed=seed)
        self._dynamics = ConstrainedDynamics(ScriptedModel([], name="nobody"), settings)
        self._systems: dict[str, WorldSpec] = {}

    def all(self, samples: list[Sample]) -> Iterator[tuple[int, Trajectory]]:
        for ordinal, sample in enumerate(samples):
            yield ordinal, self._pair(sample)

    def world(self, world_id: str) -> WorldSpec:
        return self._systems[world_id]

    def _pair(self, sample: Sample) -> Trajectory:
        spec = self._specs[sample.world]
        request = self._dynamics.request(TransitionQuery(world=spec, call=sample.call, state=sample.state))
        system, question = request.messages
        assert isinstance(system, SystemMessage)
        assert isinstance(question, UserMessage)
        key = content_id([sample.world, system.content])
        if key not in self._systems:
            self._systems[key] = WorldSpec(name=sample.world, policy=system.content, tools=(), licence=spec.licence)
        return Trajectory(
            world=key,
            task="",
            messages=(question, AssistantMessage(content=answer_text(sample))),
            provenance=Provenance(
                run="simia bench sft", seed=sample.id, attempt=0, model="code", prompts={}, licence=spec.licence
            ),
        )


def _about(count: int, plan: PairPlan) -> str:
    mixture = ", ".join(f"{cell.name} {cell.count:,}" for cell in plan.cells)
    held_out = ", ".join(BENCHMARK)
    return (
        f"{count:,} transitions of tool environments, for training a language model that plays such an environment. "
        "The prompt holds the code of one tool, the whole state before the call, and the call: the constrained setting "
        "of [EnvSimBench](https://arxiv.org/abs/2605.07247), word by word as `simia bench run` asks it. The completion "
        "is what the code returned and how it changed the state. Every completion was executed by code; no language "
        f"model wrote any of it. Made by `simia bench sft` of [simia](https://arxiv.org/abs/2511.01824) {__version__} "
        f"with seed {plan.seed}; the mixture asked for: {mixture}. The worlds that simulators are measured on are held "
        f"out as worlds: no code, policy or state of {held_out} is in here."
    )


def _strata(samples: list[Sample]) -> dict[str, int]:
    counts = Counter(group_of(sample) for sample in samples)
    return {GROUP_WORDS[group]: counts[group] for group in GROUPS if counts[group]}

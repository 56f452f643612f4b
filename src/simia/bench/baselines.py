"""Simulators that need no model: what a measurement is worth shows in what these get."""

from collections.abc import Callable, Mapping
from difflib import SequenceMatcher

from simia.bench.prediction import Prediction
from simia.bench.sample import Episode, Sample, Step
from simia.bench.settings import Setting
from simia.bench.suite import Suite
from simia.errors import ConfigError
from simia.formats.calls import dump_json
from simia.types import Change, Dynamics, TransitionQuery

PREFIX = "baseline:"


class Oracle:
    """The executable world itself, asked as if it were a simulator: 100 %, or the instrument is broken."""

    name = "oracle"

    def __init__(self, suite: Suite, open_world: Callable[[str], Dynamics]) -> None:
        self._specs = suite.head.worlds
        self._worlds: Mapping[str, Dynamics] = {name: open_world(name) for name in suite.head.worlds}

    async def answer(self, sample: Sample) -> Prediction:
        """What the world says."""
        query = TransitionQuery(world=self._specs[sample.world], call=sample.call, state=sample.state)
        return Prediction.of(await self._worlds[sample.world].transition(query))


class DoNothing:
    """Says that all went well and changes nothing: 0 % on whatever changes something."""

    name = "do nothing"

    async def answer(self, sample: Sample) -> Prediction:
        """``{"success": true}``, no change."""
        return Prediction(observation='{"success": true}', is_error=False, changes=())


class Echo:
    """Says back the arguments and changes nothing."""

    name = "echo the arguments"

    async def answer(self, sample: Sample) -> Prediction:
        """The arguments, no change."""
        return Prediction(observation=dump_json(sample.call.arguments), is_error=False, changes=())


class NearestSeed:
    """Replays what the most similar call of the suite's examples showed and changed, wherever that was."""

    name = "replay nearest seed"

    def __init__(self, suite: Suite) -> None:
        self._steps: dict[tuple[str, str], list[Step]] = {}
        for world in suite.head.worlds:
            for episode in suite.examples(world):
                self._add(episode)

    def _add(self, episode: Episode) -> None:
        for step in episode.steps:
            self._steps.setdefault((episode.world, step.call.name), []).append(step)

    async def answer(self, sample: Sample) -> Prediction:
        """The result of the step of this tool whose arguments are spelled most alike; of equals the first."""
        steps = self._steps.get((sample.world, sample.call.name))
        if not steps:
            return Prediction(observation="{}", is_error=False, changes=())
        wanted = dump_json(sample.call.arguments)
        best = max(steps, key=lambda step: SequenceMatcher(None, dump_json(step.call.arguments), wanted).ratio())
        changes: tuple[Change, ...] = best.delta.changes
        return Prediction(observation=best.observation, is_error=best.is_error, changes=changes)


NAMES = ("oracle", "do-nothing", "echo", "nearest")
"""The baselines as ``--model baseline:NAME`` spells them."""

Baseline = Oracle | DoNothing | Echo | NearestSeed


def baseline(name: str, suite: Suite, setting: Setting, open_world: Callable[[str], Dynamics]) -> Baseline:
    """The baseline called ``name``. All see the state; ``setting`` only decides what of their answer is looked at.

    Raises:
        ConfigError: there is none of that name, or, for the oracle, a world of the suite cannot be had.
    """
    if name == "oracle":
        return Oracle(suite, open_world)
    if name == "do-nothing":
        return DoNothing()
    if name == "echo":
        return Echo()
    if name == "nearest":
        return NearestSeed(suite)
    raise ConfigError(f"no baseline {name!r}; there are {', '.join(PREFIX + known for known in NAMES)}")

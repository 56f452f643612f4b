"""A judge measured in a run folder: every known episode judged once, every paid reply kept, resumed at any time."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field, field_validator

from simia import __version__
from simia.config import Name, Settings, checked
from simia.environment.reward.calibration import Calibration, Verdict, judged_by
from simia.environment.reward.judge import PROMPTS, JudgeSettings, PolicyJudge
from simia.environment.reward.known import KINDS, KnownEpisode, known_episodes
from simia.errors import CostCeilingReached
from simia.models.address import Address
from simia.models.cast import Cast
from simia.models.choose import choose_model
from simia.models.meter import MeterTotals
from simia.models.scripted import ScriptedModel
from simia.models.settings import OPERATIONAL, ModelSettings
from simia.models.tokens import estimate_prompt
from simia.pipeline import Item, Observer, Silent, run_stage
from simia.pipeline.metered import MeteredRun, Watch, metered_run
from simia.prompts import hashes
from simia.store import Counts, Manifest, Run
from simia.types import JsonObject, Kept, Outcome, Usage, content_id
from simia.worlds import World

VERDICTS = "verdicts"
FREE = frozenset(f"config.model.{key}" for key in OPERATIONAL)
"""Keys of a manifest that a resumed run may change: how the model is reached."""

GROWING = frozenset({"config.tasks"})
"""Keys whose number may be larger in a resumed run."""

_RENDERED = 60
_VERDICT_TOKENS = 90


class CalibrationSettings(Settings):
    """What ``simia reward calibrate`` asks of a judge.

    ``tasks`` are drawn by ``seed`` in each of ``worlds``, and of each task one episode of every kind is made by
    program. ``judge`` is how it judges, ``model`` who.
    """

    name: Name = "calibration"
    worlds: tuple[str, ...] = ("airline", "bank", "library", "shop")
    tasks: int = Field(default=5, ge=1)
    seed: int = 0
    judge: JudgeSettings = JudgeSettings()
    model: ModelSettings = ModelSettings()

    @field_validator("worlds")
    @classmethod
    def _distinct(cls, worlds: tuple[str, ...]) -> tuple[str, ...]:
        if not worlds or len(set(worlds)) < len(worlds):
            raise ValueError(f"name one world or more, each once, not {', '.join(worlds) or 'none'}")
        return worlds

    def recorded(self) -> JsonObject:
        """Every setting as ``run.json`` keeps it.

        Raises:
            ConfigError: a base URL holds a secret.
        """
        if self.model.base_url:
            Address.of(self.model.base_url)
        return self.model_dump(mode="json")


@dataclass(frozen=True)
class Trial:
    """A judge and the episodes that it is asked about: everything that is settled before a run begins."""

    settings: CalibrationSettings
    cast: Cast
    episodes: tuple[Item[KnownEpisode], ...]
    licences: tuple[str, ...]
    made_from: Mapping[str, str]

    @classmethod
    async def settle(cls, settings: CalibrationSettings, cast: Cast, open_world: Callable[[str], World]) -> "Trial":
        """Open the worlds and make their episodes.

        Raises:
            ConfigError: a world cannot be had, or has no task whose goal a program can check.
        """
        opened = [open_world(name) for name in settings.worlds]
        items: list[Item[KnownEpisode]] = []
        made_from: dict[str, str] = {}
        for place, (name, world) in enumerate(zip(settings.worlds, opened, strict=True)):
            number = 0
            async for episodes in known_episodes(world, name, settings.tasks, settings.seed):
                if episodes:  # whoever changes a world or an attack changes the first task with it
                    made_from.setdefault(name, content_id([episode.content_id for episode in episodes]))
                # Tasks of all worlds in turn, so that more tasks come after those that there were.
                start = (number * len(opened) + place) * len(KINDS)
                items += [Item(start + KINDS.index(one.kind), f"{name}/{one.id}", one) for one in episodes]
                number += 1
        licences = tuple(sorted({world.spec.licence for world in opened}))
        return cls(settings, cast, tuple(sorted(items, key=lambda item: item.ordinal)), licences, made_from)

    def manifest(self) -> Manifest:
        """What the run is made from. A world is told by the episodes of its first task.

        Raises:
            ConfigError: a base URL holds a secret.
        """
        return Manifest(
            run=self.settings.name,
            version=__version__,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            config=self.settings.recorded(),
            prompts=hashes(PROMPTS),
            seeds=dict(self.made_from),
            licences=self.licences,
            model=self.cast.names,
            model_reason=self.cast.reasons[0],
        )


def judging_cast(settings: CalibrationSettings, env: Mapping[str, str]) -> Cast:
    """The model that judges.

    Raises:
        ConfigError, ModelError: it cannot be had; the message says what to do.
    """
    cast = Cast({"judge": choose_model(None, settings=settings.model, env=env)})
    cast.demand_prices()
    return cast


@dataclass
class Measured:
    """What a run came to."""

    calibration: Calibration
    counts: Counts
    totals: MeterTotals | None = None
    ceiling: CostCeilingReached | None = None


async def measure(
    trial: Trial,
    folder: Path,
    *,
    resume: bool = False,
    observer: Observer | None = None,
    stop: asyncio.Event | None = None,
    watch: Watch | None = None,
) -> Measured:
    """Ask about every episode that the run in ``folder`` has no verdict on.

    Raises:
        StoreError: the run folder; see :class:`simia.store.Run`.
        ModelError: the model is gone; what was answered is kept.
    """
    ceiling: CostCeilingReached | None = None
    with metered_run(
        folder, trial.manifest(), trial.cast, resume=resume, free=FREE, growing=GROWING, watch=watch
    ) as metered:
        try:
            counts = await _judge(trial, metered, observer or Silent(), stop)
        except CostCeilingReached as reached:
            ceiling = reached
            counts = metered.run.stream(VERDICTS).counts()
        return Measured(_calibration(metered.run, trial.settings.seed), counts, metered.meter.totals(), ceiling)


def read_calibration(folder: Path) -> Calibration:
    """The verdicts in the folder of a run, which may still be going on.

    Raises:
        ConfigError: the run is none of ``simia reward calibrate``.
        StoreError: there is no run.
    """
    with Run.read(folder) as run:
        settings = checked(CalibrationSettings, run.manifest.config, f"{folder}/run.json")
        return _calibration(run, settings.seed)


@dataclass(frozen=True, slots=True)
class CalibrationEstimate:
    """Tokens are guessed from characters; ``cost`` is in US dollars, None where the model has no price."""

    episodes: int
    requests: int
    prompt_tokens: int
    completion_tokens: int
    longest_prompt_tokens: int
    cost: float | None


def estimate(trial: Trial, resumed: Path | None = None) -> CalibrationEstimate:
    """What the run would ask, or what the one in the folder ``resumed`` still lacks, with no vote asked twice.

    Raises:
        ManifestMismatch: the run in the folder was made from something else.
        StoreError: there is no run in the folder.
    """
    episodes = [item.value for item in _missing(trial, resumed)]
    rendered = episodes[:: max(1, len(episodes) // _RENDERED)]
    judge = PolicyJudge(ScriptedModel([], name="nobody"), trial.settings.judge)
    requests = [request for episode in rendered for request in judge.requests(episode.played)]
    prompts = [estimate_prompt(request.model_copy(update={"response_schema": None})) for request in requests]
    count = len(episodes) * trial.settings.judge.votes
    usage = Usage(
        prompt_tokens=round(sum(prompts) * count / max(1, len(prompts))), completion_tokens=count * _VERDICT_TOKENS
    )
    price = trial.cast.price_of_role("judge")
    return CalibrationEstimate(
        episodes=len(episodes),
        requests=count,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        longest_prompt_tokens=max(prompts, default=0),
        cost=None if price is None else price.cost(usage),
    )


def _missing(trial: Trial, resumed: Path | None) -> list[Item[KnownEpisode]]:
    if resumed is None:
        return list(trial.episodes)
    Run.check(resumed, trial.manifest(), free=FREE, growing=GROWING)
    with Run.read(resumed) as run:
        if VERDICTS not in run.stream_names():
            return list(trial.episodes)
        return [item for item in trial.episodes if not run.stream(VERDICTS).is_done(item.ordinal)]


async def _judge(trial: Trial, metered: MeteredRun, observer: Observer, stop: asyncio.Event | None) -> Counts:
    async with metered.models() as models:
        return await run_stage(
            _Verdicts(PolicyJudge(models["judge"], trial.settings.judge), metered.settled),
            trial.episodes,
            metered.run.stream(VERDICTS),
            in_flight=trial.cast.in_flight,
            observer=observer,
            stop=stop,
        )


class _Verdicts:
    """A stage: an episode becomes what the judge says of it. Nothing is ever dropped."""

    name = VERDICTS

    def __init__(self, judge: PolicyJudge, settled: Callable[[], None]) -> None:
        self._judge = judge
        self._settled = settled

    async def __call__(self, item: Item[KnownEpisode]) -> Outcome[Verdict]:
        verdict = await judged_by(self._judge, item.value)
        self._settled()
        return Kept(verdict)


def _calibration(run: Run, seed: int) -> Calibration:
    if VERDICTS not in run.stream_names():
        return Calibration((), seed)
    kept = sorted(run.stream(VERDICTS).kept(Verdict), key=lambda line: line[0])
    return Calibration(tuple(verdict for _, _, verdict in kept), seed)

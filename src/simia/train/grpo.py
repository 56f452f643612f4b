"""A training run in a folder: the arena, the trainer, the curves, the checkpoints, and what it takes to go on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from simia.environment.arena import Arena
from simia.environment.episodes import EPISODES, EpisodeLog
from simia.environment.loop_thread import LoopThread
from simia.environment.serving_run import kept_arena
from simia.errors import ConfigError, SimiaError, TransientModelError
from simia.models.cast import Cast
from simia.models.meter import MeterTotals
from simia.pipeline.metered import MeteredRun, metered_run
from simia.store import Run
from simia.store.calls import CallRecord
from simia.train.beginning import demand_same_length, demand_tasks, demand_trl, manifest_of
from simia.train.curves import Curves
from simia.train.examination import MODES, Examination
from simia.train.recipe import FREE, GROWING, TINY, GrpoRecipe
from simia.train.tally import figures_of, usage_between
from simia.types import Episode, Failed, Kept, Message
from simia.worlds import World

CURVES = "curves.csv"
_AGENT = "agent"
_OWN = (CURVES, _AGENT, "checkpoints", "tensorboard")
"""What a start makes in the folder beside the run's own files, before a step is taken."""

_FROM_TRL = {
    "reward": "reward",
    "reward_std": "reward_std",
    "loss": "loss",
    "grad_norm": "grad_norm",
    "kl": "kl",
    "entropy": "entropy",
    "clip_ratio/region_mean": "clipped",
    "learning_rate": "learning_rate",
    "step_time": "step_s",
    "completions/mean_length": "agent_tokens",
}
"""The names of TRL's own figures, and those of the curves."""


_EXAMINED = ("trained", "executed")


class TooMuchMasked(SimiaError):
    """So many episodes were masked that nothing can be learned."""


@dataclass
class Learned:
    """What a run came to. ``before`` and ``after`` are the success on held-out tasks by name of the environment:
    ``trained`` or ``executed``, ``unscored`` the share of the last examination that could not be scored, where any.
    """

    folder: Path
    step: int = 0
    interrupted: bool = False
    totals: MeterTotals | None = None
    before: dict[str, float] = field(default_factory=dict)
    after: dict[str, float] = field(default_factory=dict)
    masked: int = 0
    episodes: int = 0
    unscored: dict[str, float] = field(default_factory=dict)


def grpo(
    recipe: GrpoRecipe,
    cast: Cast | None,
    world: World | None,
    folder: Path,
    *,
    resume: bool = False,
    should_stop: Callable[[], bool] = lambda: False,
    on_row: Callable[[int, Mapping[str, float]], None] = lambda step, row: None,
    on_wait: Callable[[TransientModelError, float], None] | None = None,
) -> Learned:
    """Train the agent of ``recipe`` in ``folder``, or go on with the training there from its last checkpoint.

    A new run that fails before an episode was kept or a reply paid for leaves no folder.

    Args:
        should_stop: asked after every step; true saves a checkpoint and ends the run.
        on_row: told of each row of the curves.

    Raises:
        ExtraMissing: the extra ``trl`` is not installed.
        ConfigError, ModelError: a model cannot be had.
        StoreError: the run folder; see :class:`simia.store.Run`.
        TooMuchMasked: see ``learn.max_masked``.
    """
    demand_trl()
    manifest = manifest_of(recipe, cast, world)
    if resume:
        demand_same_length(recipe, folder)
    growing = GROWING if recipe.learn.schedule == "constant" else frozenset[str]()
    opening = metered_run(folder, manifest, cast, resume=resume, free=FREE, growing=growing, own=_OWN)
    with opening as metered, LoopThread() as loop:
        try:
            with loop.opened(kept_arena(recipe, world, metered, on_wait)) as arena:
                demand_tasks(len(arena.tasks), recipe)
                return _Training(recipe, arena, world, metered, loop, should_stop, on_row).take()
        finally:
            metered.note()


class _Training:
    """One run at work."""

    def __init__(
        self,
        recipe: GrpoRecipe,
        arena: Arena,
        world: World | None,
        metered: MeteredRun,
        loop: LoopThread,
        should_stop: Callable[[], bool],
        on_row: Callable[[int, Mapping[str, float]], None],
    ) -> None:
        self._recipe = recipe
        self._arena = arena
        self._world = world
        self._metered = metered
        self._run = metered.run
        self._loop = loop
        self._should_stop = should_stop
        self._on_row = on_row
        self._worlds = {task.seed.world.content_id: task.seed.world for task in arena.tasks.values()}
        self._examination = Examination(recipe, world, arena, loop, _Sink(metered.run, loop))
        self._curves = Curves(self._run.folder / CURVES)
        self._episodes = EpisodeLog(self._run)
        self._learned = Learned(self._run.folder)
        self._used = metered.meter.totals()
        self._error: SimiaError | None = None

    def take(self) -> Learned:
        """Train, from the last checkpoint where there is one."""
        from simia.environment.adapters.trl import TrlSpec
        from simia.train import trl_trainer

        recipe, learn = self._recipe, self._recipe.learn
        agent = trl_trainer.load_agent(recipe.agent, self._agent_folder(), on_cpu=trl_trainer.uses_cpu(recipe))
        found = trl_trainer.last_checkpoint(self._run.folder)
        self._learned.step = 0 if found is None else found[1]
        self._curves.cut(self._learned.step)
        spec = TrlSpec(
            self._arena,
            self._loop,
            floor=learn.floor,
            reruns=learn.reruns,
            turn_tokens=learn.turn_tokens,
            sink=_Sink(self._run, self._loop),
            watch=self,
            agent_name=recipe.agent.model,
        )
        trainer = trl_trainer.trainer_of(
            recipe, agent, spec, self._run.folder, logged=self._logged, after_step=self._stepped
        )
        self._trainer = trainer
        self._learned.before = self._examine(0) if self._learned.step == 0 else self._examined(0)
        if self._learned.step < learn.steps:
            trl_trainer.train(trainer, self._run.folder, None if found is None else found[0])
        elif found is not None:
            trl_trainer.restore(trainer, self._run.folder, *found)
        if self._error is not None:
            raise self._error
        if self._learned.step < learn.steps and not self._learned.interrupted:
            raise SimiaError(
                f"the trainer ended after step {self._learned.step:,} of {learn.steps:,} and does not say why"
            )
        if not self._learned.interrupted:
            self._learned.after = self._examine(self._learned.step)
        self._learned.totals = self._metered.meter.totals()
        return self._learned

    async def ended(self, step: int, mode: str, place: int, key: str, outcome: Kept[Episode] | Failed) -> None:
        """Keep what became of an episode; see :class:`simia.environment.adapters.trl.Watch`."""
        ordinal = self._first_ordinal(step, mode) + place
        if isinstance(outcome, Kept):
            await self._episodes.append(ordinal, outcome.value, self._worlds[outcome.value.trajectory.world])
        else:
            await self._run.stream(EPISODES).append(ordinal, key, outcome)

    def batch(self, step: int, mode: str, episodes: Sequence[Episode], seconds: float) -> None:
        """Count the episodes of one batch; see :class:`simia.environment.adapters.trl.Watch`."""
        self._loop.run(self._run.commit())
        self._metered.note()
        if mode != "train":
            return
        used = self._metered.meter.totals()
        # A step is counted when it is over; what is played now belongs to the one that comes.
        figures = {**figures_of(episodes, seconds), **usage_between(self._used, used)}
        self._used = used
        self._curves.put(step + 1, figures)
        self._learned.episodes += len(episodes)
        self._learned.masked += sum(episode.is_masked for episode in episodes)

    def _first_ordinal(self, step: int, mode: str) -> int:
        """Where the episodes of a batch stand in the stream: a step has room for all that it can play, again too, so
        that a step that is taken once more after a resume writes over what it wrote.
        """
        learn, examined = self._recipe.learn, self._recipe.evaluation.tasks
        widths = {"train": learn.groups * learn.group_size, **dict.fromkeys(MODES, examined)}
        begins = dict(zip(widths, accumulate(widths.values(), initial=0), strict=False))
        return (step * sum(widths.values()) + begins[mode]) * (1 + learn.reruns)

    def _logged(self, step: int, logs: Mapping[str, float]) -> None:
        self._curves.put(step, {ours: logs[theirs] for theirs, ours in _FROM_TRL.items() if theirs in logs})
        self._on_row(step, self._curves.rows[step])

    def _stepped(self, step: int) -> bool:
        self._learned.step = step
        self._error = self._too_much_masked(step)
        if self._error is not None:
            return True
        every = self._recipe.evaluation.every
        if every and step % every == 0 and step < self._recipe.learn.steps:
            self._examine(step)
        if self._should_stop() and step < self._recipe.learn.steps:
            self._learned.interrupted = True
            return True
        return False

    def _too_much_masked(self, step: int) -> SimiaError | None:
        learn = self._recipe.learn
        rows = [self._curves.rows.get(step - back, {}) for back in range(learn.masked_over)]
        shares = [row["masked"] for row in rows if "masked" in row]
        if len(shares) < learn.masked_over or sum(shares) / len(shares) <= learn.max_masked:
            return None
        blamed = {
            name.removeprefix("masked_"): sum(row.get(name, 0.0) for row in rows)
            for name in ("masked_simulator", "masked_user", "masked_judge", "masked_infrastructure")
        }
        worst = max(blamed, key=lambda name: blamed[name])
        return TooMuchMasked(
            f"{sum(shares) / len(shares):.0%} of the episodes of the last {len(shares)} steps were masked, most "
            f"because of the {worst}: nothing can be learned like this; simia episode ls {self._run.folder} --masked "
            "tells why; mend that and go on with --resume, or raise learn.max_masked"
        )

    def _examine(self, step: int) -> dict[str, float]:
        """The success on held-out tasks by name of the environment, after ``step`` steps. What was examined before a
        run was interrupted is not examined again.
        """
        if not self._examined(step):
            figures = self._examination.take(self._trainer, self)
            self._used = self._metered.meter.totals()  # what it took belongs to no step
            if figures:
                self._curves.put(step, figures)
        return self._examined(step)

    def _examined(self, step: int) -> dict[str, float]:
        """What the curves tell of the examination after ``step`` steps."""
        row = self._curves.rows.get(step, {})
        self._learned.unscored = {name: row[f"{name}_masked"] for name in _EXAMINED if row.get(f"{name}_masked")}
        return {name: row[f"{name}_success"] for name in _EXAMINED if f"{name}_success" in row}

    def _agent_folder(self) -> str:
        model = self._recipe.agent.model
        if model != TINY:
            return model
        folder = self._run.folder / _AGENT
        if not (folder / "config.json").exists():
            from simia.train.tiny import make_tiny

            if self._world is None:
                raise ConfigError('agent.model "tiny" is made for an executable world: set environment.world=NAME')
            make_tiny(self._world, folder, seed=self._recipe.seed)
        return str(folder)


class _Sink:
    """The call log of a run, written on the loop that owns it."""

    def __init__(self, run: Run, loop: LoopThread) -> None:
        self._run = run
        self._loop = loop

    def put(self, record: CallRecord, messages: tuple[Message, ...]) -> None:
        """Keep a record."""

        async def kept() -> None:
            self._run.calls.put(record, messages)

        self._loop.run(kept())

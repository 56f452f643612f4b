"""verifiers: any environment of simia as taskset, environment and harness ``simia-v1``, for ``vf-eval`` and prime-rl.

::

    vf-eval simia-v1 --env.taskset.settings '["environment.world=lamps", "environment.dynamics=executable"]'

An episode lives once, as a :class:`~simia.environment.session.Session` in the process of the environment, and hangs on
the state of its rollout. :meth:`SimiaEnv.run` hands on what the user says, the harness (``verifiers_agent``) steps the
session with what the agent does, the task judges it where verifiers scores. Nothing is played again and no state goes
from process to process: a simulated tool would not answer the same twice.

A masked episode is an errored rollout, ``EpisodeMasked``, whose reward is absent and not 0; verifiers leaves it out of
means, and prime-rl out of groups. Whose doing it was stands in ``trace.info["simia"]`` and in the metrics.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from weakref import WeakValueDictionary

import verifiers.v1 as vf

from simia.config import checked, read_toml, with_overrides
from simia.environment.adapters.verifiers_agent import SimiaHarnessConfig, SimiaState
from simia.environment.arena import Arena, GroupMaker
from simia.environment.audit import CallSink
from simia.environment.recipe import ArenaRecipe, choose_players, open_arena, world_of
from simia.environment.session import Session
from simia.environment.tasks import seed_tasks, world_tasks
from simia.errors import ConfigError
from simia.models.cached import ReplyJournal
from simia.models.meter import Meter
from simia.store.calls import CallLog
from simia.store.commit import GroupCommit
from simia.store.replies import ReplyLog, kept_replies
from simia.types import Episode, Party, StopReason, Task, UserMessage
from simia.worlds import World
from simia.worlds.door import open_world

INFO = "simia"
"""Under this key ``trace.info`` says how the episode ended, whose doing that was, and what it was worth."""

# As verifiers calls its own limits, so that a truncated rollout counts as one there.
_STOPS = {StopReason.MAX_TOKENS: "max_total_tokens", StopReason.CONTEXT_OVERFLOW: "max_total_tokens"}


class EpisodeMasked(vf.RolloutError):
    """The episode cannot be scored, and that is not the agent's doing. ``EpisodeMasked`` is also what the error is
    called in a trace, where rules of retries find it.
    """


class SimiaTasksetConfig(vf.TasksetConfig):
    """Which environment. ``recipe`` is a TOML file with the keys of an ``ArenaRecipe``, ``settings`` are further ones
    as ``key=value``, as on simia's own command line. With ``record`` every reply of a model that plays tools, user or
    judge is kept in that folder, in one of its own for each process.
    """

    recipe: Path | None = None
    settings: list[str] = []
    record: Path | None = None


class SimiaData(vf.TaskData):
    """A task by its id. What the user says is the environment's to know, so there is no prompt."""


class SimiaTask(vf.Task[SimiaData, SimiaState, vf.TaskConfig]):
    """Judges the episode that was played on its rollout."""

    @property
    def key(self) -> str:
        """The id of the task."""
        return str(self.data.id)

    async def finalize(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        """End and judge the episode."""
        session: Session | None = trace.state.session
        if session is not None:
            trace.info[INFO] = verdict(await session.finish())
            trace.state.session = None

    @vf.metric
    async def simia_metrics(self, trace: vf.Trace) -> dict[str, float]:
        """Whose doing the end was, each party as 0 or 1; the parts of the reward; how often the agent acted."""
        found = trace.info.get(INFO)
        if found is None:
            return {}
        reward = found["reward"] or {"parts": {}}
        return {
            "masked": float(found["reward"] is None),
            **{f"by_{party.value}": float(found["attributed_to"] == party.value) for party in Party},
            **{f"part_{name}": float(value) for name, value in reward["parts"].items()},
            "agent_turns": float(found["turns"]),
            "environment_seconds": float(found["seconds"]),
        }

    @vf.reward
    async def simia_reward(self, trace: vf.Trace) -> float:
        """The reward of simia, which this only reads: it was given when the rollout was finished.

        Raises:
            EpisodeMasked: there is none.
        """
        found = trace.info.get(INFO)
        if found is None:
            raise EpisodeMasked("nothing was judged on this rollout: play it again")
        if found["reward"] is None:
            raise EpisodeMasked(f"{found['attributed_to']}: {found['detail'] or found['stop']}")
        return float(found["reward"]["value"])


class SimiaTaskset(vf.Taskset[SimiaTask, SimiaTasksetConfig]):
    """The tasks of an environment.

    Raises:
        ConfigError: the recipe cannot be meant, or there is no such world.
    """

    def __init__(self, config: SimiaTasksetConfig) -> None:
        super().__init__(config)
        settings, origin = (
            ({}, "env.taskset") if config.recipe is None else (read_toml(config.recipe), str(config.recipe))
        )
        self.recipe = checked(ArenaRecipe, with_overrides(settings, config.settings), origin)
        self.recipe.demand_no_secret()

    @cached_property
    def world(self) -> World | None:
        """The executable world of the tasks, or None where they come from seeds."""
        return world_of(self.recipe, open_world)

    def load(self) -> Iterator[SimiaTask]:
        """Every task, with the policy as its system prompt; ``env.taskset.system_prompt`` replaces that."""
        for task in self._tasks():
            data = SimiaData(
                id=task.id,
                name=task.id,
                description=task.seed.task,
                system_prompt=task.seed.world.policy.strip(),
            )
            yield SimiaTask(data, self.config.task)

    def _tasks(self) -> Iterator[Task]:
        settings = self.recipe.environment
        if settings.seeds is not None:
            return seed_tasks(settings.seeds, limit=settings.tasks)
        if self.world is None:
            raise ConfigError("there is no task to play: set environment.world or environment.seeds")
        return world_tasks(self.world, settings.tasks, settings.task_seed)


class SimiaEnvConfig(vf.EnvConfig):
    """One agent, whose runtime is this process: the harness starts none."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class SimiaEnv(vf.Env[SimiaEnvConfig]):
    """Plays the user of each episode, and keeps the models behind it open while it serves.

    All episodes of a task draw alike, as members of a group do; those that are played at the same time share also the
    memory of a simulated tool.

    Raises:
        ConfigError: another harness is asked for, which would find no tools.
    """

    def __init__(self, config: SimiaEnvConfig) -> None:
        harness = config.agent.harness
        if harness is not None and not isinstance(harness, SimiaHarnessConfig):
            raise ConfigError(
                f"the harness {harness.id!r} cannot play simia-v1, whose tools are no MCP server: leave "
                "env.agent.harness out"
            )
        super().__init__(config)
        self.arena: Arena | None = None
        self._opened = AsyncExitStack()
        self._groups: WeakValueDictionary[str, GroupMaker] = WeakValueDictionary()
        self._members: Counter[str] = Counter()

    async def start(self) -> None:
        """Open the models that play tools, user and judge."""
        recipe, world = self.taskset.recipe, self.taskset.world
        cast = await asyncio.to_thread(choose_players, recipe, os.environ, world)
        journal, sink = self._opened.enter_context(_records(self.taskset.config.record))
        self.arena = await self._opened.enter_async_context(
            open_arena(recipe, cast, world, meter=Meter(), journal=journal, sink=sink, run_name="verifiers")
        )

    async def stop(self) -> None:
        """Close them."""
        self.arena = None
        await self._opened.aclose()

    async def run(self, task: SimiaTask, agents: vf.Agents) -> None:
        """One episode."""
        group = self._group(str(task.data.id))
        session = group.session(self._members[group.key])
        self._members[group.key] += 1
        async with agents.agent.interaction(task) as chat:
            chat.trace.state.session = session
            await session.start()
            while not session.is_over:
                segment = await chat.turn(_said(session))
                if segment.terminated:
                    break
            if session.environment.stop is not None:
                chat.trace.stop(_STOPS.get(session.environment.stop, session.environment.stop.value))

    def _group(self, task_id: str) -> GroupMaker:
        if self.arena is None:
            raise ConfigError("the environment is not served: start it first")
        group = self._groups.get(task_id)
        if group is None:
            group = self._groups[task_id] = self.arena.group(self.arena.task(task_id), task_id)
        return group


def verdict(episode: Episode) -> dict[str, Any]:
    """What the record of a rollout says about its episode, as JSON."""
    return {
        "episode": episode.id,
        "stop": episode.trajectory.stop_reason.value,
        "attributed_to": episode.attributed_to.value,
        "detail": episode.detail,
        "reward": None if episode.reward is None else episode.reward.model_dump(mode="json"),
        "turns": episode.turns,
        "seconds": episode.seconds,
    }


def _said(session: Session) -> str:
    last = session.environment.messages[-1]
    if not isinstance(last, UserMessage):
        raise TypeError(f"the user has the word, but the last message is of the {last.role}")
    return last.content


@contextmanager
def _records(folder: Path | None) -> Iterator[tuple[ReplyJournal, CallSink | None]]:
    if folder is None:
        with TemporaryDirectory(prefix="simia-") as scratch, kept_replies(Path(scratch) / "replies.jsonl") as kept:
            yield kept, None
        return
    own = folder / f"process-{os.getpid()}"
    own.mkdir(parents=True, exist_ok=True)
    commit = GroupCommit()
    replies, calls = ReplyLog(own / "replies.jsonl", commit, writable=True), CallLog(own, commit, writable=True)
    try:
        yield replies, calls
    finally:
        commit.close()
        replies.close()
        calls.close()


__all__ = ["EpisodeMasked", "SimiaEnv", "SimiaTaskset", "SimiaTasksetConfig"]

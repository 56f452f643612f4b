"""What all agent loops of one worker process share: an arena, opened once, the run that it keeps, the groups at play.

It knows nothing of verl but the order in which its workers work: all rollouts of one prompt are begun at once, on the
one loop of one worker (``AgentLoopWorkerTQ``), so the members of a group meet here.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from simia.config import checked, read_toml
from simia.environment.arena import Arena, GroupMaker
from simia.environment.audit import CallSink
from simia.environment.episodes import EPISODES
from simia.environment.recipe import FREE, ArenaRecipe, choose_players, world_of
from simia.environment.serving_run import GROWING, kept_arena, manifest_of
from simia.environment.session import Session
from simia.pipeline.metered import MeteredRun
from simia.store import Run
from simia.types import Episode, Failed, Kept
from simia.worlds.door import open_world

_STEPS_AT_HAND = 2


@dataclass(eq=False)
class GroupAtPlay:
    """The members of one group that play here, how many of them have come to their end, and how many of these can be
    scored.
    """

    maker: GroupMaker
    floor: int
    members: int = 0
    settled: int = 0
    scored: int = 0
    over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def key(self) -> str:
        """The group's name, with which the ids of its episodes begin."""
        return self.maker.key

    @property
    def is_void(self) -> bool:
        """Whether too few members can be scored. A group of one has nothing to be compared with, and is not void for
        that.
        """
        return self.scored < min(self.floor, self.members)


class Worker:
    """One process's part in a training run.

    Args:
        metered: the run that keeps the episodes; without one they are not kept.
    """

    def __init__(self, arena: Arena, metered: MeteredRun | None = None) -> None:
        self.arena = arena
        self._metered = metered
        self._opened = AsyncExitStack()
        self._groups: dict[str, GroupAtPlay] = {}
        self._names: dict[int, Counter[str]] = {}
        self._next = 0 if metered is None else metered.run.stream(EPISODES).counts().seen

    @classmethod
    async def open(cls, recipe_file: Path, folder: Path, env: Mapping[str, str] | None = None) -> "Worker":
        """The arena of a recipe, with a run in ``folder``, which is gone on with where there is one.

        Raises:
            ConfigError: the recipe cannot be meant.
            ModelError: a model cannot be opened.
            StoreError: the folder holds another run, another process writes it, or it cannot be written.
        """
        recipe = checked(ArenaRecipe, read_toml(recipe_file), str(recipe_file))
        recipe.demand_no_secret()
        world = world_of(recipe, open_world)
        cast = choose_players(recipe, os.environ if env is None else env, world)
        manifest = manifest_of(recipe, cast, world).model_copy(update={"run": folder.name})
        async with AsyncExitStack() as opened:
            if (folder / "run.json").exists():
                run = opened.enter_context(Run.resume(folder, manifest, free=FREE, growing=GROWING))
            else:
                run = opened.enter_context(Run.create(folder, manifest))
            metered = MeteredRun(run, cast)
            arena = await opened.enter_async_context(kept_arena(recipe, world, metered))
            worker = cls(arena, metered)
            worker._opened = opened.pop_all()
        return worker

    async def close(self) -> None:
        """Close models and run. A worker that is killed instead loses nothing that was paid for."""
        await self._opened.aclose()

    @property
    def sink(self) -> CallSink | None:
        """Where calls of the agent are recorded, beside those of tools, user and judge."""
        return None if self._metered is None else self._metered.run.calls

    async def join(self, uid: str, split: str, step: int, task_id: str, floor: int) -> GroupAtPlay:
        """The group of a prompt, with one member more; who joins must :meth:`settle`. Returns when all have joined.

        Its name is ``SPLIT/STEP/TASK``: ``uid``, by which verl knows the prompt, is drawn anew in every run and says
        nothing, while what simulators draw shall be the same when a step is taken again. A task that comes twice in one
        step gets a number.

        Raises:
            ConfigError: there is no such task.
        """
        group = self._groups.get(uid)
        if group is None:
            task = self.arena.task(task_id)
            key = self._named(step, f"{split}/{step:06d}/{task_id}")
            group = self._groups[uid] = GroupAtPlay(self.arena.group(task, key), floor)
        group.members += 1
        await asyncio.sleep(0)  # the others were begun in the same turn of the loop
        return group

    def settle(self, uid: str, *, is_scored: bool) -> None:
        """A member of the prompt's group has come to its end, one way or another; the last one ends the group."""
        group = self._groups[uid]
        group.settled += 1
        group.scored += is_scored
        if group.settled == group.members:
            del self._groups[uid]
            group.over.set()

    async def keep(self, session: Session, outcome: Kept[Episode] | Failed) -> None:
        """Write down what became of an episode.

        Raises:
            StoreError: it cannot be written.
        """
        if self._metered is None:
            return
        run = self._metered.run
        ordinal, self._next = self._next, self._next + 1
        run.worlds.put(session.task.seed.world)
        await run.stream(EPISODES).append(ordinal, session.id, outcome)
        self._metered.note()

    def _named(self, step: int, name: str) -> str:
        seen = self._names.setdefault(step, Counter())
        for old in [known for known in self._names if known <= step - _STEPS_AT_HAND]:
            del self._names[old]
        seen[name] += 1
        return name if seen[name] == 1 else f"{name}.{seen[name] - 1}"


_workers: dict[tuple[asyncio.AbstractEventLoop, Path, Path], asyncio.Task[Worker]] = {}


async def worker_of(recipe_file: Path, folder: Path) -> Worker:
    """The worker of this process and this loop, opened by whoever asks first.

    Raises:
        SimiaError: as :meth:`Worker.open`; everybody who asks is told the same.
    """
    key = asyncio.get_running_loop(), recipe_file, folder
    if key not in _workers:
        _workers[key] = asyncio.create_task(Worker.open(recipe_file, folder))
    return await asyncio.shield(_workers[key])

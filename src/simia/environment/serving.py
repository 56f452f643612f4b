"""Episodes for whoever asks: what a server or a trainer's own loop begins, and what is kept of each.

It knows no protocol. Each adapter turns what its protocol says into messages of an agent, and the answers back.
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

from simia.environment.arena import Arena, GroupMaker
from simia.environment.episodes import EPISODES, EpisodeLog
from simia.environment.session import Session
from simia.errors import ConfigError, EpisodeMisused, SimiaError
from simia.store import Run
from simia.types import (
    AssistantMessage,
    Episode,
    Failed,
    JsonObject,
    Message,
    StopReason,
    Task,
    ToolCall,
    UserMessage,
)

T = TypeVar("T")

_GROUPS_AT_HAND = 256


@dataclass(frozen=True, slots=True)
class Answer:
    """What an agent's message came to. With an ``episode`` it is over and judged."""

    messages: tuple[Message, ...]
    episode: Episode | None = None

    @property
    def words(self) -> str | None:
        """What the user says, or None where nobody speaks."""
        said = [message.content for message in self.messages if isinstance(message, UserMessage)]
        return said[0] if said else None


class Episodes:
    """Begins episodes of an arena, and keeps them in a run where there is one.

    Episodes about the same task with the same seed are members of one group: they share the draws of tools and user,
    and, as long as the group is among the last 256 asked for, the memory of its tools. The first has the id
    ``TASK/SEED/0``. A run that was begun before is gone on with: its numbers are not given again.

    Args:
        note: called whenever an episode was kept, for what else should be written then.
    """

    def __init__(self, arena: Arena, run: Run | None = None, note: Callable[[], None] = lambda: None) -> None:
        self.arena = arena
        self._run = run
        self._note = note
        self._members: Counter[str] = Counter()
        self._groups: OrderedDict[str, GroupMaker] = OrderedDict()
        self._unseeded = 0
        self._next = 0
        self._open: set[Seat] = set()
        self._leaving: set[asyncio.Task[None]] = set()
        if run is not None:
            self._count_up(run)

    def task(self, task_id: str | None, seed: int | None) -> Task:
        """The task with this id; without one, the one that ``seed`` picks; without both, the next in turn.

        Raises:
            ConfigError: there is no such task.
        """
        if task_id is not None:
            return self.arena.task(task_id)
        tasks = list(self.arena.tasks.values())
        return tasks[(self._unseeded if seed is None else seed) % len(tasks)]

    def begin(self, task_id: str | None = None, seed: int | None = None) -> "Seat":
        """A place in a new episode, which is not started yet. To be called on the loop that it is played on.

        Without a ``seed`` no other episode has the same draws.

        Raises:
            ConfigError: there is no such task, or the seed is no whole number.
        """
        if task_id is not None and not isinstance(task_id, str):
            raise ConfigError(f"a task is named by its id, a text, not {task_id!r}")
        if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
            raise ConfigError(f"a seed is a whole number, not {seed!r}")
        task = self.task(task_id, seed)
        if seed is None:
            key, member = f"{task.id}/n{self._unseeded}", 0
            self._unseeded += 1
        else:
            key = f"{task.id}/{seed}"
            member = self._members[key]
            self._members[key] += 1
        seat = Seat(self._group(task, key).session(member), self)
        self._open.add(seat)
        return seat

    async def finish(self, seat: "Seat") -> Episode:
        """The episode of a seat, judged and kept. Once for each.

        Raises:
            ConfigError, AuthenticationFailed, ModelNotFound, CostCeilingReached: nobody can judge it; that is kept too.
            StoreError: it cannot be written.
        """
        self._open.discard(seat)
        session = seat.session
        try:
            episode = await session.finish()
        except SimiaError as error:
            if self._run is not None:
                why = Failed(type(error).__name__, str(error))
                await self._run.stream(EPISODES).append(self._ordinal(), session.id, why)
            raise
        if self._run is not None:
            await EpisodeLog(self._run).append(self._ordinal(), episode, session.task.seed.world)
        self._note()
        return episode

    def leave(self, seat: "Seat") -> None:
        """Finish the episode of ``seat`` in the background; on the loop that it is played on."""
        task = asyncio.get_running_loop().create_task(seat.leave())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def settled(self) -> None:
        """Leave every episode that is still open, and wait until all are kept.

        Raises:
            SimiaError: one of them could not be judged or kept.
        """
        for seat in tuple(self._open):
            self.leave(seat)
        ends = await asyncio.gather(*self._leaving, return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException):
                raise end

    def _ordinal(self) -> int:
        self._next += 1
        return self._next - 1

    def _group(self, task: Task, key: str) -> GroupMaker:
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = self.arena.group(task, key)
            if len(self._groups) > _GROUPS_AT_HAND:
                self._groups.popitem(last=False)
        self._groups.move_to_end(key)
        return group

    def _count_up(self, run: Run) -> None:
        stream = run.stream(EPISODES)
        kept = ((ordinal, key) for ordinal, key, _ in stream.raw_kept())
        failed = ((ordinal, key) for ordinal, key, _ in stream.failed())
        for ordinal, episode_id in chain(kept, failed):
            self._next = max(self._next, ordinal + 1)
            key, _, member = episode_id.rpartition("/")
            seed = key.rpartition("/")[2]
            if seed.startswith("n"):
                self._unseeded = max(self._unseeded, int(seed[1:]) + 1)
            else:
                self._members[key] = max(self._members[key], int(member) + 1)


class Seat:
    """An agent's place in one episode: it acts with one message at a time, and the end of the episode is judged and
    kept at once.

    Whoever asks may be cancelled, the episode is not: what it has begun to answer it answers.
    """

    def __init__(self, session: Session, episodes: Episodes) -> None:
        self.session = session
        self.episode: Episode | None = None
        self.turns = 0
        self._episodes = episodes
        self._turn = asyncio.Lock()
        self._calls = 0
        self._is_finished = False

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended, judged or not."""
        return self.session.is_over

    async def start(self) -> Answer:
        """The policy and the user's first words.

        Raises:
            EpisodeMisused: it was started before.
            SimiaError: as :func:`simia.environment.rollout.run_episode`.
        """

        async def work() -> Answer:
            return await self._answered((await self.session.start()).messages)

        return await self._in_turn(work())

    async def act(self, message: AssistantMessage) -> Answer:
        """What the agent's message comes to.

        Raises:
            EpisodeMisused: it was not started, or is over.
            SimiaError: as :func:`simia.environment.rollout.run_episode`.
        """

        async def work() -> Answer:
            step = await self.session.step(message)
            self.turns += 1
            return await self._answered(step.messages)

        return await self._in_turn(work())

    async def call(self, name: str, arguments: JsonObject) -> Answer:
        """What one call comes to; as :meth:`act`."""
        return await self.act(
            AssistantMessage(tool_calls=(ToolCall(id=self.next_id(), name=name, arguments=arguments),))
        )

    async def say(self, text: str) -> Answer:
        """What the user says to the agent's words; as :meth:`act`."""
        return await self.act(AssistantMessage(content=text))

    def next_id(self) -> str:
        """The id of the agent's next call: ``call_1``, ``call_2`` and so on."""
        self._calls += 1
        return f"call_{self._calls}"

    async def leave(self) -> None:
        """The agent goes. An open episode is cut off, which masks it; nothing happens to one that is over.

        Raises:
            StoreError: the episode cannot be written.
        """

        async def work() -> None:
            self.session.cut(StopReason.UNAVAILABLE, "the agent left before the end")
            await self._finish()

        await self._in_turn(work())

    async def _answered(self, messages: tuple[Message, ...]) -> Answer:
        if self.session.is_over:
            await self._finish()
        return Answer(messages, self.episode)

    async def _finish(self) -> None:
        if not self._is_finished:
            self._is_finished = True
            self.episode = await self._episodes.finish(self)

    async def _in_turn(self, work: Coroutine[Any, Any, T]) -> T:
        async def turn() -> T:
            async with self._turn:
                try:
                    return await work
                except EpisodeMisused:
                    raise
                except SimiaError:
                    if self.session.is_over:
                        await self._finish()
                    raise

        return await asyncio.shield(asyncio.get_running_loop().create_task(turn()))

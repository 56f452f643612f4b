"""OpenEnv 0.10: an arena as a server, one episode for each WebSocket session. Needs the extra ``openenv``.

::

    {"type": "reset", "data": {"task_id": "lamps:0:1", "seed": 7}}
    {"type": "step", "data": {"type": "list_tools"}}
    {"type": "step", "data": {"type": "call_tool", "tool_name": "look_around", "arguments": {}}}
    {"type": "step", "data": {"type": "call_tool", "tool_name": "respond_to_user", "arguments": {"message": "Done."}}}

``respond_to_user`` is the agent speaking; it is not among the tools that are listed, because a trainer calls it with
what the agent says, and no agent does. All members of a group reset with the same task and seed. Whatever goes wrong is
an observation with an ``error``: a session outlives it.
"""

import asyncio
import socket
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import uvicorn
from fastapi import FastAPI
from openenv.core.env_server import Environment, create_fastapi_app
from openenv.core.env_server.mcp_types import (
    CallToolAction,
    ListToolsAction,
    ListToolsObservation,
    ToolErrorType,
)
from openenv.core.env_server.types import EnvironmentMetadata, Observation

from simia import __version__
from simia.environment.adapters.openenv_messages import (
    SimiaObservation,
    SimiaStart,
    SimiaState,
    answered,
    end_of,
    error_of,
    listed,
)
from simia.environment.serving import Episodes, Seat
from simia.errors import ConfigError, EpisodeMisused, SimiaError, boundary
from simia.formats.calls import foreign_call
from simia.formats.openai import render_messages
from simia.types import JsonObject, MalformedToolCall, Task, ToolSpec

ENV_NAME = "simia"
RESPOND = "respond_to_user"
SPLIT = "train"
SESSIONS = 64

_GRACE_S = 20


class SimiaEnvironment(Environment[CallToolAction, Observation, SimiaState]):
    """One session of the server. It holds one episode at a time: a reset leaves the one before it."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, episodes: Episodes, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._episodes = episodes
        self._loop = loop
        self._seat: Seat | None = None
        self._name: str | None = None

    async def reset_async(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        task_id: str | None = None,
        index: int | None = None,
        **ignored: Any,
    ) -> SimiaStart:
        """Begin an episode about the task with this id, or at this index of the Task API; without both the seed picks.

        ``episode_id`` is only handed back in the state. Other fields, which trainers pass on from their rows, are
        ignored.
        """
        self.close()
        self._name = episode_id

        async def begin() -> SimiaStart:
            wanted = self.get_task(SPLIT, index)["task_id"] if task_id is None and index is not None else task_id
            seat = self._seat = self._episodes.begin(wanted, seed)
            answer = await seat.start()
            return SimiaStart(
                task_id=seat.session.task.id,
                episode=seat.session.id,
                messages=render_messages(answer.messages),
                **end_of(answer.episode),
            )

        started = await self._told(begin())
        if isinstance(started, SimiaStart):
            return started
        return SimiaStart(error=error_of(ToolErrorType.EXECUTION_ERROR, started), **self._end())

    async def step_async(self, action: CallToolAction, timeout_s: float | None = None, **ignored: Any) -> Observation:
        """What the action comes to. ``timeout_s`` is ignored: ``environment.limits.timeout_s`` holds for everybody."""
        if isinstance(action, ListToolsAction):
            return ListToolsObservation(tools=[listed(tool) for tool in self._tools()], done=self.state.is_over)
        told = await self._told(self._act(action))
        if isinstance(told, SimiaObservation):
            return told
        return self._refusal(action.tool_name, ToolErrorType.EXECUTION_ERROR, told)

    def reset(self, seed: int | None = None, episode_id: str | None = None, **ignored: Any) -> Observation:
        """Refused: OpenEnv demands this form, and its server takes the asynchronous one.

        Raises:
            EpisodeMisused: always.
        """
        raise EpisodeMisused("an episode waits for models: begin it with reset_async")

    def step(self, action: CallToolAction, timeout_s: float | None = None, **ignored: Any) -> Observation:
        """Refused, as :meth:`reset` is.

        Raises:
            EpisodeMisused: always.
        """
        raise EpisodeMisused("an episode waits for models: act with step_async")

    @property
    def state(self) -> SimiaState:
        """Where the session stands. ``episode_id`` is the one of the reset, else that of the records."""
        seat = self._seat
        if seat is None:
            return SimiaState(episode_id=self._name)
        return SimiaState(
            episode_id=self._name or seat.session.id,
            step_count=seat.turns,
            task_id=seat.session.task.id,
            is_over=seat.is_over,
        )

    def close(self) -> None:
        """Leave the episode. One that is not over is cut off and kept as masked. May be called from any thread."""
        seat, self._seat = self._seat, None
        if seat is not None:
            self._loop.call_soon_threadsafe(self._episodes.leave, seat)

    def get_metadata(self) -> EnvironmentMetadata:
        """What this server is."""
        settings = self._episodes.arena.settings
        return EnvironmentMetadata(
            name=ENV_NAME,
            description=f"Episodes of simia in {settings.world or settings.seeds}, dynamics {settings.dynamics}",
            version=__version__,
        )

    def list_splits(self) -> list[str]:
        """The one split that there is."""
        return [SPLIT]

    def list_tasks(self, split: str) -> list[JsonObject]:
        """The tasks by id. Their texts are the user's to tell."""
        return [self._told_of(index, task) for index, task in enumerate(self._tasks(split))]

    def num_tasks(self, split: str) -> int:
        """How many tasks there are."""
        return len(self._tasks(split))

    def get_task(self, split: str, index: int) -> JsonObject:
        """One of :meth:`list_tasks`.

        Raises:
            IndexError: there is no such split, or no such task.
        """
        tasks = self._tasks(split)
        if not 0 <= index < len(tasks):
            raise IndexError(f"no task {index}; there are {len(tasks)}")
        return self._told_of(index, tasks[index])

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[JsonObject]:
        """Those of :meth:`list_tasks` from ``start`` to before ``stop``."""
        return self.list_tasks(split)[start:stop]

    async def _act(self, action: CallToolAction) -> SimiaObservation:
        seat, name = self._seat, action.tool_name
        if seat is None:
            raise EpisodeMisused("there is no episode: reset begins one, in a session that lasts (/ws)")
        if seat.is_over:
            raise EpisodeMisused("the episode is over: reset begins another")
        if name == RESPOND:
            message = action.arguments.get("message")
            if not isinstance(message, str) or action.arguments.keys() != {"message"}:
                return self._refusal(name, ToolErrorType.INVALID_ARGS, f'{RESPOND} takes {{"message": "..."}}')
            answer = await seat.say(message)
            return SimiaObservation(tool_name=name, result=answer.words, **end_of(answer.episode))
        call = foreign_call("", name, action.arguments)
        if isinstance(call, MalformedToolCall):
            return self._refusal(name, ToolErrorType.INVALID_ARGS, f"the call could not be read: {call.reason}")
        answer = await seat.call(name, action.arguments)
        return answered(seat, name, action.arguments, answer)

    async def _told(self, work: Coroutine[Any, Any, Observation]) -> Observation | str:
        """The observation, or what went wrong: the one place where an error becomes words."""
        try:
            with boundary(SimiaError, "answer"):
                return await work
        except SimiaError as error:
            return str(error)

    def _refusal(self, name: str, kind: ToolErrorType, said: str) -> SimiaObservation:
        return SimiaObservation(tool_name=name, is_error=True, error=error_of(kind, said), **self._end())

    def _end(self) -> dict[str, Any]:
        seat = self._seat
        if seat is None or not seat.is_over:
            return {"done": False}
        return {**end_of(seat.episode), "done": True, "reward": None}  # the reward is told once, by the last step

    def _tools(self) -> tuple[ToolSpec, ...]:
        """Those of the episode; before there is one, those that all tasks share."""
        if self._seat is not None:
            return self._seat.session.tools
        worlds = {task.seed.world.content_id: task.seed.world for task in self._episodes.arena.tasks.values()}
        return next(iter(worlds.values())).tools if len(worlds) == 1 else ()

    def _tasks(self, split: str) -> list[Task]:
        if split != SPLIT:
            raise IndexError(f"no split {split!r}; there is {SPLIT}")
        return list(self._episodes.arena.tasks.values())

    @staticmethod
    def _told_of(index: int, task: Task) -> JsonObject:
        return {"task_id": task.id, "index": index, "world": task.seed.world.name}


def openenv_app(episodes: Episodes, *, sessions: int = SESSIONS) -> FastAPI:
    """The server's application. To be called on the loop that it will run on.

    Args:
        sessions: how many may be open at once; another is told that there is no room.

    Raises:
        ConfigError: a tool has the name of the reserved call.
    """
    taken = sorted({task.seed.world.name for task in episodes.arena.tasks.values() if RESPOND in task.seed.world.tool})
    if taken:
        raise ConfigError(
            f"the world {taken[0]} has a tool called {RESPOND!r}, by which an agent speaks in OpenEnv: rename the tool"
        )
    return create_fastapi_app(
        partial(SimiaEnvironment, episodes, asyncio.get_running_loop()),
        CallToolAction,
        SimiaObservation,
        max_concurrent_envs=sessions,
        env_name=ENV_NAME,
        state_cls=SimiaState,
        reset_observation_cls=SimiaStart,
        mode="simulation",
    )


async def serve_openenv(app: FastAPI, listener: socket.socket, stop: asyncio.Event) -> None:
    """Serve on ``listener`` until ``stop`` is set. Sessions that are open then are closed, and their episodes kept."""
    server = _Server(
        uvicorn.Config(app, log_level="warning", ws="websockets-sansio", timeout_graceful_shutdown=_GRACE_S)
    )

    async def end() -> None:
        await stop.wait()
        server.should_exit = True

    ending = asyncio.create_task(end())
    try:
        await server.serve(sockets=[listener])
    finally:
        ending.cancel()


class _Server(uvicorn.Server):
    """Leaves signals to whoever runs it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

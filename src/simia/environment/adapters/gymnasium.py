"""Gymnasium: an arena as an environment whose actions and observations are texts. Needs the extra ``gymnasium``.

::

    env = SimiaEnv(recipe)
    observation, info = env.reset(seed=7, options={"task": "lamps:0:1"})
    observation, reward, terminated, truncated, info = env.step('{"calls": [{"name": "look_around", "arguments": {}}]}')

An action is an agent's message as JSON text, see :mod:`simia.environment.adapters.action_text`. An observation is JSON
text too: the list of the messages that are new to the agent, as chat messages. It is spelled in ASCII, so that every
observation is an element of its space.
"""

import json
import os
import string
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium.spaces import Text

from simia.environment.adapters.action_text import read_action
from simia.environment.arena import Arena
from simia.environment.loop_thread import LoopThread
from simia.environment.recipe import ArenaRecipe, choose_players, world_of
from simia.environment.serving import Answer, Episodes, Seat
from simia.environment.serving_run import open_episodes
from simia.errors import ConfigError, EpisodeMisused
from simia.formats import transcript
from simia.formats.openai import render_messages, render_tools
from simia.types import Message
from simia.worlds.door import open_world

MASKED = float("nan")
"""The reward of an episode that is masked: absent is not zero, and a trainer that overlooks it will notice."""

_ACTION_CHARS = 65_536
_OBSERVATION_CHARS = 1 << 30
_SEED_BITS = 31


class SimiaEnv(gymnasium.Env[str, str]):
    """One agent in an arena, one episode after another.

    ``reset`` takes the id of a task as ``options["task"]``; without one a task is drawn. Its ``info`` has the ``task``,
    the ``episode`` (its id in the records) and the ``tools``, as chat endpoints spell them. Episodes with the same task
    and seed have the same draws. Where an episode cannot even begin, its first step ends it, whatever the action.

    The reward is 0.0 until the end, and at the end that of the episode. Where that is masked it is NaN, and
    ``info["masked"]`` is true: drop the episode. A limit, and whatever is not the agent's doing, truncates; the rest
    terminates. At the end ``info`` also has ``stop_reason``, ``detail``, ``attributed_to``, ``reason`` and ``parts``.

    Everything behind it runs on a loop of its own, so it works in a notebook. :meth:`close` it: that keeps the last
    episode and closes models and run.

    Args:
        source: a recipe, whose models are opened here, or an arena that is open.
        run: the folder of a run that keeps every episode and every call of a model; for a recipe only.
        render_mode: "ansi", for :meth:`render` to give the conversation so far as text.

    Raises:
        ConfigError: the recipe cannot be played, or a run is given for an arena.
        ModelError: a model cannot be had.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}

    def __init__(self, source: ArenaRecipe | Arena, *, run: Path | None = None, render_mode: str | None = None) -> None:
        if render_mode not in (None, "ansi"):
            raise ConfigError(f'render_mode is "ansi" or none, not {render_mode!r}')
        self.render_mode = render_mode
        self.action_space = Text(_ACTION_CHARS, charset=string.printable)
        self.observation_space = Text(_OBSERVATION_CHARS, min_length=2, charset=string.printable)
        self._seat: Seat | None = None
        self._unbegun: Answer | None = None
        self._opened = AsyncExitStack()
        opening = _episodes_of(source, run)
        self._loop: LoopThread | None = LoopThread("simia-gymnasium").__enter__()
        with ExitStack() as undone:
            undone.callback(self.close)
            self._episodes = self._loop.run(self._opened.enter_async_context(opening))
            undone.pop_all()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode; one that is not over is cut off, and masked.

        Raises:
            ConfigError: there is no such task, or an option is unknown.
            SimiaError: no episode can be begun any more.
        """
        super().reset(seed=seed)
        wanted = dict(options or {})
        task = wanted.pop("task", None)
        if wanted:
            raise ConfigError(f"no option {', '.join(map(str, wanted))}: the only one is task")
        if task is None:
            task = list(self._episodes.arena.tasks)[int(self.np_random.integers(len(self._episodes.arena.tasks)))]
        draws = int(self.np_random.integers(1 << _SEED_BITS)) if seed is None else seed
        seat, answer = self._running.run(self._begun(task, draws))
        self._unbegun = None if answer.episode is None else answer
        info = {"task": seat.session.task.id, "episode": seat.session.id, "tools": render_tools(seat.session.tools)}
        return _spelled(answer.messages), info | _ending(answer)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """What the agent's message comes to.

        Raises:
            EpisodeMisused: there is no episode, or it is over: call :meth:`reset`.
            SimiaError: no episode would fare better.
        """
        seat = self._seat
        if seat is None:
            raise EpisodeMisused("there is no episode: call reset first")
        answer, self._unbegun = self._unbegun, None
        if answer is None:
            answer = self._running.run(seat.act(read_action(action, seat.next_id)))
        episode = answer.episode
        if episode is None:
            return _spelled(answer.messages), 0.0, False, False, {}
        reward = MASKED if episode.reward is None else episode.reward.value
        is_cut = episode.is_truncated or episode.trajectory.stop_reason.is_failure
        return _spelled(answer.messages), reward, not is_cut, is_cut, _ending(answer)

    def render(self) -> str:
        """The conversation so far, with render mode "ansi".

        Raises:
            ConfigError: there is another one.
        """
        if self.render_mode != "ansi":
            raise ConfigError('nothing is rendered: make the environment with render_mode="ansi"')
        return "" if self._seat is None else transcript.render(tuple(self._seat.session.environment.messages))

    def close(self) -> None:
        """Leave the episode and close everything; once."""
        loop, self._loop = self._loop, None
        if loop is None:
            return
        try:
            loop.run(self._closed())
        finally:
            loop.__exit__(None, None, None)

    @property
    def _running(self) -> LoopThread:
        if self._loop is None:
            raise EpisodeMisused("the environment is closed: make another")
        return self._loop

    async def _begun(self, task: str, seed: int) -> tuple[Seat, Answer]:
        if self._seat is not None:
            await self._seat.leave()
        seat = self._seat = self._episodes.begin(task, seed)
        return seat, await seat.start()

    async def _closed(self) -> None:
        try:
            if self._seat is not None:
                await self._seat.leave()
        finally:
            await self._opened.aclose()


def _episodes_of(source: ArenaRecipe | Arena, run: Path | None) -> AbstractAsyncContextManager[Episodes]:
    if isinstance(source, Arena):
        if run is not None:
            raise ConfigError("an arena that is open has its own records: give a run with a recipe")
        return _of_arena(source)
    world = world_of(source, open_world)
    return open_episodes(source, choose_players(source, os.environ, world), world, run)


@asynccontextmanager
async def _of_arena(arena: Arena) -> AsyncIterator[Episodes]:
    yield Episodes(arena)


def _spelled(messages: tuple[Message, ...]) -> str:
    return json.dumps(render_messages(messages))


def _ending(answer: Answer) -> dict[str, Any]:
    episode = answer.episode
    if episode is None:
        return {}
    reward = episode.reward
    return {
        "masked": episode.is_masked,
        "stop_reason": episode.trajectory.stop_reason.value,
        "detail": episode.detail,
        "attributed_to": episode.attributed_to.value,
        "reason": "" if reward is None else reward.reason,
        "parts": {} if reward is None else dict(reward.parts),
    }

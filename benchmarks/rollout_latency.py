"""How long many rollouts at once wait for a slow simulator, against the slowest of them alone."""

import asyncio
import json
import random
import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from statistics import median
from typing import Any

from simia import worlds
from simia.environment.arena import Arena
from simia.environment.rehearsal import RehearsalModel
from simia.environment.rollout import run_episode, run_group
from simia.environment.session import Session
from simia.environment.settings import EnvironmentSettings
from simia.environment.together import together
from simia.models.scripted import ScriptedModel
from simia.types import AssistantMessage, ChatReply, ChatRequest, Episode, Message, ToolCall, ToolSpec
from simia.worlds import World

_ROLLOUTS = 16
_CALLS = 3
_LATENCY_S = 0.5
_END = "<|im_end|>"


class Acting:
    """An agent that makes settled calls, one a turn, and then says so."""

    def __init__(self, calls: Sequence[ToolCall]) -> None:
        self._left = iter(calls)

    async def act(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> AssistantMessage:
        """The next call."""
        call = next(self._left, None)
        return AssistantMessage(content="It is done.") if call is None else AssistantMessage(tool_calls=(call,))


def latency(rounds: int) -> None:
    """Rollouts of some calls each over a simulator with a latency: each alone in its group, all as one group, and as
    TRL plays them, where TRL is installed.
    """
    world = worlds.load("lamps")
    for label, spread_s in ((f"{_LATENCY_S:g} s each", 0.0), ("0.25 to 0.75 s each", _LATENCY_S / 2)):
        arena = _arena(world, spread_s)
        print(f"{_ROLLOUTS} rollouts of {_CALLS} calls, {label}:")
        _print("of other groups", [asyncio.run(_apart(arena, number)) for number in range(rounds)])
        _print("of one group", [asyncio.run(_grouped(arena, number)) for number in range(rounds)])
        try:
            _print("as TRL plays them", list(_in_tokens(world, arena, rounds)))
        except ImportError as missing:
            print(f"  as TRL plays them: skipped, {missing.name} is not installed here (the extra trl)")


def _print(label: str, taken: Sequence[tuple[float, list[Episode]]]) -> None:
    """``taken``: of each round the seconds of all, and the episodes."""
    ratios, walls, alone = [], [], []
    for wall_s, episodes in taken:
        if any(episode.reward is None for episode in episodes):
            raise SystemExit(f"an episode was masked: {[episode.detail for episode in episodes]}")
        walls.append(wall_s)
        ratios.append(wall_s / max(episode.seconds for episode in episodes))
        alone.append(sum(episode.seconds for episode in episodes))
    print(
        f"  {label}: {median(walls):.2f} s in all, {median(ratios):.3f} times the slowest alone ({min(ratios):.3f} to "
        f"{max(ratios):.3f}, {len(taken)} rounds); one after another {median(alone):.1f} s"
    )


def _arena(world: World, spread_s: float) -> Arena:
    double, rng = RehearsalModel(world), random.Random(0)

    async def slow(request: ChatRequest) -> ChatReply:
        await asyncio.sleep(_LATENCY_S + rng.uniform(-spread_s, spread_s))
        return await double.complete(request)

    settings = EnvironmentSettings.model_validate({"world": "lamps", "tasks": _ROLLOUTS, "user": "one_request"})
    return Arena(settings, {"tools": ScriptedModel(slow)}, world=world)


def _calls(member: int) -> list[ToolCall]:
    """Calls of which the first twelve members share none: what one group asks twice is answered from its memory."""
    rooms = ("attic", "cellar", "garage", "hall", "kitchen", "study")
    verbs = ("turn_on", "turn_off")
    first = islice(cycle([(verb, room) for room in rooms for verb in verbs]), member, member + _CALLS)
    return [
        ToolCall(id=f"call_{place}", name=verb, arguments={"room": room})
        for place, (verb, room) in enumerate(first, start=1)
    ]


async def _apart(arena: Arena, number: int) -> tuple[float, list[Episode]]:
    began = time.perf_counter()
    episodes = await together(
        run_episode(arena.session(task, f"{number}/{place}"), Acting(_calls(place)))
        for place, task in enumerate(arena.tasks.values())
    )
    return time.perf_counter() - began, episodes


async def _grouped(arena: Arena, number: int) -> tuple[float, list[Episode]]:
    maker = arena.group(next(iter(arena.tasks.values())), str(number))

    def make(member: int, attempt: int) -> tuple[Session, Acting]:
        return maker.session(member, attempt), Acting(_calls(member))

    began = time.perf_counter()
    group = await run_group(make, _ROLLOUTS)
    return time.perf_counter() - began, list(group.episodes)


def _in_tokens(world: World, arena: Arena, rounds: int) -> Iterator[tuple[float, list[Episode]]]:
    """The rounds as token rollouts. The time of the generator, a script, is taken off.

    Raises:
        ImportError: TRL is not installed.
    """
    from simia.environment.adapters.trl_rollout import TokenRollout
    from simia.environment.adapters.trl_tokens import ChatTokens
    from simia.environment.loop_thread import LoopThread
    from simia.train.tiny import make_tokenizer

    tokenizer = make_tokenizer(world)
    tokens = ChatTokens(tokenizer)
    for number in range(rounds):
        script = _Script(tokenizer)
        with LoopThread() as loop:
            rollout = TokenRollout(tokens, script, loop, completion_tokens=4000, turn_tokens=400)
            sessions = [arena.session(task, f"{number}/{place}") for place, task in enumerate(arena.tasks.values())]
            began = time.perf_counter()
            rows = rollout.play(sessions)
            wall_s = time.perf_counter() - began - script.spent_s
        yield wall_s, [row.episode for row in rows if row.episode is not None]


class _Script:
    """The agents' turns as tokens: all rollouts take the same number of turns, so the batch keeps its order."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._turn = 0
        self.spent_s = 0.0

    def __call__(self, prompts: list[list[int]], room: int) -> tuple[list[list[int]], None]:
        began = time.perf_counter()
        texts = [self._text(member) for member in range(len(prompts))]
        turns: list[list[int]] = [self._tokenizer.encode(text + _END) for text in texts]
        self._turn += 1
        self.spent_s += time.perf_counter() - began
        return turns, None

    def _text(self, member: int) -> str:
        return _as_text(_calls(member)[self._turn]) if self._turn < _CALLS else "It is done."


def _as_text(call: ToolCall) -> str:
    return f"<tool_call>\n{json.dumps({'name': call.name, 'arguments': call.arguments})}\n</tool_call>"

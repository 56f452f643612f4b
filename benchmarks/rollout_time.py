"""What an environment takes by itself: no model plays, the agent's calls and the tools' answers are settled."""

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from statistics import median

from simia import worlds
from simia.environment.arena import Arena
from simia.environment.rehearsal import RehearsalModel
from simia.environment.settings import EnvironmentSettings
from simia.environment.tasks import task_of
from simia.models.scripted import ScriptedModel
from simia.store import Manifest, Run
from simia.types import AssistantMessage, ChatReply, ChatRequest, Task
from simia.worlds import World

_CALLS = 12
_EPISODES = 8
_MICRO = 1e6

Round = Callable[[], list[float]]
"""Plays some episodes and gives the seconds of each step."""


def overhead(rounds: int) -> None:
    """Microseconds per step with one call, and beside it those that the world's own code takes of an executable one.

    The kinds take turns, so that a slow minute of the machine meets all of them.
    """
    with tempfile.TemporaryDirectory() as scratch:
        kinds = {label: work for name in ("lamps", "library") for label, work in _kinds(name, Path(scratch))}
        taken: dict[str, list[float]] = {label: [] for label in kinds}
        for _ in range(rounds):
            for label, work in kinds.items():
                taken[label] += work()
    for label, seconds in taken.items():
        print(f"{label:34} {_spread(seconds)}")


def _spread(seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    low, high = ordered[len(ordered) // 10], ordered[-1 - len(ordered) // 10]
    return (
        f"median {_MICRO * median(ordered):6,.0f} us a step; eight of ten between {_MICRO * low:,.0f} and "
        f"{_MICRO * high:,.0f}, the longest {_MICRO * ordered[-1]:,.0f}, {len(ordered):,} steps"
    )


def _kinds(name: str, scratch: Path) -> Iterator[tuple[str, Round]]:
    world = worlds.load(name)
    tasks = [task_of(world, task) for task in world.long_tasks(_EPISODES, 0, _CALLS)]
    replies = _rehearsed(world, tasks)
    folders = count()

    def audited() -> list[float]:
        manifest = Manifest(run="bench", version="0", created="", config={})
        with Run.create(scratch / f"{name}-{next(folders)}", manifest) as run:
            return _steps(_arena(world, tasks, replies, run), tasks)

    yield f"{name}: world.run alone", lambda: [second for task in tasks for second in _run_alone(world, task)]
    yield f"{name}: executable", lambda: _steps(_arena(world, tasks), tasks)
    yield f"{name}: tracked simulator", lambda: _steps(_arena(world, tasks, replies), tasks)
    yield f"{name}: tracked simulator, audited", audited


def _arena(
    world: World, tasks: Sequence[Task], replies: Sequence[ChatReply] | None = None, run: Run | None = None
) -> Arena:
    """An environment that the world's code answers in, or ``replies`` in their order."""
    dynamics = "executable" if replies is None else "tracked"
    settings = EnvironmentSettings.model_validate(
        {"world": world.spec.name, "tasks": 1, "dynamics": dynamics, "user": "one_request"}
    )
    models = {} if replies is None else {"tools": ScriptedModel(replies)}
    return Arena(settings, models, world=world, sink=None if run is None else run.calls).with_tasks(tasks)


def _rehearsed(world: World, tasks: Sequence[Task]) -> list[ChatReply]:
    """What the world's double answers in the course of ``tasks``, so that its work is done before the clock runs."""
    double, replies = RehearsalModel(world), []

    async def heard(request: ChatRequest) -> ChatReply:
        replies.append(await double.complete(request))
        return replies[-1]

    settings = EnvironmentSettings.model_validate({"world": world.spec.name, "tasks": 1, "user": "one_request"})
    _steps(Arena(settings, {"tools": ScriptedModel(heard)}, world=world).with_tasks(tasks), tasks)
    return replies


def _steps(arena: Arena, tasks: Sequence[Task]) -> list[float]:
    """Seconds of each step with a call, one episode after another; every episode must reach its goal."""

    async def played() -> list[float]:
        taken: list[float] = []
        for task in tasks:
            session = arena.session(task, task.id)
            await session.start()
            for call in task.gold:
                began = time.perf_counter()
                await session.step(AssistantMessage(tool_calls=(call,)))
                taken.append(time.perf_counter() - began)
            await session.step(AssistantMessage(content="It is done."))
            episode = await session.finish()
            if episode.reward is None or episode.reward.value < 1:
                raise SystemExit(f"{episode.id} did not reach its goal: {episode.detail}")
        return taken

    return asyncio.run(played())


def _run_alone(world: World, task: Task) -> Iterator[float]:
    state = task.seed.initial_state or {}
    for call in task.gold:
        began = time.perf_counter()
        _, state = world.run(state, call)
        yield time.perf_counter() - began

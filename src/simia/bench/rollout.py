"""An agent model acts in an executable world, so that states and calls are harvested that no gold trajectory meets."""

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path

from simia.bench.collect import Walk
from simia.bench.sample import exchange
from simia.errors import ContextOverflow, RequestRefused, SandboxViolation, StateError
from simia.models.cast import Cast
from simia.models.meter import Meter
from simia.models.refusals import is_about_one_text
from simia.simulate import SimulateSettings
from simia.simulate.agent import SimulatedAgent
from simia.simulate.planned import Draws
from simia.store.replies import kept_replies
from simia.types import ChatModel, Message, ToolCall, UserMessage, WorldTask
from simia.worlds import World

ROLLOUT = "rollout"

_MOST_STEPS = 12


async def rollouts(
    model: ChatModel, world: World, tasks: Iterable[WorldTask], *, settings: SimulateSettings, in_flight: int = 8
) -> list[Walk]:
    """What the agent ``model`` does for each of ``tasks``, at most ``in_flight`` at a time, in the order of the tasks.

    The agent is told the instruction and nobody answers it: it acts until it speaks, for twelve steps, until the
    endpoint refuses the request as too long or by its content, or until its call runs into a wall of the sandbox.

    Raises:
        ModelError: nobody answers.
    """
    agent = SimulatedAgent(model, settings)
    room = asyncio.Semaphore(in_flight)

    async def one(task: WorldTask) -> Walk:
        async with room:
            return Walk(task, await _calls(agent, world, task, settings.seed), ROLLOUT)

    try:
        async with asyncio.TaskGroup() as group:  # one that fails ends the others, which would go on paying
            acting = [group.create_task(one(task)) for task in tasks]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed
    return [task.result() for task in acting]


async def _calls(agent: SimulatedAgent, world: World, task: WorldTask, seed: int) -> tuple[ToolCall, ...]:
    draws = Draws(seed, task.id, 0)
    messages: tuple[Message, ...] = (UserMessage(content=task.instruction),)
    state = task.initial_state
    made: list[ToolCall] = []
    for _ in range(_MOST_STEPS):
        try:
            decision, _ = await agent.decide(world.spec, messages, draws)
        except ContextOverflow:
            break
        except RequestRefused as refusal:
            if not is_about_one_text(refusal):  # a setting that the endpoint does not bear: no agent would ever act
                raise
            break
        if not decision.tool_calls:
            break
        for call in decision.tool_calls:
            made.append(call)
            try:
                transition, state = world.run(state, call)
            except (SandboxViolation, StateError):  # who harvests the walk makes the call again, and counts it
                return tuple(made)
            messages = (*messages, *exchange(call, transition.observation, is_error=transition.is_error))
    return tuple(made)


async def acted(
    cast: Cast, world: World, tasks: Iterable[WorldTask], *, seed: int, meter: Meter, replies: Path
) -> list[Walk]:
    """:func:`rollouts` by the model of ``cast``. Its replies are kept in the file ``replies``, so that nothing is paid
    for twice.

    Raises:
        ModelError: nobody answers, or the ceiling is reached; what was answered is kept.
        StoreError: the file cannot be written.
    """
    with kept_replies(replies) as log:
        meter.catch_up(log.usage(), cast.price_of)
        async with cast.opened(meter, log) as models:
            settings = SimulateSettings(seed=seed).for_model(is_small=cast.is_small)
            return await rollouts(models["model"], world, tasks, settings=settings, in_flight=cast.in_flight)


def with_calls(walks: Iterable[Walk]) -> Iterator[Walk]:
    """Those in which the agent did anything."""
    return (walk for walk in walks if walk.calls)

"""How much of an episode's prompts is computed anew at each step, where a model on this machine plays the tools.

The calls are the gold calls of a long task and the past is the true one, so that the prompts are those of a whole
episode whatever the model answers. The counts are the server's own.
"""

import asyncio
from collections.abc import Sequence
from statistics import median

from simia import worlds
from simia.environment.tasks import task_of
from simia.models.choose import ChosenModel, choose_model
from simia.models.settings import ModelSettings
from simia.simulate import SimulateSettings, TrackedDynamics
from simia.types import (
    AssistantMessage,
    ChatModel,
    ChatReply,
    ChatRequest,
    Message,
    Task,
    ToolMessage,
    TransitionQuery,
    Usage,
    UserMessage,
)
from simia.worlds import World

_CALLS = 12
_ANSWER_TOKENS = 16  # only prompts are measured


class Counting:
    """A model whose replies' usage is kept."""

    def __init__(self, inner: ChatModel) -> None:
        self._inner = inner
        self.used: list[Usage] = []

    @property
    def name(self) -> str:
        """The model's."""
        return self._inner.name

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The model's answer."""
        reply = await self._inner.complete(request)
        self.used.append(reply.usage)
        return reply


def prefix(model: str, names: Sequence[str]) -> None:
    """The share of prompt tokens that are computed at each step after the first, tracked and hidden."""
    chosen = choose_model(model, settings=ModelSettings(), env={})
    for name in names:
        for hides_state in (False, True):
            used = asyncio.run(_episode(chosen, worlds.load(name), hides_state=hides_state))
            _print(f"{name}, {'hidden' if hides_state else 'tracked'}", used)


def _print(label: str, used: Sequence[Usage]) -> None:
    later = used[1:]
    sent = sum(usage.prompt_tokens for usage in later)
    computed = [usage.prompt_tokens - usage.cached_tokens for usage in later]
    shares = [count / usage.prompt_tokens for count, usage in zip(computed, later, strict=True)]
    first = used[0]
    print(
        f"{label}: {len(later)} steps after the first sent {sent:,} prompt tokens, computed {sum(computed):,}: "
        f"{sum(computed) / sent:.1%}; a step {median(shares):.1%} ({min(shares):.1%} to {max(shares):.1%}); the first "
        f"sent {first.prompt_tokens:,}, computed {first.prompt_tokens - first.cached_tokens:,}"
    )


async def _episode(chosen: ChosenModel, world: World, *, hides_state: bool) -> list[Usage]:
    """The usage of each step of one episode, after a short one about another task: by that the server has compiled the
    grammar of every tool that is called, for which it is asked for one token before, and that is not counted here.
    """
    long, *_ = (task_of(world, task) for task in world.long_tasks(1, 0, _CALLS))
    async with chosen.open() as bare:
        await _ask(bare, chosen, world, long, hides_state=hides_state, only_new_tools=True)
        counting = Counting(bare)
        await _ask(counting, chosen, world, long, hides_state=hides_state)
    return counting.used


async def _ask(
    model: ChatModel, chosen: ChosenModel, world: World, task: Task, *, hides_state: bool, only_new_tools: bool = False
) -> None:
    settings = SimulateSettings(mode="turns", temperature=0.0, operations=True, max_repairs=0)
    small = settings.for_model(is_small=chosen.is_small).model_copy(update={"max_tokens": _ANSWER_TOKENS})
    dynamics = TrackedDynamics(model, small)
    state = task.seed.initial_state or {}
    opening = task.seed.task if not only_new_tools else "Somebody else asks for something else."
    past: list[Message] = [UserMessage(content=opening)]
    known: set[str] = set()
    for call in task.gold:
        if not only_new_tools or call.name not in known:
            known.add(call.name)
            query = TransitionQuery(
                world=world.spec,
                call=call,
                state=None if hides_state else state,
                history=tuple(past),
                reference=task.seed.reference,
            )
            await dynamics.propose(query)
        transition, state = world.run(state, call)
        if not only_new_tools:
            answer = ToolMessage(
                call_id=call.id, name=call.name, content=transition.observation, is_error=transition.is_error
            )
            past += [AssistantMessage(tool_calls=(call,)), answer]

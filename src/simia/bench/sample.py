"""What a simulator is asked, and what the executable world answered: ``(state, call) -> (observation, delta)``."""

from functools import cached_property
from typing import Literal

from simia.types import (
    AssistantMessage,
    Message,
    State,
    StateDelta,
    ToolCall,
    ToolMessage,
    UserMessage,
    Value,
    WorldSpec,
    content_id,
)

GOLD = "gold"
"""The origin of a call that an executable world's task makes."""


class Sample(Value):
    """One transition of an executable world.

    ``world`` is the world's name in the suite. ``history`` ends before the call and is all that a simulator sees in
    the hidden setting. ``origin`` says how the call came about: ``gold``, ``rollout``, or ``perturbed:`` and how.
    """

    id: str
    world: str
    origin: str
    call: ToolCall
    state: State
    observation: str
    is_error: bool
    delta: StateDelta
    history: tuple[Message, ...] = ()

    @property
    def size(self) -> int:
        """The number of state changes, the benchmark's ``|delta|``."""
        return self.delta.size

    @property
    def argument_count(self) -> int:
        """The number of arguments that the call gives."""
        return len(self.call.arguments)

    @cached_property
    def state_after(self) -> State:
        """The true next state; branches that do not change are shared with ``state``."""
        return self.delta.apply(self.state)


class Step(Value):
    """One call of an episode, with what it showed and changed."""

    call: ToolCall
    observation: str
    is_error: bool
    delta: StateDelta


class Episode(Value):
    """A gold trajectory of an executable world: an example for simulators, or a path that drift is measured on, never
    both.
    """

    id: str
    world: str
    role: Literal["example", "drift"]
    instruction: str
    initial_state: State
    steps: tuple[Step, ...]

    def messages(self) -> tuple[Message, ...]:
        """The episode as a conversation: the instruction, then calls and results."""
        found: list[Message] = [UserMessage(content=self.instruction)]
        for step in self.steps:
            found += exchange(step.call, step.observation, is_error=step.is_error)
        return tuple(found)


def exchange(call: ToolCall, observation: str, *, is_error: bool) -> tuple[Message, Message]:
    """A call and its result as messages."""
    result = ToolMessage(call_id=call.id, name=call.name, content=observation, is_error=is_error)
    return AssistantMessage(tool_calls=(call,)), result


def sample_id(world: str, call: ToolCall, state_id: str) -> str:
    """Sixteen hexadecimal digits that name a question: the same world, call and state always have the same."""
    return content_id([world, call.name, call.arguments, state_id])[:16]


def without_sources(world: WorldSpec) -> WorldSpec:
    """``world`` without the code of its tools, as an agent or a tracked simulator sees it."""
    return world.model_copy(update={"tools": tuple(t.model_copy(update={"source": None}) for t in world.tools)})

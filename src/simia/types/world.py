"""A world: what is fixed about it, and the question that a tool call puts to it."""

from functools import cached_property
from typing import Protocol

from pydantic import model_validator

from simia.types.message import Message, ToolCall
from simia.types.state import State, StateDelta
from simia.types.tool import ToolSpec
from simia.types.value import JsonObject, Value


class Invariant(Value):
    """A law of the state, in JMESPath (https://jmespath.org/specification.html), so that no foreign code runs.

    With ``refers_to`` absent, ``expression`` must give ``true``. With it, every value that ``expression`` picks
    must be among those that ``refers_to`` picks: a foreign key.
    """

    name: str
    expression: str
    refers_to: str | None = None


class WorldSpec(Value):
    """What is fixed about a world: the policy its agent follows, its tools, the shape of its state, its licence.

    Without ``state_schema`` the world has no tracked state. ``licence`` is an SPDX identifier.

    Raises:
        ValueError: two tools have the same name.
    """

    name: str
    policy: str
    tools: tuple[ToolSpec, ...]
    state_schema: JsonObject | None = None
    invariants: tuple[Invariant, ...] = ()
    licence: str

    @model_validator(mode="after")
    def _names_are_unique(self) -> "WorldSpec":
        names = [tool.name for tool in self.tools]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two tools of world {self.name!r} are called {', '.join(twice)}")
        return self

    @cached_property
    def tool(self) -> dict[str, ToolSpec]:
        """The tools by name."""
        return {tool.name: tool for tool in self.tools}


class TransitionQuery(Value):
    """Everything an answerer may look at when a tool is called.

    ``state`` is None where the world's state is hidden; ``history`` ends before the call; ``reference`` is a
    trajectory of the same world that may serve as an example, or empty.
    """

    world: WorldSpec
    call: ToolCall
    state: State | None = None
    history: tuple[Message, ...] = ()
    reference: tuple[Message, ...] = ()


class Transition(Value):
    """What a call does. ``delta`` None: the answerer keeps no state; an empty delta: nothing changed. ``fault`` is the
    kind of the programmed fault that stands in the place of the answer, if one does. ``remembered``: nobody was asked,
    the answer is the one that another member of the group was given.
    """

    observation: str
    is_error: bool = False
    delta: StateDelta | None = None
    fault: str | None = None
    remembered: bool = False


class Dynamics(Protocol):
    """Who answers tool calls: an executable world or a simulator; the same protocol for both."""

    async def transition(self, query: TransitionQuery) -> Transition:
        """What the call in ``query`` shows and changes.

        Raises:
            SimulatorError: a simulator has no admissible answer.
        """
        ...

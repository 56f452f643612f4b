"""What a postprocess pass is, and what it may look at beside the trajectory."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from simia.types import (
    AssistantMessage,
    Dropped,
    JsonObject,
    Message,
    Schema,
    Seed,
    Trajectory,
    WorldSpec,
    canonical_json,
)


@dataclass(frozen=True, slots=True)
class CalledTool:
    """One tool as the passes need it. ``integers``: its schema asks for an integer somewhere; ``returns``: None where
    any result is right.
    """

    schema: Schema
    parameters: JsonObject
    integers: bool
    returns: Schema | None


@dataclass(frozen=True)
class Context:
    """The world that a trajectory lives in and the seed it was made from, prepared once for all its trajectories."""

    world: WorldSpec
    seed: Seed | None = None

    @cached_property
    def tools(self) -> dict[str, CalledTool]:
        """The tools by name, compiled."""
        return {
            tool.name: CalledTool(
                tool.arguments_schema,
                tool.parameters,
                b'"integer"' in canonical_json(tool.parameters),
                tool.returns_schema,
            )
            for tool in self.world.tools
        }

    @cached_property
    def known_text(self) -> str:
        """What the world and the seed say themselves, in lower case: a text found here was not made up."""
        parts: list[Any] = [self.world.policy, [tool.as_openai() for tool in self.world.tools]]
        if self.seed is not None:
            parts += [self.seed.task, [message.model_dump(mode="json") for message in self.seed.reference]]
            parts += [self.seed.initial_state]
        return canonical_json(parts).decode("utf-8", "surrogatepass").lower()

    @cached_property
    def plain_world(self) -> str:
        """Policy and tools as letters and digits in lower case."""
        said = canonical_json([self.world.policy, [tool.as_openai() for tool in self.world.tools]])
        return re.sub(r"[\W_]+", "", said.decode("utf-8", "surrogatepass")).lower()


Apply = Callable[[Trajectory, Context], Trajectory | Dropped]


@dataclass(frozen=True, slots=True)
class Pass:
    """A named pure step. It gives the very same object where it changes nothing, which is how changes are counted.

    ``signs`` is a pattern: where the stored JSON of a trajectory does not match it, case aside, the pass would do
    nothing and is not asked. Empty: always ask.
    """

    name: str
    apply: Apply
    signs: str = ""


class Signs:
    """Asks whether any sign stands in a stored record.

    The search runs in the regular expression engine of jsonschema-rs: some 40 signs in 6 KB take it 9 us, ``re`` 200
    and an ``in`` for each 115. A ``\\u`` escape may hide any sign, so it counts as one.
    """

    __slots__ = ("_absent",)

    def __init__(self, signs: Iterable[str]) -> None:
        pattern = "|".join([r"\\u", *signs])
        self._absent = Schema({"not": {"pattern": f"(?i){pattern}"}})

    def found_in(self, record: str) -> bool:
        """Whether a pass with these signs must be asked."""
        return not self._absent.accepts(record)


def replaced(trajectory: Trajectory, messages: list[Message], marks: list[str]) -> Trajectory:
    """``trajectory`` with other messages and the repairs in ``marks`` added.

    Built anew rather than copied: pydantic's copy would carry a cached ``content_id`` along.
    """
    fields = {name: getattr(trajectory, name) for name in Trajectory.model_fields}
    fields["messages"] = tuple(messages)
    fields["repairs"] = (*trajectory.repairs, *marks)
    return Trajectory(**fields)


def rewritten(message: AssistantMessage, **changes: Any) -> AssistantMessage:
    """``message`` with some fields changed."""
    fields = {name: getattr(message, name) for name in AssistantMessage.model_fields}
    return AssistantMessage(**{**fields, **changes})

"""What a postprocess pass is, and what it may look at beside the trajectory."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Generic, TypeVar

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

T = TypeVar("T")


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

    def knows(self, text: str) -> bool:
        """Whether the world or the seed says ``text``, which is in lower case, itself: then it was not made up."""
        if text in _said(self._world):
            return True
        return self.seed is not None and text in _said_by_seed(_Held(id(self.seed), self.seed))

    @cached_property
    def exemplar(self) -> str:
        """What user and agent say in the seed, in lower case with single spaces; empty without a seed."""
        messages = self.seed.reference if self.seed is not None else ()
        spoken = (message.content for message in messages if message.role in ("user", "assistant"))
        return " ".join(" ".join(spoken).lower().split())

    @property
    def world_text(self) -> str:
        """Policy and tools in lower case."""
        return _said(self._world)

    @cached_property
    def _world(self) -> "_Held[WorldSpec]":
        return _Held(self.world.content_id, self.world)


@dataclass(frozen=True, slots=True)
class _Held(Generic[T]):
    """A value under a key that stands for it: equal keys, equal values."""

    key: str | int
    value: T = field(compare=False)


# Thousands of contexts share a few worlds, and a seed is asked about several times for one conversation: 20 to 50 KB
# each, so what is said stands once for a world and only a while for a seed.
@lru_cache(maxsize=64)
def _said(world: _Held[WorldSpec]) -> str:
    return _lower([world.value.policy, [tool.as_openai() for tool in world.value.tools]])


@lru_cache(maxsize=64)
def _said_by_seed(seed: _Held[Seed]) -> str:
    one = seed.value
    return _lower([one.task, [message.model_dump(mode="json") for message in one.reference], one.initial_state])


def _lower(parts: list[Any]) -> str:
    return canonical_json(parts).decode("utf-8", "surrogatepass").lower()


Apply = Callable[[Trajectory, Context], Trajectory | Dropped]


@dataclass(frozen=True, slots=True)
class Pass:
    """A named pure step. It gives the very same object where it changes nothing, and a mark in ``repairs`` that begins
    with its name where it changes something, which is how changes are counted.

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

"""Messages of a conversation, and the tool calls inside them."""

from typing import Annotated, Literal

from pydantic import Field

from simia.types.value import JsonObject, Value


class ToolCall(Value):
    """One call of a tool, read and understood. ``id`` is unique within its conversation."""

    id: str
    name: str
    arguments: JsonObject


class MalformedToolCall(Value):
    """A call that could not be read, kept verbatim so that nothing is lost and a later pass may repair it.

    ``text`` is the argument text where ``name`` is known, else the whole text of the call.
    """

    id: str
    name: str | None = None
    text: str
    reason: str


class SystemMessage(Value):
    """Instructions that stand before the conversation."""

    role: Literal["system"] = "system"
    content: str


class UserMessage(Value):
    """What the user says."""

    role: Literal["user"] = "user"
    content: str


class AssistantMessage(Value):
    """What the agent says and calls in one turn. An empty ``content`` means that it said nothing.

    Several ``tool_calls`` are parallel calls of one turn. ``reasoning`` is kept apart from what the user sees.
    """

    role: Literal["assistant"] = "assistant"
    content: str = ""
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    malformed_calls: tuple[MalformedToolCall, ...] = ()


class ToolMessage(Value):
    """The observation of one call. ``content`` is text; a structured result is its JSON text."""

    role: Literal["tool"] = "tool"
    call_id: str
    name: str
    content: str
    is_error: bool = False


Message = Annotated[
    SystemMessage | UserMessage | AssistantMessage | ToolMessage,
    Field(discriminator="role"),
]

"""Chat-completions messages and tools, as endpoints, chat templates and training files spell them.

Arguments are JSON text. Reasoning stands in ``reasoning_content`` (DeepSeek, vLLM, SGLang, llama.cpp, Qwen's chat
templates). No other key is beyond the published schema: an error is told by the observation's text, or by the wrapper
of :mod:`simia.formats.observation`. A malformed call without a name has the name ``""``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from simia.errors import FormatError
from simia.formats import observation
from simia.formats.calls import call_of, calls_of, dump_json, record_of, split_calls
from simia.types import (
    AssistantMessage,
    JsonObject,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)

_ROLES = "system, developer, user, assistant, tool"


def render_messages(messages: Sequence[Message], *, reasoning: bool = True) -> list[JsonObject]:
    """The messages as dicts. With ``reasoning`` false the agent's reasoning is left out, for servers that refuse it."""
    return [_render(message, reasoning) for message in messages]


def parse_messages(messages: Sequence[Mapping[str, Any]]) -> tuple[Message, ...]:
    """The messages; inverts :func:`render_messages`, and reads what is common in the wild.

    Content may be null or a list of text parts, arguments may be an object, reasoning may stand under ``reasoning``.
    A call whose arguments cannot be read becomes a malformed call with its text verbatim. A missing call id becomes
    ``call_1``, ``call_2`` and so on; an observation without id answers the first call that has none yet.

    Raises:
        FormatError: an unknown role, or a message without what its role needs; names index and role.
    """
    reader = _Reader()
    return tuple(reader.read(index, record_of(index, message)) for index, message in enumerate(messages))


def render_tools(tools: Sequence[ToolSpec]) -> list[JsonObject]:
    """The tools as ``{"type": "function", "function": {...}}``."""
    return [tool.as_openai() for tool in tools]


def parse_tools(tools: Sequence[Mapping[str, Any]]) -> tuple[ToolSpec, ...]:
    """The tools, wrapped in ``function`` or bare. Without ``parameters`` a tool takes none.

    Raises:
        FormatError: an entry has no name, or its parameters are no object; names the index.
    """
    return tuple(_parse_tool(index, tool) for index, tool in enumerate(tools))


def _render(message: Message, reasoning: bool) -> JsonObject:
    if isinstance(message, ToolMessage):
        content = observation.wrap(message.content, message.is_error)
        return {"role": "tool", "tool_call_id": message.call_id, "name": message.name, "content": content}
    result: JsonObject = {"role": message.role, "content": message.content}
    if isinstance(message, AssistantMessage):
        if reasoning and message.reasoning is not None:
            result["reasoning_content"] = message.reasoning
        calls = calls_of(message)
        if calls:
            result["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {
                        "name": call.name or "",
                        "arguments": dump_json(call.arguments) if isinstance(call, ToolCall) else call.text,
                    },
                }
                for call in calls
            ]
    return result


class _Reader:
    """Reads messages in order, because ids and names may have to come from the messages before."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._open: list[str] = []
        self._count = 0

    def read(self, index: int, message: Mapping[str, Any]) -> Message:
        role = message.get("role")
        if role == "user":
            return UserMessage(content=_text(index, role, message))
        if role == "assistant":
            return self._assistant(index, message)
        if role == "tool":
            return self._tool(index, message)
        if role in ("system", "developer"):
            return SystemMessage(content=_text(index, role, message))
        raise FormatError(f"message {index} has the role {role!r}; known roles: {_ROLES}")

    def _assistant(self, index: int, message: Mapping[str, Any]) -> AssistantMessage:
        calls = []
        spelled_calls = message.get("tool_calls") or ()
        if not isinstance(spelled_calls, list | tuple):
            raise FormatError(f"message {index} (assistant) has tool_calls that are no list: {spelled_calls!r:.80}")
        for spelled in spelled_calls:
            function = spelled.get("function") if isinstance(spelled, Mapping) else None
            if not isinstance(function, Mapping):
                raise FormatError(f"message {index} (assistant) has a tool call without a function: {spelled!r:.80}")
            self._count += 1
            call_id = str(spelled.get("id") or f"call_{self._count}")
            name = function.get("name")
            arguments = function.get("arguments", "")
            if not isinstance(arguments, dict | str):
                arguments = dump_json(arguments)
            calls.append(call_of(call_id, name if isinstance(name, str) else None, arguments))
            self._names[call_id] = calls[-1].name or ""
        self._open = [call.id for call in calls]
        readable, malformed = split_calls(calls)
        reasoning = message.get("reasoning_content")
        if reasoning is None:
            reasoning = message.get("reasoning")
        if not isinstance(reasoning, str | None):
            raise FormatError(f"message {index} (assistant) has reasoning that is no text: {reasoning!r:.80}")
        return AssistantMessage(
            content=_text(index, "assistant", message),
            reasoning=reasoning,
            tool_calls=readable,
            malformed_calls=malformed,
        )

    def _tool(self, index: int, message: Mapping[str, Any]) -> ToolMessage:
        call_id = message.get("tool_call_id")
        if call_id is None:
            if not self._open:
                raise FormatError(f"message {index} (tool) has no tool_call_id, and no call waits for an observation")
            call_id = self._open[0]
        call_id = str(call_id)
        if call_id in self._open:
            self._open.remove(call_id)
        content, is_error, _ = observation.unwrap(_text(index, "tool", message))
        name = message.get("name")
        return ToolMessage(
            call_id=call_id,
            name=name if isinstance(name, str) else self._names.get(call_id, ""),
            content=content,
            is_error=is_error,
        )


def _text(index: int, role: str, message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list) and all(isinstance(part, Mapping) and part.get("type") == "text" for part in content):
        return "".join(str(part.get("text", "")) for part in content)
    raise FormatError(f"message {index} ({role}) has content that is no text: {content!r:.80}")


def _parse_tool(index: int, tool: Mapping[str, Any]) -> ToolSpec:
    function = tool.get("function", tool) if isinstance(tool, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise FormatError(f"tool {index} has no name: {tool!r:.80}")
    parameters = function.get("parameters")
    if parameters is None:
        parameters = {"type": "object", "properties": {}}
    if not isinstance(parameters, dict):
        raise FormatError(f"tool {index} ({function['name']}) has parameters that are no object: {parameters!r:.80}")
    description = function.get("description") or ""
    if not isinstance(description, str):
        raise FormatError(f"tool {index} ({function['name']}) has a description that is no text: {description!r:.80}")
    return ToolSpec(name=function["name"], description=description, parameters=parameters)

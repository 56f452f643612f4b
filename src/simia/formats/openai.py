"""Chat-completions messages and tools, as endpoints, chat templates and training files spell them.

Arguments are JSON text. Reasoning stands in ``reasoning_content`` (DeepSeek, vLLM, SGLang, llama.cpp, Qwen's chat
templates). No other key is beyond the published schema: an error is told by the observation's text, or by the wrapper
of :mod:`simia.formats.observation`. A malformed call without a name has the name ``""``.
"""

from collections.abc import Mapping, Sequence, Set
from typing import Any

from simia.errors import FormatError
from simia.formats import observation
from simia.formats.calls import call_of, calls_of, dump_json, load_json, record_of, split_calls
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

_ROLES = "system, developer, user, assistant, tool, function"


def render_messages(messages: Sequence[Message], *, reasoning: bool = True) -> list[JsonObject]:
    """The messages as dicts. With ``reasoning`` false the agent's reasoning is left out, for servers that refuse it."""
    return [_render(message, reasoning) for message in messages]


def parse_messages(messages: Sequence[Mapping[str, Any]]) -> tuple[Message, ...]:
    """The messages; inverts :func:`render_messages`, and reads what is common in the wild.

    Content may be null or a list of text parts, arguments may be an object, reasoning may stand under ``reasoning``.
    A call whose arguments cannot be read becomes a malformed call with its text verbatim. A missing call id becomes
    ``call_1``, ``call_2`` and so on, but none that another call has; an observation without id answers the first call
    that has none yet. ``function_call`` and the role ``function``, as the schema was before there were tools, are one
    call and its observation: the first open call of its name.

    Raises:
        FormatError: an unknown role, or a message without what its role needs; names index and role.
    """
    reader = _Reader(_given_ids(messages))
    return tuple(reader.read(index, record_of(index, message)) for index, message in enumerate(messages))


def render_tools(tools: Sequence[ToolSpec]) -> list[JsonObject]:
    """The tools as ``{"type": "function", "function": {...}}``."""
    return [tool.as_openai() for tool in tools]


def parse_tools(tools: Sequence[Mapping[str, Any]]) -> tuple[ToolSpec, ...]:
    """The tools, wrapped in ``function`` or bare. Without ``parameters`` a tool takes none; they may be JSON text, as
    data sets with a fixed schema have them.

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

    def __init__(self, given_ids: Set[str]) -> None:
        self._given_ids = given_ids
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
        if role == "function":
            return self._function(index, message)
        if role in ("system", "developer"):
            return SystemMessage(content=_text(index, role, message))
        raise FormatError(f"message {index} has the role {role!r}; known roles: {_ROLES}")

    def _assistant(self, index: int, message: Mapping[str, Any]) -> AssistantMessage:
        calls = []
        for spelled in _spelled_calls(index, message):
            function = spelled.get("function") if isinstance(spelled, Mapping) else None
            if not isinstance(function, Mapping):
                raise FormatError(f"message {index} (assistant) has a tool call without a function: {spelled!r:.80}")
            call_id = str(spelled.get("id") or self._next_id())
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

    def _next_id(self) -> str:
        self._count += 1
        while f"call_{self._count}" in self._given_ids:
            self._count += 1
        return f"call_{self._count}"

    def _function(self, index: int, message: Mapping[str, Any]) -> ToolMessage:
        name = message.get("name")
        for call_id in self._open:
            if name and self._names[call_id] == name:
                return self._tool(index, {**message, "tool_call_id": call_id})
        raise FormatError(f"message {index} (function) has the name {name!r}, and no call of that name waits for it")

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


def _spelled_calls(index: int, message: Mapping[str, Any]) -> Sequence[Any]:
    calls = message.get("tool_calls") or ()
    if not isinstance(calls, list | tuple):
        raise FormatError(f"message {index} (assistant) has tool_calls that are no list: {calls!r:.80}")
    function = message.get("function_call")
    if function is None:
        return calls
    if calls:
        raise FormatError(f"message {index} (assistant) has both tool_calls and a function_call: keep one of the two")
    return ({"function": function},)


def _given_ids(messages: Sequence[Any]) -> Set[str]:
    """The ids that calls have already, wherever they stand; what is no call is refused when it is read."""
    ids = set()
    for message in messages:
        calls = message.get("tool_calls") if isinstance(message, Mapping) else None
        for call in calls if isinstance(calls, list | tuple) else ():
            if isinstance(call, Mapping) and call.get("id"):
                ids.add(str(call["id"]))
    return ids


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
    if isinstance(parameters, str):
        try:
            parameters = load_json(parameters)
        except FormatError as cause:
            raise FormatError(
                f"tool {index} ({function['name']}) has parameters that cannot be read: {cause}"
            ) from cause
    if not isinstance(parameters, dict):
        raise FormatError(f"tool {index} ({function['name']}) has parameters that are no object: {parameters!r:.80}")
    description = function.get("description") or ""
    if not isinstance(description, str):
        raise FormatError(f"tool {index} ({function['name']}) has a description that is no text: {description!r:.80}")
    return ToolSpec(name=function["name"], description=description, parameters=parameters)

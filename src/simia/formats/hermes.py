"""The Hermes function-calling format of NousResearch, in ChatML or ShareGPT messages.

Source: github.com/NousResearch/Hermes-Function-Calling and the model card of Hermes-2-Pro. A call is
``<tool_call>`` around ``{"name": ..., "arguments": ...}``, one block per call; an observation is ``<tool_response>``
around ``{"name": ..., "content": ...}`` in the role ``tool``. Beyond the source: text beside a call stands on the lines
before the first block (as Qwen's templates write it), reasoning in a ``<think>`` block before that, and an observation
may bear ``"is_error": true`` and, where order and name do not tell the call, ``"call"`` with its number in the turn.
"""

import ast
import json
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from simia.errors import FormatError
from simia.formats.calls import (
    Call,
    SpelledCall,
    Turn,
    calls_of,
    dump_json,
    load_json,
    read_calls,
    record_of,
    spelled_call,
    turns,
)
from simia.formats.markers import escape, json_line, render_reasoning, split_blocks, split_reasoning, unescape
from simia.formats.observation import looks_like_error, structured
from simia.formats.pairing import ConversationReader, Pending
from simia.types import AssistantMessage, Message, SystemMessage, ToolCall, ToolSpec, UserMessage

Keys = Literal["chatml", "sharegpt"]

_CALL_SCHEMA = {
    "properties": {
        "name": {"title": "Name", "type": "string"},
        "arguments": {"title": "Arguments", "type": "object"},
    },
    "required": ["name", "arguments"],
    "title": "FunctionCall",
    "type": "object",
}
_KNOWN = {
    "system": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "tool": "tool",
    "observation": "tool",
}
_SHAREGPT = {"system": "system", "user": "human", "assistant": "gpt", "tool": "tool"}
_START, _END = "<tool_response>", "</tool_response>"


def system_prompt(policy: str, tools: Sequence[ToolSpec]) -> str:
    """The system message of a Hermes conversation: the policy, then the published instructions with the tools."""
    signatures = "\n".join(json_line(tool.as_openai()) for tool in tools)
    instructions = (
        "You are a function calling AI model. You are provided with function signatures within <tools></tools> XML "
        "tags. You may call one or more functions to assist with the user query. Don't make assumptions about what "
        f"values to plug into functions. Here are the available tools: <tools>\n{signatures}\n</tools> "
        "Use the following pydantic model json schema for each tool call you will make: "
        f"{json_line(_CALL_SCHEMA)} For each function call return a json object with function name and arguments "
        "within <tool_call></tool_call> XML tags as follows:\n"
        '<tool_call>\n{"name": <function-name>, "arguments": <args-dict>}\n</tool_call>'
    )
    return f"{policy}\n\n{instructions}" if policy else instructions


def render(messages: Sequence[Message], keys: Keys = "chatml") -> list[dict[str, str]]:
    """The messages as ``{"role", "content"}``, or with ``keys="sharegpt"`` as ``{"from", "value"}``.

    Raises:
        FormatError: an observation answers no call of the turn before it.
    """
    spelled: list[tuple[str, str]] = []
    for turn in turns(messages):
        message = turn.message
        if isinstance(message, AssistantMessage):
            spelled.append(("assistant", _render_turn(message)))
            spelled += [("tool", text) for text in _render_observations(turn)]
        elif isinstance(message, UserMessage | SystemMessage):
            spelled.append((message.role, message.content))
    if keys == "sharegpt":
        return [{"from": _SHAREGPT[role], "value": text} for role, text in spelled]
    return [{"role": role, "content": text} for role, text in spelled]


def parse(messages: Sequence[Mapping[str, Any]]) -> tuple[Message, ...]:
    """The messages; call ids are ``call_1``, ``call_2`` and so on. Inverts :func:`render` for normalised messages.

    Takes both kinds of keys, blocks with or without newlines, a last block without its end, Python literals instead
    of JSON (as the published dataset has them), several responses in one message, and an observation without tags,
    which is all content.

    Raises:
        FormatError: an unknown role, content that is no text, or an observation without a call; names index and role.
    """
    reader = ConversationReader()
    for index, value in enumerate(messages):
        message = record_of(index, value)
        spelled_role = message.get("role", message.get("from"))
        text = message.get("content", message.get("value"))
        role = _KNOWN.get(str(spelled_role))
        if role is None:
            raise FormatError(f"message {index} has the role {spelled_role!r}; known roles: {', '.join(_KNOWN)}")
        if not isinstance(text, str):
            raise FormatError(f"message {index} ({spelled_role}) has content that is no text: {text!r:.80}")
        if role == "assistant":
            content, reasoning, calls = parse_turn(text)
            reader.add_turn(content, reasoning, calls)
        elif role == "tool":
            if _START not in text:
                reader.add_observation(index, text, looks_like_error(text))
                continue
            for response in _responses(text, index):
                _read_observation(reader, index, response)
        else:
            reader.add(UserMessage(content=text) if role == "user" else SystemMessage(content=text))
    return tuple(reader.messages)


def parse_turn(text: str) -> tuple[str, str | None, list[SpelledCall]]:
    """Content, reasoning and calls of one assistant text."""
    reasoning, rest = split_reasoning(text)
    content, blocks = split_blocks(rest)
    calls: list[SpelledCall] = []
    for block in blocks:
        calls += read_calls(block) or _python_call(block) or [(None, unescape(block))]
    return content, reasoning, calls


def _render_turn(message: AssistantMessage) -> str:
    thought = render_reasoning(message.reasoning)
    blocks = "\n".join(f"<tool_call>\n{_spell_call(call)}\n</tool_call>" for call in calls_of(message))
    if not blocks:
        return thought + escape(message.content)
    return thought + (f"{escape(message.content)}\n{blocks}" if message.content else blocks)


def _spell_call(call: Call) -> str:
    if isinstance(call, ToolCall):
        return json_line({"name": call.name, "arguments": call.arguments})
    if call.name:
        return json_line({"name": call.name, "arguments": call.text})
    text = escape(call.text)
    return text if read_calls(text) is None and _python_call(text) is None else json_line([call.text])


def _python_call(block: str) -> list[SpelledCall] | None:
    call = spelled_call(_python_literal(block))
    return None if call is None else [call]


def _python_literal(text: str) -> Any:
    """The JSON value that a Python literal stands for, or None: the published dataset was written with ``str``."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns about backslashes that it does not know
            value = ast.literal_eval(text.strip())
        return load_json(json.dumps(value, allow_nan=False))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, FormatError):
        return None


def _render_observations(turn: Turn) -> list[str]:
    pending = Pending.of(turn.calls)
    result = []
    for position, call, observation in turn.answered():
        response: dict[str, Any] = {"name": call.name or "", "content": structured(observation.content)}
        if observation.is_error != looks_like_error(observation.content):
            response["is_error"] = observation.is_error
        if pending.guess(call.name) != position:
            response["call"] = position + 1
        pending.close(position)
        result.append(f"{_START}\n{json_line(response)}\n{_END}")
    return result


def _responses(text: str, index: int) -> list[str]:
    before, *rest = text.split(_START)
    parts = [part.partition(_END) for part in rest]
    if outside := "".join([before, *(behind for _, _, behind in parts)]).strip():
        raise FormatError(f"message {index} (tool) has text outside its tags, which would be lost: {outside!r:.80}")
    return [response.strip() for response, _, _ in parts]


def _read_observation(reader: ConversationReader, index: int, response: str) -> None:
    name: str | None = None
    content, is_error, position = response, None, None
    value = _response_object(response)
    if value is not None:
        spelled = value["content"]
        content = spelled if isinstance(spelled, str) else dump_json(spelled)
        name = value["name"] if isinstance(value.get("name"), str) else None
        is_error = value["is_error"] if isinstance(value.get("is_error"), bool) else None
        position = value["call"] - 1 if type(value.get("call")) is int else None
    known = looks_like_error(content) if is_error is None else is_error
    reader.add_observation(index, content, known, position, name)


def _response_object(response: str) -> dict[str, Any] | None:
    """The object in a response that has a content beside nothing but what the format knows."""
    try:
        value = load_json(response)
    except FormatError:
        value = _python_literal(response)
    known = {"name", "content", "is_error", "call", "tool_call_id"}
    return value if isinstance(value, dict) and "content" in value and value.keys() <= known else None

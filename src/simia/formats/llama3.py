r"""Llama-3 JSON calls: ``{"name": ..., "parameters": ...}``, observations in the role ``ipython``.

Source: Meta's prompt format of Llama 3.1, "JSON based tool calling". A turn that only calls is the bare JSON; parallel
calls, which Meta does not define, are separated by ``"; "`` as vLLM's ``llama3_json`` parser reads them. Beyond the
source: where text or a malformed call stands beside, ``<|python_tag|>`` comes before the calls; reasoning stands in a
``<think>`` block at the start; a text that would read as a call gets one backslash before it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from simia.errors import FormatError
from simia.formats.calls import (
    Call,
    SpelledCall,
    Turn,
    calls_of,
    read_calls,
    record_of,
    turns,
)
from simia.formats.markers import escape, json_line, render_reasoning, split_reasoning, unescape
from simia.formats.observation import unwrap, wrap
from simia.formats.pairing import ConversationReader, Pending
from simia.types import AssistantMessage, MalformedToolCall, Message, SystemMessage, ToolCall, ToolSpec, UserMessage

_TAG = "<|python_tag|>"
_SEPARATOR = re.compile(r"[\s;]*")
_DECODER = json.JSONDecoder()
_ROLES = "system, user, assistant, ipython, tool"


def system_prompt(policy: str, tools: Sequence[ToolSpec]) -> str:
    """The system message: the policy, then Meta's published instructions with the tools."""
    definitions = "\n\n".join(json.dumps(tool.as_openai(), indent=4, ensure_ascii=False) for tool in tools)
    instructions = (
        "You have access to the following functions. To call a function, please respond with JSON for a function "
        'call. Respond in the format {"name": function name, "parameters": dictionary of argument name and its '
        f"value}}. Do not use variables.\n\n{definitions}"
    )
    return f"{policy}\n\n{instructions}" if policy else instructions


def render(messages: Sequence[Message]) -> list[dict[str, str]]:
    """The messages as ``{"role", "content"}``.

    Raises:
        FormatError: an observation answers no call of the turn before it.
    """
    result = []
    for turn in turns(messages):
        message = turn.message
        if isinstance(message, AssistantMessage):
            content = render_reasoning(message.reasoning) + _render_turn(message)
            result.append({"role": "assistant", "content": content})
            result += [{"role": "ipython", "content": text} for text in _render_observations(turn)]
        elif isinstance(message, UserMessage | SystemMessage):
            result.append({"role": message.role, "content": message.content})
    return result


def parse(messages: Sequence[Mapping[str, Any]]) -> tuple[Message, ...]:
    """The messages; call ids are ``call_1``, ``call_2`` and so on. Inverts :func:`render` for normalised messages.

    Takes ``arguments`` for ``parameters``, a JSON list of parallel calls, and the role ``tool``.

    Raises:
        FormatError: an unknown role, content that is no text, or an observation without a call; names index and role.
    """
    reader = ConversationReader()
    for index, value in enumerate(messages):
        message = record_of(index, value)
        role, text = message.get("role"), message.get("content")
        if not isinstance(text, str):
            raise FormatError(f"message {index} ({role}) has content that is no text: {text!r:.80}")
        if role == "assistant":
            content, reasoning, calls = parse_turn(text)
            reader.add_turn(content, reasoning, calls)
        elif role in ("ipython", "tool"):
            observation, is_error, position = unwrap(text)
            reader.add_observation(index, observation, is_error, position)
        elif role == "user":
            reader.add(UserMessage(content=text))
        elif role == "system":
            reader.add(SystemMessage(content=text))
        else:
            raise FormatError(f"message {index} has the role {role!r}; known roles: {_ROLES}")
    return tuple(reader.messages)


def parse_turn(text: str) -> tuple[str, str | None, list[SpelledCall]]:
    """Content, reasoning and calls of one assistant text."""
    reasoning, rest = split_reasoning(text)
    content, *segments = rest.split(_TAG)
    if not segments:
        calls = _bare_calls(content)
        return ("", reasoning, calls) if calls else (unescape(_unguarded(content)), reasoning, [])
    calls = []
    for segment in segments:
        calls += _read_sequence(segment) or [(None, unescape(segment))]
    return unescape(content), reasoning, calls


def _render_turn(message: AssistantMessage) -> str:
    calls = calls_of(message)
    if not calls:
        return _guarded(escape(message.content))
    segments: list[str] = []
    for named, run in groupby(calls, key=lambda call: bool(call.name)):
        if named:
            segments.append("; ".join(map(_spell_call, run)))
        else:
            segments += map(_spell_nameless, run)
    if not message.content and all(call.name for call in calls):
        return segments[0]
    return _TAG.join([escape(message.content), *segments])


def _spell_call(call: Call) -> str:
    return json_line({"name": call.name, "parameters": call.arguments if isinstance(call, ToolCall) else call.text})


def _spell_nameless(call: Call) -> str:
    verbatim = call.text if isinstance(call, MalformedToolCall) else ""
    text = escape(verbatim)
    return json_line([verbatim]) if _read_sequence(text) else text


def _render_observations(turn: Turn) -> list[str]:
    pending = Pending.of(turn.calls)
    result = []
    for position, _, observation in turn.answered():
        place = None if pending.guess() == position else position
        pending.close(position)
        result.append(wrap(observation.content, observation.is_error, place))
    return result


def _read_sequence(text: str) -> list[SpelledCall] | None:
    """The calls of JSON values that follow each other; None where anything else stands between."""
    calls: list[SpelledCall] = []
    place = _after_separator(text, 0)
    if text[place : place + 1] not in ("{", "["):
        return None
    while place < len(text):
        try:
            _, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            return None
        found = read_calls(text[place:end])
        if found is None:
            return None
        calls += found
        place = _after_separator(text, end)
    return calls


def _bare_calls(text: str) -> list[SpelledCall] | None:
    """The calls of a text without a tag, which must all have names: a JSON reply is not a call."""
    calls = _read_sequence(text)
    return calls if calls and all(name for name, _ in calls) else None


def _after_separator(text: str, place: int) -> int:
    found = _SEPARATOR.match(text, place)
    return place if found is None else found.end()


def _guarded(text: str) -> str:
    return f"\\{text}" if _bare_calls(text.lstrip("\\")) else text


def _unguarded(text: str) -> str:
    return text[1:] if text.startswith("\\") and _bare_calls(text.lstrip("\\")) else text

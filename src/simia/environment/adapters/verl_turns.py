"""What an agent said, read from its own spelling."""

from collections.abc import Sequence
from typing import Any

from simia.errors import FormatError
from simia.formats.calls import load_json
from simia.formats.markers import split_blocks, split_reasoning
from simia.types import AssistantMessage, MalformedToolCall, ToolCall

_THOUGHT = "</think>"
_NO_CALL = 'a call is a JSON object with "name" (a text) and "arguments" (an object)'


def read_turn(text: str, first_call: int) -> AssistantMessage:
    """The message in the text of one turn, whose calls are JSON in ``<tool_call>`` blocks: the spelling of Hermes,
    Qwen2.5 and Qwen3. Calls are numbered from ``first_call``. A block that is no call is a malformed one, verbatim.

    Strict on purpose: what trains is what the engine's own reader would take when the agent is served.
    """
    reasoning, rest = _split_thought(text)
    content, blocks = split_blocks(rest)
    calls: list[ToolCall] = []
    malformed: list[MalformedToolCall] = []
    for number, block in enumerate(blocks, start=first_call):
        call = _read_call(block, f"call_{number}")
        if isinstance(call, ToolCall):
            calls.append(call)
        else:
            malformed.append(call)
    return AssistantMessage(
        content=content.strip(), reasoning=reasoning, tool_calls=tuple(calls), malformed_calls=tuple(malformed)
    )


def parsed_turn(content: str, found: Sequence[tuple[str, str]], first_call: int) -> AssistantMessage:
    """The message that a reader of another spelling found: ``content``, and names with arguments as JSON text.

    A reader that finds no call where a call was begun gives it as content; it is a malformed one here.
    """
    reasoning, rest = _split_thought(content)
    calls: list[ToolCall] = []
    malformed: list[MalformedToolCall] = []
    for number, (name, arguments) in enumerate(found, start=first_call):
        value = _json(arguments)
        if isinstance(value, dict):
            calls.append(ToolCall(id=f"call_{number}", name=name, arguments=value))
        else:
            reason = "the arguments are no JSON object"
            malformed.append(MalformedToolCall(id=f"call_{number}", name=name, text=arguments, reason=reason))
    if not found and any(marker in rest for marker in ("<tool_call>", "<|tool_call", "to=functions.")):
        reason = "a call was begun that cannot be read"
        malformed.append(MalformedToolCall(id=f"call_{first_call}", text=rest, reason=reason))
        rest = ""
    return AssistantMessage(
        content=rest.strip(), reasoning=reasoning, tool_calls=tuple(calls), malformed_calls=tuple(malformed)
    )


def _split_thought(text: str) -> tuple[str | None, str]:
    """Some templates open the block of reasoning in the prompt, so that the turn holds only its end."""
    head, end, rest = text.partition(_THOUGHT)
    if end and "<think>" not in head:
        return head.strip(), rest.lstrip("\n")
    return split_reasoning(text)


def _read_call(block: str, call_id: str) -> ToolCall | MalformedToolCall:
    value = _json(block)
    if isinstance(value, dict):
        name, arguments = value.get("name"), value.get("arguments")
        if isinstance(name, str) and name and isinstance(arguments, dict):
            return ToolCall(id=call_id, name=name, arguments=arguments)
    return MalformedToolCall(id=call_id, text=block, reason=_NO_CALL)


def _json(text: str) -> Any:
    try:
        return load_json(text)
    except FormatError:
        return None

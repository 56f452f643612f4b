"""What an agent said, read from its own spelling."""

from collections.abc import Sequence

from simia.errors import FormatError
from simia.formats.calls import Call, call_of, load_json, split_calls
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
    calls, malformed = split_calls(
        _read_call(block, f"call_{number}") for number, block in enumerate(blocks, start=first_call)
    )
    return AssistantMessage(content=content.strip(), reasoning=reasoning, tool_calls=calls, malformed_calls=malformed)


def parsed_turn(content: str, found: Sequence[tuple[str, str]], first_call: int) -> AssistantMessage:
    """The message that a reader of another spelling found: ``content``, and names with arguments as JSON text.

    A reader that finds no call where a call was begun gives it as content; it is a malformed one here.
    """
    reasoning, rest = _split_thought(content)
    read = [call_of(f"call_{number}", name, text) for number, (name, text) in enumerate(found, start=first_call)]
    calls, malformed = split_calls(read)
    if not found and any(marker in rest for marker in ("<tool_call>", "<|tool_call", "to=functions.")):
        reason = "a call was begun that cannot be read"
        malformed = (MalformedToolCall(id=f"call_{first_call}", text=rest, reason=reason),)
        rest = ""
    return AssistantMessage(content=rest.strip(), reasoning=reasoning, tool_calls=calls, malformed_calls=malformed)


def _split_thought(text: str) -> tuple[str | None, str]:
    """Some templates open the block of reasoning in the prompt, so that the turn holds only its end."""
    head, end, rest = text.partition(_THOUGHT)
    if end and "<think>" not in head:
        return head.strip(), rest.lstrip("\n")
    return split_reasoning(text)


def _read_call(block: str, call_id: str) -> Call:
    reason = _NO_CALL
    try:
        value = load_json(block)
    except FormatError:
        value = None
    if isinstance(value, dict):
        name, arguments = value.get("name"), value.get("arguments")
        if isinstance(name, str) and name and isinstance(arguments, dict):
            call = call_of(call_id, name, arguments)
            if isinstance(call, ToolCall):
                return call
            reason = call.reason
    return MalformedToolCall(id=call_id, text=block, reason=reason)

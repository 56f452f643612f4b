"""An agent's message as JSON text, for protocols in which an action is a text.

::

    {"say": "Which room is it?"}
    {"calls": [{"name": "turn_on", "arguments": {"room": "hall"}}]}
    {"say": "One moment.", "calls": [...]}

Any other text is a call that cannot be read: the agent is told so and may try again, as long as the limits allow.
"""

from collections.abc import Callable
from typing import Any

from simia.errors import FormatError
from simia.formats.calls import (
    DEEPEST,
    TOO_DEEP,
    Call,
    call_of,
    dump_json,
    is_deeper,
    load_json,
    malformed_call,
    spelled_call,
    split_calls,
)
from simia.types import AssistantMessage, MalformedToolCall

_KEYS = frozenset({"say", "calls"})


def read_action(text: str, next_id: Callable[[], str]) -> AssistantMessage:
    """The message that ``text`` spells. ``next_id`` names its calls."""
    try:
        value = load_json(text)
    except FormatError as cause:
        return _unreadable(text, str(cause), next_id)
    if is_deeper(value, DEEPEST - 1):
        return _unreadable(text, TOO_DEEP, next_id)
    if not isinstance(value, dict) or not value or not value.keys() <= _KEYS:
        return _unreadable(text, 'the action is no {"say": "..."} and no {"calls": [...]}', next_id)
    say, calls = value.get("say", ""), value.get("calls", [])
    if not isinstance(say, str):
        return _unreadable(text, '"say" is no text', next_id)
    if not isinstance(calls, list):
        return _unreadable(text, '"calls" is no list', next_id)
    readable, malformed = split_calls(_call(call, next_id()) for call in calls)
    return AssistantMessage(content=say, tool_calls=readable, malformed_calls=malformed)


def _call(value: Any, call_id: str) -> Call:
    spelled = spelled_call(value)
    if spelled is None:
        return malformed_call(call_id, None, value if isinstance(value, str) else dump_json(value))
    return call_of(call_id, *spelled)


def _unreadable(text: str, reason: str, next_id: Callable[[], str]) -> AssistantMessage:
    return AssistantMessage(malformed_calls=(MalformedToolCall(id=next_id(), text=text, reason=reason),))

"""Tool calls: reading their arguments, finding their observations, naming them alike."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from simia.errors import FormatError
from simia.types import AssistantMessage, JsonObject, MalformedToolCall, Message, Schema, ToolCall, ToolMessage

Call = ToolCall | MalformedToolCall
_TWO_ARGUMENTS = frozenset({"arguments", "parameters"})
_OF_A_CALL = _TWO_ARGUMENTS | {"name", "id", "type"}
NAMELESS = "no object with a name and arguments"

DEEPEST = 64
"""How deep the arguments of a call may be nested. What is 200 deep can be written, but not read again."""
TOO_DEEP = f"the arguments are nested more than {DEEPEST} deep"

# orjson reads integers beyond 64 bits as floats: only texts with so many digits take the slower, exact way. The search
# runs in the regular expression engine of jsonschema-rs: 6 KB take it 2 us, and re 67.
_NO_LONG_NUMBER = Schema({"not": {"pattern": "[0-9]{19}"}})


def load_json(text: str | bytes) -> Any:
    """The JSON value of ``text``, without loss: integers of any length are exact; bytes are UTF-8.

    Raises:
        FormatError: the text is no JSON, and the message says where; or a key stands twice in an object, so that one of
            its values would be lost.
    """
    try:
        value = orjson.loads(text)
        spelled = text if isinstance(text, str) else text.decode()
        if not _NO_LONG_NUMBER.accepts(spelled):
            return json.loads(spelled, object_pairs_hook=_without_repeated_keys)
        # A colon follows each key, in the text and in the value written out; those inside strings are alike in both,
        # unless one is spelled \u003a.
        if "\\u003" in spelled or spelled.count(":") != dump_json(value).count(":"):
            json.loads(spelled, object_pairs_hook=_without_repeated_keys)
        return value
    except (ValueError, RecursionError) as cause:
        raise FormatError(f"no JSON: {cause}") from cause


def _without_repeated_keys(pairs: list[tuple[str, Any]]) -> JsonObject:
    found: JsonObject = {}
    for key, value in pairs:
        if key in found:
            raise FormatError(f"key {key!r:.40} stands twice")
        found[key] = value
    return found


def dump_json(value: Any) -> str:
    """Compact JSON text; integers of any length."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def is_deeper(value: Any, levels: int) -> bool:
    """Whether objects and lists stand in each other more than ``levels`` deep."""
    level = [value]
    for _ in range(levels + 1):
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def read_arguments(text: str) -> JsonObject:
    """The arguments that JSON text spells.

    Raises:
        FormatError: the text is no JSON, its value is no object, or it is nested more than :data:`DEEPEST` deep.
    """
    value = load_json(text)
    if not isinstance(value, dict):
        raise FormatError(f"the arguments are {_kind(value)}, not an object")
    if is_deeper(value, DEEPEST - 1):
        raise FormatError(TOO_DEEP)
    return value


def malformed_call(call_id: str, name: str | None, text: str) -> MalformedToolCall:
    """A call kept verbatim, with the reason why ``text`` cannot be read. The reason depends on name and text only."""
    if not name:
        return MalformedToolCall(id=call_id, text=text, reason=NAMELESS)
    try:
        read_arguments(text)
    except FormatError as cause:
        return MalformedToolCall(id=call_id, name=name, text=text, reason=str(cause))
    return MalformedToolCall(id=call_id, name=name, text=text, reason="the arguments are JSON text, not an object")


def call_of(call_id: str, name: str | None, arguments: JsonObject | str) -> Call:
    """The call with these arguments, which every reader of calls makes; text that spells no object, arguments that are
    nested more than :data:`DEEPEST` deep, or a missing name, give a malformed one.
    """
    if not name:
        return malformed_call(call_id, None, arguments if isinstance(arguments, str) else dump_json(arguments))
    if isinstance(arguments, str):
        try:
            arguments = read_arguments(arguments)
        except FormatError as cause:
            return MalformedToolCall(id=call_id, name=name, text=arguments, reason=str(cause))
    if is_deeper(arguments, DEEPEST - 1):
        return MalformedToolCall(id=call_id, name=name, text=_spelled(arguments), reason=TOO_DEEP)
    return ToolCall(id=call_id, name=name, arguments=arguments)


def foreign_call(call_id: str, name: str | None, arguments: Any) -> Call:
    """The same for arguments that a reader of others found, which may hold what JSON lacks: NaN, infinity, half of a
    surrogate pair.
    """
    return call_of(call_id, name, _spelled(arguments))


def calls_of(message: AssistantMessage) -> tuple[Call, ...]:
    """All calls of a turn in the order in which they are spelled: the readable ones, then the malformed ones."""
    return (*message.tool_calls, *message.malformed_calls)


def split_calls(calls: Iterable[Call]) -> tuple[tuple[ToolCall, ...], tuple[MalformedToolCall, ...]]:
    """The readable and the malformed calls."""
    calls = tuple(calls)
    readable = tuple(call for call in calls if isinstance(call, ToolCall))
    return readable, tuple(call for call in calls if isinstance(call, MalformedToolCall))


@dataclass(frozen=True, slots=True)
class Turn:
    """One message with its place, and for an assistant its calls, each with its observation or None."""

    index: int
    message: Message
    calls: tuple[Call, ...] = ()
    observations: tuple[ToolMessage | None, ...] = ()

    def answered(self) -> Iterator[tuple[int, Call, ToolMessage]]:
        """The observations in the order of the calls, with the position of the call, from 0."""
        for position, (call, observation) in enumerate(zip(self.calls, self.observations, strict=True)):
            if observation is not None:
                yield position, call, observation


def turns(messages: Sequence[Message]) -> Iterator[Turn]:
    """The conversation with every observation at its call.

    Raises:
        FormatError: an observation answers no call of the turn before it, or answers one a second time.
    """
    index = 0
    while index < len(messages):
        message = messages[index]
        start = index
        index += 1
        if isinstance(message, ToolMessage):
            raise _stray(start, message)
        if not isinstance(message, AssistantMessage):
            yield Turn(start, message)
            continue
        calls = calls_of(message)
        found: dict[str, ToolMessage] = {}
        known = {call.id for call in calls}
        while index < len(messages) and isinstance(observation := messages[index], ToolMessage):
            if observation.call_id not in known or observation.call_id in found:
                raise _stray(index, observation)
            found[observation.call_id] = observation
            index += 1
        yield Turn(start, message, calls, tuple(found.get(call.id) for call in calls))


def normalise_ids(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The conversation as a spelling without ids can carry it.

    Calls are named ``call_1``, ``call_2`` and so on through the conversation, the malformed calls of a turn after
    its readable ones; the observations of a turn stand in the order of its calls and bear their names.

    Raises:
        FormatError: an observation answers no call of the turn before it.
    """
    result: list[Message] = []
    count = 0
    for turn in turns(messages):
        message = turn.message
        if not isinstance(message, AssistantMessage) or not turn.calls:
            result.append(message)
            continue
        ids = [f"call_{count + position}" for position in range(1, len(turn.calls) + 1)]
        count += len(ids)
        readable, malformed = split_calls(
            _renamed(call, call_id) for call, call_id in zip(turn.calls, ids, strict=True)
        )
        result.append(
            AssistantMessage(
                content=message.content, reasoning=message.reasoning, tool_calls=readable, malformed_calls=malformed
            )
        )
        for position, call, observation in turn.answered():
            result.append(
                ToolMessage(
                    call_id=ids[position],
                    name=call.name or "",
                    content=observation.content,
                    is_error=observation.is_error,
                )
            )
    return tuple(result)


SpelledCall = tuple[str | None, JsonObject | str]
"""Name (None where it cannot be read), and arguments, or their text."""


def read_calls(text: str) -> list[SpelledCall] | None:
    """The calls that JSON text spells: one object, or a list of them; None where it is neither.

    Arguments may stand under ``arguments`` or ``parameters``, as an object or as JSON text. An element of a list
    that is no call is kept as the text of a malformed one; a string among them is such a text verbatim.
    """
    try:
        value = load_json(text)
    except FormatError:
        return None
    if not isinstance(value, list):
        call = spelled_call(value)
        return None if call is None else [call]
    found = []
    for element in value:
        call = spelled_call(element)
        found.append(call or (None, element if isinstance(element, str) else dump_json(element)))
    return found or None


def spelled_call(value: Any) -> SpelledCall | None:
    """Name and arguments in ``{"name": ..., "arguments": ...}``, or None where ``value`` is no such object, or says
    more than that, which would be lost.
    """
    if not isinstance(value, dict) or not value.keys() <= _OF_A_CALL or value.keys() >= _TWO_ARGUMENTS:
        return None
    name = value.get("name")
    if not isinstance(name, str) or not name:
        return None
    for key in ("arguments", "parameters"):
        if key in value:
            arguments = value[key]
            return name, arguments if isinstance(arguments, dict | str) else dump_json(arguments)
    return None


def record_of(index: int, value: Any) -> Mapping[str, Any]:
    """``value`` as the object that every message of a file must be.

    Raises:
        FormatError: it is something else; names the index.
    """
    if not isinstance(value, Mapping):
        raise FormatError(f"message {index} is {_kind(value)}, not an object: {value!r:.80}")
    return value


def _spelled(value: Any) -> str:
    """The text of ``value``, which is JSON where JSON has all of it; empty where it is too deep for any text."""
    try:
        return json.dumps(value, separators=(",", ":"))
    except TypeError:
        return str(value)
    except RecursionError:
        return ""


def _renamed(call: Call, call_id: str) -> Call:
    return call if call.id == call_id else call.model_copy(update={"id": call_id})


def _stray(index: int, message: ToolMessage) -> FormatError:
    return FormatError(
        f"message {index} (tool) answers call {message.call_id!r}, which is not open there: "
        "every observation must follow the turn that made its call, once"
    )


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "an object"
    kinds = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list"}
    return kinds.get(type(value), type(value).__name__)

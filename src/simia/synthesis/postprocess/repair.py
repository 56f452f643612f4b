"""Passes that make broken JSON of a call readable again. They restore what was written and never invent a value."""

from typing import Any

from simia.errors import FormatError
from simia.formats.calls import NAMELESS, spelled_call
from simia.formats.json_text import lossless_json
from simia.synthesis.postprocess.edit import Context, replaced, rewritten
from simia.synthesis.postprocess.schema_walk import json_types, mapped
from simia.types import AssistantMessage, Dropped, JsonObject, MalformedToolCall, Message, ToolCall, Trajectory


def repair_json(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Malformed calls become calls: single quotes, trailing commas, missing brackets, bare keys, code fences, JSON
    inside a JSON string. Each repaired call is marked ``repair_json:<call id>``.

    What could only be completed with a guess is ``unreadable_call`` (:mod:`simia.formats.untidy`). A call whose
    observation is an error stays malformed: it was answered as it was, and a call that is right beside an answer that
    refuses it would teach that right calls are refused.
    """
    order, refused = _answers(trajectory.messages)
    messages: list[Message] = []
    marks: list[str] = []
    for message in trajectory.messages:
        if message.role != "assistant" or not message.malformed_calls:
            messages.append(message)
            continue
        calls = list(message.tool_calls)
        left: list[MalformedToolCall] = []
        for malformed in message.malformed_calls:
            if malformed.id in refused:
                left.append(malformed)
                continue
            try:
                calls.append(_restored(malformed))
            except FormatError as cause:
                return Dropped("unreadable_call", f"{malformed.id}: {cause}")
            marks.append(f"repair_json:{malformed.id}")
        calls.sort(key=lambda call: order.get(call.id, len(order)))
        messages.append(rewritten(message, tool_calls=tuple(calls), malformed_calls=tuple(left)))
    return replaced(trajectory, messages, marks) if marks else trajectory


def decode_arguments(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """A string where the schema asks for an object or a list, and that is the JSON text of one, becomes it. Each call
    is marked ``decode_arguments:<call id>``.
    """
    return edit_calls(trajectory, context, "decode_arguments", _decoded_arguments)


def edit_calls(trajectory: Trajectory, context: Context, name: str, edit: Any) -> Trajectory:
    """``trajectory`` with ``edit(arguments, tool)`` made to every call of a known tool; the same object if no edit
    changed anything. Changed calls are marked ``<name>:<call id>``. A call whose observation is an error stays as it
    was answered, as in :func:`repair_json`.
    """
    tools = context.tools
    refused: frozenset[str] | None = None
    changed: dict[int, AssistantMessage] = {}
    marks: list[str] = []
    for position, message in enumerate(trajectory.messages):
        if message.role != "assistant":
            continue
        for index, call in enumerate(message.tool_calls):
            tool = tools.get(call.name)
            if tool is None:
                continue
            arguments = edit(call.arguments, tool)
            if arguments is call.arguments:
                continue
            if refused is None:
                _, refused = _answers(trajectory.messages)
            if call.id in refused:
                continue
            calls = list(changed.get(position, message).tool_calls)
            calls[index] = ToolCall(id=call.id, name=call.name, arguments=arguments)
            changed[position] = rewritten(message, tool_calls=tuple(calls))
            marks.append(f"{name}:{call.id}")
    if not marks:
        return trajectory
    messages = [changed.get(position, message) for position, message in enumerate(trajectory.messages)]
    return replaced(trajectory, messages, marks)


def _restored(malformed: MalformedToolCall) -> ToolCall:
    value = lossless_json(malformed.text)
    name = malformed.name
    if name is None:
        spelled = spelled_call(value)
        if spelled is None:
            raise FormatError(f"the text of the call is {NAMELESS} and nothing else")
        name, value = spelled
        if isinstance(value, str):
            value = lossless_json(value)
    if not isinstance(value, dict):
        raise FormatError(f"the arguments are {type(value).__name__}, not an object")
    return ToolCall(id=malformed.id, name=name, arguments=value)


def _decoded_arguments(arguments: JsonObject, tool: Any) -> JsonObject:
    if tool.schema.accepts(arguments):
        return arguments
    decoded: JsonObject = mapped(arguments, tool.parameters, _decoded)
    return decoded


def _decoded(value: Any, types: frozenset[str]) -> Any:
    if type(value) is not str or "string" in types or not types & {"object", "array"}:
        return value
    if not value.lstrip().startswith(("{", "[")):
        return value
    try:
        decoded = lossless_json(value)
    except FormatError:
        return value
    return decoded if json_types(decoded) & types else value


def _answers(messages: tuple[Message, ...]) -> tuple[dict[str, int], frozenset[str]]:
    """The place of each call's observation among all, and the calls whose observation is an error."""
    answers = [message for message in messages if message.role == "tool"]
    order = {message.call_id: position for position, message in enumerate(answers)}
    return order, frozenset(message.call_id for message in answers if message.is_error)

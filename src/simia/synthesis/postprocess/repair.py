"""Passes that make broken JSON of a call readable again. They restore what was written and never invent a value."""

import re
from typing import Any

from simia.errors import FormatError
from simia.formats.json_text import read_json
from simia.synthesis.postprocess.edit import Context, replaced, rewritten
from simia.synthesis.postprocess.schema_walk import json_types, mapped
from simia.types import AssistantMessage, Dropped, JsonObject, MalformedToolCall, Message, ToolCall, Trajectory

_OPENING = re.compile(r"""\"|(?:\A|[{\[,:(`])\s*'""")
_DOUBLE_CLOSED = re.compile(r'(?:[^"\\]|\\.)*"', re.DOTALL)
_SINGLE_CLOSED = re.compile(r"(?:[^'\\]|\\.|'(?!\s*(?:[,:\]})`]|\Z)))*'", re.DOTALL)
_EMPTY_OBJECT = re.compile(r"\{\s*\}")
_EMPTY_LIST = re.compile(r"\[\s*\]")
_NULL = re.compile(r"\b(?:null|None|undefined)\b")


def repair_json(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Malformed calls become calls: single quotes, trailing commas, missing brackets, bare keys, code fences, JSON
    inside a JSON string. Each repaired call is marked ``repair_json:<call id>``.

    A text that was cut inside a string, or that lacks a value, is ``unreadable_call``: json-repair would complete it
    with a value that nobody wrote.
    """
    order = _order_of_answers(trajectory.messages)
    messages: list[Message] = []
    marks: list[str] = []
    for message in trajectory.messages:
        if message.role != "assistant" or not message.malformed_calls:
            messages.append(message)
            continue
        calls = list(message.tool_calls)
        for malformed in message.malformed_calls:
            try:
                calls.append(_restored(malformed))
            except FormatError as cause:
                return Dropped("unreadable_call", f"{malformed.id}: {cause}")
            marks.append(f"repair_json:{malformed.id}")
        calls.sort(key=lambda call: order.get(call.id, len(order)))
        messages.append(rewritten(message, tool_calls=tuple(calls), malformed_calls=()))
    return replaced(trajectory, messages, marks) if marks else trajectory


def decode_arguments(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """A string where the schema asks for an object or a list, and that is the JSON text of one, becomes it. Each call
    is marked ``decode_arguments:<call id>``.
    """
    return edit_calls(trajectory, context, "decode_arguments", _decoded_arguments)


def edit_calls(trajectory: Trajectory, context: Context, name: str, edit: Any) -> Trajectory:
    """``trajectory`` with ``edit(arguments, tool)`` made to every call of a known tool; the same object if no edit
    changed anything. Changed calls are marked ``<name>:<call id>``.
    """
    tools = context.tools
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
            if arguments is not call.arguments:
                calls = list(changed.get(position, message).tool_calls)
                calls[index] = ToolCall(id=call.id, name=call.name, arguments=arguments)
                changed[position] = rewritten(message, tool_calls=tuple(calls))
                marks.append(f"{name}:{call.id}")
    if not marks:
        return trajectory
    messages = [changed.get(position, message) for position, message in enumerate(trajectory.messages)]
    return replaced(trajectory, messages, marks)


def lossless_json(text: str) -> Any:
    """The value that ``text`` spells, however untidily.

    Raises:
        FormatError: the text is no JSON beyond repair, is cut inside a string, or lacks a value.
    """
    value, repaired = read_json(text)
    if repaired:
        _refuse_inventions(text, value)
    return value


def _restored(malformed: MalformedToolCall) -> ToolCall:
    value = _decoded_twice(malformed.text)
    name = malformed.name
    if name is None:
        if not isinstance(value, dict) or not isinstance(value.get("name"), str):
            raise FormatError("the text of the call names no tool")
        name = value["name"]
        keys = [key for key in ("arguments", "parameters") if key in value]
        if len(keys) != 1:
            raise FormatError("the text of the call has no arguments")
        value = value[keys[0]]
        if isinstance(value, str):
            value = _decoded_twice(value)
    if not isinstance(value, dict):
        raise FormatError(f"the arguments are {type(value).__name__}, not an object")
    return ToolCall(id=malformed.id, name=name, arguments=value)


def _decoded_twice(text: str) -> Any:
    value = lossless_json(text)
    return lossless_json(value) if isinstance(value, str) else value


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


def _order_of_answers(messages: tuple[Message, ...]) -> dict[str, int]:
    answers = [message.call_id for message in messages if message.role == "tool"]
    return {call_id: position for position, call_id in enumerate(answers)}


def _refuse_inventions(text: str, value: Any) -> None:
    _refuse_cut(text)
    made = _count_empties(value)
    written = (
        text.count('""') + text.count("''"),
        len(_EMPTY_OBJECT.findall(text)),
        len(_EMPTY_LIST.findall(text)),
        len(_NULL.findall(text)),
    )
    if any(have > may for have, may in zip(made, written, strict=True)):
        raise FormatError("a value is missing")


def _refuse_cut(text: str) -> None:
    """Raise if ``text`` ends inside a string. A single quote opens one only where a key or value may begin, and
    closes it only where one may end, so that apostrophes do not count.
    """
    position = 0
    while (opened := _OPENING.search(text, position)) is not None:
        closing = _DOUBLE_CLOSED if opened.group().endswith('"') else _SINGLE_CLOSED
        closed = closing.match(text, opened.end())
        if closed is None:
            raise FormatError("the text is cut inside a string")
        position = closed.end()


def _count_empties(value: Any) -> tuple[int, int, int, int]:
    strings = objects = lists = nulls = 0
    open_values = [value]
    while open_values:
        current = open_values.pop()
        if isinstance(current, dict):
            objects += not current
            strings += "" in current
            open_values.extend(current.values())
        elif isinstance(current, list):
            lists += not current
            open_values.extend(current)
        elif current is None:
            nulls += 1
        elif current == "":
            strings += 1
    return strings, objects, lists, nulls

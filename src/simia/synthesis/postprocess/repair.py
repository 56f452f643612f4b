"""Passes that make broken JSON of a call readable again. They restore what was written and never invent a value."""

import json
import re
from collections.abc import Iterator
from typing import Any

import json_repair

from simia.errors import FormatError, boundary
from simia.formats.calls import load_json
from simia.synthesis.postprocess.edit import Context, replaced, rewritten
from simia.synthesis.postprocess.schema_walk import json_types, mapped
from simia.types import AssistantMessage, Dropped, JsonObject, MalformedToolCall, Message, ToolCall, Trajectory

_DECODER = json.JSONDecoder()
_FENCE_END = re.compile(r"\s*```\s*\Z")
_OPENING = re.compile(r"""\"|(?:\A|[{\[,:(`])\s*'""")
_DOUBLE_CLOSED = re.compile(r'(?:[^"\\]|\\.)*"', re.DOTALL)
_SINGLE_CLOSED = re.compile(r"(?:[^'\\]|\\.|'(?!\s*(?:[,:\]})`]|\Z)))*'", re.DOTALL)
_EMPTY_OBJECT = re.compile(r"\{\s*\}")
_EMPTY_LIST = re.compile(r"\[\s*\]")
_NULL = re.compile(r"\b(?:null|None|undefined)\b")


def repair_json(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Malformed calls become calls: single quotes, trailing commas, missing brackets, bare keys, code fences, JSON
    inside a JSON string. Each repaired call is marked ``repair_json:<call id>``.

    A text that was cut inside a string or a word, or that lacks a value, is ``unreadable_call``: json-repair would
    complete it with a value that nobody wrote. A number that was cut cannot be told from a shorter one.
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
    """The object or list that ``text`` spells, however untidily, or the string that is one JSON string.

    Stricter than :func:`simia.formats.json_text.read_json`, which may pick one value out of a long reply: here the
    text is one value, and none of it may be lost.

    Raises:
        FormatError: the text is no JSON beyond repair, is cut inside a string, or lacks a value.
    """
    try:
        return load_json(text)
    except FormatError:
        pass
    start = min((place for place in (text.find("{"), text.find("[")) if place >= 0), default=-1)
    if start < 0:
        raise FormatError("the text holds no JSON object or list")
    body = _FENCE_END.sub("", text[start:])
    try:
        value, end = _DECODER.raw_decode(body)
    except (ValueError, RecursionError):
        end = -1
    if end >= 0:
        if any(bracket in body[end:] for bracket in "{["):
            raise FormatError("the text holds more than one JSON value")
        return value
    with boundary(FormatError, "repair the JSON of the call"):
        value = json_repair.loads(body, skip_json_loads=True)
    if not isinstance(value, dict if body[0] == "{" else list):
        raise FormatError("the text is no single JSON value")
    _refuse_inventions(body, value)
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
    plain = text.replace("\\", "")
    for string in _string_values(value):
        if not any(f"{quote}{spelled}{quote}" in plain for spelled in _spellings(string) for quote in "\"'"):
            raise FormatError(f"no quotation marks stand around {string[:40]!r}: it may be a cut word")


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


def _spellings(string: str) -> set[str]:
    """The string as JSON may spell it, without its backslashes."""
    spelled = {string, json.dumps(string, ensure_ascii=False)[1:-1], json.dumps(string)[1:-1]}
    return {one.replace("\\", "") for one in spelled}


def _string_values(value: Any) -> Iterator[str]:
    open_values = [value]
    while open_values:
        current = open_values.pop()
        if isinstance(current, str):
            yield current
        elif isinstance(current, dict):
            open_values.extend(current.values())
        elif isinstance(current, list):
            open_values.extend(current)


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

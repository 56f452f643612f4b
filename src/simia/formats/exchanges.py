"""A whole trajectory in one model reply: role order holds by construction.

::

    {"task": str, "exchanges": [
        {"user": str,
         "steps": [{"thought"?: str, "say"?: str,
                    "calls": [{"name": str, "arguments": object, "result": any, "is_error"?: bool}]}],
         "reply_thought"?: str, "reply": str}]}

The calls of one step are parallel. ``is_error`` is written only where the result does not tell it
(:func:`simia.formats.observation.looks_like_error`). What a seed may be beyond a model's reply: the first exchange
may lack ``user`` (the agent greets first), the last may lack ``reply`` (the conversation is cut), a step may call
nothing, and a malformed call has its text as ``arguments``.
"""

from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter

from simia.errors import FormatError
from simia.formats.calls import dump_json, malformed_call, turns
from simia.formats.observation import looks_like_error, structured
from simia.formats.reply_schema import FULL, SMALL, ReplyLimits, reply_schema
from simia.types import (
    AssistantMessage,
    JsonObject,
    MalformedToolCall,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)

__all__ = ["FULL", "SMALL", "ReplyLimits", "parse", "render", "reply_schema"]

Place = tuple[int, ...]
"""Index of the exchange, of the step in it, of the call in that."""

_MESSAGES: TypeAdapter[tuple[Message, ...]] = TypeAdapter(tuple[Message, ...])


def render(task: str, messages: Sequence[Message]) -> JsonObject:
    """The trajectory as one object.

    Raises:
        FormatError: a system message, two user messages in a row, a user message on an unanswered turn, or a call
            without its observation; names the message.
    """
    exchanges: list[JsonObject] = []
    last: AssistantMessage | None = None

    def close() -> None:
        if last is not None:
            steps = exchanges[-1]["steps"]
            steps.pop()
            if last.reasoning is not None:
                exchanges[-1]["reply_thought"] = last.reasoning
            exchanges[-1]["reply"] = last.content

    for turn in turns(messages):
        message = turn.message
        if isinstance(message, SystemMessage):
            raise FormatError(f"message {turn.index} is a system message: policy and tools belong to the world")
        if isinstance(message, UserMessage):
            if exchanges and last is None:
                raise FormatError(f"message {turn.index} (user) follows a turn that has no reply of the agent")
            close()
            exchanges.append({"user": message.content, "steps": []})
            last = None
        elif isinstance(message, AssistantMessage):
            if not exchanges:
                exchanges.append({"steps": []})
            calls = [_render_call(call, answer) for _, call, answer in turn.answered()]
            if len(calls) != len(turn.calls):
                raise FormatError(f"message {turn.index} (assistant) makes a call that no observation answers")
            step: JsonObject = {} if message.reasoning is None else {"thought": message.reasoning}
            if message.content:
                step["say"] = message.content
            exchanges[-1]["steps"].append({**step, "calls": calls})
            last = None if calls else message
    close()
    return {"task": task, "exchanges": exchanges}


def parse(value: Any) -> tuple[str, tuple[Message, ...]]:
    """The task and the messages; inverts :func:`render` for normalised messages.

    Calls are named ``call_1``, ``call_2`` and so on. A result that is no string becomes compact JSON text. Arguments
    that are no object make a malformed call with their text.

    Raises:
        FormatError: a key is missing or has the wrong type; names the place.
    """
    if not isinstance(value, dict):
        raise FormatError(f"a trajectory is an object with task and exchanges, not {value!r:.60}")
    task = value.get("task")
    if not isinstance(task, str):
        raise FormatError(f"task is {task!r:.60}, not a text")
    exchanges = _list(value, "exchanges", ())
    messages: list[JsonObject] = []
    count = 0
    last = len(exchanges) - 1
    for index, exchange in enumerate(exchanges):
        where = (index,)
        if not isinstance(exchange, dict):
            raise FormatError(f"{_spell(where)} is {exchange!r:.60}, not an object")
        if index or "user" in exchange:
            messages.append({"role": "user", "content": _text(exchange, "user", where)})
        for place, step in enumerate(_list(exchange, "steps", where)):
            count = _read_step(step, (index, place), count, messages)
        if index < last or "reply" in exchange:
            reply: JsonObject = {"role": "assistant", "content": _text(exchange, "reply", where)}
            if "reply_thought" in exchange:
                reply["reasoning"] = _text(exchange, "reply_thought", where)
            messages.append(reply)
    # One validation of all messages costs less than one per message, and this is the hot path.
    return task, _MESSAGES.validate_python(messages)


def _render_call(call: ToolCall | MalformedToolCall, observation: ToolMessage) -> JsonObject:
    content = observation.content
    spelled: JsonObject = {
        "name": call.name or "",
        "arguments": call.arguments if isinstance(call, ToolCall) else call.text,
        "result": structured(content),
    }
    if observation.is_error != looks_like_error(content):
        spelled["is_error"] = observation.is_error
    return spelled


def _read_step(step: Any, where: Place, count: int, messages: list[JsonObject]) -> int:
    if not isinstance(step, dict):
        raise FormatError(f"{_spell(where)} is {step!r:.60}, not an object")
    readable: list[JsonObject] = []
    malformed: list[MalformedToolCall] = []
    turn: JsonObject = {"role": "assistant", "tool_calls": readable, "malformed_calls": malformed}
    if "say" in step:
        turn["content"] = _text(step, "say", where)
    if "thought" in step:
        turn["reasoning"] = _text(step, "thought", where)
    messages.append(turn)
    for place, call in enumerate(_list(step, "calls", where)):
        if not isinstance(call, dict):
            raise FormatError(f"{_spell((*where, place))} is {call!r:.60}, not an object")
        if "result" not in call:
            raise FormatError(f"{_spell((*where, place))} has no result: every call needs one")
        count += 1
        call_id = f"call_{count}"
        name, arguments, result = call.get("name"), call.get("arguments"), call["result"]
        if isinstance(arguments, dict) and isinstance(name, str) and name:
            readable.append({"id": call_id, "name": name, "arguments": arguments})
        else:
            name = name if isinstance(name, str) else ""
            text = arguments if isinstance(arguments, str) else dump_json(arguments)
            malformed.append(malformed_call(call_id, name, text))
        content = result if isinstance(result, str) else dump_json(result)
        is_error = call.get("is_error")
        if not isinstance(is_error, bool):
            is_error = looks_like_error(content)
        messages.append({"role": "tool", "call_id": call_id, "name": name, "content": content, "is_error": is_error})
    return count


def _list(value: JsonObject, key: str, where: Place) -> list[Any]:
    found = value.get(key)
    if not isinstance(found, list):
        raise FormatError(f"{_spell(where)} has {key} = {found!r:.60}, which is no list")
    return found


def _text(value: JsonObject, key: str, where: Place) -> str:
    found = value.get(key)
    if not isinstance(found, str):
        raise FormatError(f"{_spell(where)} has {key} = {found!r:.60}, which is no text")
    return found


def _spell(where: Place) -> str:
    names = ("exchanges", "steps", "calls")
    return ".".join(f"{name}[{index}]" for name, index in zip(names, where, strict=False)) or "the trajectory"

"""The readable transcript that simulators and judges read.

Every message is a numbered block. Lines at the margin are ours; every line of content stands behind a bar, so no
content can be taken for the start of a message, whatever it says::

    [1] user
    | Where is my order?
    | A: ignore the above
    [2] assistant
    thinks
    | I need the order first.
    calls get_order (call_1)
    | {"order_id":"7"}
    [3] tool get_order (call_1)
    | {"status":"shipped"}

Other characters that break a line (carriage return, U+2028 and so on) break it here too, and the bar names them:
``|d `` is a line after U+000D.
"""

import json
import re
from collections.abc import Iterator, Sequence

from simia.errors import FormatError
from simia.formats.calls import calls_of, dump_json, load_json, malformed_call, read_arguments
from simia.types import (
    AssistantMessage,
    MalformedToolCall,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)

_BREAK = re.compile("([\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029])")
_BAR = re.compile(r"\|([0-9a-f]{0,4})(?: (.*))?\Z", re.DOTALL)
_WORD = re.compile(r"[\w.:/-]+\Z", re.ASCII)
_HEAD = re.compile(r"\[(\d+)\] (system|user|assistant|tool)(?: (.*))?\Z")
_NAMED = re.compile(r'((?:[\w.:/-]+|"(?:[^"\\]|\\.)*")?) ?\(([\w.:/-]+|"(?:[^"\\]|\\.)*")\)( error| unreadable)?\Z')


def render(messages: Sequence[Message], *, start: int = 1) -> str:
    """The messages as text, numbered from ``start``."""
    lines: list[str] = []
    for number, message in enumerate(messages, start):
        lines += _render(number, message)
    return "\n".join(lines)


def parse(text: str) -> tuple[Message, ...]:
    """The messages; inverts :func:`render`.

    Raises:
        FormatError: a line stands where it cannot; the message gives it.
    """
    return tuple(_read(head, body) for head, body in _blocks(text))


def _render(number: int, message: Message) -> Iterator[str]:
    if isinstance(message, AssistantMessage):
        yield f"[{number}] assistant"
        if message.reasoning is not None:
            yield "thinks"
            yield _barred(message.reasoning)
        if message.content:
            yield "says"
            yield _barred(message.content)
        for call in calls_of(message):
            yield f"calls {_named(call.name, call.id)}{'' if isinstance(call, ToolCall) else ' unreadable'}"
            yield _barred(dump_json(call.arguments) if isinstance(call, ToolCall) else call.text)
        return
    if isinstance(message, ToolMessage):
        yield f"[{number}] tool {_named(message.name, message.call_id)}{' error' if message.is_error else ''}"
    else:
        yield f"[{number}] {message.role}"
    yield _barred(message.content)


def _barred(text: str) -> str:
    first, *rest = _BREAK.split(text)
    lines = [f"| {first}"]
    for separator, line in zip(rest[::2], rest[1::2], strict=True):
        lines.append(f"| {line}" if separator == "\n" else f"|{ord(separator):x} {line}")
    return "\n".join(lines)


def _unbarred(lines: Sequence[str]) -> str:
    parts = []
    for place, line in enumerate(lines):
        found = _BAR.match(line)
        if found is None:
            raise FormatError(f"a transcript line of content starts with '| ': {line[:80]!r}")
        if place:
            parts.append(chr(int(found.group(1), 16)) if found.group(1) else "\n")
        parts.append(found.group(2) or "")
    return "".join(parts)


def _named(name: str | None, call_id: str) -> str:
    return f"{_word(name)} ({_word(call_id)})" if name else f"({_word(call_id)})"


def _word(text: str) -> str:
    # A quoted word is pure ASCII, so that no line break of any kind is left in it.
    return text if _WORD.match(text) else json.dumps(text)


def _unword(text: str) -> str:
    return str(load_json(text)) if text.startswith('"') else text


def _blocks(text: str) -> Iterator[tuple[re.Match[str], list[str]]]:
    head: re.Match[str] | None = None
    body: list[str] = []
    for line in text.split("\n") if text else ():
        found = _HEAD.match(line)
        if found is None:
            if head is None:
                raise FormatError(f"a transcript starts with a line like '[1] user', not with {line[:80]!r}")
            body.append(line)
            continue
        if head is not None:
            yield head, body
        head, body = found, []
    if head is not None:
        yield head, body


def _read(head: re.Match[str], body: list[str]) -> Message:
    role, rest = head.group(2), head.group(3)
    if role == "assistant":
        return _read_turn(body)
    content = _unbarred(body)
    if role == "tool":
        name, call_id, flag = _read_named(rest or "")
        return ToolMessage(call_id=call_id, name=name, content=content, is_error=flag == " error")
    return UserMessage(content=content) if role == "user" else SystemMessage(content=content)


def _read_turn(body: list[str]) -> AssistantMessage:
    content, reasoning = "", None
    readable: list[ToolCall] = []
    malformed: list[MalformedToolCall] = []
    place = 0
    while place < len(body):
        section = body[place]
        end = place + 1
        while end < len(body) and body[end].startswith("|"):
            end += 1
        text = _unbarred(body[place + 1 : end])
        if section == "thinks":
            reasoning = text
        elif section == "says":
            content = text
        elif section.startswith("calls "):
            name, call_id, flag = _read_named(section.removeprefix("calls "))
            if flag == " unreadable":
                malformed.append(malformed_call(call_id, name or None, text))
            else:
                readable.append(ToolCall(id=call_id, name=name, arguments=read_arguments(text)))
        else:
            raise FormatError(f"a section of a turn is thinks, says or calls, not {section[:80]!r}")
        place = end
    return AssistantMessage(
        content=content, reasoning=reasoning, tool_calls=tuple(readable), malformed_calls=tuple(malformed)
    )


def _read_named(text: str) -> tuple[str, str, str | None]:
    found = _NAMED.match(text)
    if found is None:
        raise FormatError(f"a call is spelled 'name (id)', not {text[:80]!r}")
    return _unword(found.group(1)), _unword(found.group(2)), found.group(3)

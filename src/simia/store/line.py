"""How an outcome is spelled as a line of a stream.

::

    {"n":7,"key":"shop-3","kept":{...}}
    {"n":8,"key":"shop-4","dropped":["unknown_tool","no tool 'refund'"]}
    {"n":9,"key":"shop-5","failed":["ModelTimeout","no answer in 600 s"]}

The order of the keys is fixed, so that the head can be read without parsing a payload of many kilobytes. A key ends
at the first ``","`` whose quotation mark no backslash escapes.
"""

from typing import Literal, NamedTuple

import orjson

from simia.errors import FormatError
from simia.types import Dropped, Kept, Outcome, Value

Fate = Literal["kept", "dropped", "failed"]

_KEY = b',"key":"'
_FATES: tuple[tuple[bytes, Fate], ...] = ((b'kept":', "kept"), (b'dropped":', "dropped"), (b'failed":', "failed"))


class Head(NamedTuple):
    """Where the parts of a line stand: ``key`` is JSON, the payload is ``line[start:-1]``."""

    ordinal: int
    key: bytes
    fate: Fate
    start: int


def spell(ordinal: int, key: str, outcome: Outcome[Value] | Outcome[bytes]) -> bytes:
    """The line with its line end. A kept value may be given as its JSON bytes, which are taken as they are.

    Raises:
        FormatError: the key or the value is no Unicode text (a lone surrogate), or given bytes hold a line end.
    """
    if isinstance(outcome, Kept):
        value = outcome.value
        if isinstance(value, bytes):
            payload = value
            if b"\n" in payload:
                raise FormatError(f"the JSON of item {key!r} holds a line end: write it in one line")
        else:
            try:
                payload = value.model_dump_json().encode()
            except ValueError as cause:
                raise FormatError(f"item {key!r} cannot be written as JSON: {cause}") from cause
        return b'{"n":%d,"key":%b,"kept":%b}\n' % (ordinal, _text(key), payload)
    if isinstance(outcome, Dropped):
        reason = orjson.dumps([outcome.rule, _printable(outcome.detail)])
        return b'{"n":%d,"key":%b,"dropped":%b}\n' % (ordinal, _text(key), reason)
    reason = orjson.dumps([outcome.error, _printable(outcome.message)])
    return b'{"n":%d,"key":%b,"failed":%b}\n' % (ordinal, _text(key), reason)


def read_head(line: bytes) -> Head:
    """The head of a line without its line end.

    Raises:
        FormatError: the line is none of ours.
    """
    comma = line.find(b",", 5)
    digits = line[5:comma]
    if not line.startswith(b'{"n":') or not digits.isdigit() or not line.startswith(_KEY, comma):
        raise FormatError('it does not begin with {"n":NUMBER,"key":"')
    start = comma + len(_KEY)
    end = end_of_text(line, start)
    if end < 0 or not line.endswith(b"}"):
        raise FormatError("it is cut off")
    for mark, fate in _FATES:
        if line.startswith(mark, end + 3):
            return Head(int(digits), line[comma + len(_KEY) - 1 : end + 1], fate, end + 3 + len(mark))
    raise FormatError("it holds none of kept, dropped and failed")


def end_of_text(line: bytes, start: int) -> int:
    """Where the JSON string whose text begins at ``start`` ends, if another member follows; -1 if none does."""
    end = line.find(b'","', start)
    while end > start and _is_escaped(line, end, start):
        end = line.find(b'","', end + 1)
    return end


def _is_escaped(line: bytes, quote: int, start: int) -> bool:
    """Whether the quotation mark at ``quote`` belongs to the text that begins at ``start``: a key may hold ``",``."""
    before = line[start:quote]
    return (len(before) - len(before.rstrip(b"\\"))) % 2 == 1


def read_reason(line: bytes, head: Head) -> tuple[str, str]:
    """Rule and detail of a dropped item, or error and message of a failed one.

    Raises:
        FormatError: the payload is not a pair of texts.
    """
    try:
        first, second = orjson.loads(line[head.start : -1])
    except (ValueError, TypeError) as cause:
        raise FormatError(f"its reason is no pair of texts: {cause}") from cause
    if not isinstance(first, str) or not isinstance(second, str):
        raise FormatError("its reason is no pair of texts")
    return first, second


def read_key(head: Head) -> str:
    """The key as text.

    Raises:
        FormatError: it is no JSON string.
    """
    try:
        key = orjson.loads(head.key)
    except orjson.JSONDecodeError as cause:
        raise FormatError(f"its key cannot be read: {cause}") from cause
    return str(key)


def _text(key: str) -> bytes:
    try:
        return orjson.dumps(key)
    except orjson.JSONEncodeError as cause:
        raise FormatError(f"the key {key!r} is no Unicode text: {cause}") from cause


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()

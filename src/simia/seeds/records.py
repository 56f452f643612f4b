"""The records of a seed file, one at a time: JSON Lines, JSON arrays, or JSON values one after another.

A file of any size is read in pieces; memory holds one record and one piece.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from simia.errors import FormatError, RecordError, SchemaError, SeedError, boundary
from simia.formats.calls import load_json
from simia.types import Seed

OnBad = Callable[[RecordError], None]

_PIECE = 1 << 18
# A whole string is one token, so that the scan jumps over text, which is most of a file of conversations. A lone quote
# is a string that does not end in what was read so far.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["{}\[\],]', re.DOTALL)
# A byte order mark, as some editors write it before UTF-8.
_MARK = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"


def records(path: Path, on_bad: OnBad) -> Iterator[tuple[int, Any]]:
    """Line number and value of each record of a JSON file. What is no JSON object goes to ``on_bad``.

    Raises:
        SeedError: the file is missing, cannot be read, or is empty.
    """
    try:
        with path.open("rb") as file:
            start = _first_bytes(file)
            if not start:
                raise SeedError(f"{path} is empty: a seed file needs at least one record")
            file.seek(0)
            if file.read(len(_MARK)) != _MARK:
                file.seek(0)
            spelled = _values(file) if start[:1] == b"[" or _is_spread(start) else enumerate(file, start=1)
            for line, text in spelled:
                yield from _loaded(path, line, text, on_bad)
    except FileNotFoundError:
        raise SeedError(f"no file {path}: check the path") from None
    except OSError as cause:
        raise SeedError(f"cannot read {path}: {cause.strerror}") from cause


class RecordReader(Protocol):
    """Turns the records of one format into seeds; keeps the worlds that it has seen."""

    def seed(self, record: Any, seed_id: str) -> Seed:
        """The seed of a record; ``seed_id`` is used where the record has no id.

        Raises:
            FormatError: the record is not in this format.
            SchemaError: a schema of a tool is none.
        """
        ...


def seeds_of(
    path: Path, name: str, numbered: Iterable[tuple[int, Any]], reader: RecordReader, on_bad: OnBad
) -> Iterator[Seed]:
    """The seeds of records that come with the number of their line; one that cannot be read goes to ``on_bad``.

    Ids of those that have none are ``name:line``, and of further records on the same line ``name:line.2`` and so on:
    a JSON array is often written on one line.
    """
    last = place = 0
    for line, record in numbered:
        last, place = line, place + 1 if line == last else 1
        try:
            with boundary(FormatError, "read the record"):
                seed = reader.seed(record, f"{name}:{line}" if place == 1 else f"{name}:{line}.{place}")
        except (FormatError, SchemaError) as cause:
            on_bad(RecordError(str(path), line, " ".join(str(cause).split())))
        else:
            yield seed


def _loaded(path: Path, line: int, text: bytes, on_bad: OnBad) -> Iterator[tuple[int, Any]]:
    text = text.strip()
    if not text:
        return
    try:
        value = load_json(text)
    except FormatError as cause:
        on_bad(RecordError(str(path), line, str(cause)))
        return
    if isinstance(value, dict):
        yield line, value
    else:
        on_bad(RecordError(str(path), line, f"the record is {type(value).__name__}, not an object: {value!r:.80}"))


def _first_bytes(file: BinaryIO) -> bytes:
    """What stands at the start of the file, after white space and a byte order mark."""
    while piece := file.read(_PIECE):
        text = piece.removeprefix(_MARK).lstrip(_BLANK)
        if text:
            return text
    return b""


def _is_spread(start: bytes) -> bool:
    """Whether lines are no records: the first record goes over several, or something stands behind it on its line.

    JSON Lines whose first line was cut off are still lines: within a string no line ends, and one that begins with a
    brace goes on only where a value may stand.
    """
    first, newline, rest = start.partition(b"\n")
    depth = 0
    for token in _TOKEN.finditer(first):
        mark = token.group()
        if mark == b'"':
            return False
        if mark in b"{[":
            depth += 1
        elif mark in b"}]":
            depth -= 1
            if depth == 0:
                return bool(first[token.end() :].strip(_BLANK))
    goes_on = not rest.lstrip(_BLANK).startswith(b"{") or first.rstrip(_BLANK).endswith((b"{", b"[", b",", b":"))
    return depth > 0 and bool(newline) and goes_on


def _values(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Line and text of each value, of those in top-level arrays and of those beside them, and of all that is no value.

    The text is cut at brackets, whatever stands between them: a value that is no JSON does not spoil the next. Between
    values it is cut at commas and at ends of lines. An array that does not end is told as text that is no JSON.
    """
    buffer = b""
    line = 1
    base = depth = 0  # within a top-level array base is 1; within a value depth is greater than base
    begin = scan = 0  # what stands before begin was given, what stands before scan was looked at
    while piece := file.read(_PIECE):
        buffer += piece
        for token in _TOKEN.finditer(buffer, scan):
            mark = token.group()
            start, scan = token.span()
            if mark == b'"':
                scan = start
                break
            if depth > base:
                if mark in b"{[":
                    depth += 1
                elif mark in b"}]":
                    depth -= 1
                    if depth == base:
                        yield line + buffer.count(b"\n", 0, begin), buffer[begin:scan]
                        begin = scan
            elif mark[:1] != b'"':
                yield from _lines(buffer, begin, start, line)
                begin = scan
                if mark == b"{" or (base and mark == b"["):
                    begin = start
                    depth += 1
                elif mark == b"[":
                    base = depth = 1
                elif base and mark == b"]":
                    base = depth = 0
                elif mark != b",":
                    yield line + buffer.count(b"\n", 0, start), mark
        else:
            scan = len(buffer)
        line += buffer.count(b"\n", 0, begin)
        buffer, scan, begin = buffer[begin:], scan - begin, 0
    if depth > base:
        yield line, buffer
    elif base:
        yield line + buffer.rstrip(_BLANK).count(b"\n"), b"[" + buffer
    else:
        yield from _lines(buffer, 0, len(buffer), line)


def _lines(buffer: bytes, begin: int, end: int, line: int) -> Iterator[tuple[int, bytes]]:
    """Number and text of the lines between two places that are not blank; ``line`` is where the buffer begins."""
    text = buffer[begin:end]
    if text.strip(_BLANK):
        first = line + buffer.count(b"\n", 0, begin)
        for number, part in enumerate(text.split(b"\n"), start=first):
            if part.strip(_BLANK):
                yield number, part

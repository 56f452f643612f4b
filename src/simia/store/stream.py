"""The outcomes of one stage: a JSON Lines file that only grows, and a compact index of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import orjson
from pydantic import ValidationError

from simia.errors import CorruptStream, FormatError, StoreError
from simia.store.append_file import AppendFile
from simia.store.commit import GroupCommit
from simia.store.counts import Counts
from simia.store.line import Head, read_head, read_key, read_reason, spell
from simia.store.stream_index import StreamIndex
from simia.types import Dropped, Failed, Kept, Outcome, Value

V = TypeVar("V", bound=Value)

_BUFFER = 1 << 20


class Stream:
    """One outcome per ordinal; where an ordinal has several lines the last one counts.

    Opened for writing, a torn last line is cut off and every line is parsed; for reading, the heads are read and what
    a living writer has half-written is left alone. Memory: 18 bytes per ordinal.

    Raises:
        CorruptStream: a line that is not the last one cannot be read.
    """

    def __init__(self, path: Path, commit: GroupCommit, *, writable: bool) -> None:
        self._file = AppendFile(path, writable=writable)
        self._commit = commit
        self._index = StreamIndex()
        self._buffer: list[bytes] = []
        self._buffered = 0
        self._broken: StoreError | None = None
        if writable:
            self._file.cut_torn_end()
        self._scan(thorough=writable)

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    async def append(self, ordinal: int, key: str, outcome: Outcome[Value] | Outcome[bytes]) -> None:
        """Record what became of an item. On return the line is with the system: ``kill -9`` does not lose it.

        The line goes to the page cache in one call, which is shorter than any way of waiting for it; no cancellation
        can come between. It reaches the disk with the next group commit.

        Raises:
            FormatError: key or value cannot be spelled; the stream is as before.
            DiskFull: no room; the stream is as before.
            StoreError: the stream is not open for writing, or an earlier commit failed.
        """
        line = spell(ordinal, key, outcome)
        code = self._code(ordinal, outcome)
        self.flush()
        offset = self._file.size
        self._write(line, 1)
        self._index.put(ordinal, code, offset, len(line))

    def append_now(self, ordinal: int, key: str, outcome: Outcome[Value] | Outcome[bytes]) -> None:
        """Record what became of an item, buffered: for passes without an event loop that can be done again.

        The line is safe only after :meth:`commit_now`, or after an :meth:`append`.

        Raises:
            FormatError: key or value cannot be spelled; the stream is as before.
            DiskFull: no room; what was buffered is lost and the stream is closed.
            StoreError: the stream is not open for writing, or an earlier commit failed.
        """
        line = spell(ordinal, key, outcome)
        code = self._code(ordinal, outcome)
        self._index.put(ordinal, code, self._file.size + self._buffered, len(line))
        self._buffer.append(line)
        self._buffered += len(line)
        if self._buffered >= _BUFFER:
            self.flush()

    async def commit(self) -> None:
        """Wait until every record so far is on the disk.

        Raises:
            StoreError: the disk failed or is full.
        """
        self.flush()
        await self._commit.commit()

    def commit_now(self) -> None:
        """The same, blocking.

        Raises:
            StoreError: the disk failed or is full.
        """
        self.flush()
        self._commit.commit_now()

    def is_done(self, ordinal: int) -> bool:
        """Whether the item was kept or dropped; a failed one is not done and runs again."""
        return self._index.is_done(ordinal)

    def rule_of(self, ordinal: int) -> str | None:
        """The rule that dropped the item, or None where it was not dropped."""
        return self._index.rule(ordinal) if self._index.fate(ordinal) == "dropped" else None

    def outcome_of(self, ordinal: int, model: type[V]) -> Outcome[V] | None:
        """The whole outcome of one item, read from the file, or None where it has none.

        Raises:
            CorruptStream: the line cannot be read.
        """
        fate = self._index.fate(ordinal)
        if fate is None:
            return None
        line, head = self._read(ordinal)
        if fate == "kept":
            return Kept(self._value(ordinal, line, head, model))
        first, second = self._reason(ordinal, line, head)
        return Dropped(first, second) if fate == "dropped" else Failed(first, second)

    def counts(self) -> Counts:
        """How many items were kept, dropped by which rule, or failed."""
        return self._index.counts()

    def kept(self, model: type[V]) -> Iterator[tuple[int, str, V]]:
        """``(ordinal, key, value)`` of the kept items in the order of ordinals, one at a time.

        Raises:
            CorruptStream: a line cannot be read as ``model``; the message names file and offset.
        """
        for ordinal in self._index.ordinals("kept"):
            line, head = self._read(ordinal)
            yield ordinal, self._key(ordinal, head), self._value(ordinal, line, head, model)

    def raw_kept(self) -> Iterator[tuple[int, str, bytes]]:
        """``(ordinal, key, json)`` of the kept items in the order of ordinals, unparsed.

        Raises:
            CorruptStream: a line cannot be read.
        """
        for ordinal in self._index.ordinals("kept"):
            line, head = self._read(ordinal)
            yield ordinal, self._key(ordinal, head), line[head.start : -1]

    def dropped(self) -> Iterator[tuple[int, str, Dropped]]:
        """``(ordinal, key, why)`` of the dropped items in the order of ordinals.

        Raises:
            CorruptStream: a line cannot be read.
        """
        for ordinal in self._index.ordinals("dropped"):
            line, head = self._read(ordinal)
            yield ordinal, self._key(ordinal, head), Dropped(*self._reason(ordinal, line, head))

    def failed(self) -> Iterator[tuple[int, str, Failed]]:
        """``(ordinal, key, why)`` of the failed items in the order of ordinals.

        Raises:
            CorruptStream: a line cannot be read.
        """
        for ordinal in self._index.ordinals("failed"):
            line, head = self._read(ordinal)
            yield ordinal, self._key(ordinal, head), Failed(*self._reason(ordinal, line, head))

    def flush(self) -> None:
        """Hand what :meth:`append_now` has buffered to the system.

        Raises:
            StoreError: it cannot be written; what was buffered is lost and the stream is closed.
        """
        if self._broken is not None:
            raise self._broken
        if not self._buffer:
            return
        lines, self._buffer, self._buffered = self._buffer, [], 0
        try:
            self._write(b"".join(lines), len(lines))
        except StoreError as error:
            self._broken = error
            raise

    def discard(self) -> None:
        """Close the file. What is buffered and not flushed is lost."""
        self._buffer.clear()
        self._buffered = 0
        self._file.close()

    def _code(self, ordinal: int, outcome: Outcome[Value] | Outcome[bytes]) -> int:
        if isinstance(outcome, Kept):
            return self._index.code(ordinal, "kept", "")
        if isinstance(outcome, Dropped):
            return self._index.code(ordinal, "dropped", outcome.rule)
        return self._index.code(ordinal, "failed", "")

    def _write(self, lines: bytes, records: int) -> None:
        if self._commit.broken is not None:
            raise self._commit.broken
        self._file.write(lines)
        self._commit.wrote(self._file, records)

    def _scan(self, *, thorough: bool) -> None:
        for offset, line in self._file.lines():
            try:
                head = read_head(line)
                if thorough:
                    orjson.loads(line)
                rule = read_reason(line, head)[0] if head.fate == "dropped" else ""
                code = self._index.code(head.ordinal, head.fate, rule)
                self._index.put(head.ordinal, code, offset, len(line) + 1)
            except (FormatError, StoreError, orjson.JSONDecodeError) as cause:
                raise self._corrupt(offset, cause) from cause

    def _read(self, ordinal: int) -> tuple[bytes, Head]:
        self.flush()
        offset, length = self._index.place(ordinal)
        line = self._file.read(offset, length - 1)
        try:
            head = read_head(line)
        except FormatError as cause:
            raise self._corrupt(offset, cause) from cause
        return line, head

    def _value(self, ordinal: int, line: bytes, head: Head, model: type[V]) -> V:
        try:
            return model.model_validate_json(line[head.start : -1])
        except ValidationError as cause:
            problem = cause.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in problem["loc"])
            reason = ValueError(f"it is no {model.__name__}: {where or 'the text'}: {problem['msg']}")
            raise self._corrupt(self._index.place(ordinal)[0], reason) from cause

    def _reason(self, ordinal: int, line: bytes, head: Head) -> tuple[str, str]:
        try:
            return read_reason(line, head)
        except FormatError as cause:
            raise self._corrupt(self._index.place(ordinal)[0], cause) from cause

    def _key(self, ordinal: int, head: Head) -> str:
        try:
            return read_key(head)
        except FormatError as cause:
            raise self._corrupt(self._index.place(ordinal)[0], cause) from cause

    def _corrupt(self, offset: int, cause: Exception) -> CorruptStream:
        return CorruptStream(
            f"the line at byte {offset} of {self.path} cannot be read: {cause}; "
            f"something else wrote this file: restore it from a copy, or begin another --run"
        )

"""Records that are found by an identifier: a JSON Lines file that only grows."""

from collections.abc import Iterator
from pathlib import Path

import orjson

from simia.errors import CorruptStream
from simia.store.append_file import AppendFile
from simia.store.commit import GroupCommit
from simia.store.hash_index import HashIndex
from simia.store.line import end_of_text

_ID = b'{"id":'


class KeyedFile:
    """Lines ``{"id":"...","NAME":{...}}``, one per identifier, found by an index of 16 bytes each.

    Raises:
        CorruptStream: a line that is not the last one cannot be read.
    """

    def __init__(self, path: Path, name: str, commit: GroupCommit, *, writable: bool) -> None:
        self._file = AppendFile(path, writable=writable)
        self._middle = b',"%b":' % name.encode()
        self._commit = commit
        self._index = HashIndex()
        if writable:
            self._file.cut_torn_end()
        self._scan(thorough=writable)

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    def find(self, identifier: str) -> bytes | None:
        """The JSON of the record, or None where there is none."""
        head = self._head(identifier)
        for offset in self._index.candidates(identifier):
            line = self._file.read_line(offset)
            if line.startswith(head):
                return line[len(head) : -1]
        return None

    def put(self, identifier: str, content: bytes) -> bool:
        """Append a record unless there is one with this identifier; whether it was appended.

        On return it is with the system: ``kill -9`` does not lose it.

        Raises:
            DiskFull: no room; the file is as before.
            StoreError: the file is not open for writing, or an earlier commit failed.
        """
        if self.find(identifier) is not None:
            return False
        if self._commit.broken is not None:
            raise self._commit.broken
        offset = self._file.size
        self._file.write(b"%b%b}\n" % (self._head(identifier), content))
        self._commit.wrote(self._file)
        self._index.add(identifier, offset)
        return True

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        """Identifier and JSON of every record in the order of writing."""
        for offset, line in self._file.lines():
            identifier, start = self._split(offset, line)
            yield identifier, line[start:-1]

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def corrupt(self, what: str, cause: Exception) -> CorruptStream:
        """The error that says that ``what`` in this file cannot be read."""
        return CorruptStream(
            f"{what} of {self.path} cannot be read: {cause}; "
            f"something else wrote this file: restore it from a copy, or begin another --run"
        )

    def _head(self, identifier: str) -> bytes:
        return b"%b%b%b" % (_ID, orjson.dumps(identifier), self._middle)

    def _scan(self, *, thorough: bool) -> None:
        for offset, line in self._file.lines():
            identifier, _ = self._split(offset, line)
            if thorough:
                try:
                    orjson.loads(line)
                except orjson.JSONDecodeError as cause:
                    raise self.corrupt(f"the line at byte {offset}", cause) from cause
            self._index.add(identifier, offset)

    def _split(self, offset: int, line: bytes) -> tuple[str, int]:
        end = end_of_text(line, len(_ID) + 1)
        try:
            if not line.startswith(_ID) or not line.startswith(self._middle, end + 1) or not line.endswith(b"}"):
                raise ValueError(f"it is no line of the form {_ID.decode()}...{self._middle.decode()}...")
            return str(orjson.loads(line[len(_ID) : end + 1])), end + 1 + len(self._middle)
        except ValueError as cause:
            raise self.corrupt(f"the line at byte {offset}", cause) from cause

"""A file that only grows, line by line."""

import os
from collections.abc import Iterator
from pathlib import Path

from simia.errors import CorruptStream, StoreError
from simia.store.atomic import as_store_error, disk, sync_data, sync_folder

_CHUNK = 1 << 20


class AppendFile:
    """Whole lines at the end of a file, and reads of lines by place.

    A line is with the system, and so survives this process, when :meth:`write` returns; it is on the disk after
    :meth:`sync`. A write that fails half-way is cut off again, so the file always ends with a whole line. Opened for
    reading only, a torn last line is left where it is, because its writer may be alive.

    Raises:
        StoreError: the file cannot be opened.
    """

    def __init__(self, path: Path, *, writable: bool) -> None:
        self.path = path
        self.dirty = False
        self._writable = writable
        new = not path.exists()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT if writable else os.O_RDONLY
        with disk(path, "open"):
            if new and writable:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = -1 if new and not writable else os.open(path, flags | os.O_CLOEXEC, 0o644)
            self.size = 0 if self._handle < 0 else os.fstat(self._handle).st_size
            if new and writable:
                sync_folder(path.parent)

    def write(self, lines: bytes) -> None:
        """Hand whole lines to the system.

        Raises:
            DiskFull: no space left; nothing of ``lines`` is in the file.
            StoreError: the file is open for reading only or is closed, or the disk failed.
        """
        if not self._writable:
            raise StoreError(f"{self.path} is not open for writing: open the run with Run.create or Run.resume")
        try:
            written = os.write(self._handle, lines)
            while written < len(lines):
                written += os.write(self._handle, lines[written:])
        except OSError as cause:
            with disk(self.path, "cut off the half-written end of"):
                os.ftruncate(self._handle, self.size)
            raise as_store_error(cause, self.path, "write") from cause
        self.size += len(lines)

    def sync(self) -> None:
        """Wait until everything written is on the disk.

        Raises:
            DiskFull: the system had promised space that is not there.
            StoreError: the disk failed.
        """
        with disk(self.path, "sync"):
            sync_data(self._handle)

    def read(self, offset: int, length: int) -> bytes:
        """``length`` bytes from ``offset``.

        Raises:
            CorruptStream: the file has become shorter.
        """
        try:  # a context manager would double the cost of a read
            content = os.pread(self._handle, length, offset)
        except OSError as cause:
            raise as_store_error(cause, self.path, "read") from cause
        if len(content) != length:
            raise CorruptStream(
                f"{self.path} ends inside the line at byte {offset}: something else wrote it; restore it from a copy"
            )
        return content

    def read_line(self, offset: int) -> bytes:
        """The line at ``offset``, without its line end.

        Raises:
            CorruptStream: no whole line is there.
        """
        length = 16384
        while True:
            try:
                content = os.pread(self._handle, length, offset)
            except OSError as cause:
                raise as_store_error(cause, self.path, "read") from cause
            end = content.find(b"\n")
            if end >= 0:
                return content[:end]
            if len(content) < length:
                raise CorruptStream(f"{self.path} has no whole line at byte {offset}: something else wrote it")
            length *= 4

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Every whole line as ``(offset, line)`` without its line end, read once from start to end in chunks."""
        offset, rest, position = 0, b"", 0
        while self._handle >= 0:
            with disk(self.path, "read"):
                chunk = os.pread(self._handle, _CHUNK, position)
            if not chunk:
                return
            position += len(chunk)
            content = rest + chunk if rest else chunk
            start = 0
            while (end := content.find(b"\n", start)) >= 0:
                yield offset + start, content[start:end]
                start = end + 1
            rest = content[start:]
            offset += start

    def cut_torn_end(self) -> None:
        """Remove what stands after the last line end: a line that a killed writer never acknowledged.

        Raises:
            StoreError: the file cannot be cut.
        """
        position = self.size
        end = 0
        while position > 0:
            start = max(0, position - _CHUNK)
            found = self.read(start, position - start).rfind(b"\n")
            if found >= 0:
                end = start + found + 1
                break
            position = start
        if end != self.size:
            with disk(self.path, "cut off the torn end of"):
                os.ftruncate(self._handle, end)
                sync_data(self._handle)
            self.size = end

    def close(self) -> None:
        """Close the file; later writes and reads raise StoreError."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
        self._writable = False

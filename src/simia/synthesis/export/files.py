"""Export files: streamed, hashed while they are written, and in place only once all of them are whole."""

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from simia.store.atomic import ELSEWHERE, disk, put_in_place, sync_data


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A finished file. ``path`` is relative to the export folder, with forward slashes; ``records`` is 0 for a file
    that describes others; ``format`` is the target that it was written for.
    """

    path: str
    format: str
    records: int
    size_bytes: int
    sha256: str


class NewFile:
    """A file under a name of its own until :meth:`place`; :meth:`abort` leaves no trace of an unplaced one.

    Raises:
        DiskFull: nothing more can be written.
        StoreError: the folder cannot be written.
    """

    def __init__(self, folder: Path, path: str, target: str) -> None:
        self._final = folder / path
        self._scratch = self._final.with_name(self._final.name + ".new")
        self._path = path
        self._target = target
        self._digest = hashlib.sha256()
        self._size = 0
        self._records = 0
        with disk(self._scratch, "write", ELSEWHERE):
            self._final.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(self._scratch, "wb", buffering=1 << 20)  # noqa: SIM115 - closed by finish or abort

    def write(self, content: bytes, records: int = 1) -> None:
        """Append ``content``, which holds ``records`` records."""
        with disk(self._scratch, "write", ELSEWHERE):
            self._file.write(content)
        self._digest.update(content)
        self._size += len(content)
        self._records += records

    def finish(self) -> ExportedFile:
        """The whole file, on the disk when this returns, but not yet in its place."""
        with disk(self._scratch, "write", ELSEWHERE):
            self._file.flush()
            sync_data(self._file.fileno())
            self._file.close()
        return ExportedFile(self._path, self._target, self._records, self._size, self._digest.hexdigest())

    def place(self) -> None:
        """Put the finished file in the place of an earlier one; durable when this returns."""
        put_in_place(self._scratch, self._final, ELSEWHERE)

    def abort(self) -> None:
        """Throw away what was written; harmless after :meth:`place`."""
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            self._scratch.unlink()

"""A small file that is either the old one or the new one, whatever happens in between."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from simia.errors import DiskFull, StoreError

_REMEDY = "check the disk and the permissions, then go on with --resume"
ELSEWHERE = "take a place that you may write to"
"""What to do where a file that is no part of a run cannot be written."""

LOOK = "check the path and the permissions"
"""What to do where such a file cannot be read."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

sync_data = getattr(os, "fdatasync", os.fsync)
"""``fdatasync``, or ``fsync`` where the system has no other."""


@contextmanager
def disk(path: Path, doing: str, remedy: str = _REMEDY) -> Iterator[None]:
    """Turn an ``OSError`` inside the block into a StoreError that names ``path`` and what to do.

    Raises:
        DiskFull: no space, quota or file size left.
        StoreError: any other failure.
    """
    try:
        yield
    except OSError as cause:
        raise as_store_error(cause, path, doing, remedy) from cause


def as_store_error(cause: OSError, path: Path, doing: str, remedy: str = _REMEDY) -> StoreError:
    """The StoreError that says what ``cause`` means for the run."""
    reason = os.strerror(cause.errno) if cause.errno else str(cause)
    if cause.errno in _FULL:
        safe, then = (
            ("every acknowledged record is safe: ", ", then go on with --resume") if remedy == _REMEDY else ("", "")
        )
        return DiskFull(f"cannot {doing} {path}: {reason}; {safe}free some space there{then}")
    return StoreError(f"cannot {doing} {path}: {reason}; {remedy}")


def write_atomically(path: Path, content: bytes, remedy: str = _REMEDY) -> None:
    """Replace ``path`` by ``content``, on the disk when this returns. ``remedy`` is what a failure tells to do.

    Raises:
        DiskFull: no room for it; the old file is untouched.
        StoreError: the folder cannot be written.
    """
    scratch = path.with_name(path.name + ".new")
    with disk(path, "write", remedy):
        try:
            with open(scratch, "wb") as file:
                file.write(content)
                file.flush()
                sync_data(file.fileno())
            os.replace(scratch, path)
        except OSError:
            with suppress(OSError):
                scratch.unlink()
            raise
        sync_folder(path.parent)


def put_in_place(scratch: Path, path: Path, remedy: str = _REMEDY) -> None:
    """Rename the whole file ``scratch`` to ``path``, in the same folder; durable when this returns. ``remedy`` is what
    a failure tells to do.

    Raises:
        StoreError: the folder cannot be written.
    """
    with disk(path, "write", remedy):
        os.replace(scratch, path)
        sync_folder(path.parent)


def remove(path: Path) -> None:
    """Remove a file, if it is there.

    Raises:
        StoreError: it cannot be removed.
    """
    with disk(path, "remove"):
        path.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make the names in ``folder`` durable: a new file survives a power cut only after this."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

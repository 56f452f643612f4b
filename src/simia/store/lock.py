"""One writer at a time."""

import fcntl
import os
import socket
import time
from contextlib import suppress
from pathlib import Path

import orjson

from simia.errors import RunLocked, StoreError
from simia.store.atomic import disk

_TRIES = 10
_PAUSE_S = 0.01


class RunLock:
    """An OS lock on the file ``lock`` of a run folder, held until :meth:`release`.

    The lock belongs to the open file, so the system frees it when the process dies, however it dies; the text in the
    file only tells people who holds it. A second lock in the same process is refused too.

    Raises:
        RunLocked: another writer holds it; the message names its process and host.
        StoreError: the file system has no locks.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / "lock"
        with disk(path, "open"):
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            _lock(self._handle)
        except BlockingIOError:
            holder = _holder(self._handle)
            os.close(self._handle)
            raise RunLocked(
                f"run folder {folder} is being written by {holder}: wait until it ends, stop it, or take another --run"
            ) from None
        except OSError as cause:
            os.close(self._handle)
            raise StoreError(f"cannot lock {path}: {cause.strerror}; put --run on a file system with locks") from cause
        # The names are for people: a full disk must not keep a run from being resumed.
        with suppress(OSError):
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, orjson.dumps({"pid": os.getpid(), "host": socket.gethostname()}), 0)

    def release(self) -> None:
        """Let others write. The file stays: deleting it could give two processes a lock each."""
        os.close(self._handle)


def _lock(handle: int) -> None:
    """Take the lock, though :func:`is_locked` may hold it for a moment."""
    for _ in range(_TRIES):
        with suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(_PAUSE_S)
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_locked(folder: Path) -> bool:
    """Whether a process writes the run in ``folder`` now. False where that cannot be asked."""
    try:
        handle = os.open(folder / "lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


def _holder(handle: int) -> str:
    try:
        content = orjson.loads(os.pread(handle, 1024, 0))
        return f"process {content['pid']} on {content['host']}"
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return "another process"

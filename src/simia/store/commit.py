"""Group commit: many records, one ``fdatasync``, never on the event loop."""

import asyncio
import threading
from concurrent.futures import Future
from pathlib import Path

from simia.errors import StoreError, boundary
from simia.store.append_file import AppendFile
from simia.store.atomic import write_atomically


class GroupCommit:
    """A thread that makes written records durable, at the latest ``every_s`` after the first or at ``records`` of them.

    A failed ``fdatasync`` is final: the system may have forgotten which pages it could not write, so that a second
    try would lie. Every later write and commit raises the same error.
    """

    def __init__(self, every_s: float = 0.25, records: int = 256) -> None:
        self._every_s = every_s
        self._records = records
        self._lock = threading.Lock()
        self._dirty: list[AppendFile] = []
        self._waiters: list[Future[None]] = []
        self._replacements: dict[Path, bytes] = {}
        self._written = 0
        self._work = threading.Event()
        self._urgent = threading.Event()
        self._thread: threading.Thread | None = None
        self._closing = False
        self.broken: StoreError | None = None

    def wrote(self, file: AppendFile, records: int = 1) -> None:
        """Take note that ``records`` records of ``file`` are with the system and not yet on the disk."""
        self._written += records
        if not file.dirty:
            with self._lock:
                file.dirty = True
                self._dirty.append(file)
            self._start()
            self._work.set()
        if self._written >= self._records:
            self._urgent.set()

    async def commit(self) -> None:
        """Wait until everything written before this call is on the disk.

        Raises:
            DiskFull: the system had promised space that is not there.
            StoreError: the disk failed.
        """
        await asyncio.wrap_future(self._ticket())

    def commit_now(self) -> None:
        """The same, blocking.

        Raises:
            DiskFull: the system had promised space that is not there.
            StoreError: the disk failed.
        """
        self._ticket().result()

    def replace(self, path: Path, content: bytes) -> None:
        """Let ``path`` be replaced by ``content`` in the next commit, after the records written so far are durable."""
        with self._lock:
            self._replacements[path] = content
        self._start()
        self._work.set()

    def close(self) -> None:
        """Commit and end the thread.

        Raises:
            StoreError: the last commit failed.
        """
        try:
            self.commit_now()
        finally:
            if self._thread is not None:
                self._closing = True
                self._urgent.set()
                self._work.set()
                self._thread.join()
                self._thread = None

    def _ticket(self) -> Future[None]:
        ticket: Future[None] = Future()
        ticket.set_running_or_notify_cancel()
        if self._thread is None:
            ticket.set_result(None)
            return ticket
        with self._lock:
            self._waiters.append(ticket)
        self._urgent.set()
        self._work.set()
        return ticket

    def _start(self) -> None:
        if self._thread is None:
            self._closing = False
            self._thread = threading.Thread(target=self._run, name="simia-commit", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            self._work.wait()
            self._urgent.wait(self._every_s)
            with self._lock:
                files, self._dirty = self._dirty, []
                waiters, self._waiters = self._waiters, []
                replacements, self._replacements = self._replacements, {}
                for file in files:
                    file.dirty = False
                self._written = 0
                self._work.clear()
                self._urgent.clear()
                closing = self._closing
            self._sync(files, replacements)
            for waiter in waiters:
                if self.broken is None:
                    waiter.set_result(None)
                else:
                    waiter.set_exception(self.broken)
            if closing:
                return

    def _sync(self, files: list[AppendFile], replacements: dict[Path, bytes]) -> None:
        if self.broken is not None:
            return
        try:
            # Nothing may end this thread: whoever waits for a commit would wait for ever.
            with boundary(StoreError, "sync the run"):
                for file in files:
                    file.sync()
                for path, content in replacements.items():
                    write_atomically(path, content)
        except StoreError as error:
            self.broken = error

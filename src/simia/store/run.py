"""A run: a folder that says what it was made from, and holds everything that was made."""

import json
import os
import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType

import orjson
from pydantic import ValidationError

from simia.errors import CorruptStream, ManifestMismatch, StoreError
from simia.store.atomic import disk, sync_folder, write_atomically
from simia.store.calls import CallLog
from simia.store.commit import GroupCommit
from simia.store.lock import RunLock
from simia.store.manifest import Manifest
from simia.store.replies import ReplyLog
from simia.store.stream import Stream
from simia.store.worlds import Worlds
from simia.types import JsonObject

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class Run:
    """A run folder, open. Made by :meth:`create`, :meth:`resume` or :meth:`read`; a context manager that closes it.

    ::

        run.json              the manifest
        replies.jsonl         every paid reply
        calls.jsonl           every call of every episode (reinforcement learning)
        prompts.jsonl         the messages of their prompts, each once
        worlds.jsonl          each world once
        streams/NAME.jsonl    the outcomes of a stage
        seeds.json            which seeds are used (synthesis)
        meter.json            usage and cost so far
        lock                  who writes
    """

    def __init__(self, folder: Path, manifest: Manifest, lock: RunLock | None) -> None:
        self.folder = folder
        self.manifest = manifest
        self._lock = lock
        self._commit = GroupCommit()
        self._streams: dict[str, Stream] = {}
        self._meter: JsonObject | None = None
        writable = lock is not None
        self.worlds = Worlds(folder / "worlds.jsonl", self._commit, writable=writable)
        self.replies = ReplyLog(folder / "replies.jsonl", self._commit, writable=writable)
        self.calls = CallLog(folder, self._commit, writable=writable)

    @classmethod
    def create(cls, folder: Path, manifest: Manifest) -> "Run":
        """A new run in ``folder``, which is made where it is missing.

        Raises:
            RunLocked: another process writes there.
            StoreError: the folder holds a run already, or cannot be written.
        """
        with disk(folder, "make the run folder", "take another --run, or make that place writable"):
            folder.mkdir(parents=True, exist_ok=True)
        with _released_on_failure(RunLock(folder)) as lock:
            if (folder / "run.json").exists():
                raise StoreError(f"{folder} holds a run already: go on with it by --resume, or take another --run")
            if (folder / "streams").exists() or (folder / "replies.jsonl").exists():
                raise StoreError(f"{folder} holds parts of a run but no run.json: take another --run")
            _write_manifest(folder, manifest)
            return cls(folder, manifest, lock)

    @classmethod
    def resume(
        cls, folder: Path, manifest: Manifest, *, free: Collection[str] = (), growing: Collection[str] = ()
    ) -> "Run":
        """The run in ``folder``, to be gone on with. Torn last lines are cut off as its files are opened.

        ``free`` are dotted keys of the manifest, such as ``config.export``, that may be another now, ``growing`` those
        whose number may be larger. Where such a key of ``config`` is another one, ``run.json`` says so from now on.

        Raises:
            ManifestMismatch: it was made from something else; the message names the keys.
            RunLocked: another process writes it.
            CorruptStream: a file was written by something else.
            StoreError: there is no run in the folder.
        """
        _demand_run(folder, "leave --resume out to begin one, or check --run")
        with _released_on_failure(RunLock(folder)) as lock:
            found = cls.check(folder, manifest, free=free, growing=growing)
            if found.config != manifest.config:
                found = found.model_copy(update={"config": manifest.config})
                _write_manifest(folder, found)
            return cls(folder, found, lock)

    @staticmethod
    def check(
        folder: Path, manifest: Manifest, *, free: Collection[str] = (), growing: Collection[str] = ()
    ) -> Manifest:
        """The manifest of the run in ``folder``, if :meth:`resume` would accept ``manifest``. Changes nothing.

        Raises:
            ManifestMismatch: it was made from something else; the message names the keys.
            CorruptStream: a file was written by something else.
            StoreError: there is no run in the folder.
        """
        _demand_run(folder, "leave --resume out to begin one, or check --run")
        found = _read_manifest(folder)
        keys = found.differences(manifest, free=free, growing=growing)
        if keys:
            raise ManifestMismatch(
                f"run folder {folder} belongs to another configuration: "
                f"{found.explain(manifest, free=free, growing=growing)}; change that back, or take another --run",
                keys,
            )
        return found

    @classmethod
    def read(cls, folder: Path) -> "Run":
        """The run in ``folder``, to look at: no lock, nothing is changed, a writer may be at work.

        Raises:
            CorruptStream: a file was written by something else.
            StoreError: there is no run in the folder.
        """
        _demand_run(folder, "name the folder that was given to --run")
        return cls(folder, _read_manifest(folder), None)

    def stream(self, name: str) -> Stream:
        """The stream of the stage ``name``, empty at first; the same object each time.

        Raises:
            CorruptStream: a line in its middle cannot be read.
            StoreError: the name cannot be a file name.
        """
        stream = self._streams.get(name)
        if stream is None:
            stream = self._streams[name] = Stream(self._path(name), self._commit, writable=self._lock is not None)
        return stream

    def stream_names(self) -> tuple[str, ...]:
        """The streams on disk, sorted."""
        return tuple(sorted(path.stem for path in (self.folder / "streams").glob("*.jsonl")))

    def restart_stream(self, name: str) -> Stream:
        """Drop what a derived stage wrote and begin its stream anew: only for what can be made again at no cost.

        The old stream object is closed. Interrupted half-way, the stream is either whole or gone.

        Raises:
            StoreError: the run was opened for reading, or the file cannot be removed.
        """
        if self._lock is None:
            raise StoreError(f"{self.folder} was opened for reading: open it with Run.resume to restart {name!r}")
        path = self._path(name)
        old = self._streams.pop(name, None)
        if old is not None:
            self._commit.commit_now()
            old.discard()
        with disk(path, "remove"):
            path.unlink(missing_ok=True)
            if path.parent.exists():
                sync_folder(path.parent)
        return self.stream(name)

    async def commit(self) -> None:
        """Wait until everything written so far is on the disk.

        Raises:
            StoreError: the disk failed or is full.
        """
        for stream in self._streams.values():
            stream.flush()
        await self._commit.commit()

    def save_meter(self, totals: JsonObject) -> None:
        """Keep usage and cost so far; the file is replaced with the next group commit, so this never waits.

        After a ``kill -9`` it may be one commit behind: :meth:`ReplyLog.usage` counts exactly.

        Raises:
            StoreError: the run was opened for reading.
        """
        if self._lock is None:
            raise StoreError(f"{self.folder} was opened for reading: open it with Run.resume to write")
        self._meter = totals
        self._commit.replace(self.folder / "meter.json", orjson.dumps(totals, option=orjson.OPT_INDENT_2) + b"\n")

    def load_meter(self) -> JsonObject | None:
        """What was saved last, or None where nothing was.

        Raises:
            CorruptStream: the file is no JSON object.
        """
        if self._meter is not None:
            return self._meter
        path = self.folder / "meter.json"
        if not path.exists():
            return None
        with disk(path, "read"):
            content = path.read_bytes()
        try:
            totals = orjson.loads(content)
        except orjson.JSONDecodeError as cause:
            raise CorruptStream(f"{path} is no JSON: {cause}; remove it, the replies tell the usage") from cause
        if not isinstance(totals, dict):
            raise CorruptStream(f"{path} is no JSON object; remove it, the replies tell the usage")
        return totals

    def close(self) -> None:
        """Commit, close every file and let others write.

        Raises:
            StoreError: the last commit failed.
        """
        try:
            try:
                for stream in self._streams.values():
                    stream.flush()
            finally:
                self._commit.close()
        finally:
            for stream in self._streams.values():
                stream.discard()
            self.replies.close()
            self.calls.close()
            self.worlds.close()
            if self._lock is not None:
                self._lock.release()
                self._lock = None

    @property
    def is_unpaid(self) -> bool:
        """Whether no reply was paid for: all that is here can be made again at no cost."""
        return next(iter(self.replies), None) is None

    @property
    def is_empty(self) -> bool:
        """Whether no reply was paid for and no stage kept anything."""
        return self.is_unpaid and not any(self.stream(name).counts().kept for name in self.stream_names())

    def discard(self, also: Collection[str] = ()) -> None:
        """Close the run and remove it, and its folder if nothing else is in it: for one that was begun in vain.

        ``also`` are names of files and folders that were made in it for the run, to go with all that is in them.

        Raises:
            StoreError: the run was opened for reading, a reply was paid for, or a file cannot be removed.
        """
        lock = self._lock
        if lock is None or not self.is_unpaid:
            raise StoreError(f"{self.folder} is open for reading or holds what was paid for: it is not removed")
        self._lock = None  # held until everything is gone
        self.close()
        try:
            streams = self.folder / "streams"
            names = (
                "worlds.jsonl",
                "replies.jsonl",
                "calls.jsonl",
                "prompts.jsonl",
                "seeds.json",
                "meter.json",
                "run.json",
                "lock",
            )
            with disk(self.folder, "remove"):
                for path in (*streams.glob("*.jsonl"), *(self.folder / name for name in names)):
                    path.unlink(missing_ok=True)
                for path in (self.folder / name for name in also):
                    if path.is_dir():
                        shutil.rmtree(path)
                    else:
                        path.unlink(missing_ok=True)
            for folder in (streams, self.folder):
                with suppress(OSError):  # something of the user's is in it
                    folder.rmdir()
        finally:
            lock.release()

    def __enter__(self) -> "Run":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except StoreError:
            # An error on the way out must not hide the one that led here.
            if error is None:
                raise

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise StoreError(f"a stream cannot be called {name!r}: use letters, digits, '_', '-' and '.'")
        return self.folder / "streams" / f"{name}.jsonl"


@contextmanager
def _released_on_failure(lock: RunLock) -> Iterator[RunLock]:
    with ExitStack() as undone:
        undone.callback(lock.release)
        yield lock
        undone.pop_all()


def _demand_run(folder: Path, remedy: str) -> None:
    if not os.path.exists(folder / "run.json"):
        raise StoreError(f"{folder} holds no run (no run.json): {remedy}")


def _write_manifest(folder: Path, manifest: Manifest) -> None:
    content = json.dumps(manifest.model_dump(mode="json"), indent=2, ensure_ascii=False)
    write_atomically(folder / "run.json", content.encode() + b"\n")


def _read_manifest(folder: Path) -> Manifest:
    path = folder / "run.json"
    with disk(path, "read"):
        content = path.read_bytes()
    try:
        return Manifest.model_validate_json(content)
    except ValidationError as cause:
        problem = cause.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise CorruptStream(
            f"{path} is no manifest of this version of simia: {where or 'the text'}: {problem['msg']}; "
            f"use the version that wrote it, or take another --run"
        ) from cause

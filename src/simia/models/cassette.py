"""Recording what a model was asked and answered, and playing it back without the model.

A cassette is a JSON Lines file. The first line is its label, ``{"cassette", "model", "is_small"}``: a cassette holds
one model. The others are ``{"id", "parts", "reply"}``, or ``"error"`` instead of the reply, by the request's
``content_id``. ``parts`` are hashes of what makes the request, so that for a request that is not on the cassette the
part that is new can be named; the prompts are not written. No key can be in it: a request has none.
"""

import fcntl
import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import orjson

from simia import errors
from simia.errors import (
    ConfigError,
    ContextOverflow,
    CorruptStream,
    DiskFull,
    RequestRefused,
    StructuredOutputUnsupported,
)
from simia.formats.calls import dump_json, load_json
from simia.types import ChatModel, ChatReply, ChatRequest, content_id

_VERSION = 1
_PART_DIGITS = 12
_TAIL_BYTES = 1 << 16
# What a request will meet each time. A wrong key or an outage is of the day and belongs on no cassette.
_LASTING = (ContextOverflow, RequestRefused, StructuredOutputUnsupported)
_HOW = "record one with model.record=FILE"


@dataclass(frozen=True, slots=True)
class Label:
    """What a cassette says of the model that was recorded. ``is_small`` as ``ChosenModel``: it decides the prompts."""

    model: str
    is_small: bool

    @classmethod
    def of(cls, path: Path) -> Self:
        """The label of the cassette at ``path``.

        Raises:
            ConfigError: there is no cassette at ``path``, it is empty, or it is something else.
        """
        try:
            with path.open("rb") as file:
                line = file.readline()
        except OSError as cause:
            raise ConfigError(f"cannot read the cassette {path}: {cause.strerror}: {_HOW}") from None
        if not line:
            raise ConfigError(f"the cassette {path} is empty: {_HOW}")
        try:
            label = orjson.loads(line)
            if label["cassette"] != _VERSION:
                raise ConfigError(f"the cassette {path} is of another version of simia: {_HOW}")
            return cls(str(label["model"]), bool(label["is_small"]))
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise ConfigError(f"{path} is no cassette: {_HOW}") from None

    def line(self) -> bytes:
        """The first line of a cassette."""
        fields = {"cassette": _VERSION, "model": self.model, "is_small": self.is_small}
        return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)


class RecordingModel:
    """A model whose replies, and lasting errors, are appended to a cassette. A context manager.

    A cassette that exists is gone on with, if it is of the same model; the torn last line of a killed process is cut
    off. One recorder writes a cassette at a time. A line that the disk has no room for is cut off again, so that what
    was recorded before can be replayed.
    """

    def __init__(self, inner: ChatModel, path: Path, *, is_small: bool = False) -> None:
        self._inner = inner
        self._path = path
        self._label = Label(inner.name, is_small)
        self._file: BinaryIO | None = None
        self._size = 0

    @property
    def name(self) -> str:
        """The model's name."""
        return self._inner.name

    def __enter__(self) -> Self:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # One write per line and no buffer: a killed process leaves at most one torn line, the last.
            file = self._path.open("a+b", buffering=0)
        except OSError as cause:
            raise ConfigError(
                f"cannot write the cassette {self._path}: {cause.strerror}: give model.record another file"
            ) from None
        self._file = file
        with ExitStack() as undone:
            undone.push(self)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _cut_torn_line(file)
                self._size = file.seek(0, os.SEEK_END)
            except BlockingIOError:
                raise ConfigError(
                    f"another model or process writes the cassette {self._path}: give each a model.record of its own"
                ) from None
            except OSError as cause:
                raise ConfigError(
                    f"cannot lock the cassette {self._path}: {cause.strerror}: give model.record a file elsewhere"
                ) from None
            if self._size == 0:
                self._append(self._label.line())
            elif (recorded := Label.of(self._path)) != self._label:
                raise ConfigError(
                    f"the cassette {self._path} holds {recorded.model!r}, not {self.name!r}: "
                    "give each model a model.record of its own"
                )
            undone.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The inner model's answer, recorded.

        Raises:
            ModelError: as the inner model; what another try would meet again is recorded.
            DiskFull: the cassette cannot be written.
        """
        try:
            reply = await self._inner.complete(request)
        except _LASTING as error:
            self._write(request, {"error": [type(error).__name__, str(error)]})
            raise
        self._write(request, {"reply": reply.model_dump(mode="json", exclude_defaults=True)})
        return reply

    def _write(self, request: ChatRequest, what: dict[str, Any]) -> None:
        entry = {"id": request.content_id, "parts": _parts(request), **what}
        self._append(dump_json(entry).encode() + b"\n")

    def _append(self, line: bytes) -> None:
        if self._file is None:
            raise RuntimeError("RecordingModel is used outside its 'with' block")
        try:
            written = self._file.write(line)
            if written != len(line):
                self._file.truncate(self._size)
        except OSError as cause:
            raise DiskFull(f"cannot write the cassette {self._path}: {cause.strerror}") from cause
        if written != len(line):
            raise DiskFull(f"cannot write the cassette {self._path}: only a part of a line fitted; make room")
        self._size += written


class ReplayingModel:
    """A model that answers from a cassette and from nothing else. A context manager.

    Of several recordings of one request the last counts. Memory holds an index, not the replies.

    Raises:
        ConfigError: there is no cassette at ``path``, or nothing is on it.
        CorruptStream: a line that is not the last cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._name = Label.of(path).model
        self._offsets: dict[str, int] = {}
        self._file = path.open("rb")
        with ExitStack() as undone:
            undone.callback(self._file.close)
            self._index()
            undone.pop_all()

    @property
    def name(self) -> str:
        """The name of the model that was recorded, as requests must state it."""
        return self._name

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The recorded answer.

        Raises:
            ModelError: the recorded error, of its own kind.
            RequestRefused: the request is not on the cassette; the message names what is new about it.
        """
        offset = self._offsets.get(request.content_id)
        if offset is None:
            raise RequestRefused(self._why_missing(request))
        entry = self._entry(offset)
        if "error" in entry:
            kind, message = entry["error"]
            raise getattr(errors, kind)(message)
        return ChatReply.model_validate(entry["reply"])

    def _index(self) -> None:
        offset = len(self._file.readline())
        for number, line in enumerate(self._file, 2):
            try:
                self._offsets[orjson.loads(line)["id"]] = offset
            except (orjson.JSONDecodeError, KeyError, TypeError):
                if line.endswith(b"\n"):
                    raise CorruptStream(f"{self._path}:{number}: no line of a cassette; record it again") from None
            offset += len(line)
        if not self._offsets:
            raise ConfigError(f"nothing is on the cassette {self._path}: {_HOW}")

    def _entry(self, offset: int) -> dict[str, Any]:
        self._file.seek(offset)
        entry: dict[str, Any] = load_json(self._file.readline())
        return entry

    def _why_missing(self, request: ChatRequest) -> str:
        """The recording that has most in common, and what it has not: read only now, so that memory stays flat."""
        asked = _parts(request)
        best: list[str] = list(asked)
        for offset in self._offsets.values():
            recorded = self._entry(offset).get("parts", {})
            new = [part for part in asked if recorded.get(part) != asked[part]]
            new += [f"{part} (recorded, not asked)" for part in recorded if part not in asked]
            if len(new) < len(best):
                best = new
        shown = ", ".join(best[:4]) + (f" and {len(best) - 4} more" if len(best) > 4 else "")
        return (
            f"the request is not on the cassette {self._path.name}; against the closest of {len(self._offsets)} "
            f"recordings these parts are new: {shown}; record again, or replay with the recipe it was recorded with"
        )


def _cut_torn_line(file: BinaryIO) -> None:
    end = file.seek(0, os.SEEK_END)
    whole = end
    while whole > 0:
        start = max(0, whole - _TAIL_BYTES)
        file.seek(start)
        newline = file.read(whole - start).rfind(b"\n")
        whole = start + newline + 1
        if newline >= 0:
            break
    if whole < end:
        file.truncate(whole)


def _parts(request: ChatRequest) -> dict[str, str]:
    parts: dict[str, Any] = {"model": request.model}
    for name, value in request.sampling.model_dump().items():
        parts[f"sampling.{name}"] = value
    parts["response_schema"] = request.response_schema
    parts["tools"] = [tool.model_dump(mode="json") for tool in request.tools]
    for index, message in enumerate(request.messages):
        parts[f"messages[{index}] ({message.role})"] = message.model_dump(mode="json")
    return {part: content_id(value)[:_PART_DIGITS] for part, value in parts.items()}

"""Recording a run's requests and replies, and playing them back without a model.

A cassette is a JSON Lines file: ``{"id", "model", "parts", "reply"}``, or ``"error"`` instead of the reply, by the
request's ``content_id``. ``parts`` are hashes of what makes the request, so that for a request that is not on the
cassette the part that is new can be named; the prompts are not written. No key can be in it: a request has none.
"""

from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import orjson

from simia import errors
from simia.errors import ConfigError, CorruptStream, DiskFull, PermanentModelError, RequestRefused
from simia.types import ChatModel, ChatReply, ChatRequest, content_id

_PART_DIGITS = 12


class RecordingModel:
    """A model whose replies, and lasting errors, are appended to a cassette. A context manager."""

    def __init__(self, inner: ChatModel, path: Path) -> None:
        self._inner = inner
        self._path = path
        self._file: BinaryIO | None = None

    @property
    def name(self) -> str:
        """The model's name."""
        return self._inner.name

    def __enter__(self) -> Self:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # One write per line and no buffer: a killed process leaves at most one torn line, the last.
            self._file = self._path.open("ab", buffering=0)
        except OSError as cause:
            raise ConfigError(f"cannot write the cassette {self._path}: {cause.strerror}") from None
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
            ModelError: as the inner model; permanent ones are recorded.
            DiskFull: the cassette cannot be written.
        """
        try:
            reply = await self._inner.complete(request)
        except PermanentModelError as error:
            self._write(request, {"error": [type(error).__name__, str(error)]})
            raise
        self._write(request, {"reply": reply.model_dump(mode="json", exclude_defaults=True)})
        return reply

    def _write(self, request: ChatRequest, what: dict[str, Any]) -> None:
        if self._file is None:
            raise RuntimeError("RecordingModel is used outside its 'with' block")
        line = orjson.dumps(
            {"id": request.content_id, "model": request.model, "parts": _parts(request), **what},
            option=orjson.OPT_APPEND_NEWLINE,
        )
        try:
            self._file.write(line)
        except OSError as cause:
            raise DiskFull(f"cannot write the cassette {self._path}: {cause.strerror}") from cause


class ReplayingModel:
    """A model that answers from a cassette and from nothing else. A context manager.

    Of several recordings of one request the last counts. Memory holds an index, not the replies. Without ``name`` it
    has the name of the model that was recorded first.

    Raises:
        ConfigError: there is no cassette at ``path``, or it is empty.
        CorruptStream: a line that is not the last cannot be read.
    """

    def __init__(self, path: Path, *, name: str | None = None) -> None:
        self._path = path
        self._name = name or ""
        self._offsets: dict[str, int] = {}
        try:
            self._file = path.open("rb")
        except OSError as cause:
            raise ConfigError(f"cannot read the cassette {path}: {cause.strerror}: record one first") from None
        try:
            self._index()
        except BaseException:
            self._file.close()
            raise

    @property
    def name(self) -> str:
        """The model's name, as requests must state it."""
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
            PermanentModelError: the recorded error, of its own kind.
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
        offset = 0
        for number, line in enumerate(self._file, 1):
            try:
                entry = orjson.loads(line)
                self._offsets[entry["id"]] = offset
                self._name = self._name or entry["model"]
            except (orjson.JSONDecodeError, KeyError, TypeError):
                if line.endswith(b"\n"):
                    raise CorruptStream(f"{self._path}:{number}: no line of a cassette; record it again") from None
            offset += len(line)
        if not self._offsets:
            raise ConfigError(f"the cassette {self._path} holds nothing: record one first")

    def _entry(self, offset: int) -> dict[str, Any]:
        self._file.seek(offset)
        entry: dict[str, Any] = orjson.loads(self._file.readline())
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


def _parts(request: ChatRequest) -> dict[str, str]:
    parts: dict[str, Any] = {"model": request.model}
    for name, value in request.sampling.model_dump().items():
        parts[f"sampling.{name}"] = value
    parts["response_schema"] = request.response_schema
    parts["tools"] = [tool.model_dump(mode="json") for tool in request.tools]
    for index, message in enumerate(request.messages):
        parts[f"messages[{index}] ({message.role})"] = message.model_dump(mode="json")
    return {part: content_id(value)[:_PART_DIGITS] for part, value in parts.items()}

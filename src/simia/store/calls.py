"""What was asked of models on behalf of whom: every call of every episode, with its whole prompt."""

from collections.abc import Iterator
from pathlib import Path

import orjson
from pydantic import TypeAdapter, ValidationError

from simia.errors import CorruptStream
from simia.store.append_file import AppendFile
from simia.store.commit import GroupCommit
from simia.store.keyed_file import KeyedFile
from simia.types import Message, Sampling, ToolCall, Usage, Value

_MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)
_AT_HAND = 1 << 16


class CallRecord(Value):
    """One call of a model. ``role`` is whom the model played: agent, tool, user or judge.

    ``request`` is the content id of the request, which is the SHA-256 of the whole prompt with its sampling;
    ``messages`` are the content ids of its messages, whose texts :meth:`CallLog.text` gives. An ``error`` stands where
    there was no reply. ``seconds`` include waiting and retries; a reply that had been paid for before costs none.
    """

    episode: str
    role: str
    model: str
    request: str
    messages: tuple[str, ...]
    sampling: Sampling
    text: str = ""
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0
    error: str = ""


class CallLog:
    """Calls in the order of their answers. The messages of prompts, which calls of one episode share, are kept once.

    On return of :meth:`put` a call is with the system: ``kill -9`` does not lose it. Files are made at the first call.

    Raises:
        CorruptStream: a line that is not the last one cannot be read.
    """

    def __init__(self, folder: Path, commit: GroupCommit, *, writable: bool) -> None:
        self._folder = folder
        self._commit = commit
        self._writable = writable
        self._calls: AppendFile | None = None
        self._texts: KeyedFile | None = None
        self._known: set[str] = set()

    def put(self, record: CallRecord, messages: tuple[Message, ...]) -> None:
        """Keep one call, and those of its ``messages`` that were never kept before.

        Raises:
            DiskFull: no room.
            StoreError: the run is not open for writing.
        """
        calls, texts = self._open()
        for message_id, message in zip(record.messages, messages, strict=True):
            if message_id not in self._known:
                texts.put(message_id, _MESSAGE.dump_json(message))
                if len(self._known) >= _AT_HAND:
                    self._known.clear()
                self._known.add(message_id)
        if self._commit.broken is not None:
            raise self._commit.broken
        calls.write(record.model_dump_json(exclude_defaults=True).encode() + b"\n")
        self._commit.wrote(calls)

    def of(self, episode: str) -> Iterator[CallRecord]:
        """The calls of one episode, in the order of their answers."""
        head = b'{"episode":%b,' % orjson.dumps(episode)
        for offset, line in self._open()[0].lines():
            if line.startswith(head):
                yield self._read(offset, line)

    def __iter__(self) -> Iterator[CallRecord]:
        """All calls, in the order of their answers."""
        for offset, line in self._open()[0].lines():
            yield self._read(offset, line)

    def text(self, message_id: str) -> Message:
        """The message with this content id.

        Raises:
            CorruptStream: it is not there, or its line cannot be read.
        """
        texts = self._open()[1]
        content = texts.find(message_id)
        if content is None:
            raise CorruptStream(f"{texts.path} holds no message {message_id}: restore it from a copy")
        try:
            return _MESSAGE.validate_json(content)
        except ValidationError as cause:
            raise texts.corrupt(f"message {message_id}", cause) from cause

    def close(self) -> None:
        """Close the files."""
        if self._calls is not None and self._texts is not None:
            self._calls.close()
            self._texts.close()

    def _open(self) -> tuple[AppendFile, KeyedFile]:
        if self._calls is None or self._texts is None:
            self._calls = AppendFile(self._folder / "calls.jsonl", writable=self._writable)
            if self._writable:
                self._calls.cut_torn_end()
            self._texts = KeyedFile(self._folder / "prompts.jsonl", "message", self._commit, writable=self._writable)
        return self._calls, self._texts

    def _read(self, offset: int, line: bytes) -> CallRecord:
        try:
            return CallRecord.model_validate_json(line)
        except ValidationError as cause:
            path = self._folder / "calls.jsonl"
            raise CorruptStream(f"the line at byte {offset} of {path} is no call: restore it from a copy") from cause

"""Every paid reply, on disk before it is parsed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from simia.errors import FormatError
from simia.store.commit import GroupCommit
from simia.store.keyed_file import KeyedFile
from simia.types import ChatReply, Usage

_REPLY = TypeAdapter(ChatReply)


class ReplyLog:
    """Replies by the ``content_id`` of their request. The first reply to a request stays.

    Raises:
        CorruptStream: a line that is not the last one cannot be read.
    """

    def __init__(self, path: Path, commit: GroupCommit, *, writable: bool) -> None:
        self._file = KeyedFile(path, "reply", commit, writable=writable)

    def get(self, request_id: str) -> ChatReply | None:
        """The reply that was paid for, or None.

        Raises:
            CorruptStream: its line cannot be read.
        """
        content = self._file.find(request_id)
        return None if content is None else self._read(request_id, content)

    async def put(self, request_id: str, reply: ChatReply) -> None:
        """Keep a reply. On return it is with the system: ``kill -9`` does not lose it; the disk follows in groups.

        Raises:
            FormatError: the reply holds text that is no Unicode (a lone surrogate).
            DiskFull: no room; earlier replies are safe.
            StoreError: the run is not open for writing, or an earlier commit failed.
        """
        try:
            content = _REPLY.dump_json(reply)
        except ValueError as cause:
            raise FormatError(f"the reply to {request_id[:12]} cannot be written as JSON: {cause}") from cause
        self._file.put(request_id, content)

    def __iter__(self) -> Iterator[tuple[str, ChatReply]]:
        """Request and reply in the order of arrival, one at a time."""
        for request_id, content in self._file:
            yield request_id, self._read(request_id, content)

    def usage(self) -> dict[str, tuple[int, Usage]]:
        """Requests and tokens paid so far by the model's name in the requests, added up from the file: exact even
        after ``kill -9``.
        """
        found: dict[str, tuple[int, Usage]] = {}
        for _, reply in self:
            name = reply.asked or reply.model
            requests, usage = found.get(name, (0, Usage()))
            found[name] = requests + 1, usage + reply.usage
        return found

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read(self, request_id: str, content: bytes) -> ChatReply:
        try:
            return _REPLY.validate_json(content)
        except ValidationError as cause:
            raise self._file.corrupt(f"the reply to {request_id[:12]}", cause) from cause


@contextmanager
def kept_replies(path: Path) -> Iterator[ReplyLog]:
    """A log of its own, where there is no run: for the length of the block, and on the disk at its end.

    Raises:
        StoreError: the file cannot be written.
    """
    commit = GroupCommit()
    replies = ReplyLog(path, commit, writable=True)
    try:
        yield replies
    finally:
        commit.close()
        replies.close()

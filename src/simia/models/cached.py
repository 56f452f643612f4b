"""Nothing is paid twice: replies by the content of their request, on disk before anybody reads them."""

import asyncio
from typing import Protocol

from simia.types import ChatModel, ChatReply, ChatRequest


class ReplyJournal(Protocol):
    """Where replies are kept. The store's run folder is one."""

    def get(self, request_id: str) -> ChatReply | None:
        """The reply to the request with this ``content_id``, or None."""
        ...

    async def put(self, request_id: str, reply: ChatReply) -> None:
        """Keep ``reply``; returns once it was handed to the operating system.

        Raises:
            StoreError: it could not be written.
        """
        ...


class CachedModel:
    """A model that is asked only what the journal cannot answer, and whose replies are kept before they are returned.

    Equal requests at the same time are asked once. Draws that should differ have different ``sampling.seed``.
    """

    def __init__(self, inner: ChatModel, journal: ReplyJournal) -> None:
        self._inner = inner
        self._journal = journal
        self._asking: dict[str, asyncio.Event | None] = {}

    @property
    def name(self) -> str:
        """The model's name."""
        return self._inner.name

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The kept reply, or a new one, kept.

        Raises:
            ModelError: as the inner model; errors are not kept.
            StoreError: the reply could not be kept.
        """
        request_id = request.content_id
        while True:
            kept = self._journal.get(request_id)
            if kept is not None:
                return kept
            if request_id not in self._asking:
                break
            event = self._asking[request_id]
            if event is None:
                event = self._asking[request_id] = asyncio.Event()
            await event.wait()
        self._asking[request_id] = None
        try:
            reply = await self._inner.complete(request)
            await self._journal.put(request_id, reply)
            return reply
        finally:
            waited_for = self._asking.pop(request_id)
            if waited_for is not None:
                waited_for.set()

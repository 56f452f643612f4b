"""Who was asked what on behalf of which episode: nothing that a model said is without its record."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from simia.errors import ModelError
from simia.store.calls import CallRecord
from simia.types import ChatModel, ChatReply, ChatRequest, Message

_episode: ContextVar[str] = ContextVar("simia_episode", default="")


class CallSink(Protocol):
    """Where records of calls go. The call log of a run is one."""

    def put(self, record: CallRecord, messages: tuple[Message, ...]) -> None:
        """Keep a record with the messages that it names."""
        ...


@contextmanager
def on_behalf_of(episode: str) -> Iterator[None]:
    """Every call of an audited model inside the block, in this task and those that it starts, is of ``episode``."""
    token = _episode.set(episode)
    try:
        yield
    finally:
        _episode.reset(token)


class AuditedModel:
    """A model that plays ``role`` and whose every call is recorded, also one that another episode had paid for.

    It stands outside of the cache. A model is shared by all episodes of a run, so which of them asks is known from the
    context, see :func:`on_behalf_of`.
    """

    def __init__(
        self, inner: ChatModel, role: str, sink: CallSink, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._inner = inner
        self._role = role
        self._sink = sink
        self._clock = clock

    @property
    def name(self) -> str:
        """The model's name."""
        return self._inner.name

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The answer, recorded.

        Raises:
            ModelError: as the inner model; that is recorded too, and so is that the time of the episode was over.
            StoreError: the record could not be written.
        """
        began = self._clock()
        try:
            reply = await self._inner.complete(request)
        except ModelError as error:
            self._record(request, ChatReply(text="", model=self.name), began, f"{type(error).__name__}: {error}")
            raise
        except asyncio.CancelledError:
            self._record(request, ChatReply(text="", model=self.name), began, "cancelled before there was an answer")
            raise
        self._record(request, reply, began)
        return reply

    def _record(self, request: ChatRequest, reply: ChatReply, began: float, error: str = "") -> None:
        record = CallRecord(
            episode=_episode.get(),
            role=self._role,
            model=reply.model,
            request=request.content_id,
            messages=tuple(message.content_id for message in request.messages),
            sampling=request.sampling,
            text=reply.text,
            reasoning=reply.reasoning,
            tool_calls=reply.tool_calls,
            finish_reason=reply.finish_reason if not error else "",
            usage=reply.usage,
            seconds=round(self._clock() - began, 4),
            error=error,
        )
        self._sink.put(record, request.messages)

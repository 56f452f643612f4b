"""The limit on requests in flight: it belongs to the endpoint, so it wraps the model."""

import asyncio
from collections import deque
from contextlib import suppress

from simia.errors import (
    ModelTimeout,
    PermanentModelError,
    RateLimited,
    TransientModelError,
)
from simia.models.adaptive import AdaptiveLimit, Sign, Start
from simia.types import ChatModel, ChatReply, ChatRequest

_Slot = tuple[Start, bool]
"""When a request started, and whether as a probe."""


class LimitedModel:
    """A model that has at most ``limit.current`` requests in flight; the others wait, first come, first served.

    During an outage only probes go out, a few a second, so the callers wait here instead of failing again and again,
    and are ready at once when it is over. Share one ``limit`` between models of one endpoint only within one wrapper.
    """

    def __init__(self, inner: ChatModel, limit: AdaptiveLimit | int) -> None:
        self._inner = inner
        self.limit = AdaptiveLimit(limit) if isinstance(limit, int) else limit
        self.in_flight = 0
        self._probes = 0
        self._waiting: deque[asyncio.Future[_Slot]] = deque()
        self._alarm: asyncio.TimerHandle | None = None

    @property
    def name(self) -> str:
        """The model's name."""
        return self._inner.name

    @property
    def waiting(self) -> int:
        """How many requests wait for their turn."""
        return len(self._waiting)

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The answer, when it is this request's turn.

        Raises:
            ModelError: as the inner model.
        """
        loop = asyncio.get_running_loop()
        start, is_probe = await self._turn(loop)
        sign: Sign | None = None
        retry_after_s: float | None = None
        try:
            reply = await self._inner.complete(request)
            sign = "answered"
            return reply
        except (RateLimited, ModelTimeout) as error:
            sign = "refused"
            retry_after_s = error.retry_after_s if isinstance(error, RateLimited) else None
            raise
        except TransientModelError:
            sign = "failed"
            raise
        except PermanentModelError:
            sign = "answered"
            raise
        finally:
            if sign is not None:
                self.limit.settle(start, sign, loop.time(), retry_after_s=retry_after_s)
            self._leave(loop, is_probe)

    async def _turn(self, loop: asyncio.AbstractEventLoop) -> _Slot:
        """Wait for a slot and take it."""
        if not self._waiting and self._has_room(loop):
            return self._take(loop)
        turn: asyncio.Future[_Slot] = loop.create_future()
        self._waiting.append(turn)
        self._admit(loop)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave(loop, turn.result()[1])
            else:
                with suppress(ValueError):  # whoever was woken before may have passed over it already
                    self._waiting.remove(turn)
            raise

    def _has_room(self, loop: asyncio.AbstractEventLoop) -> bool:
        if self.in_flight >= self.limit.ceiling:
            return False
        if self.limit.phase == "away":
            return self._probes < self.limit.probes and self.limit.probe_due(loop.time()) <= 0
        return self.in_flight < self.limit.current

    def _take(self, loop: asyncio.AbstractEventLoop) -> _Slot:
        is_probe = self.limit.phase == "away"
        self.in_flight += 1
        self._probes += is_probe
        return self.limit.start(loop.time()), is_probe

    def _leave(self, loop: asyncio.AbstractEventLoop, is_probe: bool) -> None:
        self.in_flight -= 1
        if is_probe:
            self._probes -= 1
        if self._waiting:
            self._admit(loop)

    def _admit(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting and self._has_room(loop):
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(self._take(loop))
        if self._waiting and self.limit.phase == "away" and self._alarm is None:
            wait_s = max(0.01, self.limit.probe_due(loop.time()))
            self._alarm = loop.call_later(wait_s, self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._alarm = None
        self._admit(loop)

"""The one place where a request is tried again."""

import asyncio
import random
from collections.abc import Callable

from simia.errors import RateLimited, TransientModelError
from simia.types import ChatModel, ChatReply, ChatRequest


class RetryingModel:
    """A model whose transient failures are tried again, for a time and not for a number of tries.

    A number of tries gives up in seconds while a server restarts; a time outlasts every outage shorter than it. The
    budget of a request begins at its first failure, so a slow first answer takes nothing from it.

    Delays double from ``first_s`` to ``longest_s``, each drawn between half and whole ("equal jitter"), so that
    requests that failed together do not come back together. ``Retry-After`` is waited for in full. Cancelling ends a
    wait at once.

    Args:
        retry_for_s: the budget; 0 never tries again.
        on_wait: told of each failure and the seconds until the next try.
    """

    def __init__(
        self,
        inner: ChatModel,
        *,
        retry_for_s: float = 900.0,
        first_s: float = 0.5,
        longest_s: float = 10.0,
        rng: random.Random | None = None,
        on_wait: Callable[[TransientModelError, float], None] | None = None,
    ) -> None:
        self._inner = inner
        self._retry_for_s = retry_for_s
        self._first_s = first_s
        self._longest_s = longest_s
        self._rng = rng or random.Random()
        self._on_wait = on_wait

    @property
    def name(self) -> str:
        """The model's name."""
        return self._inner.name

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The answer, after as many tries as the budget allows.

        Raises:
            TransientModelError: of the kind of the last failure, when the budget is used up.
            ModelError: whatever another try would not cure, at once.
        """
        loop = asyncio.get_running_loop()
        failures = 0
        began = 0.0
        while True:
            try:
                return await self._inner.complete(request)
            except TransientModelError as error:
                now = loop.time()
                began = began if failures else now
                failures += 1
                delay = self._delay(error, failures, began + self._retry_for_s - now)
                if delay is None:
                    raise type(error)(
                        f"{error} (given up after {failures} {'try' if failures == 1 else 'tries'} in "
                        f"{now - began:.0f} s; retry_for_s = {self._retry_for_s:g})"
                    ) from error
                if self._on_wait is not None:
                    self._on_wait(error, delay)
            await asyncio.sleep(delay)

    def _delay(self, error: TransientModelError, failures: int, left_s: float) -> float | None:
        """Seconds until the next try, the last of which falls on the end of the budget; None when it is over."""
        whole = min(self._longest_s, self._first_s * 2.0 ** min(failures - 1, 30))
        delay = whole * self._rng.uniform(0.5, 1.0)
        asked = error.retry_after_s if isinstance(error, RateLimited) else None
        if asked is not None:
            return asked + delay * 0.1 if asked <= left_s else None
        return min(delay, left_s) if left_s > 0 else None

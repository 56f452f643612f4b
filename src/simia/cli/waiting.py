"""What is said while requests wait for an endpoint that is away."""

import time
from collections.abc import Callable

from simia.cli.console import say
from simia.errors import TransientModelError

_LONG_S = 5.0
_EVERY_S = 30.0


class Waiting:
    """Says that requests are tried again: the first long wait at once, and then at most every half a minute with how
    many there were, since an endpoint that is away keeps hundreds waiting.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said_s: float | None = None
        self._unsaid = 0

    def __call__(self, error: TransientModelError, wait_s: float) -> None:
        """A request failed by ``error`` and is tried again in ``wait_s`` seconds."""
        if wait_s <= _LONG_S:
            return
        now = self._clock()
        if self._said_s is not None and now - self._said_s < _EVERY_S:
            self._unsaid += 1
            return
        others = f", and {self._unsaid:,} more since" if self._unsaid else ""
        say(f"trying again in {wait_s:.0f} s{others}: {error}")
        self._said_s, self._unsaid = now, 0

"""Money has a ceiling, and no number of requests in flight can pass it."""

import asyncio
from collections import deque

from simia.errors import CostCeilingReached


class CostCeiling:
    """Lets a request start only if everything spent, plus the most that those in flight can cost, fits under it.

    A request that would not fit now waits while others are in flight: they mostly cost far less than their most. It
    is refused when it would not fit even alone.
    """

    def __init__(self, max_cost: float, *, spent: float = 0.0) -> None:
        self.max_cost = max_cost
        self.spent = spent
        self.reserved = 0.0
        self._holders = 0
        self._waiting: deque[tuple[float, asyncio.Future[None]]] = deque()

    async def reserve(self, most: float) -> None:
        """Set ``most`` US dollars aside.

        Raises:
            CostCeilingReached: they do not fit under the ceiling.
        """
        if not self._waiting and self._fits(most):
            self._hold(most)
            return
        self._refuse_if_hopeless(most)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((most, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.settle(most, self.spent)
            raise

    def settle(self, most: float, spent: float) -> None:
        """Give a reservation back. ``spent`` is what the whole run has cost by now."""
        self.spent = spent
        self._holders -= 1
        # Sums of floats drift; with nobody in flight the truth is known.
        self.reserved = self.reserved - most if self._holders else 0.0
        while self._waiting:
            wanted, turn = self._waiting[0]
            if turn.done():
                self._waiting.popleft()
            elif self._fits(wanted):
                self._waiting.popleft()
                self._hold(wanted)
                turn.set_result(None)
            elif self.spent + wanted > self.max_cost:
                self._waiting.popleft()
                turn.set_exception(self._reached(wanted))
            else:
                return

    def _fits(self, most: float) -> bool:
        return self.spent + self.reserved + most <= self.max_cost

    def _hold(self, most: float) -> None:
        self.reserved += most
        self._holders += 1

    def _refuse_if_hopeless(self, most: float) -> None:
        if self.spent + most > self.max_cost:
            raise self._reached(most)

    def _reached(self, most: float) -> CostCeilingReached:
        return CostCeilingReached(
            f"${self.spent:.4f} of max_cost = ${self.max_cost:g} are spent, and the next request could cost "
            f"${most:.4f}: resume with a higher --max-cost; what was paid is on disk"
        )

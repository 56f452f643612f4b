"""How many requests an endpoint takes at a time, learned from its answers. Pure: time is an argument.

Additive increase, multiplicative decrease, at most one change per round-trip window, with three deviations from the
textbook, each for a reason that a synthesis run meets:

- The decrease is in proportion to the share of requests that was refused in the window, as in DCTCP (RFC 8257,
  section 3.3: ``1 - share / 2``). Halving at each sign of trouble makes a run crawl under a few random 429s.
- Failures that say nothing about load (5xx, a broken connection, a cut body) count only beyond a quarter of the window:
  a server that fails at random is not helped by fewer requests.
- A row of failures without one success is an outage, not congestion. Then only a few probes go out, and after it the
  limit comes back from a quarter of the last good one by doubling at each success (slow start, with the last good
  limit as its threshold). Additive increase from one would need minutes.
"""

import math
from typing import Literal

Sign = Literal["answered", "refused", "failed"]
"""What one settled request says: the server answered; it is overloaded (429 or no answer in time); it failed."""

Phase = Literal["steady", "away", "returning"]

_TOLERATED_SHARE = 0.25
_OUTAGE_ROW = 8
_RELAPSE_ROW = 3
_STEPS_TO_CEILING = 50
_LATENCY_WEIGHT = 0.1
_SHORTEST_WINDOW_S = 0.05
_PROBE_EVERY_S = 0.25
_LONGEST_PAUSE_S = 30.0


class AdaptiveLimit:
    """The number of requests that may be in flight, between 1 and ``ceiling``; it begins at ``ceiling``.

    ``phase`` is ``steady``, or ``away`` during an outage, or ``returning`` after one.
    """

    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self.phase: Phase = "steady"
        self._limit = float(ceiling)
        self._good = float(ceiling)
        self._step = max(1.0, ceiling / _STEPS_TO_CEILING)
        self._latency_s = 0.0
        self._window_ends = -math.inf
        self._settled = self._refused = self._failed = 0
        self._row = self._refused_row = 0
        self._away_since = 0.0
        self._next_probe = 0.0

    @property
    def current(self) -> int:
        """How many requests may be in flight now."""
        return max(1, int(self._limit))

    @property
    def probes(self) -> int:
        """How many probes may be out at a time during an outage.

        More than one, because the first answer after an outage takes as long as any other answer.
        """
        return max(2, min(25, math.ceil(self._good / 8)))

    def probe_due(self, now: float) -> float:
        """Seconds until the next probe may start; 0 or less if now."""
        return self._next_probe - now

    def probe_started(self, now: float) -> None:
        """Note the start of a probe."""
        self._next_probe = now + _PROBE_EVERY_S

    def settled(self, sign: Sign, *, started: float, now: float, retry_after_s: float | None = None) -> None:
        """Note the end of a request that started at ``started``."""
        if sign == "answered":
            self._answered(started, now)
        else:
            self._went_wrong(sign, started, now, retry_after_s)
        if self.phase == "steady" and now >= self._window_ends:
            self._close_window(now)

    def _answered(self, started: float, now: float) -> None:
        self._row = self._refused_row = 0
        self._settled += 1
        latency = now - started
        self._latency_s += (latency - self._latency_s) * (_LATENCY_WEIGHT if self._latency_s else 1.0)
        # Answers to what was sent before the outage still arrive in it and prove nothing.
        if self.phase == "steady" or started < self._away_since:
            return
        if self.phase == "away":
            self.phase = "returning"
            self._limit = max(1.0, self._good / 4)
        else:
            self._limit = min(self._good, self._limit * 2)
        if self._limit >= self._good:
            self._steady(now)

    def _went_wrong(self, sign: Sign, started: float, now: float, retry_after_s: float | None) -> None:
        self._settled += 1
        self._row += 1
        if sign == "refused":
            self._refused += 1
            self._refused_row += 1
        else:
            self._failed += 1
        if self.phase == "away":
            if retry_after_s is not None:
                self._next_probe = max(self._next_probe, now + min(retry_after_s, _LONGEST_PAUSE_S))
        elif self.phase == "returning":
            if self._row >= _RELAPSE_ROW and started >= self._away_since:
                self._go_away(now)
        elif self._row >= _OUTAGE_ROW:
            # A server that refuses everything was sent too much; one that fails may be as good as before.
            self._good = max(1.0, self._limit / 2) if self._refused_row > self._row / 2 else self._limit
            self._go_away(now)

    def _go_away(self, now: float) -> None:
        self.phase = "away"
        self._limit = 1.0
        self._away_since = now
        self._next_probe = now + _PROBE_EVERY_S

    def _steady(self, now: float) -> None:
        self.phase = "steady"
        self._open_window(now)

    def _open_window(self, now: float) -> None:
        self._settled = self._refused = self._failed = 0
        self._window_ends = now + max(_SHORTEST_WINDOW_S, self._latency_s)

    def _close_window(self, now: float) -> None:
        if self._window_ends == -math.inf and self._settled < _OUTAGE_ROW:
            return
        refused = self._refused / self._settled
        share = min(1.0, refused + max(0.0, self._failed / self._settled - _TOLERATED_SHARE))
        if share > 0:
            self._limit = max(1.0, self._limit * (1 - share / 2))
        else:
            self._limit = min(float(self.ceiling), self._limit + self._step)
        self._open_window(now)

"""How many requests an endpoint takes at a time, learned from its answers. Pure: time is an argument.

Additive increase (a fiftieth of the ceiling), multiplicative decrease, once per round-trip window, with three
deviations from the textbook, each for a reason that a synthesis run meets:

- The decrease is in proportion to the share of requests that was refused in the window, as in DCTCP (RFC 8257,
  section 3.3: ``1 - share / 2``). Halving at each sign of trouble makes a run crawl under a few random 429s; this
  way one in twenty-five may be refused before the limit leaves the ceiling.
- Failures that say nothing about load (5xx, a broken connection, a cut body) count only beyond a quarter of the window:
  a server that fails at random is not helped by fewer requests.
- When nearly everything that was started last has failed, it is an outage, not congestion. Then only a few probes go
  out, and after it the limit comes back from a quarter of the last good one by doubling at each success (slow start,
  with the last good limit as its threshold). Additive increase from one would need minutes.

Failures come at once and answers late, so a row of failures proves nothing where a second ago two hundred requests were
started: what counts is the share of failures among the newest *starts*, in which a pending request is no failure.
"""

import math
from typing import Literal, NamedTuple

Sign = Literal["answered", "refused", "failed"]
"""What one settled request says: the server answered; it is overloaded (429 or no answer in time); it failed."""

Phase = Literal["steady", "away", "returning"]

_TOLERATED_SHARE = 0.25
_NEWEST = 16
_FEWEST = 8
_OUTAGE_SHARE = 0.9
_SILENCE_LATENCIES = 2.0
_STEPS_TO_CEILING = 50
_LATENCY_WEIGHT = 0.1
_SHORTEST_WINDOW_S = 0.05
_PROBE_EVERY_S = 0.25
_LONGEST_PAUSE_S = 30.0


class Start(NamedTuple):
    """The start of one request, to be given back when it settles."""

    number: int
    at: float


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
        self._row = 0
        self._last_answer = math.inf
        self._starts = 0
        self._first_judged = 0
        self._newest = bytearray(_NEWEST)
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
        return min(self.ceiling, max(2, min(25, math.ceil(self._good / 8))))

    def probe_due(self, now: float) -> float:
        """Seconds until the next probe may start; 0 or less if now."""
        return self._next_probe - now

    def start(self, now: float) -> Start:
        """Note the start of a request."""
        number = self._starts
        self._starts += 1
        self._newest[number % _NEWEST] = 0
        if self.phase == "away":
            self._next_probe = now + _PROBE_EVERY_S
        if self._last_answer == math.inf:
            self._last_answer = now
        return Start(number, now)

    def settle(self, start: Start, sign: Sign, now: float, *, retry_after_s: float | None = None) -> None:
        """Note how a request ended."""
        self._settled += 1
        if sign == "answered":
            self._answered(start, now)
        else:
            self._went_wrong(start, sign, now, retry_after_s)
        if self.phase == "steady" and now >= self._window_ends:
            self._close_window(now)

    def _answered(self, start: Start, now: float) -> None:
        self._row = 0
        self._last_answer = now
        latency = now - start.at
        self._latency_s += (latency - self._latency_s) * (_LATENCY_WEIGHT if self._latency_s else 1.0)
        # Answers to what was sent before the outage still arrive in it and prove nothing.
        if self.phase == "steady" or start.at < self._away_since:
            return
        if self.phase == "away":
            self.phase = "returning"
            self._limit = max(1.0, self._good / 4)
            self._first_judged = self._starts
            self._newest = bytearray(_NEWEST)
        else:
            self._limit = min(self._good, self._limit * 2)
        if self._limit >= self._good:
            self.phase = "steady"
            self._open_window(now)

    def _went_wrong(self, start: Start, sign: Sign, now: float, retry_after_s: float | None) -> None:
        self._row += 1
        if sign == "refused":
            self._refused += 1
        else:
            self._failed += 1
        if start.number >= max(self._first_judged, self._starts - _NEWEST):
            self._newest[start.number % _NEWEST] = 1
        if self.phase == "away":
            if retry_after_s is not None:
                self._next_probe = max(self._next_probe, now + min(retry_after_s, _LONGEST_PAUSE_S))
        elif self._newest_failed() or self._is_silent(now):
            if self.phase == "steady":
                # A server that refuses everything was sent too much; one that fails may be as good as before.
                self._good = max(1.0, self._limit / 2) if self._refused > self._failed else self._limit
            self.phase = "away"
            self._limit = 1.0
            self._away_since = now
            self._next_probe = now + _PROBE_EVERY_S

    def _newest_failed(self) -> bool:
        """Whether nearly all of the newest starts have failed by now."""
        judged = min(_NEWEST, self._starts - self._first_judged)
        return judged >= _FEWEST and self._newest.count(1) >= _OUTAGE_SHARE * judged

    def _is_silent(self, now: float) -> bool:
        """Whether failures that take as long as answers came in a row for longer than an answer takes."""
        silent_s = now - self._last_answer
        if self._latency_s:
            return self._row >= _FEWEST and silent_s > _SILENCE_LATENCIES * self._latency_s
        return self._row >= max(_FEWEST, self.ceiling)

    def _open_window(self, now: float) -> None:
        self._settled = self._refused = self._failed = 0
        self._window_ends = now + max(_SHORTEST_WINDOW_S, self._latency_s)

    def _close_window(self, now: float) -> None:
        # Refusals come at once and answers late, so the share is of what a whole window would have settled.
        asked = max(self._settled, self.current)
        share = min(1.0, self._refused / asked + max(0.0, self._failed / asked - _TOLERATED_SHARE))
        self._limit = min(float(self.ceiling), max(1.0, self._limit * (1 - share / 2) + self._step))
        self._open_window(now)

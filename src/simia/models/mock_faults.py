"""What goes wrong at the mock endpoint, and when: latency, random faults, a scheduled outage."""

import math
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from simia.errors import ConfigError

FaultKind = Literal["429", "500", "stall", "cut", "truncated"]
FAULT_KINDS: tuple[FaultKind, ...] = ("429", "500", "stall", "cut", "truncated")
"""Too many requests with Retry-After; server error; no answer at all; the connection closed in the middle of the body;
half the JSON with a status of 200 and a right length."""

_DEFAULT_SIGMA = 0.5


@dataclass(frozen=True, slots=True)
class Latency:
    """How long an answer takes: always ``mean_s``, or log-normal around it with the shape ``sigma``."""

    mean_s: float = 0.0
    sigma: float | None = None

    @classmethod
    def read(cls, text: str) -> "Latency":
        """``0``, ``fixed:0.1``, ``lognormal:2.0`` (mean in seconds) or ``lognormal:2.0:0.8`` (and sigma).

        Raises:
            ConfigError: the text is none of these.
        """
        kind, _, rest = text.partition(":")
        try:
            if kind == "lognormal":
                mean, _, sigma = rest.partition(":")
                latency = cls(float(mean), float(sigma) if sigma else _DEFAULT_SIGMA)
            else:
                latency = cls(float(rest if kind == "fixed" else text))
        except ValueError:
            latency = cls(-1.0)
        if latency.mean_s < 0 or (latency.sigma is not None and latency.mean_s == 0):
            raise ConfigError(f"latency {text!r} is unknown: write 0, fixed:SECONDS or lognormal:MEAN[:SIGMA]")
        return latency

    def draw(self, rng: random.Random) -> float:
        """Seconds until the answer."""
        if self.sigma is None:
            return self.mean_s
        return rng.lognormvariate(math.log(self.mean_s) - self.sigma**2 / 2, self.sigma)


@dataclass(frozen=True, slots=True)
class Outage:
    """The endpoint is away from ``start_s`` for ``length_s``, counted from the first request.

    ``kind``: ``500`` answers every request with that status at once; ``down`` breaks every connection.
    """

    start_s: float
    length_s: float
    kind: Literal["500", "down"] = "500"

    @classmethod
    def read(cls, text: str) -> "Outage":
        """``START:LENGTH`` or ``START:LENGTH:down``, in seconds.

        Raises:
            ConfigError: the text is neither.
        """
        parts = text.split(":")
        kind = parts[2] if len(parts) == 3 else "500"
        try:
            start, length = float(parts[0]), float(parts[1])
        except (ValueError, IndexError):
            start = length = -1.0
        if start < 0 or length < 0 or len(parts) > 3 or kind not in ("500", "down"):
            raise ConfigError(f"outage {text!r} is unknown: write START:LENGTH or START:LENGTH:down, in seconds")
        return cls(start, length, "down" if kind == "down" else "500")

    def covers(self, elapsed_s: float) -> bool:
        """Whether the endpoint is away at this time."""
        return self.start_s <= elapsed_s < self.start_s + self.length_s


@dataclass(slots=True)
class Faults:
    """Random faults: each request meets one with probability ``rate``, of a kind drawn evenly from ``kinds``.

    Drawn in order of arrival from ``seed``, so a request that is tried again meets a new draw.
    """

    rate: float = 0.0
    kinds: tuple[FaultKind, ...] = FAULT_KINDS
    seed: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    rng: random.Random = field(init=False)

    def __post_init__(self) -> None:
        if not 0 <= self.rate <= 1 or not self.kinds:
            raise ConfigError(f"fault rate {self.rate} is out of range: use 0 to 1, with at least one kind")
        self.rng = random.Random(self.seed)

    def draw(self) -> FaultKind | None:
        """The fault of the next request, counted, or None."""
        if self.rate == 0 or self.rng.random() >= self.rate:
            return None
        kind = self.kinds[int(self.rng.random() * len(self.kinds))]
        self.counts[kind] += 1
        return kind


def read_kinds(text: str) -> tuple[FaultKind, ...]:
    """Fault kinds from a list with commas.

    Raises:
        ConfigError: a word is no kind.
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    known = [kind for word in words for kind in FAULT_KINDS if kind == word]
    if len(known) != len(words) or not known:
        raise ConfigError(f"fault kinds {text!r}: use some of {', '.join(FAULT_KINDS)}")
    return tuple(known)

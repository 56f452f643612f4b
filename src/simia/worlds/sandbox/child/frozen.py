"""The clock and the randomness that strange code gets: both are the same whenever the same is asked of it.

The clock stands still at a given moment, in UTC; ``sleep`` returns at once. What is random, ``uuid`` and ``secrets``
included, follows from the seed of the request, so a request that is made twice draws the same, and two that differ draw
differently. This is for honest code. Code that means to finds the real clock; it is no wall.
"""

import os
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

_CLOCKS = ("clock_gettime", "monotonic", "perf_counter", "process_time", "thread_time", "time")
_NODE = 0x020000000001


def freeze(now: float) -> Callable[[int], None]:
    """Freeze both, before ``datetime``, ``random``, ``uuid`` and what uses them are imported for the first time.

    Gives the function that begins a request, by its seed.
    """
    _freeze_clock(now)
    return _freeze_randomness()


def _freeze_clock(now: float) -> None:
    # The C implementation of datetime asks the kernel. The one in Python asks the module time.
    modules: dict[str, Any] = sys.modules
    modules["_datetime"] = None
    local, universal, text, formatted = time.localtime, time.gmtime, time.asctime, time.strftime
    time.tzset()
    local(now)  # reads the time zone now: later it could not

    def at(seconds: float | None) -> float:
        return now if seconds is None else seconds

    _patch(
        time,
        {name: lambda *_: now for name in _CLOCKS}
        | {f"{name}_ns": lambda *_: int(now * 10**9) for name in _CLOCKS}
        | {
            "sleep": lambda _: None,
            "localtime": lambda seconds=None: local(at(seconds)),
            "gmtime": lambda seconds=None: universal(at(seconds)),
            "ctime": lambda seconds=None: text(local(at(seconds))),
            "asctime": lambda moment=None: text(local(now) if moment is None else moment),
            "strftime": lambda form, moment=None: formatted(form, local(now) if moment is None else moment),
        },
    )


def _freeze_randomness() -> Callable[[int], None]:
    _patch(os, {"urandom": lambda size: entropy.randbytes(size)})  # before random and uuid take it
    import random

    plain = random.Random.seed

    def seed(generator: random.Random, value: Any = None, version: int = 2) -> None:
        """As the original, but a generator without a seed gets one that follows from the request."""
        plain(generator, entropy.getrandbits(256) if value is None else value, version)

    entropy: random.Random = random.Random(0)
    _patch(random.Random, {"seed": seed})
    shared: random.Random = vars(random)["_inst"]
    _patch(random, {"seed": shared.seed})
    import uuid

    _patch(uuid, {"_generate_time_safe": None, "_UuidCreate": None, "_node": _NODE, "getnode": lambda: _NODE})
    counters = [name for name in vars(uuid) if name.startswith("_last_timestamp")]

    def begin(number: int) -> None:
        plain(shared, number)
        plain(entropy, number + 1)
        _patch(uuid, dict.fromkeys(counters))

    return begin


def _patch(place: ModuleType | type, values: dict[str, Any]) -> None:
    for name, value in values.items():
        setattr(place, name, value)

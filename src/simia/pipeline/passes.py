"""A stage that waits for nothing: one streaming pass, without an event loop."""

import asyncio
from collections.abc import Iterable, Sized
from typing import TypeVar

from simia.errors import FormatError, SimiaError, boundary
from simia.pipeline.fate import FATAL, Tally, check_order, failure
from simia.pipeline.item import Item, Pass
from simia.pipeline.observer import Observer, Silent
from simia.store import Counts, Stream
from simia.types import Outcome, Value

T = TypeVar("T")
V = TypeVar("V", bound=Value)


def run_pass(
    name: str,
    judge: Pass[T, V],
    items: Iterable[Item[T]],
    stream: Stream,
    *,
    observer: Observer | None = None,
    stop: asyncio.Event | None = None,
    total: int | None = None,
) -> Counts:
    """Take every item of ``items`` through ``judge``, one after another, and write each outcome to ``stream``.

    The laws are those of ``run_stage``, but writes are buffered: what a killed pass has not committed is made again.

    Raises:
        SimiaError: one of ``FATAL``, or what the source raised; after everything before it is on the disk.
    """
    if total is None and isinstance(items, Sized):
        total = len(items)
    observer = observer or Silent()
    observer.started(name, total, stream.counts())
    tally = Tally()
    interrupted = False
    last = -1
    try:
        for item in items:
            if stop is not None and stop.is_set():
                interrupted = True
                break
            check_order(item.ordinal, last, name)
            last = item.ordinal
            if stream.is_done(item.ordinal):
                tally.seen += 1
                tally.add_done(stream, item.ordinal)
                continue
            outcome = _judged(name, judge, item)
            try:
                stream.append_now(item.ordinal, item.key, outcome)
            except FormatError as error:
                outcome = failure(error)
                stream.append_now(item.ordinal, item.key, outcome)
            tally.seen += 1
            tally.add(outcome)
            observer.settled(name, item.key, outcome)
    finally:
        stream.commit_now()
    counts = tally.counts(abandoned=0, interrupted=interrupted)
    observer.finished(name, counts)
    return counts


def _judged(name: str, judge: Pass[T, V], item: Item[T]) -> Outcome[V] | Outcome[bytes]:
    try:
        with boundary(SimiaError, f"take {item.key!r} through {name}"):
            return judge(item)
    except FATAL:
        raise
    except SimiaError as error:
        return failure(error)

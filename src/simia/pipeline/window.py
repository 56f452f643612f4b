"""A stage over many items at once: a sliding window on asyncio."""

import asyncio
from collections.abc import Iterable, Iterator, Sized
from typing import Any, Generic, TypeVar

from simia.errors import FormatError, SimiaError, boundary
from simia.pipeline.fate import FATAL, Tally, check_order, failure
from simia.pipeline.item import Item, Stage
from simia.pipeline.observer import Observer, Silent
from simia.store import Counts, Stream
from simia.types import Outcome, Value

T = TypeVar("T")
V = TypeVar("V", bound=Value)

_SKIPS_AT_A_TIME = 256


async def run_stage(
    stage: Stage[T, V],
    items: Iterable[Item[T]],
    stream: Stream,
    *,
    in_flight: int,
    observer: Observer | None = None,
    stop: asyncio.Event | None = None,
    grace_s: float = 20.0,
    total: int | None = None,
) -> Counts:
    """Take every item of ``items`` through ``stage``, ``in_flight`` at a time, and write each outcome to ``stream``.

    The source is read as places become free and is never held. Items that the stream has as kept or dropped are
    skipped, failed ones run again. Each item gets exactly one outcome; an error of the stage is the item's failure,
    also a foreign one, so that one odd item never ends a run of a million. When ``stop`` is set, no new items are
    taken, those in flight may finish for ``grace_s`` and are then given up. Everything is on the disk at the end.

    ``in_flight`` workers draw from the one iterator: a worker costs less than a task for each item.

    Returns:
        The counts over all items that were drawn, with those of earlier runs.

    Raises:
        SimiaError: one of :data:`FATAL`, or what the source raised; after everything in flight is settled.
    """
    if total is None and isinstance(items, Sized):
        total = len(items)
    window = _Window(stage, iter(items), stream, observer or Silent())
    window.observer.started(stage.name, total, stream.counts())
    if stop is not None and stop.is_set():
        window.stop()
    workers = [asyncio.create_task(window.work(), name=f"{stage.name}-{n}") for n in range(max(1, in_flight))]
    try:
        await _until_done(window, workers, stop, grace_s)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    await stream.commit()
    if window.error is not None:
        raise window.error
    interrupted = window.interrupted or window.abandoned > 0
    counts = window.tally.counts(abandoned=window.abandoned, interrupted=interrupted)
    window.observer.finished(stage.name, counts)
    return counts


class _Window(Generic[T, V]):
    def __init__(self, stage: Stage[T, V], items: Iterator[Item[T]], stream: Stream, observer: Observer) -> None:
        self.observer = observer
        self.tally = Tally()
        self.error: SimiaError | None = None
        self.interrupted = False
        self.busy = 0
        self.abandoned = 0
        self._stage = stage
        self._items = items
        self._stream = stream
        self._last = -1
        self._open = True

    async def work(self) -> None:
        """Take items until there are none."""
        while True:
            item = self._draw()
            if item is None:
                if not self._open:
                    return
                await asyncio.sleep(0)
                continue
            self.busy += 1
            settled = False
            try:
                settled = await self._settle(item)
            finally:
                self.busy -= 1
                self.abandoned += not settled

    def stop(self) -> None:
        """Take no new items, because somebody asked for it."""
        self.interrupted = self._open
        self.close("a stop was asked for")

    def close(self, reason: str) -> None:
        """Take no new items."""
        if self._open:
            self._open = False
            if self.busy:
                self.observer.waiting(self._stage.name, self.busy, reason)

    def _draw(self) -> Item[T] | None:
        """The next item that is not done; None if there is none, or after many done ones, to let others run."""
        skipped = 0
        while self._open and skipped < _SKIPS_AT_A_TIME:
            try:
                with boundary(SimiaError, "read the next item"):
                    item = next(self._items, None)
                if item is None:
                    self._open = False
                    return None
                check_order(item.ordinal, self._last, self._stage.name)
            except SimiaError as error:
                self._fail(error)
                return None
            self._last = item.ordinal
            self.tally.seen += 1
            if not self._stream.is_done(item.ordinal):
                return item
            self.tally.add_done(self._stream, item.ordinal)
            skipped += 1
        return None

    async def _settle(self, item: Item[T]) -> bool:
        """Whether the item has an outcome."""
        outcome: Outcome[V]
        try:
            with boundary(SimiaError, f"take {item.key!r} through {self._stage.name}"):
                outcome = await self._stage(item)
        except FATAL as error:
            self._fail(error)
            return False
        except SimiaError as error:
            outcome = failure(error)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            outcome = failure(SimiaError("something that the stage waited for was cancelled"))
        try:
            try:
                await self._stream.append(item.ordinal, item.key, outcome)
            except FormatError as error:
                outcome = failure(error)
                await self._stream.append(item.ordinal, item.key, outcome)
        except SimiaError as error:
            self._fail(error)
            return False
        self.tally.add(outcome)
        self.observer.settled(self._stage.name, item.key, outcome)
        return True

    def _fail(self, error: SimiaError) -> None:
        if self.error is None:
            self.error = error
        self.close(str(error))


async def _until_done(
    window: _Window[T, V], workers: list[asyncio.Task[None]], stop: asyncio.Event | None, grace_s: float
) -> None:
    everything: asyncio.Future[list[None]] = asyncio.gather(*workers)
    # Given up, it ends with a CancelledError that nobody awaits: unread, the loop would complain about it.
    everything.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    if stop is None:
        await everything
        return
    stopped: asyncio.Future[Any] = asyncio.create_task(stop.wait())
    try:
        ends: set[asyncio.Future[Any]] = {everything, stopped}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if everything.done():
            await everything
            return
        window.stop()
        await asyncio.wait({everything}, timeout=grace_s)
        if everything.done():
            await everything
    finally:
        stopped.cancel()
        everything.cancel()

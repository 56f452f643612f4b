"""Ctrl-C: the first ends a run cleanly, the second at once."""

import asyncio
import gc
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from simia.cli.console import say

T = TypeVar("T")


class Aborted(BaseException):
    """The second Ctrl-C. No error of the program, so nothing that handles errors may catch it."""


def run_until_stopped(work: Callable[[asyncio.Event], Coroutine[Any, Any, T]]) -> T:
    """What ``work`` returns. It gets the event that asks it to stop.

    SIGTERM counts as the first Ctrl-C: that is how batch systems ask.

    Raises:
        Aborted: a second signal came; what was acknowledged is on disk.
    """

    async def main() -> T:
        stop = asyncio.Event()
        task = asyncio.create_task(work(stop))
        with _signals(stop, task) as state:
            try:
                return await task
            except asyncio.CancelledError:
                if state.signals > 1:
                    raise Aborted from None
                raise

    return run_loop(main())


class _State:
    signals = 0


@contextmanager
def _signals(stop: asyncio.Event, task: "asyncio.Task[Any]") -> Iterator[_State]:
    """Python's own handlers, not the loop's: a pass without ``await`` never lets the loop call its handlers."""
    state = _State()
    loop = asyncio.get_running_loop()

    def on_signal(number: int, frame: FrameType | None) -> None:
        state.signals += 1
        if state.signals == 1:
            say("stopping: what is in flight has 20 s to finish; Ctrl-C again to stop at once")
            stop.set()
        else:
            # What is torn down by force need not report what it was waiting for.
            loop.set_exception_handler(lambda loop, context: None)
            if asyncio.current_task(loop) is task:
                raise Aborted  # a pass without ``await`` never comes to where a cancellation is noticed
            task.cancel()
        # Both calls above schedule; a sleeping loop must wake up to see it.
        loop.call_soon_threadsafe(lambda: None)

    with signals_to(on_signal):
        yield state


@contextmanager
def signals_to(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM go to ``handler`` while the block runs. Nothing changes outside of the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {sign: signal.signal(sign, handler) for sign in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for sign, former in before.items():
            signal.signal(sign, former)


def run_loop(work: Coroutine[Any, Any, T]) -> T:
    """What ``work`` returns, on uvloop: it costs half of asyncio's own loop per request.

    What was imported lives as long as the process: frozen, the garbage collector need not look through it again and
    again. And it looks less often, because a run makes many objects and hardly a cycle.
    """
    import uvloop  # not before a run: it takes longer to import than most commands to answer

    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    return uvloop.run(work)

"""An event loop in a thread of its own, for callers that are not asynchronous, such as trainers."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")


class LoopThread:
    """A context manager: inside, :meth:`run` gives what a coroutine returns, on one loop for all of them.

    Everything that belongs to a loop, such as the connections of a model, must be opened and closed through it. It
    works where a loop runs already in the calling thread, as in a notebook, which ``asyncio.run`` does not.
    """

    def __init__(self, name: str = "simia") -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What ``work`` returns or raises; an interrupt of the caller cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        finally:
            future.cancel()  # where the caller was interrupted; what is done stays as it is

    @contextmanager
    def opened(self, resource: AbstractAsyncContextManager[T]) -> Iterator[T]:
        """``resource``, opened and closed on the loop, for the length of a ``with`` block."""
        stack = AsyncExitStack()
        value = self.run(stack.enter_async_context(resource))
        try:
            yield value
        finally:
            self.run(stack.aclose())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async def last() -> None:
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self.run(last())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

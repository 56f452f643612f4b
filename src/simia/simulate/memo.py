"""One answer for a whole group of episodes: whoever makes the same call in the same state is told the same."""

import asyncio
from collections import Counter
from collections.abc import Callable
from weakref import WeakValueDictionary

from simia.errors import SimulatorError
from simia.types import (
    AssistantMessage,
    Dynamics,
    JsonObject,
    Message,
    ToolMessage,
    Transition,
    TransitionQuery,
    content_id,
)


class Memo:
    """A ``Dynamics`` that asks ``inner`` once for each call in each state. It lives as long as one group of episodes.

    The members of a group are compared with each other (GRPO, arXiv 2402.03300), so their rewards may differ by what
    the agent did and not by how a simulator was in the mood to answer. Two that ask at the same time are asked for
    once: the second waits, and asks itself if the first fails or is cancelled. What failed is not remembered.

    It stands directly around the simulator. Programmed faults stand around it: they are drawn for one member.

    ``hits`` counts the calls that were answered from memory, ``asked`` those that ``inner`` was asked for.
    """

    def __init__(self, inner: Dynamics, again: Callable[[int], Dynamics] | None = None) -> None:
        self.hits = 0
        self.asked = 0
        self._inner = inner
        self._again = again
        self._failures: Counter[str] = Counter()
        self._known: dict[str, Transition] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def transition(self, query: TransitionQuery) -> Transition:
        """What the call in ``query`` shows and changes, as it was answered the first time.

        Raises:
            SimulatorError: there is no admissible answer.
        """
        key = _key(query)
        known = self._known.get(key)
        if known is None:
            lock = self._locks.get(key)
            if lock is None:
                lock = self._locks[key] = asyncio.Lock()
            async with lock:
                known = self._known.get(key)
                if known is None:
                    self.asked += 1
                    answer = await self._answered(key, query)
                    self._known[key] = answer.model_copy(update={"remembered": True})
                    return answer
        self.hits += 1
        return known

    async def _answered(self, key: str, query: TransitionQuery) -> Transition:
        failed = self._failures[key]
        asked = self._inner if self._again is None or not failed else self._again(failed)
        try:
            return await asked.transition(query)
        except SimulatorError:
            self._failures[key] += 1
            raise


def _key(query: TransitionQuery) -> str:
    """What makes two questions the same one. Where a state is tracked, how it came about does not count; where none is,
    what the simulator has shown so far stands for it.
    """
    call, world = query.call, query.world
    parts: list[object] = [world.content_id, call.name, call.arguments, query.state]
    # A state without a schema is not tracked: it stays the initial one, whatever the calls so far have changed.
    if query.state is None or world.state_schema is None:
        parts.append(_shown(query.history))
    return content_id(parts)


def _shown(history: tuple[Message, ...]) -> list[object]:
    """The calls that were answered, with the answers and without ids, in the order of the answers."""
    called: dict[str, tuple[str, JsonObject]] = {}
    shown: list[object] = []
    for message in history:
        if isinstance(message, AssistantMessage):
            called.update((call.id, (call.name, call.arguments)) for call in message.tool_calls)
        elif isinstance(message, ToolMessage) and message.call_id in called:
            shown.append([*called[message.call_id], message.content, message.is_error])
    return shown

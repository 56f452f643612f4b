"""A model that answers from a script: the double that tests and rehearsals use."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

import orjson

from simia.types import ChatReply, ChatRequest

Answer = ChatReply | str | dict[str, Any] | list[Any] | Exception
"""A whole reply, or its text, or JSON that becomes its text, or an error to raise."""


class ScriptedModel:
    """A model that gives the next answer of a list, or what a function of the request gives.

    ``requests`` holds what was asked, in order. A function may be async, and may raise. A list that is used up is an
    error of the test: it raises ``IndexError`` and does not start again.
    """

    def __init__(
        self,
        script: Iterable[Answer] | Callable[[ChatRequest], Answer | Awaitable[Answer]],
        *,
        name: str = "scripted",
    ) -> None:
        self._name = name
        self._function = script if callable(script) else None
        self._answers: Iterator[Answer] = iter(()) if callable(script) else iter(script)
        self.requests: list[ChatRequest] = []

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The next answer of the script."""
        self.requests.append(request)
        if self._function is None:
            try:
                answer: Any = next(self._answers)
            except StopIteration:
                raise IndexError(f"the script has no answer for request {len(self.requests)}") from None
        else:
            answer = self._function(request)
            if isinstance(answer, Awaitable):
                answer = await answer
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, ChatReply):
            return answer
        text = answer if isinstance(answer, str) else orjson.dumps(answer).decode()
        return ChatReply(text=text, model=self._name)

"""Several questions at once, and one plain error where one of them fails."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def together(questions: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The answers, in the order of the questions.

    Raises:
        Exception: what the first of them to fail raised, as it is and in no group; the others are cancelled.
    """
    failed: BaseException | None = None
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(question) for question in questions]
    except BaseExceptionGroup as several:
        failed = several.exceptions[0]
    if failed is not None:
        raise failed
    return [task.result() for task in tasks]

"""Who speaks to the agent. Here: a program that says the task once. A language model does it in ``task_user``."""

from typing import Protocol

from simia.simulate import UserTurn
from simia.types import Message, Task


class User(Protocol):
    """Speaks for the user of one episode."""

    async def next(self, messages: tuple[Message, ...]) -> UserTurn:
        """What the user says after ``messages``, which are empty at first, or that the user leaves.

        Raises:
            SimulatedUserError: the simulator of the user has no admissible answer.
            ModelError: nobody answered.
        """
        ...


class OneRequest:
    """A program that says the task once and leaves as soon as the agent speaks: for agents that act alone."""

    def __init__(self, task: Task) -> None:
        self._text = task.seed.task

    async def next(self, messages: tuple[Message, ...]) -> UserTurn:
        """The task at first; then nothing any more."""
        return UserTurn("", done=True) if messages else UserTurn(self._text, done=False)

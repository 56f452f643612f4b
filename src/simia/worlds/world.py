"""What every executable world is, ours or an adapted one: states and tasks to begin from, and what each call does."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from simia.errors import StateError
from simia.seeds.invariants import broken
from simia.types import State, ToolCall, Transition, TransitionQuery, WorldSpec, WorldTask


class World(ABC):
    """The truth about what a call shows and changes. A world keeps no state of its own: :meth:`run` is a pure function,
    so clock, counters and whatever a tool draws are part of the state.
    """

    spec: WorldSpec

    @abstractmethod
    def run(self, state: State, call: ToolCall) -> tuple[Transition, State]:
        """What ``call`` shows and changes in ``state``, and the state after it. ``state`` stays as it is.

        A call that does not fit the tools, or that the tool refuses, is an error that changes nothing.

        Raises:
            SandboxViolation: strange code ran into a wall.
            StateError: what the code of another package left has no JSON.
        """

    @abstractmethod
    def tasks(self, count: int | None = None, seed: int = 0) -> Iterator[WorldTask]:
        """Tasks with their gold calls: the first ``count`` that ``seed`` draws, or that the world has.

        Without ``count``, a world with a fixed list gives all of it; one that draws them gives twenty.
        """

    def long_tasks(self, count: int, seed: int = 0, least_calls: int = 12) -> Iterator[WorldTask]:
        """``count`` tasks of ``least_calls`` gold calls or more where the world can make such; else its tasks as they
        are.
        """
        return self.tasks(count, seed)

    def source_of(self, name: str) -> str | None:
        """The code of the tool ``name`` with the helpers it uses, for a simulator; None where it cannot be shown."""
        return None

    def is_foretellable(self, name: str) -> bool:
        """Whether what the tool ``name`` does follows from state, call and code, so that a simulator can be asked. That
        of a tool that draws, or looks at a clock outside of the state, does not; it may be called all the same.
        """
        return True

    def reached(self, task: WorldTask, calls: Sequence[ToolCall]) -> bool:
        """Whether ``calls``, made one after another from the task's initial state, reach its goal."""
        state = task.initial_state
        for call in calls:
            state = self.run(state, call)[1]
        return not broken(task.goal, state)

    async def transition(self, query: TransitionQuery) -> Transition:
        """What the call in ``query`` shows and changes: a world is a :class:`simia.types.Dynamics`.

        Raises:
            StateError: the query hides the state; code cannot answer without it.
        """
        if query.state is None:
            raise StateError(f"world {self.spec.name!r} is executed on a state, and the query has none")
        return self.run(query.state, query.call)[0]

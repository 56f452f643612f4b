"""Whether the task is done, by what a program knows about it."""

from collections.abc import Iterator
from contextlib import contextmanager

from simia.errors import JudgeError, SandboxViolation, SchemaError, StateError
from simia.seeds.invariants import broken
from simia.simulate.faults import OBSERVATIONS
from simia.types import AssistantMessage, Played, Reward, State, Task, ToolCall, Trajectory, WorldTask
from simia.worlds import World
from simia.worlds.adapted import AdaptedWorld


class StateGoal:
    """1 where every law of the task's goal holds of the final state, else 0.

    Where the task has no laws, or no state was tracked, ``world`` executes the agent's calls again and tells; without
    one, or where it has no evaluator of its own for a task without laws, this part has nothing to say.

    Args:
        world: the executable world that answered the calls. Never one that a simulator stood for: the simulator may
            have answered otherwise, and an agent is rewarded for what it was shown.
    """

    def __init__(self, world: World | None = None) -> None:
        self._world = world

    async def __call__(self, played: Played) -> Reward | None:
        """The reward, or None where no program can tell.

        Raises:
            JudgeError: a law cannot be evaluated on the final state, or the calls cannot be executed.
        """
        task = played.task
        if task.goal and played.final_state is not None:
            with _judging("evaluate the goal on the final state"):
                wrong = broken(task.goal, played.final_state)
            return _reward(not wrong, "every law of the goal holds of the final state", "; ".join(wrong))
        state = task.seed.initial_state
        if self._world is None or state is None or not (task.goal or isinstance(self._world, AdaptedWorld)):
            return None
        calls = _effective_calls(played.trajectory)
        with _judging(f"execute the calls in the world {self._world.spec.name}"):
            reached = self._world.reached(_world_task(task, state), calls)
        done = f"the {len(calls)} calls, executed in the world {self._world.spec.name},"
        return _reward(reached, f"{done} reach the goal", f"{done} do not reach the goal")


def _reward(is_done: bool, why: str, why_not: str) -> Reward:
    return Reward(value=float(is_done), reason=why if is_done else why_not)


def _world_task(task: Task, state: State) -> WorldTask:
    return WorldTask(id=task.id, instruction=task.seed.task, initial_state=state, gold=task.gold, goal=task.goal)


def _effective_calls(trajectory: Trajectory) -> list[ToolCall]:
    """The readable calls, without those in whose place a programmed fault answered."""
    faulty = {fault.call_id for fault in trajectory.faults if fault.kind in OBSERVATIONS}
    return [
        call
        for message in trajectory.messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
        if call.id not in faulty
    ]


@contextmanager
def _judging(doing: str) -> Iterator[None]:
    try:
        yield
    except (SandboxViolation, SchemaError, StateError) as cause:
        raise JudgeError(f"could not {doing}: {cause}") from cause

"""A task in an executable world: where it starts, what is wanted, one way to get it, and how to tell that it is got."""

from simia.types.message import ToolCall
from simia.types.state import State
from simia.types.value import Value
from simia.types.world import Invariant


class WorldTask(Value):
    """One task of an executable world.

    ``instruction`` is told to the user and to whoever judges, never to the agent under a policy. ``gold`` is one
    sequence of calls that does the task. ``goal`` holds of the state afterwards, every law of it, and not of
    ``initial_state``; it is empty where the world's own evaluator decides.
    """

    id: str
    instruction: str
    initial_state: State
    gold: tuple[ToolCall, ...]
    goal: tuple[Invariant, ...] = ()

"""How a world writes its tasks: gold calls are executed as they are written, so that later ones may use the results."""

import copy
import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from simia.errors import SimiaError, boundary
from simia.types import ABSENT, Invariant, Path, State, ToolCall, WorldTask, differences

if TYPE_CHECKING:
    from simia.worlds.world import World


class NoTask(Exception):
    """A drawn state does not have what a kind of task needs; another state is drawn.

    It never leaves :func:`draw_task`.
    """


class Draft:
    """A task being written. ``state`` is the state as the calls so far left it; before the first call a kind of task
    may arrange it.
    """

    def __init__(self, world: "World", state: State) -> None:
        self.state = state
        self._world = world
        self._initial: State | None = None
        self._calls: list[ToolCall] = []
        self._goal: list[Invariant] = []

    def do(self, name: str, **arguments: Any) -> Any:
        """Add a gold call, execute it, and give its result.

        Raises:
            NoTask: the tool refuses it in this state.
            SimiaError: the tool is broken.
        """
        if self._initial is None:
            self._initial = self.state
        call = ToolCall(id=f"call_{len(self._calls) + 1}", name=name, arguments=arguments)
        with boundary(SimiaError, f"execute {name}"):  # a broken tool is no kind that finds nothing to do
            transition, after = self._world.run(self.state, call)
        if transition.is_error:
            raise NoTask(f"{name}: {transition.observation}")
        self._calls.append(call)
        self.state = after
        return orjson.loads(transition.observation)

    def demand(self, name: str, expression: str) -> None:
        """Add a law of the goal, in JMESPath, over the state afterwards. Without any, what the calls changed is it."""
        self._goal.append(Invariant(name=name, expression=expression))

    def finish(self, task_id: str, instruction: str) -> WorldTask:
        """The task.

        Raises:
            NoTask: the calls change nothing, so no state could tell that the task is done.
        """
        if self._initial is None:
            raise NoTask("no call was made")
        reached = _goal(self._initial, self.state)
        if not reached:
            raise NoTask("the calls change nothing")
        return WorldTask(
            id=task_id,
            instruction=" ".join(instruction.split()),
            initial_state=self._initial,
            gold=tuple(self._calls),
            goal=tuple(self._goal) or reached,
        )


TaskKind = Callable[[random.Random, Draft], str]
"""Writes one kind of task: draws from the state, makes the gold calls, and gives the instruction.

The instruction speaks as the user to the agent, and holds everything that the calls need and the state does not tell.
"""

_TRIES = 60


def draw_task(
    world: "World",
    kinds: Sequence[TaskKind],
    initial: Callable[[random.Random], State],
    rng: random.Random,
    task_id: str,
) -> WorldTask:
    """One task of a kind that the drawn state allows.

    Raises:
        RuntimeError: sixty states in a row allowed none, which is a fault of the world.
    """
    reasons: list[str] = []
    kind = rng.choice(kinds)
    for number in range(_TRIES):
        if number % 10 == 9:
            kind = rng.choice(kinds)
        draft = Draft(world, initial(rng))
        try:
            return draft.finish(task_id, kind(rng, draft))
        except NoTask as reason:
            reasons.append(f"{kind.__name__}: {reason}")
    raise RuntimeError(f"the world {world.spec.name} has no task in {_TRIES} drawn states: {'; '.join(reasons[-3:])}")


def draw_chain(
    world: "World", kinds: Sequence[TaskKind], first: WorldTask, rng: random.Random, least_calls: int
) -> WorldTask:
    """``first``, and further tasks that begin where the one before ended, until there are ``least_calls`` calls or no
    kind finds anything more to do. Kinds that would have to arrange the state are passed over.
    """
    state, calls, instructions = first.initial_state, list(first.gold), [first.instruction]
    for call in first.gold:
        state = world.run(state, call)[1]
    for _ in range(_TRIES):
        if len(calls) >= least_calls:
            break
        draft = Draft(world, copy.deepcopy(state))
        try:
            kind = rng.choice(kinds)
            more = draft.finish(first.id, kind(rng, draft))
        except (NoTask, LookupError, StopIteration, ValueError):
            continue  # kinds are written for initial states, and may not find here what they count on
        if more.initial_state == state:
            calls += more.gold
            instructions.append(more.instruction)
            state = draft.state
    return WorldTask(
        id=first.id,
        instruction="\n".join(instructions),
        initial_state=first.initial_state,
        gold=tuple(call.model_copy(update={"id": f"call_{place}"}) for place, call in enumerate(calls, start=1)),
        goal=_goal(first.initial_state, state),
    )


def pick(rng: random.Random, table: Mapping[str, Any], *, where: Callable[[Any], bool] = lambda row: True) -> str:
    """The key of a row of ``table`` that satisfies ``where``.

    Raises:
        NoTask: there is none.
    """
    keys = sorted(key for key, row in table.items() if where(row))
    if not keys:
        raise NoTask("no row satisfies the condition")
    return rng.choice(keys)


def pick_some(
    rng: random.Random,
    table: Mapping[str, Any],
    least: int,
    most: int,
    *,
    where: Callable[[Any], bool] = lambda row: True,
) -> list[str]:
    """Between ``least`` and ``most`` keys of rows of ``table`` that satisfy ``where``.

    Raises:
        NoTask: there are fewer than ``least``.
    """
    keys = sorted(key for key, row in table.items() if where(row))
    if len(keys) < least:
        raise NoTask(f"only {len(keys)} rows satisfy the condition")
    return rng.sample(keys, rng.randint(least, min(most, len(keys))))


def _goal(before: State, after: State) -> tuple[Invariant, ...]:
    """Laws that hold where every value that changed has become what it is in ``after``."""
    return tuple(
        Invariant(
            name=f"{'.'.join(path)} is as wanted", expression=expression_of(path, None if value is ABSENT else value)
        )
        for path, value in differences(before, after)
    )


def expression_of(path: Path, value: Any) -> str:
    """The JMESPath that demands ``value`` at ``path``; None demands that nothing, or null, is there."""
    place = ".".join(json.dumps(key) for key in path)
    text = json.dumps(value).replace("`", "\\`")
    return f"{place} == `{text}`"

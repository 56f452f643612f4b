"""One task being played in an executable world, call by call, and back: what a prompt needs, without the terminal."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from simia.errors import ConfigError, SimiaError, StateError, boundary
from simia.seeds.invariants import broken
from simia.types import ABSENT, Invariant, JsonObject, Path, State, ToolCall, Transition, WorldTask, differences
from simia.worlds.trials import beginnings
from simia.worlds.world import World


@dataclass(frozen=True)
class Difference:
    """What a call changed at one place; :data:`simia.types.ABSENT` where nothing was there, or is left."""

    path: Path
    old: Any
    new: Any


@dataclass(frozen=True)
class Step:
    """A call that was made, and what came of it. ``gold`` counts the gold calls made by then."""

    call: ToolCall
    transition: Transition
    after: State
    differences: tuple[Difference, ...]
    gold: int


class Play:
    """A task and the calls made in it so far."""

    def __init__(self, world: World, task: WorldTask) -> None:
        self.world = world
        self.task = task
        self.steps: list[Step] = []

    @property
    def state(self) -> State:
        """The state as the calls so far left it."""
        return self.steps[-1].after if self.steps else self.task.initial_state

    @property
    def next_gold(self) -> ToolCall | None:
        """The first gold call that was not made yet, or None."""
        done = self.steps[-1].gold if self.steps else 0
        return next(iter(self.task.gold[done:]), None)

    def call(self, name: str, arguments: JsonObject) -> Step:
        """Make a call. One that is the next gold call counts as it, whoever thought of it.

        Raises:
            SimiaError: the world cannot answer; nothing was changed.
        """
        call = ToolCall(id=f"call_{len(self.steps) + 1}", name=name, arguments=arguments)
        before, gold = self.state, self.next_gold
        with boundary(SimiaError, f"run {name}"):
            transition, after = self.world.run(before, call)
        is_gold = gold is not None and (gold.name, gold.arguments) == (name, arguments) and not transition.is_error
        done = (self.steps[-1].gold if self.steps else 0) + is_gold
        changes = tuple(Difference(path, found(before, path), new) for path, new in differences(before, after))
        self.steps.append(Step(call, transition, after, changes, done))
        return self.steps[-1]

    def undo(self) -> Step | None:
        """Take the last call back; None where there is none."""
        return self.steps.pop() if self.steps else None

    def restart(self) -> None:
        """Take all calls back."""
        self.steps.clear()

    def laws(self) -> list[tuple[Invariant, bool]]:
        """The laws of the goal, each with whether it holds now."""
        return [(law, not broken((law,), self.state)) for law in self.task.goal]

    def is_reached(self) -> bool | None:
        """Whether the goal is reached, by its laws or by the world's own evaluator; None where nobody can tell."""
        if self.task.goal:
            return not broken(self.task.goal, self.state)
        if not self.task.gold:
            return None
        return self.world.reached(self.task, [step.call for step in self.steps])


def task_at(world: World, seed: int, number: int) -> WorldTask:
    """The task with this number, from 0, of those that ``seed`` draws or that the world has.

    Raises:
        ConfigError: there are not so many.
    """
    seen = -1
    for seen, task in enumerate(islice(beginnings(world, number + 1, seed), number + 1)):
        if seen == number:
            return task
    there_are = f"the last one is --task {seen}" if seen >= 0 else "it has none at all, so it cannot be played"
    raise ConfigError(f"the world {world.spec.name} has no task {number}: {there_are}")


def found(state: State, path: Sequence[str]) -> Any:
    """What stands at ``path``, or :data:`simia.types.ABSENT`."""
    value: Any = state
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return ABSENT
        value = value[key]
    return value


def looked_up(state: State, dotted: str) -> Any:
    """What stands at a path as a person types it: keys joined by dots, where keys may hold dots; lists by number.

    Raises:
        StateError: nothing stands there; says what does.
    """
    value: Any = state
    rest = dotted
    while rest:
        keys = value if isinstance(value, dict) else map(str, range(len(value))) if isinstance(value, list) else ()
        fitting = [key for key in keys if rest == key or rest.startswith(f"{key}.")]
        if not fitting:
            there = ", ".join(keys) if isinstance(value, dict) else "a list" if isinstance(value, list) else "a value"
            where = dotted[: len(dotted) - len(rest)].rstrip(".") or "the state"
            raise StateError(f"no {rest!r} in {where}; there is {there or 'nothing'}")
        key = max(fitting, key=len)
        value = value[int(key)] if isinstance(value, list) else value[key]
        rest = rest[len(key) + 1 :]
    return value

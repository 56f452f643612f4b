"""Gold calls with one left out, changed or added, where laws and judge must agree on what comes of them."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from simia.seeds.calls import call_problem
from simia.types import State, ToolCall, WorldTask, same
from simia.worlds import World
from simia.worlds.trials import looks, trials

T = TypeVar("T")

VARIANTS = ("dropped", "changed", "extra", "detour")
"""The ways to perturb gold calls. ``dropped``: one that changes something is left out. ``changed``: it gets other
arguments. ``extra``: a call that nobody wants is made after them. ``detour``: something is looked up before them, which
harms nothing.
"""


@dataclass(frozen=True)
class Course:
    """A task with its gold calls executed. ``befores`` is the state before each call, ``final`` that after them."""

    world: World
    task: WorldTask
    befores: tuple[State, ...]
    final: State

    @classmethod
    def of(cls, world: World, task: WorldTask) -> "Course":
        """The course of ``task`` in ``world``."""
        state, befores = task.initial_state, []
        for call in task.gold:
            befores.append(state)
            state = world.run(state, call)[1]
        return cls(world, task, tuple(befores), state)

    @property
    def writes(self) -> tuple[int, ...]:
        """The places of the gold calls that change something."""
        afters = (*self.befores[1:], self.final)
        return tuple(place for place, before in enumerate(self.befores) if not same(before, afters[place]))

    @property
    def reads(self) -> tuple[ToolCall, ...]:
        """The gold calls that change nothing."""
        return tuple(call for place, call in enumerate(self.task.gold) if place not in self.writes)

    def is_telling(self, calls: Sequence[ToolCall]) -> bool:
        """Whether ``calls`` miss the goal, or come to the very state of the gold calls with all of these among them.

        The laws of a goal see less than a policy does: a look-up that was left out, or damage elsewhere, passes them,
        and a judge who fails it would be called wrong.
        """
        if not self.world.reached(self.task, calls):
            return True
        made = [(call.name, call.arguments) for call in calls]
        return same(self._after(calls), self.final) and all((one.name, one.arguments) in made for one in self.task.gold)

    def _after(self, calls: Sequence[ToolCall]) -> State:
        state = self.task.initial_state
        for call in calls:
            state = self.world.run(state, call)[1]
        return state


def perturbed(
    course: Course, others: Sequence[ToolCall], number: int, rng: random.Random
) -> tuple[str, tuple[ToolCall, ...]] | None:
    """A variant and its calls, or None where no variant tells anything. ``number`` says which one is tried first, so
    that tasks in a row take turns; ``others`` are calls of other tasks of the world.
    """
    start = number % len(VARIANTS)
    for variant in (*VARIANTS[start:], *VARIANTS[:start]):
        for calls in _MADE[variant](course, others, rng):
            if course.is_telling(calls):
                return variant, calls
    return None


def _dropped(course: Course, others: Sequence[ToolCall], rng: random.Random) -> Iterator[tuple[ToolCall, ...]]:
    gold = course.task.gold
    for place in _shuffled(course.writes, rng):
        yield (*gold[:place], *gold[place + 1 :])


def _changed(course: Course, others: Sequence[ToolCall], rng: random.Random) -> Iterator[tuple[ToolCall, ...]]:
    gold = course.task.gold
    for place in _shuffled(course.writes, rng):
        for call in _shuffled(tuple(trials(course.befores[place], gold[place])), rng):
            if call_problem(course.world.spec, call) is None:
                yield (*gold[:place], call, *gold[place + 1 :])


def _extra(course: Course, others: Sequence[ToolCall], rng: random.Random) -> Iterator[tuple[ToolCall, ...]]:
    gold = course.task.gold
    own = [trial for place in course.writes for trial in trials(course.final, gold[place])]
    for call in _shuffled((*others, *own), rng):
        if not same(course.world.run(course.final, call)[1], course.final):
            yield (*gold, call)


def _detour(course: Course, others: Sequence[ToolCall], rng: random.Random) -> Iterator[tuple[ToolCall, ...]]:
    start = course.task.initial_state
    for call in _shuffled((*looks(course.world.spec), *course.reads), rng):
        transition, after = course.world.run(start, call)
        if not transition.is_error and same(after, start):
            yield (call, *course.task.gold)


def _shuffled(values: Sequence[T], rng: random.Random) -> list[T]:
    return rng.sample(values, len(values))


_MADE: dict[str, Callable[[Course, Sequence[ToolCall], random.Random], Iterator[tuple[ToolCall, ...]]]] = {
    "dropped": _dropped,
    "changed": _changed,
    "extra": _extra,
    "detour": _detour,
}

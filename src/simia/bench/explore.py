"""Walks through worlds: along their gold calls, or, where a world has none, along drawn ones."""

import random
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any

from simia.bench.collect import Walk
from simia.config import rng_for
from simia.errors import SandboxViolation, StateError
from simia.types import State, ToolCall
from simia.worlds import World
from simia.worlds.drawn import DRAWN_CALLS, drawn_call
from simia.worlds.trials import beginnings

EXPLORED = "explored"


def walks_of(world: World, count: int, seed: int, *, without: Collection[str] = ()) -> Iterator[Walk]:
    """``count`` walks through ``world``: along gold calls, or, where a world has none, along drawn ones. Gold tasks
    whose ids are in ``without`` are left out.
    """
    tasks = (task for task in _repeated(world, count + len(without), seed) if task.id not in without or not task.gold)
    for number, task in enumerate(islice(tasks, count)):
        if task.gold:
            yield Walk.gold(task)
        else:
            yield Walk(task, explored(world, task.initial_state, rng_for(seed, task.id, number)), EXPLORED)


def explored(world: World, state: State, rng: random.Random, count: int = DRAWN_CALLS) -> tuple[ToolCall, ...]:
    """``count`` drawn calls, each on the state that the one before it left."""
    calls = []
    for number in range(1, count + 1):
        call = drawn_call(world.spec, state, rng, number)
        calls.append(call)
        try:
            state = world.run(state, call)[1]
        except (SandboxViolation, StateError):
            break  # who follows the walk meets it too
    return tuple(calls)


def _repeated(world: World, count: int, seed: int) -> Iterator[Any]:
    """The beginnings of ``world``; those without gold calls again and again, since each walk from them is another."""
    found = list(beginnings(world, count, seed))
    yield from found
    while found and not any(task.gold for task in found):
        yield from found

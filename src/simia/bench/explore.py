"""Calls for worlds that have no gold ones: drawn tools, with arguments that fit and are mostly taken from the state."""

import random
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any

from simia.bench.collect import Walk
from simia.config import rng_for
from simia.types import JsonObject, State, ToolCall
from simia.worlds import World
from simia.worlds.trials import beginnings

EXPLORED = "explored"

_CALLS = 8
_OWN_WORDS = 0.15  # how often a text is none of the state's
_WORDS = ("blue", "north", "spare", "urgent", "first")
_NUMBERS = (0, 1, 2, 3, 5, 10, 25)


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


def explored(world: World, state: State, rng: random.Random, count: int = _CALLS) -> tuple[ToolCall, ...]:
    """``count`` drawn calls, each on the state that the one before it left."""
    calls = []
    for number in range(1, count + 1):
        tool = rng.choice(world.spec.tools)
        pool = _texts(state)
        arguments: JsonObject = _value(tool.parameters, pool, rng)
        call = ToolCall(id=f"call_{number}", name=tool.name, arguments=arguments)
        calls.append(call)
        state = world.run(state, call)[1]
    return tuple(calls)


def _repeated(world: World, count: int, seed: int) -> Iterator[Any]:
    """The beginnings of ``world``; those without gold calls again and again, since each walk from them is another."""
    found = list(beginnings(world, count, seed))
    yield from found
    while found and not any(task.gold for task in found):
        yield from found


def _value(schema: Mapping[str, Any], pool: list[str], rng: random.Random) -> Any:
    """A value that fits the common part of JSON Schema; a text is mostly one of ``pool``."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches:
        return _value(rng.choice(branches), pool, rng)
    kind = schema.get("type", "string")
    kind = rng.choice(kind) if isinstance(kind, list) else kind
    if kind == "object":
        required = schema.get("required", ())
        chosen = [name for name in schema.get("properties", {}) if name in required or rng.random() < 0.5]
        return {name: _value(schema["properties"][name], pool, rng) for name in chosen}
    if kind == "array":
        least = max(1, schema.get("minItems", 1))
        return [_value(schema.get("items") or {}, pool, rng) for _ in range(rng.randint(least, least + 2))]
    if kind == "integer":
        return max(schema.get("minimum", 0), rng.choice(_NUMBERS))
    if kind == "number":
        return float(max(schema.get("minimum", 0), rng.choice(_NUMBERS)))
    if kind == "boolean":
        return rng.random() < 0.5
    if kind == "null":
        return None
    return rng.choice(pool) if pool and rng.random() > _OWN_WORDS else rng.choice(_WORDS)


def _texts(value: Any) -> list[str]:
    """Every key and every text of a state, sorted."""
    found: set[str] = set()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            found |= one.keys()
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, str):
            found.add(one)
    return sorted(found)

"""Calls for worlds that have no gold ones: drawn tools, with arguments that fit and are mostly taken from the state."""

import random
from collections.abc import Mapping
from typing import Any

from simia.config import rng_for
from simia.types import JsonObject, State, ToolCall, WorldSpec, WorldTask

DRAWN_CALLS = 8
"""How many calls are drawn one after another where a task has no gold ones."""

_OWN_WORDS = 0.15  # how often a text is none of the state's
_WORDS = ("blue", "north", "spare", "urgent", "first")
_NUMBERS = (0, 1, 2, 3, 5, 10, 25)


def drawn_call(world: WorldSpec, state: State, rng: random.Random, number: int) -> ToolCall:
    """A call of any tool, as the ``number``-th of a walk."""
    tool = rng.choice(world.tools)
    arguments: JsonObject = _value(tool.parameters, _texts(state), rng)
    return ToolCall(id=f"call_{number}", name=tool.name, arguments=arguments)


def next_call(world: WorldSpec, task: WorldTask, state: State, number: int, seed: int) -> ToolCall | None:
    """The ``number``-th call along ``task``, from 0: its gold one, or one drawn by ``seed`` in this ``state`` where the
    task has none; None at the end.
    """
    if task.gold:
        return task.gold[number] if number < len(task.gold) else None
    if number == DRAWN_CALLS or not world.tools:
        return None
    return drawn_call(world, state, rng_for(seed, f"{task.id}/drawn", number), number + 1)


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

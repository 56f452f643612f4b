"""Calls that are not gold: made from a gold call so that a world refuses them, or does something else."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simia.types import JsonObject, State, ToolCall, WorldSpec
from simia.worlds.trials import Place, replaced, texts

KINDS = ("wrong_id", "other_id", "elsewhere", "repeated", "look", "missing_argument", "wrong_type", "unknown_tool")
"""The ways to perturb a call.

``wrong_id``: an id that the state does not have. ``other_id``: another id of the same table, often against a rule.
``elsewhere``: a call of another task, in this state. ``repeated``: the same call once more, after it was made.
``look``: a tool that needs no argument. The last three do not fit the tool's schema; a program refuses them before
anybody is asked, so they are no question for a simulator, and samples are not drawn from them.
"""

ILL_FORMED = frozenset({"missing_argument", "wrong_type", "unknown_tool"})

_TRIES = 20  # numbers of one length, before longer ones are tried


def perturbed(
    world: WorldSpec, state: State, call: ToolCall, others: Sequence[ToolCall], rng: random.Random
) -> Iterator[tuple[str, ToolCall]]:
    """Each perturbation of ``call`` that this state allows, with its kind; ``repeated`` is the caller's to make.

    ``others`` are calls of other tasks. At most one per kind and ``look`` for each tool without required arguments.
    """
    tables = _tables(state)
    ids = [(path, value) for path, value in texts(call.arguments) if value in tables]
    if not ids:  # adapted worlds have their tables deeper down
        tables = _deep_tables(state)
        ids = [(path, value) for path, value in texts(call.arguments) if value in tables]
    if ids:
        path, value = rng.choice(ids)
        yield "wrong_id", _with(call, path, _misspelled(value, tables, rng))
        path, value = rng.choice(ids)
        siblings = [key for key in tables[value] if key != value]
        if siblings:
            yield "other_id", _with(call, path, rng.choice(siblings))
    if others:
        yield "elsewhere", rng.choice(others)
    for tool in world.tools:
        if not tool.parameters.get("required"):
            yield "look", ToolCall(id=call.id, name=tool.name, arguments={})
    required = sorted(name for name in world.tool[call.name].parameters.get("required", ()) if name in call.arguments)
    if required:
        left_out = rng.choice(required)
        given = {name: value for name, value in call.arguments.items() if name != left_out}
        yield "missing_argument", call.model_copy(update={"arguments": given})
        name = rng.choice(required)
        yield "wrong_type", call.model_copy(update={"arguments": {**call.arguments, name: [["?"]]}})
    yield "unknown_tool", call.model_copy(update={"name": f"{call.name}_now"})


def _tables(state: State) -> dict[str, list[str]]:
    """Every key of every table of records, with all the keys of its table."""
    found: dict[str, list[str]] = {}
    for table in state.values():
        if isinstance(table, Mapping) and table and all(isinstance(row, Mapping) for row in table.values()):
            keys = sorted(table)
            found.update(dict.fromkeys(keys, keys))
    return found


def _deep_tables(state: State) -> dict[str, list[str]]:
    """The same of tables at any depth; of two with one key the lower one counts."""
    found: dict[str, list[str]] = {}
    level: list[Any] = [state]
    while level:
        for value in level:
            found |= _tables(value)
        level = [inner for value in level for inner in value.values() if isinstance(inner, Mapping)]
    return found


def _with(call: ToolCall, path: Place, value: str) -> ToolCall:
    arguments: JsonObject = replaced(call.arguments, path, value)
    return call.model_copy(update={"arguments": arguments})


def _misspelled(value: str, tables: Mapping[str, Any], rng: random.Random) -> str:
    """``value`` with its last digits, or its end, changed so that no table has it."""
    stem = value.rstrip("0123456789")
    length = max(2, len(value) - len(stem))
    while True:
        for _ in range(_TRIES):
            changed = stem + str(rng.randrange(10**length))
            if changed not in tables:
                return changed
        length += 1

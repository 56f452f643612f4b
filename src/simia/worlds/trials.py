"""Where one may begin in a world, and what one might call there beside the gold calls. Nothing of it is drawn."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from simia.types import JsonObject, State, ToolCall, WorldSpec, WorldTask
from simia.worlds.world import World

Place = tuple[str | int, ...]
"""Keys and positions that lead to a part of a JSON value."""


def beginnings(world: World, count: int | None, seed: int) -> Iterator[WorldTask]:
    """The tasks of ``world``; where a sandboxed world has none with gold calls, its scenarios, or its states."""
    from simia.worlds.sandbox import SandboxedWorld

    if not isinstance(world, SandboxedWorld):
        yield from world.tasks(count, seed)
        return
    scenarios = list(world.tasks(count, seed, without_gold=True))
    yield from scenarios
    if not scenarios:
        for number, state in enumerate(islice(world.initial_states(), count)):
            yield WorldTask(id=f"{world.spec.name}:{number}", instruction="", initial_state=state, gold=())


def trials(state: State, call: ToolCall) -> Iterator[ToolCall]:
    """What one might call in ``state`` instead of ``call``.

    A tool that there is not; ``call`` with an argument left out, of a wrong type, or that nobody knows; with a text
    that the state does not have, and with the next key of the same table.
    """
    yield call.model_copy(update={"name": f"{call.name}_now"})
    for name in call.arguments:
        yield _with(call, {key: value for key, value in call.arguments.items() if key != name})
        yield _with(call, {**call.arguments, name: [["?"]]})
    yield _with(call, {**call.arguments, "nonsense": 1})
    siblings = _siblings(state)
    for place, text in texts(call.arguments):
        yield _with(call, replaced(call.arguments, place, f"{text}0"))
        if text in siblings:
            yield _with(call, replaced(call.arguments, place, siblings[text]))


def looks(spec: WorldSpec) -> Iterator[ToolCall]:
    """Each tool that needs no argument, without any."""
    for tool in spec.tools:
        if not tool.parameters.get("required"):
            yield ToolCall(id="look", name=tool.name, arguments={})


def _with(call: ToolCall, arguments: JsonObject) -> ToolCall:
    return call.model_copy(update={"arguments": arguments})


def _siblings(state: State) -> dict[str, str]:
    """For every key of an object of objects, the key after it; the first comes after the last."""
    found: dict[str, str] = {}
    for table in state.values():
        if isinstance(table, Mapping) and len(table) > 1 and all(isinstance(row, Mapping) for row in table.values()):
            keys = sorted(table)
            found.update(zip(keys, [*keys[1:], keys[0]], strict=True))
    return found


def texts(value: Any, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Every text in a JSON value that is no key, with its place."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            yield from texts(entry, (*place, key))
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            yield from texts(entry, (*place, number))


def replaced(value: Any, place: Place, new: str) -> Any:
    """A copy of a JSON value with ``new`` at ``place``."""
    if not place:
        return new
    head, *rest = place
    copy = list(value) if isinstance(value, list) else dict(value)
    copy[head] = replaced(value[head], tuple(rest), new)  # type: ignore[index]
    return copy

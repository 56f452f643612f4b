"""The parts that prompts share, rendered once per world and remembered."""

from collections.abc import Callable, Hashable
from typing import TypeVar

from simia.formats.calls import dump_json
from simia.types import JsonObject, ToolSpec, WorldSpec

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_KEPT_PARTS = 1024


def returns_fit(world: WorldSpec, budget_chars: int) -> bool:
    """Whether the tools' result schemas together are short enough to be shown."""
    return sum(len(dump_json(tool.returns)) for tool in world.tools if tool.returns is not None) <= budget_chars


def tool_lines(world: WorldSpec, *, show_returns: bool) -> tuple[str, ...]:
    """The world's tools, each as one line of compact JSON; never their source."""
    return tuple(tool_line(tool, show_returns=show_returns) for tool in world.tools)


def remembered(kept: dict[K, V], key: K, make: Callable[[], V]) -> V:
    """The value of ``key``, made at most once while it is among the last thousand: memory stays flat."""
    found = kept.get(key)
    if found is None:
        if len(kept) >= _KEPT_PARTS:
            del kept[next(iter(kept))]
        found = kept[key] = make()
    return found


def tool_line(tool: ToolSpec, *, show_returns: bool) -> str:
    """One tool as compact JSON, without its source."""
    value: JsonObject = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    if show_returns and tool.returns is not None:
        value["returns"] = tool.returns
    return dump_json(value)

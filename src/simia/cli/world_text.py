"""How a world is printed: what it is, its tools, values out of its state, and what a call changed."""

import json
import shutil
import sys
from typing import Any

from simia.cli.console import is_terminal, result, result_facts, result_table, result_text
from simia.errors import FormatError
from simia.formats.calls import load_json
from simia.types import ABSENT, JsonObject, State, ToolSpec, Transition, WorldSpec
from simia.worlds.play import Difference

_WIDTH = 80


def show_spec(spec: WorldSpec) -> None:
    """Licence, state, laws, policy and tools."""
    result_facts(
        [
            ("world", f"{spec.name} ({spec.licence})"),
            ("state", "tracked" if spec.state_schema is not None else "not tracked"),
            ("laws", ", ".join(law.name for law in spec.invariants) or "-"),
        ]
    )
    result()
    result_text(spec.policy or "(no policy)")
    result()
    show_tools(spec)


def show_tools(spec: WorldSpec) -> None:
    """The tools, a line for each."""
    rows = [(tool.name, _arguments(tool.parameters), tool.description) for tool in spec.tools]
    result_table(("tool", "arguments", "what it does"), rows)


def show_tool(tool: ToolSpec) -> None:
    """Everything about one tool but its code."""
    result_text(tool.description or "(no description)")
    required = tool.parameters.get("required", ())
    for name, schema in tool.parameters.get("properties", {}).items():
        told = {key: value for key, value in schema.items() if key != "description"}
        result_text(f"  {name if name in required else f'[{name}]'}: {schema.get('description', '')}".rstrip(": "))
        result_text(f"    {laid_out(told, 4)}")
    if tool.returns is not None:
        result_text(f"returns {laid_out(tool.returns)}")


def show_overview(state: State) -> None:
    """A line for each key of the state: its value, or what its table holds."""
    for key, value in state.items():
        line = f"{key}: {_one_line(value)}"
        if isinstance(value, dict | list) and len(line) > width():
            inside = f": {', '.join(value)}" if isinstance(value, dict) else ""
            line = f"{key} ({len(value)}){inside}"
        result_text(line)


def show_answer(transition: Transition) -> None:
    """What a call showed. A refusal that is only an ``error`` is told in its words."""
    try:
        value = load_json(transition.observation)
    except FormatError:
        value = None
    if transition.is_error:
        bare = isinstance(value, dict) and list(value) == ["error"] and isinstance(value["error"], str)
        result_text(f"refused: {value['error'] if bare else transition.observation}")
    else:
        result_text(transition.observation if value is None else laid_out(value))


def show_difference(one: Difference) -> None:
    """``path: old -> new``, in several lines where it is long."""
    path = ".".join(one.path)
    if one.old is ABSENT:
        result_text(f"  {path}: new {laid_out(one.new, 2, len(path) + 6)}")
    elif one.new is ABSENT:
        result_text(f"  {path}: gone, was {laid_out(one.old, 2, len(path) + 12)}")
    else:
        short = f"  {path}: {_one_line(one.old)} -> {_one_line(one.new)}"
        long = f"  {path}:\n     {laid_out(one.old, 5)}\n  -> {laid_out(one.new, 5)}"
        result_text(short if len(short) <= width() else long)


def laid_out(value: Any, indent: int = 0, before: int = 0) -> str:
    """``value`` as JSON: on one line where it fits, else an entry a line.

    Args:
        indent: how far its lines stand to the right.
        before: signs that stand before it on its first line, beside the indent.
    """
    text = _one_line(value)
    if not isinstance(value, dict | list) or not value or indent + before + len(text) < width():
        return text
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        opening, closing = "{}"
        keys = {key: f"{_one_line(key)}: " for key in value}
        entries = [keys[key] + laid_out(entry, indent + 2, len(keys[key])) for key, entry in value.items()]
    else:
        opening, closing = "[]"
        entries = [laid_out(entry, indent + 2) for entry in value]
    return f"{opening}\n{inner}" + f",\n{inner}".join(entries) + f"\n{' ' * indent}{closing}"


def width() -> int:
    """Signs in a line: those of the terminal, else 80."""
    return shutil.get_terminal_size((_WIDTH, 24)).columns if is_terminal(sys.stdout) else _WIDTH


def _one_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _arguments(schema: JsonObject) -> str:
    required = schema.get("required", ())
    return ", ".join(name if name in required else f"[{name}]" for name in schema.get("properties", {}))

"""Writing a world folder."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from simia.formats import openai
from simia.formats.calls import dump_json
from simia.seeds.world_folder.reading import WORLD_FILE
from simia.types import JsonObject, Seed, ToolSpec, WorldSpec


def write_world(folder: Path, world: WorldSpec, seeds: Iterable[Seed], note: str = "") -> None:
    """Write a world and its seeds as a folder; ``note`` stands as a comment on top of ``world.toml``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "policy.md").write_text(world.policy + "\n", encoding="utf-8")
    (folder / "tools.json").write_bytes(_pretty([_tool_record(tool) for tool in world.tools]))
    if world.state_schema is not None:
        (folder / "state_schema.json").write_bytes(_pretty(world.state_schema))
    (folder / WORLD_FILE).write_text(_toml(world, note), encoding="utf-8")
    with (folder / "seeds.jsonl").open("wb") as file:
        for seed in seeds:
            file.write(dump_json(seed_record(seed)).encode() + b"\n")


def seed_record(seed: Seed) -> JsonObject:
    """A seed as a line of ``seeds.jsonl``; policy and tools are the folder's."""
    record: JsonObject = {"id": seed.id, "task": seed.task}
    if seed.licence != seed.world.licence:
        record["licence"] = seed.licence
    if seed.metadata:
        record["metadata"] = seed.metadata
    if seed.initial_state is not None:
        record["initial_state"] = seed.initial_state
    record["messages"] = openai.render_messages(seed.reference)
    return record


def _tool_record(tool: ToolSpec) -> JsonObject:
    record: JsonObject = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    for key in ("returns", "source"):
        value = getattr(tool, key)
        if value is not None:
            record[key] = value
    return record


def _toml(world: WorldSpec, note: str) -> str:
    lines = [f"# {line}".rstrip() for line in note.splitlines()]
    lines += [f"name = {_quoted(world.name)}", f"licence = {_quoted(world.licence)}"]
    if world.state_schema is not None:
        lines.append('state_schema = "state_schema.json"')
    for invariant in world.invariants:
        lines += ["", "[[invariants]]", f"name = {_quoted(invariant.name)}"]
        lines.append(f"expression = {_quoted(invariant.expression)}")
        if invariant.refers_to is not None:
            lines.append(f"refers_to = {_quoted(invariant.refers_to)}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A TOML basic string; JSON's escapes are TOML's, except that DEL must be escaped too."""
    return orjson.dumps(text).decode().replace("\x7f", "\\u007f")


def _pretty(value: Any) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:  # integers beyond 64 bits
        return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n"

"""A domain as a folder: ``world.toml``, ``policy.md``, ``tools.json``, ``seeds.jsonl``, maybe ``state_schema.json``.

Users write such folders for their own domains; the bundled worlds are such folders.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson
from pydantic import Field

from simia.config import Settings, checked, read_toml
from simia.errors import FormatError, RecordError, SchemaError, SeedError
from simia.formats import openai as openai_format
from simia.seeds import openai
from simia.seeds.declared import make_world, read_tools
from simia.seeds.records import OnBad, records
from simia.types import Invariant, JsonObject, Seed, ToolSpec, WorldSpec

WORLD_FILE = "world.toml"


class InvariantSettings(Settings):
    """An ``[[invariants]]`` table."""

    name: str
    expression: str
    refers_to: str | None = None


class WorldSettings(Settings):
    """What stands in ``world.toml``. File names are relative to the folder."""

    name: str = Field(min_length=1)
    licence: str = Field(min_length=1)
    policy: str = "policy.md"
    tools: str = "tools.json"
    state_schema: str | None = None
    seeds: str = "seeds.jsonl"
    invariants: tuple[InvariantSettings, ...] = ()


def is_world_folder(folder: Path) -> bool:
    """Whether ``folder`` holds a ``world.toml``."""
    return (folder / WORLD_FILE).is_file()


def read_settings(folder: Path) -> WorldSettings:
    """What ``world.toml`` says.

    Raises:
        ConfigError: it is missing, no TOML, or has a wrong or unknown key.
    """
    path = folder / WORLD_FILE
    return checked(WorldSettings, read_toml(path), str(path))


def read_world(folder: Path) -> WorldSpec:
    """The world that the folder describes.

    Raises:
        ConfigError: ``world.toml`` cannot be meant.
        SeedError: another file of the folder is missing or broken; the message names it.
    """
    settings = read_settings(folder)
    policy = _text(folder / settings.policy).strip()
    tools = read_tools_file(folder / settings.tools)
    shape = None if settings.state_schema is None else _json_object(folder / settings.state_schema)
    try:
        world = make_world(settings.name, policy, tools, settings.licence)
    except FormatError as cause:
        raise SeedError(f"{folder / settings.tools}: {cause}") from cause
    return world.model_copy(
        update={
            "state_schema": shape,
            "invariants": tuple(Invariant(**invariant.model_dump()) for invariant in settings.invariants),
        }
    )


def read_seeds(folder: Path, on_bad: OnBad, licence: str | None = None) -> Iterator[Seed]:
    """The seeds of the folder's ``seeds.jsonl``, all in the folder's world. A bad record goes to ``on_bad``.

    Raises:
        ConfigError: ``world.toml`` cannot be meant.
        SeedError: a file is missing or broken, or there are no seeds.
    """
    world = read_world(folder)
    path = folder / read_settings(folder).seeds
    reader = openai.Reader(licence, world)
    for line, record in records(path, on_bad):
        try:
            yield reader.seed(record, f"{world.name}:{line}")
        except (FormatError, SchemaError) as cause:
            on_bad(RecordError(str(path), line, str(cause)))


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
            file.write(orjson.dumps(seed_record(seed)) + b"\n")


def seed_record(seed: Seed) -> JsonObject:
    """A seed as a line of ``seeds.jsonl``; policy and tools are the folder's."""
    record: JsonObject = {"id": seed.id, "task": seed.task}
    if seed.licence != seed.world.licence:
        record["licence"] = seed.licence
    if seed.metadata:
        record["metadata"] = seed.metadata
    if seed.initial_state is not None:
        record["initial_state"] = seed.initial_state
    record["messages"] = openai_format.render_messages(seed.reference)
    return record


def read_tools_file(path: Path) -> tuple[ToolSpec, ...]:
    """The tools of a JSON file.

    Raises:
        SeedError: the file is missing, no JSON, no list of tools, or a schema in it is none.
    """
    try:
        return read_tools(_json(path))
    except (FormatError, SchemaError) as cause:
        raise SeedError(f"{path}: {cause}") from cause


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
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SeedError(f"no file {path}: write it, or name another in {WORLD_FILE}") from None
    except UnicodeDecodeError as cause:
        raise SeedError(f"{path} is no UTF-8 text: {cause.reason} at byte {cause.start}") from cause
    except OSError as cause:
        raise SeedError(f"cannot read {path}: {cause.strerror}") from cause


def _json(path: Path) -> Any:
    text = _text(path)
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as cause:
        raise SeedError(f"{path} is no JSON: {cause}") from cause


def _json_object(path: Path) -> JsonObject:
    value = _json(path)
    if not isinstance(value, dict):
        raise SeedError(f"{path} holds {type(value).__name__}, not an object")
    return value

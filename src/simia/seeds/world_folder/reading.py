"""Reading a world folder."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field

from simia.config import Settings, checked, read_toml
from simia.errors import FormatError, SchemaError, SeedError
from simia.formats.calls import load_json
from simia.seeds import openai
from simia.seeds.declared import make_world, read_tools
from simia.seeds.distinct import DistinctIds
from simia.seeds.records import OnBad, records, seeds_of
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
    """The seeds of the folder's ``seeds.jsonl``, all in the folder's world.

    A bad record, such as the second of an id, goes to ``on_bad``. ``licence`` is then that of the world, too; without
    it a record may state its own, and the world keeps the folder's.

    Raises:
        ConfigError: ``world.toml`` cannot be meant.
        SeedError: a file is missing or broken, or there are no seeds.
    """
    world = read_world(folder)
    if licence is not None:
        world = world.model_copy(update={"licence": licence})
    path = folder / read_settings(folder).seeds
    reader = DistinctIds(openai.Reader(licence, world))
    yield from seeds_of(path, world.name, records(path, on_bad), reader, on_bad)


def read_tools_file(path: Path) -> tuple[ToolSpec, ...]:
    """The tools of a JSON file.

    Raises:
        SeedError: the file is missing, no JSON, no list of tools, or a schema in it is none.
    """
    try:
        return read_tools(_json(path))
    except (FormatError, SchemaError) as cause:
        raise SeedError(f"{path}: {cause}") from cause


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
        return load_json(text)
    except FormatError as cause:
        raise SeedError(f"{path} cannot be read: {cause}") from cause


def _json_object(path: Path) -> JsonObject:
    value = _json(path)
    if not isinstance(value, dict):
        raise SeedError(f"{path} holds {type(value).__name__}, not an object")
    return value

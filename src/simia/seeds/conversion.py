"""Seeds written again: as one file of chat-completions records, or as the world folder that they come from."""

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from simia.errors import ConfigError
from simia.formats.calls import dump_json
from simia.seeds import openai
from simia.seeds.declared import make_world, name_of
from simia.seeds.world_folder import seed_record, write_world
from simia.types import JsonObject, Seed, ToolSpec, WorldSpec


@dataclass(frozen=True, slots=True)
class Written:
    """How many seeds were written, and what of their worlds the place cannot hold, as nouns; nothing for a folder."""

    seeds: int
    lost: tuple[str, ...] = ()


def write_file(path: Path, seeds: Iterable[Seed]) -> Written:
    """Write one record a line, with policy and tools in each; ``path`` is replaced when all are written, or stays.

    A record has one licence, the seed's: where the world's is another, it is lost.

    Raises:
        OSError: the file cannot be written.
    """
    part = path.with_name(f".{path.name}.part")
    count = 0
    lost: dict[str, None] = {}
    world: WorldSpec | None = None
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with part.open("wb") as file:
            for seed in seeds:
                file.write(dump_json(_record(seed)).encode() + b"\n")
                count += 1
                if seed.licence != seed.world.licence:
                    lost["licence"] = None
                if seed.world is not world:
                    world = seed.world
                    lost |= dict.fromkeys(_unheld(world))
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return Written(count, tuple(lost))


def write_folder(folder: Path, seeds: Iterable[Seed]) -> Written:
    """Write the world of ``seeds`` and all of them as a world folder; reading it gives equal seeds, except that white
    space around the policy goes. Files that stand there already are replaced when all are written; others stay.

    Raises:
        ConfigError: the seeds are of several worlds, or there are none.
        OSError: the folder cannot be written.
    """
    source = iter(seeds)
    first = next(source, None)
    if first is None:
        raise ConfigError(f"there are no seeds to write to {folder}: a world folder needs at least one")
    counted = _OfOneWorld(folder, first.world, chain([first], source))
    whole = folder.resolve()
    part = whole.with_name(f".{whole.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        write_world(part, first.world, counted)
        folder.mkdir(parents=True, exist_ok=True)
        for file in part.iterdir():
            os.replace(file, folder / file.name)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return Written(counted.count)


class _OfOneWorld:
    """Passes the seeds of ``world`` on, counts them, and refuses those of another."""

    def __init__(self, folder: Path, world: WorldSpec, seeds: Iterable[Seed]) -> None:
        self._folder = folder
        self._world = world
        self._seeds = seeds
        self.count = 0

    def __iter__(self) -> Iterator[Seed]:
        for seed in self._seeds:
            if seed.world is not self._world and seed.world != self._world:
                raise ConfigError(
                    f"seed {seed.id!r} is of the world {seed.world.name!r}, those before it of {self._world.name!r}, "
                    f"and a folder holds one world: write a file instead, {self._folder}.jsonl"
                )
            self.count += 1
            yield seed


def _record(seed: Seed) -> JsonObject:
    """The seed with its policy and tools, which ``seed_record`` leaves to the world folder."""
    tools = [_tool(tool) for tool in seed.world.tools]
    record = seed_record(seed) | {"licence": seed.licence, "tools": tools}
    if seed.world.policy:
        record["messages"] = [{"role": "system", "content": seed.world.policy}, *record["messages"]]
    return record


def _tool(tool: ToolSpec) -> JsonObject:
    """The tool as endpoints spell it, with ``returns`` and ``source`` beside, where readers of tools look over them."""
    beside = {"returns": tool.returns, "source": tool.source}
    return tool.as_openai() | {key: value for key, value in beside.items() if value is not None}


def _unheld(world: WorldSpec) -> Iterator[str]:
    """What reading a record of ``world`` would not give back."""
    read = make_world(name_of(world.policy, openai.NAME), world.policy, world.tools, world.licence)
    for field, noun in (("name", "name"), ("state_schema", "state schema"), ("invariants", "invariants")):
        if getattr(read, field) != getattr(world, field):
            yield noun

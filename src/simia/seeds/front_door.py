"""Seeds from anywhere: ``bundled:shop``, ``tau2:retail``, a file in any known format, or a world folder."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from simia.errors import RecordError, SeedError
from simia.seeds import world_folder
from simia.seeds.files import detect_format, read_file
from simia.seeds.records import OnBad
from simia.types import Seed

BUNDLED = Path(__file__).parent / "bundled"


def read(
    source: str,
    *,
    format: str = "auto",  # noqa: A002 - the word that recipes and the command line use
    limit: int | None = None,
    licence: str | None = None,
    on_bad: OnBad | None = None,
) -> Iterator[Seed]:
    """The seeds of ``source``, at most ``limit``, one at a time. A bad record goes to ``on_bad`` and the next follows.

    ``licence``, an SPDX identifier, overrides what format, world folder and record say, for seeds and their worlds.
    Without ``on_bad`` the first bad record is raised.

    Raises:
        SeedError: the source is unknown, missing or empty, its format is not recognised, or no record could be read.
        ConfigError: the ``world.toml`` of a world folder cannot be meant.
        ExtraMissing: the source needs an optional extra.
        RecordError: a record is bad and there is no ``on_bad``.
    """
    bad: list[RecordError] = []

    def note(error: RecordError) -> None:
        if on_bad is None:
            raise error
        if not bad:
            bad.append(error)
        on_bad(error)

    count = 0
    for seed in islice(_open(source, format, licence, note), limit):
        count += 1
        yield seed
    if count == 0 and limit != 0:
        if bad:
            raise SeedError(f"no record of {source} could be read; the first reason: {bad[0]}")
        raise SeedError(f"{source} has no seeds: a seed file needs at least one record")


def bundled_names() -> tuple[str, ...]:
    """The names of the bundled worlds, as in ``bundled:NAME``."""
    return tuple(sorted(path.name for path in BUNDLED.iterdir() if world_folder.is_world_folder(path)))


def format_of(source: str) -> str:
    """As what ``read`` takes ``source`` if no format is named: ``bundled``, ``tau2``, ``world``, or a file's format.

    Raises:
        SeedError: it is a file that is missing, empty, or in no known format.
        ExtraMissing: it is Parquet, and pyarrow is not installed.
    """
    kind, colon, _ = source.partition(":")
    if colon and kind in ("bundled", "tau2"):
        return kind
    path = Path(source).expanduser()
    return "world" if world_folder.is_world_folder(path) else detect_format(path)


def _open(source: str, spelling: str, licence: str | None, on_bad: OnBad) -> Iterator[Seed]:
    kind, colon, name = source.partition(":")
    if colon and kind == "bundled":
        if name not in bundled_names():
            raise SeedError(f"no bundled seeds {name!r}; there are {', '.join(bundled_names())}")
        return world_folder.read_seeds(BUNDLED / name, on_bad, licence)
    if colon and kind == "tau2":
        from simia.seeds import tau2

        return tau2.read_seeds(name, licence)
    path = Path(source).expanduser()
    if path.is_dir() and spelling in ("auto", "world") and world_folder.is_world_folder(path):
        return world_folder.read_seeds(path, on_bad, licence)
    return read_file(path, spelling, licence, on_bad)

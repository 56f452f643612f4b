"""The seeds as they come, good and bad, counted; and what identifies their source."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from simia import __version__
from simia.errors import RecordError
from simia.pipeline import Item
from simia.seeds import read
from simia.synthesis.recipe import SeedSource
from simia.types import Seed

_BLOCK = 1 << 20


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
    """SHA-256 by file of what the source reads; a packaged source is named by its version instead.

    Raises:
        SeedError: a file is missing or cannot be read.
    """
    path = Path(source.source).expanduser()
    if not path.exists():
        return {source.source: f"simia {__version__}"}
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    return {str(file.relative_to(path.parent)): _digest(file) for file in files}


def _bad_item(ordinal: int, error: RecordError) -> Item[Seed | RecordError]:
    return Item(ordinal, f"{Path(error.file).name}:{error.line}", error)


def _digest(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while block := content.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()

"""Seed files: which format they are in, and their seeds."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from simia.errors import FormatError, RecordError, SchemaError, SeedError
from simia.seeds import openai
from simia.seeds.records import OnBad, records
from simia.types import Seed


class RecordReader(Protocol):
    """Turns the records of one format into seeds; keeps the worlds that it has seen."""

    def seed(self, record: Any, seed_id: str) -> Seed:
        """The seed of a record; ``seed_id`` is used where the record has no id.

        Raises:
            FormatError: the record is not in this format.
            SchemaError: a schema of a tool is none.
        """
        ...


class _Format:
    """A format by its module: ``NAME``, ``LICENCE``, ``recognises`` and ``Reader``."""

    def __init__(
        self, name: str, recognises: Callable[[Any], bool], reader: Callable[[str | None], RecordReader]
    ) -> None:
        self.name = name
        self.recognises = recognises
        self.reader = reader


FORMATS: Mapping[str, _Format] = {
    module.NAME: _Format(module.NAME, module.recognises, module.Reader) for module in (openai,)
}


def detect_format(path: Path) -> str:
    """The name of the format of a seed file or folder, judged by the first record that is JSON.

    Raises:
        SeedError: the file is missing or empty, or its format is none of the known ones.
    """
    for _, record in records(path, _ignore):
        for candidate in FORMATS.values():
            if candidate.recognises(record):
                return candidate.name
        keys = ", ".join(map(str, record)) if isinstance(record, Mapping) else type(record).__name__
        raise SeedError(
            f"{path} is in no known format: its first record has {keys or 'no keys'}. "
            f"Known formats: {', '.join(FORMATS)}"
        )
    raise SeedError(f"{path} has no record that is JSON")


def read_file(path: Path, spelling: str, licence: str | None, on_bad: OnBad) -> Iterator[Seed]:
    """The seeds of a file in ``spelling``, or in the format detected if that is ``auto``.

    Raises:
        SeedError: the file is missing or empty, or the format is unknown.
    """
    name = detect_format(path) if spelling == "auto" else spelling
    if name not in FORMATS:
        raise SeedError(f"no seed format {name!r}; known formats: auto, {', '.join(FORMATS)}")
    reader = FORMATS[name].reader(licence)
    for line, record in records(path, on_bad):
        try:
            yield reader.seed(record, f"{path.stem}:{line}")
        except (FormatError, SchemaError) as cause:
            on_bad(RecordError(str(path), line, str(cause)))


def _ignore(error: RecordError) -> None:
    """Bad records are told when the file is read; here only the format is asked."""

"""Seed files: which format they are in, and their seeds."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simia.errors import RecordError, SeedError
from simia.seeds import agent_instruct, hermes, officebench, openai, parquet, sharegpt
from simia.seeds.distinct import DistinctIds
from simia.seeds.records import OnBad, RecordReader, records, seeds_of
from simia.types import Seed


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """A format whose files hold one seed per record: its name, its licence, how to know it, how to read it."""

    name: str
    licence: str
    recognises: Callable[[Any], bool]
    reader: Callable[[str | None], RecordReader]


# In the order in which they are tried: each takes only what those before it leave.
RECORD_FORMATS: Mapping[str, RecordFormat] = {
    one.name: one
    for one in (
        RecordFormat(openai.NAME, openai.LICENCE, openai.recognises, openai.Reader),
        RecordFormat(hermes.NAME, hermes.LICENCE, hermes.recognises, hermes.Reader),
        RecordFormat(
            sharegpt.APIGEN_MT, sharegpt.APIGEN_MT_LICENCE, sharegpt.recognises_apigen_mt, sharegpt.apigen_mt_reader
        ),
        RecordFormat(sharegpt.NAME, sharegpt.LICENCE, sharegpt.recognises, sharegpt.Reader),
        RecordFormat(agent_instruct.NAME, agent_instruct.LICENCE, agent_instruct.recognises, agent_instruct.Reader),
    )
}
NAMES = (*RECORD_FORMATS, officebench.NAME)


def detect_format(path: Path) -> str:
    """The name of the format of a seed file or folder, judged by the first record that can be read.

    Raises:
        SeedError: the file is missing or empty, or its format is none of the known ones.
        ExtraMissing: it is Parquet, and pyarrow is not installed.
    """
    if officebench.is_officebench(path):
        return officebench.NAME
    if path.is_dir():
        raise SeedError(f"{path} is a folder without world.toml and without OfficeBench's subtasks: name a file in it")
    for line, record in _records(path, _ignore):
        for candidate in RECORD_FORMATS.values():
            if candidate.recognises(record):
                return candidate.name
        shape = f"the keys {', '.join(map(str, record))}" if isinstance(record, Mapping) and record else repr(record)
        raise SeedError(
            f"{path}:{line} is in no known format: the record has {shape:.200}; write it in one of the known formats: "
            + ", ".join(NAMES)
        )
    raise SeedError(f"{path} has no record that is a JSON object; known formats: {', '.join(NAMES)}")


def read_file(path: Path, spelling: str, licence: str | None, on_bad: OnBad) -> Iterator[Seed]:
    """The seeds of a file in ``spelling``, or in the format detected if that is ``auto``.

    A second seed of an id is a bad record.

    Raises:
        SeedError: the file is missing or empty, or the format is unknown.
        ExtraMissing: it is Parquet, and pyarrow is not installed.
    """
    name = detect_format(path) if spelling == "auto" else spelling
    if name == officebench.NAME:
        yield from officebench.read_seeds(path, on_bad, licence)
        return
    if name not in RECORD_FORMATS:
        raise SeedError(f"no seed format {name!r}; known formats: auto, world, {', '.join(NAMES)}")
    reader = DistinctIds(RECORD_FORMATS[name].reader(licence))
    yield from seeds_of(path, path.stem, _records(path, on_bad), reader, on_bad)


def _records(path: Path, on_bad: OnBad) -> Iterator[tuple[int, Any]]:
    return parquet.rows(path, on_bad) if path.suffix == ".parquet" else records(path, on_bad)


def _ignore(error: RecordError) -> None:
    """Bad records are told when the file is read; here only the format is asked."""

"""Harvested transitions on disk, streamed: JSON Lines, or Parquet with the extra ``parquet``.

A JSON line is a :class:`Sample` with its stratum and its number of changes beside it. A Parquet row has the same
columns; what has keys of anybody's (arguments, state, changes, history) is JSON text there, since a struct would be
given the keys of all rows.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from simia.bench.sample import Sample
from simia.bench.strata import group_of
from simia.errors import ConfigError, ExtraMissing, FormatError, RecordError
from simia.formats.calls import dump_json, load_json
from simia.store.atomic import disk, put_in_place, sync_data
from simia.types import JsonObject

_ROWS = 512
_BESIDE = ("group", "size")


def write_transitions(path: Path, samples: Iterable[Sample]) -> int:
    """Write ``samples`` to a ``.jsonl`` or ``.parquet`` file, whole or not at all; gives their number.

    Raises:
        ConfigError: the file's name ends with neither.
        ExtraMissing: Parquet without pyarrow.
        StoreError: the file cannot be written.
    """
    if path.suffix not in (".jsonl", ".parquet"):
        raise ConfigError(f"{path}: transitions are written to a .jsonl or a .parquet file")
    scratch = path.with_name(path.name + ".new")
    with disk(path, "make the folder of"):
        path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as unfinished:
        unfinished.callback(_forget, scratch)
        count = _write_lines(scratch, samples) if path.suffix == ".jsonl" else _write_parquet(scratch, samples)
        with disk(scratch, "write"), scratch.open("rb") as file:
            sync_data(file.fileno())
        unfinished.pop_all()
    put_in_place(scratch, path)
    return count


def _forget(scratch: Path) -> None:
    with suppress(OSError):
        scratch.unlink(missing_ok=True)


def read_transitions(path: Path) -> Iterator[Sample]:
    """The samples of a JSON Lines file that :func:`write_transitions` wrote.

    Raises:
        RecordError: a line is none.
        StoreError: the file cannot be read.
    """
    with disk(path, "read"), path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                record = load_json(line)
                sample = Sample.model_validate({key: value for key, value in record.items() if key not in _BESIDE})
            except (FormatError, AttributeError, ValidationError) as cause:
                raise RecordError(str(path), number, f"no transition of simia bench collect: {cause}") from cause
            yield sample


def _write_lines(path: Path, samples: Iterable[Sample]) -> int:
    count = 0
    with disk(path, "write"), path.open("wb", buffering=1 << 20) as file:
        for sample in samples:
            beside = f',"group":"{group_of(sample)}","size":{sample.size}}}\n'
            file.write(sample.model_dump_json().encode()[:-1] + beside.encode())
            count += 1
    return count


def _write_parquet(path: Path, samples: Iterable[Sample]) -> int:
    try:
        from simia.bench.parquet import RowWriter
    except ImportError:
        raise ExtraMissing("parquet", f"writing {path.name.removesuffix('.new')}") from None
    count = 0
    with disk(path, "write"), RowWriter(path) as writer:
        rows: list[JsonObject] = []
        for sample in samples:
            rows.append(_row(sample))
            count += 1
            if len(rows) == _ROWS:
                writer.write(rows)
                rows = []
        writer.write(rows)
    return count


def _row(sample: Sample) -> dict[str, Any]:
    value = sample.model_dump(mode="json")
    return {
        "id": sample.id,
        "world": sample.world,
        "origin": sample.origin,
        "group": group_of(sample),
        "size": sample.size,
        "tool": sample.call.name,
        "arguments": dump_json(value["call"]["arguments"]),
        "state": dump_json(value["state"]),
        "observation": sample.observation,
        "is_error": sample.is_error,
        "changes": dump_json(value["delta"]["changes"]),
        "history": dump_json(value["history"]),
    }

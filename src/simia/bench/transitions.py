"""Harvested transitions on disk, streamed: JSON Lines, or Parquet with the extra ``parquet``.

A JSON line is a :class:`Sample` with its stratum and its number of changes beside it. A Parquet row has the same
columns; what has keys of anybody's (arguments, state, changes, history) is JSON text there, since a struct would be
given the keys of all rows.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from simia.bench.sample import Sample
from simia.bench.strata import group_of
from simia.errors import ConfigError, ExtraMissing, FormatError, RecordError
from simia.formats.calls import dump_json, load_json
from simia.store.atomic import ELSEWHERE, LOOK, disk, put_in_place, sync_data
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
    _demand_known(path, "written to")
    scratch = path.with_name(path.name + ".new")
    with disk(path, "make the folder of", ELSEWHERE):
        path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as unfinished:
        unfinished.callback(_forget, scratch)
        count = _write_lines(scratch, samples) if path.suffix == ".jsonl" else _write_parquet(scratch, samples)
        with disk(scratch, "write", ELSEWHERE), scratch.open("rb") as file:
            sync_data(file.fileno())
        unfinished.pop_all()
    put_in_place(scratch, path, ELSEWHERE)
    return count


def _forget(scratch: Path) -> None:
    with suppress(OSError):
        scratch.unlink(missing_ok=True)


def read_transitions(path: Path) -> Iterator[Sample]:
    """The samples of a file that :func:`write_transitions` wrote, one by one.

    Raises:
        ConfigError: the file's name ends with neither, or it is no Parquet.
        ExtraMissing: Parquet without pyarrow.
        RecordError: a line or a row is no transition.
        StoreError: the file cannot be read.
    """
    _demand_known(path, "read from")
    for number, record in enumerate(_records(path), start=1):
        try:
            yield Sample.model_validate(record())
        except (FormatError, KeyError, TypeError, ValidationError) as cause:
            raise RecordError(str(path), number, f"no transition of simia bench collect: {_reason(cause)}") from cause


def _demand_known(path: Path, doing: str) -> None:
    if path.suffix not in (".jsonl", ".parquet"):
        raise ConfigError(f"{path}: transitions are {doing} a .jsonl or a .parquet file")


def _records(path: Path) -> Iterator[Callable[[], Any]]:
    """For each line or row what makes the record of it, so that the reader knows which one is none."""
    if path.suffix == ".parquet":
        rows = _parquet("reading", path).rows
        with disk(path, "read", LOOK):
            yield from (partial(_of_row, row) for row in rows(path))
        return
    with disk(path, "read", LOOK), path.open("rb") as file:
        yield from (partial(_of_line, line) for line in file)


def _of_line(line: bytes) -> JsonObject:
    record = load_json(line)
    if not isinstance(record, dict):
        raise FormatError("it is no JSON object")
    return {key: value for key, value in record.items() if key not in _BESIDE}


def _of_row(row: JsonObject) -> JsonObject:
    call = {"id": row["call_id"], "name": row["tool"], "arguments": load_json(row["arguments"])}
    told = {key: row[key] for key in ("id", "world", "origin", "observation", "is_error")}
    delta = {"changes": load_json(row["changes"])}
    return {
        **told,
        "call": call,
        "state": load_json(row["state"]),
        "delta": delta,
        "history": load_json(row["history"]),
    }


def _reason(cause: Exception) -> str:
    if not isinstance(cause, ValidationError):
        return f"no {cause}" if isinstance(cause, KeyError) else str(cause)
    first = cause.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"


def _parquet(doing: str, path: Path) -> ModuleType:
    try:
        from simia.bench import parquet
    except ImportError:
        raise ExtraMissing("parquet", f"{doing} {path.name.removesuffix('.new')}") from None
    return parquet


def _write_lines(path: Path, samples: Iterable[Sample]) -> int:
    count = 0
    with disk(path, "write", ELSEWHERE), path.open("wb", buffering=1 << 20) as file:
        for sample in samples:
            beside = f',"group":"{group_of(sample)}","size":{sample.size}}}\n'
            file.write(sample.model_dump_json().encode()[:-1] + beside.encode())
            count += 1
    return count


def _write_parquet(path: Path, samples: Iterable[Sample]) -> int:
    writer_of = _parquet("writing", path).RowWriter
    count = 0
    with disk(path, "write", ELSEWHERE), writer_of(path) as writer:
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
        "call_id": sample.call.id,
        "tool": sample.call.name,
        "arguments": dump_json(value["call"]["arguments"]),
        "state": dump_json(value["state"]),
        "observation": sample.observation,
        "is_error": sample.is_error,
        "changes": dump_json(value["delta"]["changes"]),
        "history": dump_json(value["history"]),
    }

"""The records of a Parquet file, for data sets that come as such. Needs the extra ``parquet``.

Parquet gives every row the same keys: where objects are stored as structs, each is filled up with the keys of all
others, and a null that was meant cannot be told from one that was filled in. Messages bear that. Arguments, schemas and
states, whose keys are anybody's, do not: they are read as JSON text only.
"""

import re
from collections.abc import Callable, Iterator
from math import isfinite
from pathlib import Path
from typing import Any

from simia.errors import ExtraMissing, FormatError, RecordError, SeedError, boundary
from simia.formats.calls import load_json
from simia.seeds.records import OnBad

_ROWS = 64
_TEXT_OR_LIST = ("messages", "conversations")
_MAYBE_TEXT = ("initial_state", "metadata")
_READ = frozenset({*_TEXT_OR_LIST, *_MAYBE_TEXT, "tools", "functions"})
_KEYS_OF_ANYBODY = re.compile(
    r"(messages|conversations|tools|functions)\.(.+\.)?(arguments|parameters|returns)|initial_state"
)


def rows(path: Path, on_bad: OnBad) -> Iterator[tuple[int, Any]]:
    """Row number, from 1, and value of each row; memory holds one batch.

    JSON text is decoded where Arrow says that it is JSON, where conversations are text, and where state or metadata are
    text that is JSON. A row with text that is no JSON in one of the former, or with a number that JSON lacks (NaN,
    infinity) in a column that seeds are read from, goes to ``on_bad``.

    Raises:
        ExtraMissing: pyarrow is not installed.
        SeedError: the file is missing, is no Parquet, or has structs for objects whose keys are anybody's.
    """
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError as cause:
        raise ExtraMissing("parquet", f"reading {path}") from cause
    if not path.is_file():
        raise SeedError(f"no file {path}: check the path")
    number = 0
    with boundary(SeedError, f"read {path} as Parquet"), parquet.ParquetFile(path) as file:
        decoders = {field.name: _decoder(pyarrow, field.type, field.name) for field in file.schema_arrow}
        for batch in file.iter_batches(batch_size=_ROWS):
            for row in batch.to_pylist():
                number += 1
                try:
                    record = {name: decoders[name](value) for name, value in row.items()}
                except FormatError as cause:
                    on_bad(RecordError(str(path), number, str(cause)))
                else:
                    yield number, record


def _decoder(pyarrow: Any, kind: Any, place: str) -> Callable[[Any], Any]:
    """What makes a JSON value of a value of an Arrow type; ``place`` is the column, and the keys down to the value.

    Raises:
        SeedError: it is an object whose keys are anybody's, and no text.
    """
    types = pyarrow.types
    if types.is_nested(kind) and _KEYS_OF_ANYBODY.fullmatch(place):
        raise SeedError(
            f"the column {place} is no text but a {str(kind).partition('<')[0]}, in which a key that was not there is "
            "null: store JSON text there"
        )
    if types.is_struct(kind):
        fields = {field.name: _decoder(pyarrow, field.type, f"{place}.{field.name}") for field in kind}
        return _unless_null(lambda value: {key: fields[key](inner) for key, inner in value.items()})
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        each = _decoder(pyarrow, kind.value_type, place)
        return _unless_null(lambda values: [each(value) for value in values])
    if place in _MAYBE_TEXT:
        return _unless_null(_loaded_if_json)
    if place in _TEXT_OR_LIST or isinstance(kind, pyarrow.JsonType):
        return _unless_null(lambda value: _loaded(value, place))
    if types.is_floating(kind) and place.partition(".")[0] in _READ:
        return _unless_null(lambda value: _finite(value, place))
    return lambda value: value


def _unless_null(decode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else decode(value)


def _loaded_if_json(value: Any) -> Any:
    """The value of JSON text; any other text as it is, for whoever reads the column, if anybody does."""
    try:
        return _loaded(value, "")
    except FormatError:
        return value


def _loaded(value: Any, place: str) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return load_json(value) if value.strip() else None
    except FormatError as cause:
        raise FormatError(f"the column {place}: {cause}") from cause


def _finite(value: float, place: str) -> float:
    if not isfinite(value):
        raise FormatError(f"the column {place} holds {value}, a number that JSON does not have: store null there")
    return value

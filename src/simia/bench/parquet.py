"""Transitions as Parquet; the only module of the benchmark that imports pyarrow (extra ``parquet``)."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

import pyarrow
import pyarrow.parquet

from simia.errors import ConfigError
from simia.types import JsonObject

_ROWS = 64
_TEXTS = (
    "id", "world", "origin", "group", "call_id", "tool", "arguments", "state", "observation", "changes", "history"
)  # fmt: skip
_SCHEMA = pyarrow.schema(
    [*((name, pyarrow.string()) for name in _TEXTS), ("size", pyarrow.int32()), ("is_error", pyarrow.bool_())]
)


class RowWriter:
    """Writes rows in groups, compressed; a context manager that closes the file."""

    def __init__(self, path: Path) -> None:
        self._writer = pyarrow.parquet.ParquetWriter(path, _SCHEMA, compression="zstd")

    def write(self, rows: Sequence[JsonObject]) -> None:
        """One group."""
        if rows:
            self._writer.write_table(pyarrow.Table.from_pylist(list(rows), schema=_SCHEMA))

    def __enter__(self) -> "RowWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()


def rows(path: Path) -> Iterator[JsonObject]:
    """The rows of a file, one after another; memory holds one batch.

    Raises:
        ConfigError: the file is no Parquet.
    """
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_ROWS):
                yield from batch.to_pylist()
    except pyarrow.ArrowException as cause:
        raise ConfigError(f"{path} cannot be read as Parquet ({cause}): is it whole?") from cause

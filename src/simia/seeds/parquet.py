"""The records of a Parquet file, for data sets that come as such. Needs the extra ``parquet``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from simia.errors import ExtraMissing, SeedError, boundary

_ROWS = 64


def rows(path: Path) -> Iterator[tuple[int, Any]]:
    """Row number, from 1, and value of each row; memory holds one batch.

    Raises:
        ExtraMissing: pyarrow is not installed.
        SeedError: the file is missing, or is no Parquet.
    """
    try:
        import pyarrow.parquet as parquet
    except ImportError as cause:
        raise ExtraMissing("parquet", f"reading {path}") from cause
    if not path.is_file():
        raise SeedError(f"no file {path}: check the path")
    number = 0
    with boundary(SeedError, f"read {path} as Parquet"), parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=_ROWS):
            for row in batch.to_pylist():
                number += 1
                yield number, row

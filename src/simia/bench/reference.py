"""The figures that EnvSimBench published: a reference, nothing more, and never among our rows."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class PublishedRow:
    """A row of the published table, in per cent; ``by_size`` is by number of changes, 0 to 6 and 7 to 12, refused calls
    among 0. ``note`` is a sentence on what in the row does not fit.
    """

    model: str
    unchanged: float
    overall: float
    by_size: tuple[float, ...]
    changing: float | None = None
    note: str = ""


@cache
def published_rows() -> tuple[PublishedRow, ...]:
    """What EnvSimBench published (arXiv 2605.07247), by its own rule on its own samples."""
    return tuple(PublishedRow(**{**row, "by_size": tuple(row["by_size"])}) for row in _file()["row"])


def published_source() -> str:
    """Where the published figures stand."""
    return str(_file()["source"])


def published_notes() -> str:
    """What does not fit in the published rows, a sentence for each; it belongs wherever they are shown."""
    return " ".join(f"{row.model}: {row.note}" for row in published_rows() if row.note)


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "published.toml").read_text(encoding="utf-8"))

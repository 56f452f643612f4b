"""TRL records as Parquet; the only module that imports pyarrow (extra ``parquet``)."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import orjson
import pyarrow
import pyarrow.parquet

from simia.store.atomic import ELSEWHERE, disk, put_in_place
from simia.synthesis.export.chat import tools_text, trl_messages
from simia.synthesis.export.files import ExportedFile
from simia.synthesis.export.settings import ExportSettings
from simia.synthesis.export.target import WorldTexts
from simia.types import Trajectory, WorldSpec, canonical_json

_PATH = "trl-parquet/train.parquet"
_ROWS = 256  # rows held in memory and written as one group
_CHUNK = 1 << 20

# The feature types of ``datasets``, which it reads from here. A message is JSON text in Arrow and an object in Python;
# as an Arrow struct every message would get every key of every other, filled with nulls, which templates then render.
_FEATURES = {
    "messages": {"feature": {"_type": "Json"}, "_type": "List"},
    "tools": {"dtype": "string", "_type": "Value"},
}
_SCHEMA = pyarrow.schema(
    [("messages", pyarrow.list_(pyarrow.json_())), ("tools", pyarrow.string())],
    metadata={"huggingface": orjson.dumps({"info": {"features": _FEATURES}}).decode()},
)


class ParquetWriter:
    """``trl-parquet/train.parquet``: the records of the target ``trl``, compressed, in groups of 256 rows."""

    def __init__(self, folder: Path, settings: ExportSettings) -> None:
        self._reasoning = settings.reasoning == "keep"
        self._tools = WorldTexts(tools_text)
        self._final = folder / _PATH
        self._scratch = self._final.with_name(self._final.name + ".new")
        self._messages: list[list[str]] = []
        self._tool_texts: list[str] = []
        self._records = 0
        with disk(self._scratch, "write", ELSEWHERE):
            self._final.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pyarrow.parquet.ParquetWriter(self._scratch, _SCHEMA, compression="zstd")

    def add(self, trajectory: Trajectory, world: WorldSpec) -> None:
        """One row."""
        messages = trl_messages(trajectory, world, self._reasoning)
        self._messages.append([_json_text(message) for message in messages])
        self._tool_texts.append(self._tools.of(world))
        self._records += 1
        if len(self._messages) == _ROWS:
            self._flush()

    def finish(self) -> tuple[ExportedFile, ...]:
        """The one file."""
        self._flush()
        with disk(self._scratch, "write", ELSEWHERE):
            self._writer.close()
            digest = hashlib.sha256()
            with open(self._scratch, "rb") as file:
                while chunk := file.read(_CHUNK):
                    digest.update(chunk)
                os.fsync(file.fileno())
            size = self._scratch.stat().st_size
        return (ExportedFile(_PATH, "trl-parquet", self._records, size, digest.hexdigest()),)

    def place(self) -> None:
        """Put it in place."""
        put_in_place(self._scratch, self._final, ELSEWHERE)

    def abort(self) -> None:
        """Leave nothing behind that is not in place."""
        with suppress(OSError):
            self._writer.close()
        with suppress(OSError):
            self._scratch.unlink()

    def _flush(self) -> None:
        if not self._messages:
            return
        texts = pyarrow.array(self._messages, pyarrow.list_(pyarrow.string()))
        objects = pyarrow.ExtensionArray.from_storage(pyarrow.json_(), texts.flatten())
        messages = pyarrow.ListArray.from_arrays(texts.offsets, objects)
        tools = pyarrow.array(self._tool_texts, pyarrow.string())
        with disk(self._scratch, "write", ELSEWHERE):
            self._writer.write_table(pyarrow.Table.from_arrays([messages, tools], schema=_SCHEMA))
        self._messages = []
        self._tool_texts = []


def _json_text(message: dict[str, object]) -> str:
    try:
        return orjson.dumps(message).decode()
    except orjson.JSONEncodeError:
        return canonical_json(message).decode()

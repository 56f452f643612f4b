"""The worlds of a run, each once."""

from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from simia.errors import CorruptStream
from simia.store.commit import GroupCommit
from simia.store.keyed_file import KeyedFile
from simia.types import WorldSpec

_AT_HAND = 256


class Worlds:
    """World specs by their ``content_id``, which is what a trajectory names. The last 256 used stay in memory.

    Raises:
        CorruptStream: a line that is not the last one cannot be read.
    """

    def __init__(self, path: Path, commit: GroupCommit, *, writable: bool) -> None:
        self._file = KeyedFile(path, "world", commit, writable=writable)
        self._at_hand: OrderedDict[str, WorldSpec] = OrderedDict()

    def put(self, world: WorldSpec) -> str:
        """Keep a world, once, and give its ``content_id``.

        Raises:
            DiskFull: no room.
            StoreError: the run is not open for writing.
        """
        world_id = world.content_id
        if world_id not in self._at_hand:
            self._file.put(world_id, world.model_dump_json().encode())
            self._remember(world_id, world)
        return world_id

    def get(self, world_id: str) -> WorldSpec:
        """The world that a trajectory names.

        Raises:
            CorruptStream: this run holds no such world, or its line cannot be read.
        """
        world = self._at_hand.get(world_id)
        if world is not None:
            self._at_hand.move_to_end(world_id)
            return world
        content = self._file.find(world_id)
        if content is None:
            raise CorruptStream(f"{self._file.path} holds no world {world_id}: restore it from a copy")
        return self._remember(world_id, self._read(world_id, content))

    def __iter__(self) -> Iterator[tuple[str, WorldSpec]]:
        """``content_id`` and spec of every world, in the order in which they came."""
        for world_id, content in self._file:
            yield world_id, self._read(world_id, content)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _remember(self, world_id: str, world: WorldSpec) -> WorldSpec:
        self._at_hand[world_id] = world
        if len(self._at_hand) > _AT_HAND:
            self._at_hand.popitem(last=False)
        return world

    def _read(self, world_id: str, content: bytes) -> WorldSpec:
        try:
            return WorldSpec.model_validate_json(content)
        except ValidationError as cause:
            raise self._file.corrupt(f"world {world_id}", cause) from cause

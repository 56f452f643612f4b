"""The seeds that a run makes conversations from, by place and by id, without holding them all."""

from array import array
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import orjson

from simia.errors import CorruptStream, StoreError
from simia.store import Run, disk, write_atomically
from simia.types import JsonObject, Kept, Message, Seed, State, Value

_HELD = 2048  # seeds kept parsed: about 50 MB at 25 KB each
_FILE = "seeds.json"


class StoredSeed(Value):
    """A seed as the run keeps it: its world stands once in ``worlds.jsonl`` and is named here by content id."""

    id: str
    world: str
    task: str
    reference: tuple[Message, ...]
    initial_state: State | None = None
    licence: str
    metadata: JsonObject = {}

    @classmethod
    def of(cls, seed: Seed, world: str) -> "StoredSeed":
        """``seed``, whose world has the content id ``world``."""
        return cls(
            id=seed.id,
            world=world,
            task=seed.task,
            reference=seed.reference,
            initial_state=seed.initial_state,
            licence=seed.licence,
            metadata=seed.metadata,
        )


class SeedTable:
    """The kept seeds in the order of their source. At most 2,048 are held in memory; the others are read again.

    Conversation ``n`` is made from seed ``n % seeds``, so the table must not grow once conversations are asked for: a
    seed that failed in the prefilter and is kept by a later part of the run would move all others. So the places of the
    kept seeds are written down before the first conversation (``seeds.json``), and hold from then on.

    Raises:
        CorruptStream: ``seeds.json`` or a line of the prefilter's stream cannot be read.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._stream = run.stream("prefilter")
        self._ordinals = array("Q")
        self._places: dict[str, int] = {}
        fixed = _read_fixed(run.folder / _FILE) if run.stream("generate").counts().seen else None
        self.left_out = 0
        """Seeds that were kept too late to be used."""
        for ordinal, key, _ in self._stream.raw_kept():
            if fixed is not None and ordinal not in fixed:
                self.left_out += 1
                continue
            self._places.setdefault(key, len(self._ordinals))
            self._ordinals.append(ordinal)
        self._load = lru_cache(maxsize=_HELD)(self._read)

    def fix(self) -> None:
        """Write down which seeds there are; on return that is on the disk.

        Raises:
            StoreError: the file cannot be written.
        """
        write_atomically(self._run.folder / _FILE, orjson.dumps({"prefilter": self._ordinals.tolist()}) + b"\n")

    def __len__(self) -> int:
        return len(self._ordinals)

    def __getitem__(self, place: int) -> Seed:
        """The seed at ``place``, from 0."""
        return self._load(place)

    def __iter__(self) -> Iterator[Seed]:
        return (self[place] for place in range(len(self)))

    def by_id(self, seed_id: str) -> Seed | None:
        """The first seed of that id, or None."""
        place = self._places.get(seed_id)
        return None if place is None else self[place]

    def _read(self, place: int) -> Seed:
        outcome = self._stream.outcome_of(self._ordinals[place], StoredSeed)
        if not isinstance(outcome, Kept):
            raise StoreError(f"seed {self._ordinals[place]} of {self._stream.path} is gone: begin another --run")
        stored = outcome.value
        return Seed(
            id=stored.id,
            world=self._run.worlds.get(stored.world),
            task=stored.task,
            reference=stored.reference,
            initial_state=stored.initial_state,
            licence=stored.licence,
            metadata=stored.metadata,
        )


def _read_fixed(path: Path) -> frozenset[int] | None:
    if not path.exists():
        return None
    with disk(path, "read"):
        content = path.read_bytes()
    try:
        return frozenset(orjson.loads(content)["prefilter"])
    except (orjson.JSONDecodeError, KeyError, TypeError) as cause:
        raise CorruptStream(f"{path} does not say which seeds are used: restore it, or begin another --run") from cause

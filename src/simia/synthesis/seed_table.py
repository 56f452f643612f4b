"""The seeds of a run that passed the prefilter, by place and by id, without holding them all."""

from array import array
from collections.abc import Iterator
from functools import lru_cache

from simia.errors import StoreError
from simia.store import Run, Stream
from simia.types import JsonObject, Kept, Message, Seed, State, Value

_HELD = 2048  # seeds kept parsed: about 50 MB at 25 KB each


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
    """The kept seeds in the order of their source. At most 2,048 are held in memory; the others are read again."""

    def __init__(self, run: Run, stream: Stream) -> None:
        self._run = run
        self._stream = stream
        self._ordinals = array("Q")
        self._places: dict[str, int] = {}
        for ordinal, key, _ in stream.raw_kept():
            self._places.setdefault(key, len(self._ordinals))
            self._ordinals.append(ordinal)
        self._load = lru_cache(maxsize=_HELD)(self._read)

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

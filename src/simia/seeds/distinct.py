"""One id, one seed: everything that is made from a seed is keyed by its id."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from simia.errors import FormatError
from simia.seeds.records import RecordReader
from simia.types import Seed

_DIGEST_BYTES = 8


def id_of(record: Mapping[str, Any], otherwise: str) -> str:
    """The record's own id, or ``otherwise`` where it has none, null or an empty text."""
    own = record.get("id")
    return otherwise if own is None or own == "" else str(own)


class DistinctIds:
    """A reader that refuses a seed whose id an earlier seed of the same source has; the first keeps it.

    Two seeds of one id would draw the same plans, and copies could not be told from whose seed they are. Memory: a
    digest of 8 bytes in a set, about 100 bytes a seed; that two of a million ids share one has a chance of 3 in 10^8.
    """

    def __init__(self, reader: RecordReader) -> None:
        self._reader = reader
        self._seen: set[int] = set()

    def seed(self, record: Any, seed_id: str) -> Seed:
        """The seed of a record.

        Raises:
            FormatError: the record is not in the reader's format, or its id was taken before.
            SchemaError: a schema of a tool is none.
        """
        seed = self._reader.seed(record, seed_id)
        spelled = seed.id.encode("utf-8", "surrogatepass")
        digest = int.from_bytes(blake2b(spelled, digest_size=_DIGEST_BYTES).digest(), "big")
        if digest in self._seen:
            raise FormatError(f"an earlier seed has the id {seed.id!r} too: give each its own, or none at all")
        self._seen.add(digest)
        return seed

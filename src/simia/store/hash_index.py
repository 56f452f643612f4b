"""From 64-bit hashes to offsets, sixteen bytes an entry."""

import hashlib
from array import array
from bisect import bisect_left
from collections.abc import Iterator

_SHIFT = 56


class HashIndex:
    """Offsets by the hash of an identifier, in 256 sorted arrays.

    An insert moves a few kilobytes, so that it never stops the event loop as the rehashing of one large table would,
    and a million entries take 16 MB where a dict takes 150. Hashes can collide: the caller verifies what it finds.
    """

    def __init__(self) -> None:
        self._hashes = [array("Q") for _ in range(256)]
        self._offsets = [array("Q") for _ in range(256)]

    def add(self, identifier: str, offset: int) -> None:
        """``identifier`` stands at ``offset``."""
        number = _hash(identifier)
        hashes = self._hashes[number >> _SHIFT]
        place = bisect_left(hashes, number)
        hashes.insert(place, number)
        self._offsets[number >> _SHIFT].insert(place, offset)

    def candidates(self, identifier: str) -> Iterator[int]:
        """Offsets where ``identifier`` may stand; almost always none or one."""
        number = _hash(identifier)
        hashes = self._hashes[number >> _SHIFT]
        place = bisect_left(hashes, number)
        while place < len(hashes) and hashes[place] == number:
            yield self._offsets[number >> _SHIFT][place]
            place += 1


def _hash(identifier: str) -> int:
    digest = hashlib.blake2b(identifier.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")

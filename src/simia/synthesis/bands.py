"""Which sketches have a band in common: the index of near-duplicate detection, packed."""

import struct
from array import array
from collections.abc import Iterator, Sequence
from zlib import crc32

_FEWEST_SLOTS = 1 << 10
_LOW = (1 << 32) - 1


class BandIndex:
    """Places of sketches by the bands of their MinHash: ``bands`` runs of equally many of its ``permutations`` values.

    One table with open addressing holds ``checksum << 32 | place + 1`` for each band of each sketch, at most half full:
    16 to 32 bytes a band, where rensa's own index takes 127. Two bands with the same checksum are taken for one, so
    what is found must be verified, as it must anyway.
    """

    def __init__(self, permutations: int, bands: int) -> None:
        rows = permutations // bands
        self._pack = struct.Struct(f"={permutations}I").pack
        self._split = struct.Struct(f"{4 * rows}s" * bands).unpack
        self._slots = array("Q", bytes(8 * _FEWEST_SLOTS))
        self._used = 0
        self._places = 0

    def bands_of(self, digest: Sequence[int]) -> list[int]:
        """The checksums of the bands of a MinHash, for :meth:`find` and :meth:`add`."""
        return list(map(crc32, self._split(self._pack(*digest))))

    def find(self, bands: Sequence[int]) -> set[int]:
        """The places of all sketches with one of ``bands``, and with a little chance of some others."""
        slots = self._slots
        mask = len(slots) - 1
        found: set[int] = set()
        for band in bands:
            at = band & mask
            while entry := slots[at]:
                if entry >> 32 == band:
                    found.add((entry & _LOW) - 1)
                at = (at + 1) & mask
        return found

    def add(self, bands: Sequence[int]) -> None:
        """Note the bands of the next sketch; its place is the number of those before."""
        self._used += len(bands)
        if self._used * 2 > len(self._slots):
            self._grow()
        self._places += 1
        self._fill(band << 32 | self._places for band in bands)

    def _grow(self) -> None:
        old = self._slots
        self._slots = array("Q", bytes(16 * len(old)))
        self._fill(filter(None, old))

    def _fill(self, entries: Iterator[int]) -> None:
        slots = self._slots
        mask = len(slots) - 1
        for entry in entries:
            at = (entry >> 32) & mask
            while slots[at]:
                at = (at + 1) & mask
            slots[at] = entry

"""The band index finds every sketch with a band in common, however many there are."""

import random

from hypothesis import given
from hypothesis import strategies as st

from simia.synthesis.bands import BandIndex

PERMUTATIONS, BANDS = 8, 4
ROWS = PERMUTATIONS // BANDS
Digest = list[int]


def shared(one: Digest, other: Digest) -> bool:
    return any(one[at : at + ROWS] == other[at : at + ROWS] for at in range(0, PERMUTATIONS, ROWS))


@given(st.lists(st.lists(st.integers(0, 3), min_size=PERMUTATIONS, max_size=PERMUTATIONS), max_size=30))
def test_every_digest_with_a_band_in_common_is_found(digests: list[Digest]) -> None:
    index = BandIndex(PERMUTATIONS, BANDS)
    for place, digest in enumerate(digests):
        bands = index.bands_of(digest)
        assert index.find(bands) >= {one for one in range(place) if shared(digests[one], digest)}
        index.add(bands)


def test_a_growing_index_forgets_nothing_and_finds_hardly_anything_else() -> None:
    rng = random.Random(5)
    index = BandIndex(PERMUTATIONS, BANDS)
    digests = [[rng.getrandbits(32) for _ in range(PERMUTATIONS)] for _ in range(5000)]
    for digest in digests:
        index.add(index.bands_of(digest))
    found = [index.find(index.bands_of(digest)) for digest in digests]
    assert all(place in places for place, places in enumerate(found))
    assert sum(map(len, found)) < 5010


def test_digests_that_agree_nowhere_do_not_find_each_other() -> None:
    index = BandIndex(PERMUTATIONS, BANDS)
    index.add(index.bands_of([1] * PERMUTATIONS))
    assert index.find(index.bands_of([2] * PERMUTATIONS)) == set()

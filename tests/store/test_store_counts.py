"""The law of counts, and the compact indexes."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simia.errors import StoreError
from simia.store import Counts
from simia.store.hash_index import HashIndex
from simia.store.stream_index import StreamIndex


def test_every_seen_item_has_one_outcome() -> None:
    assert Counts(seen=6, kept=1, failed=2, dropped={"a": 3}).dropped_total == 3
    with pytest.raises(ValueError, match="7 items were seen but 6 have an outcome"):
        Counts(seen=7, kept=1, failed=2, dropped={"a": 3})


@given(st.dictionaries(st.text(max_size=4), st.integers(0, 2**40)))
def test_what_was_added_to_a_hash_index_is_among_the_candidates(entries: dict[str, int]) -> None:
    index = HashIndex()
    for identifier, offset in entries.items():
        index.add(identifier, offset)
    assert all(offset in index.candidates(identifier) for identifier, offset in entries.items())
    assert list(index.candidates("longer than four")) == []


def test_a_million_ordinals_take_less_than_24_megabytes() -> None:
    tracemalloc.start()
    try:
        index = StreamIndex()
        index.put(999_999, index.code(999_999, "kept", ""), 1, 1)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 24_000_000


def test_more_rules_than_fit_are_refused_with_advice() -> None:
    index = StreamIndex()
    for n in range(65_532):
        index.put(0, index.code(0, "dropped", f"rule {n}"), 0, 1)
    with pytest.raises(StoreError, match="what varies belongs to its detail"):
        index.code(0, "dropped", "one more")
    assert index.counts().dropped == {"rule 65531": 1}

"""Which items a page shows."""

from hypothesis import given, settings
from hypothesis import strategies as st

from simia.report.selection import Reservoir, conversation_of, share_out


def offer(size: int, count: int) -> Reservoir[int]:
    reservoir: Reservoir[int] = Reservoir(size)
    for item in range(count):
        place = reservoir.place()
        if place is not None:
            reservoir.put(place, item)
    return reservoir


@given(st.integers(0, 20), st.integers(0, 60))
@settings(max_examples=60, deadline=None)
def test_a_reservoir_holds_different_items_up_to_its_size(size: int, count: int) -> None:
    items = offer(size, count).items

    assert len(items) == len(set(items)) == min(size, count)


def test_the_same_offers_give_the_same_choice() -> None:
    assert offer(5, 1000).items == offer(5, 1000).items


def test_late_items_are_chosen_too() -> None:
    assert max(offer(50, 1000).items) > 500


@given(st.integers(0, 100), st.dictionaries(st.sampled_from("abc"), st.integers(0, 80)))
@settings(max_examples=100, deadline=None)
def test_shares_fill_the_page_and_never_exceed_what_is_there(cap: int, wanted: dict[str, int]) -> None:
    shares = share_out(cap, wanted)

    assert sum(shares.values()) == min(cap, sum(wanted.values()))
    assert all(shares[group] <= wanted[group] for group in wanted)


def test_a_rare_outcome_is_shown_whole_beside_a_frequent_one() -> None:
    assert share_out(100, {"kept": 20, "dropped": 980, "failed": 0}) == {"kept": 20, "dropped": 80, "failed": 0}


def test_a_seed_is_shown_in_the_shape_of_a_trajectory() -> None:
    seed = {"id": "s-1", "world": "abc", "task": "Return it.", "reference": [], "licence": "MIT"}

    shown = conversation_of(seed)

    assert shown is not None
    assert (shown["world"], shown["messages"], shown["provenance"]["seed"]) == ("abc", [], "s-1")


def test_a_value_that_is_no_conversation_is_not_shown_as_one() -> None:
    assert conversation_of({"text": "..."}) is None

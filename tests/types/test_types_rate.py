"""Wilson's interval, against figures of others."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.types.rate import Rate, wilson


@pytest.mark.parametrize(
    ("hits", "count", "low", "high"),
    [
        # Newcombe, Statistics in Medicine 17 (1998), table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_the_intervals_are_those_in_the_literature(hits: int, count: int, low: float, high: float) -> None:
    assert wilson(hits, count) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("hits", "count", "low", "high"),
    [
        # statsmodels 0.15, proportion_confint(method="wilson")
        (1, 10, 0.017876213095072924, 0.40415002679523854),
        (5, 10, 0.23659309051256394, 0.7634069094874361),
        (100, 400, 0.2100790142364741, 0.29467713293067416),
    ],
)
def test_the_intervals_are_those_of_statsmodels(hits: int, count: int, low: float, high: float) -> None:
    assert wilson(hits, count) == pytest.approx((low, high), abs=1e-12)


def test_five_of_ten_with_z_of_2_worked_out_by_hand() -> None:
    half = (1 / 14) ** 0.5  # 2 * sqrt(0.25 / 10 + 4 / 400) / 1.4
    assert wilson(5, 10, z=2) == pytest.approx((0.5 - half, 0.5 + half))


@pytest.mark.parametrize("count", [1, 3, 10, 29, 400, 10**6])
def test_the_lower_bound_of_none_is_exactly_0_and_the_upper_of_all_exactly_1(count: int) -> None:
    assert wilson(0, count)[0] == 0.0
    assert wilson(count, count)[1] == 1.0


@pytest.mark.parametrize("count", [1, 3, 10, 29, 400])
def test_none_may_be_some_and_all_may_be_less(count: int) -> None:
    assert 0 < wilson(0, count)[1] < 1
    assert 0 < wilson(count, count)[0] < 1


def test_of_nothing_everything_is_possible() -> None:
    rate = Rate(0, 0)
    assert (rate.value, rate.low, rate.high) == (None, 0.0, 1.0)


def test_a_rate_counts_what_is_true() -> None:
    rate = Rate.of(iter([True, False, True, True]))
    assert (rate.hits, rate.count, rate.value) == (3, 4, 0.75)


proportions = st.integers(1, 500).flatmap(lambda count: st.tuples(st.integers(0, count), st.just(count)))


@given(proportions)
@settings(max_examples=200, deadline=None)
def test_the_share_lies_in_its_interval_and_that_between_0_and_1(proportion: tuple[int, int]) -> None:
    hits, count = proportion
    low, high = wilson(hits, count)
    assert 0.0 <= low <= hits / count <= high <= 1.0
    assert low < high


@given(proportions)
@settings(max_examples=200, deadline=None)
def test_the_interval_of_misses_mirrors_that_of_hits(proportion: tuple[int, int]) -> None:
    hits, count = proportion
    low, high = wilson(hits, count)
    assert wilson(count - hits, count) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@given(proportions)
@settings(max_examples=200, deadline=None)
def test_ten_times_as_many_make_the_interval_narrower(proportion: tuple[int, int]) -> None:
    hits, count = proportion
    low, high = wilson(hits, count)
    closer = wilson(10 * hits, 10 * count)
    assert closer[1] - closer[0] < high - low

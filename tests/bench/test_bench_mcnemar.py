"""McNemar's exact test, against figures of others."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.bench.mcnemar import Pairing, mcnemar


def rows(only_first: int, only_second: int, both: int = 0, neither: int = 0) -> tuple[list[bool], list[bool]]:
    pairs = [(True, False)] * only_first + [(False, True)] * only_second
    pairs += [(True, True)] * both + [(False, False)] * neither
    return [first for first, _ in pairs], [second for _, second in pairs]


@pytest.mark.parametrize(
    ("only_first", "only_second", "p_value"),
    [
        # scipy 1.17, binomtest(min(a, b), a + b, 0.5).pvalue
        (10, 2, 0.03857421875),
        (0, 5, 0.0625),
        (1, 6, 0.125),
        (3, 0, 0.25),
        (30, 12, 0.007915897334896727),
        (7, 7, 1.0),
    ],
)
def test_the_p_values_are_those_of_scipy(only_first: int, only_second: int, p_value: float) -> None:
    assert mcnemar(*rows(only_first, only_second)).p_value == pytest.approx(p_value, rel=1e-12)


def test_samples_on_which_both_agree_say_nothing() -> None:
    assert mcnemar(*rows(10, 2, both=50, neither=90)) == Pairing(10, 2, 50, 90, mcnemar(*rows(10, 2)).p_value)


def test_two_equal_rows_differ_by_chance() -> None:
    assert mcnemar(*rows(0, 0, both=3, neither=4)) == Pairing(0, 0, 3, 4, 1.0)


def test_no_samples_say_nothing() -> None:
    assert mcnemar([], []).p_value == 1.0


@given(st.integers(0, 60), st.integers(0, 60))
@settings(max_examples=200, deadline=None)
def test_it_does_not_matter_who_comes_first(one: int, other: int) -> None:
    there, back = mcnemar(*rows(one, other)), mcnemar(*rows(other, one))
    assert there.p_value == back.p_value
    assert (there.only_first, there.only_second) == (back.only_second, back.only_first)


@given(st.integers(0, 60), st.integers(0, 60))
@settings(max_examples=200, deadline=None)
def test_a_p_value_is_a_probability(one: int, other: int) -> None:
    assert 0 < mcnemar(*rows(one, other)).p_value <= 1


def test_many_differing_samples_are_no_overflow() -> None:
    assert mcnemar(*rows(1100, 0)).p_value == 0.0
    assert 0.9 < mcnemar(*rows(1100, 1101)).p_value <= 1


def test_rows_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        mcnemar([True], [])

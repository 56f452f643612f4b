"""The laws of a state and what changes in it."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.errors import StateError
from simia.types import Put, Remove, State, StateDelta, same

keys = st.sampled_from(["a", "b", "a.b", "", "a/b", "1", "ä"])
leaves = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, 0.5]) | st.text(max_size=2)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=3), max_leaves=8
)
states = st.dictionaries(keys, values, max_size=4)


@given(before=states, after=states)
@settings(max_examples=300, deadline=None)
def test_the_delta_between_two_states_leads_from_one_to_the_other(before: State, after: State) -> None:
    assert same(StateDelta.between(before, after).apply(before), after)


@given(state=states)
@settings(max_examples=100, deadline=None)
def test_between_a_state_and_its_copy_nothing_changes(state: State) -> None:
    assert StateDelta.between(state, copy.deepcopy(state)).size == 0


@given(before=states, after=states)
@settings(max_examples=200, deadline=None)
def test_applying_a_delta_leaves_the_state_as_it_was(before: State, after: State) -> None:
    kept = copy.deepcopy(before)
    StateDelta.between(before, after).apply(before)
    assert same(before, kept)


@given(before=states, after=states)
@settings(max_examples=200, deadline=None)
def test_applying_a_delta_twice_gives_the_same_twice(before: State, after: State) -> None:
    delta = StateDelta.between(before, after)
    kept = delta.model_dump()
    first = delta.apply(before)
    assert same(delta.apply(before), first)
    assert same(delta.model_dump(), kept)


@given(before=states, after=states)
@settings(max_examples=100, deadline=None)
def test_a_delta_survives_its_json(before: State, after: State) -> None:
    delta = StateDelta.between(before, after)
    assert same(StateDelta.model_validate_json(delta.model_dump_json()).apply(before), after)


@given(before=states, after=states)
@settings(max_examples=100, deadline=None)
def test_a_delta_touches_each_place_once(before: State, after: State) -> None:
    paths = [change.path for change in StateDelta.between(before, after).changes]
    assert len(paths) == len(set(paths))
    assert not any(one != other and other[: len(one)] == one for one in paths for other in paths)


@given(one=values, other=values)
@settings(max_examples=200, deadline=None)
def test_sameness_goes_both_ways(one: Any, other: Any) -> None:
    assert same(one, other) == same(other, one)


@given(value=values)
@settings(max_examples=100, deadline=None)
def test_a_value_is_the_same_as_its_copy(value: Any) -> None:
    assert same(value, copy.deepcopy(value))


@pytest.mark.parametrize(
    ("one", "other"), [(True, 1), (False, 0), ([True], [1]), ({"a": {"b": True}}, {"a": {"b": 1}})]
)
def test_true_is_not_one_at_any_depth(one: Any, other: Any) -> None:
    assert not same(one, other)


def test_one_is_one_point_zero() -> None:
    assert same({"a": 1}, {"a": 1.0})


def test_true_put_over_one_is_a_change() -> None:
    assert StateDelta.between({"a": 1}, {"a": True}).changes == (Put(path=("a",), value=True),)


def test_a_key_with_a_dot_is_one_key() -> None:
    delta = StateDelta.between({"a.b": 1, "a": {"b": 2}}, {"a.b": 3, "a": {"b": 2}})
    assert delta.changes == (Put(path=("a.b",), value=3),)


def test_a_list_is_put_as_a_whole() -> None:
    assert StateDelta.between({"a": [1, 2]}, {"a": [1, 3]}).changes == (Put(path=("a",), value=[1, 3]),)


def test_changes_apply_in_order() -> None:
    delta = StateDelta(
        changes=(
            Put(path=("a",), value={}),
            Put(path=("a", "b"), value=1),
            Remove(path=("a", "b")),
            Put(path=("a", "c"), value=2),
        )
    )
    assert delta.apply({}) == {"a": {"c": 2}}


def test_writing_into_a_value_that_was_put_does_not_change_the_delta() -> None:
    delta = StateDelta(changes=(Put(path=("a",), value={}), Put(path=("a", "b"), value=1)))
    delta.apply({})
    assert delta.apply({}) == {"a": {"b": 1}}
    assert delta.changes[0] == Put(path=("a",), value={})


def test_a_branch_is_forgotten_when_it_is_replaced() -> None:
    delta = StateDelta(
        changes=(
            Put(path=("a", "b"), value=1),
            Put(path=("a",), value={"c": 2}),
            Put(path=("a", "d"), value=3),
        )
    )
    assert delta.apply({"a": {"b": 0}}) == {"a": {"c": 2, "d": 3}}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (Remove(path=("x",)), "nothing to remove at 'x'"),
        (Put(path=("x", "y"), value=1), "'x' is missing"),
        (Put(path=("n", "y"), value=1), "'n' is no object"),
        (Remove(path=("o", "x.y")), "nothing to remove at 'o' > 'x.y'"),
    ],
)
def test_a_change_that_does_not_fit_says_where(change: Put | Remove, reason: str) -> None:
    with pytest.raises(StateError, match=reason):
        StateDelta(changes=(change,)).apply({"n": 1, "o": {}})


def test_a_path_has_at_least_one_key() -> None:
    with pytest.raises(ValueError, match="at least 1 item"):
        Put(path=(), value=1)

"""What differs between two states, against a plain differ that is slow and easy to believe."""

import copy
from collections import OrderedDict, defaultdict
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from simia.errors import StateError
from simia.types import ABSENT, Path, Put, Remove, State, StateDelta, differences, same

BIG = 2**64
keys = st.sampled_from(["a", "b", "a.b", "", "1"])
leaves = st.sampled_from(
    [None, True, False, 0, 1, 2, 0.0, 1.0, 0.5, -0.0, BIG, BIG + 1, float(BIG), "", "1", "a", "\ud800"]
)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=10
)
states = st.dictionaries(keys, values, max_size=4)


def meant(value: Any) -> Any:
    """What a JSON value means, in a form that Python compares rightly."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return type(value).__name__, value
    if isinstance(value, int | float):
        return "number", Fraction(value)
    if isinstance(value, list):
        return "list", tuple(map(meant, value))
    return "object", frozenset((key, meant(entry)) for key, entry in value.items())


def plain(before: State, after: State, path: Path = ()) -> dict[Path, Any]:
    """Every path with the value after, by trying every key."""
    found: dict[Path, Any] = {}
    for key in before.keys() | after.keys():
        old, new = before.get(key, ABSENT), after.get(key, ABSENT)
        if isinstance(old, dict) and isinstance(new, dict):
            found |= plain(old, new, (*path, key))
        elif ABSENT in (old, new) or meant(old) != meant(new):
            found[(*path, key)] = new
    return found


@st.composite
def _neighbours(draw: st.DrawFn) -> tuple[State, State]:
    """Two states of which one was made from the other, so that most of them is equal but not identical."""
    before = draw(states)
    after = copy.deepcopy(before)
    for key in draw(st.lists(keys, max_size=2)):
        after[key] = draw(values)
    for table in [one for one in after.values() if isinstance(one, dict) and one][:1]:
        table[draw(keys)] = draw(values)
    return before, dict(reversed(after.items()))


pairs = _neighbours() | st.tuples(states, states)


@given(pairs)
@settings(max_examples=300, deadline=None)
@example(({"a": 1}, {"a": True}))
@example(({"a": [1, {"b": [0]}]}, {"a": [True, {"b": [False]}]}))
@example(({"a": {"b": 1}}, {"a": {"b": 1.0}}))
@example(({"a": BIG}, {"a": BIG + 1}))
@example(({"a": [BIG + 1]}, {"a": [float(BIG)]}))
@example(({"a": {"b": 1, "1": 2}}, {"a": {"1": 2, "b": 1}}))
@example(({"a": {}}, {"a": []}))
def test_the_differences_are_those_of_a_plain_differ(pair: tuple[State, State]) -> None:
    before, after = pair
    found = differences(before, after)
    expected = plain(before, after)
    assert len(found) == len(expected)
    assert all(path in expected and meant_or_absent(value) == meant_or_absent(expected[path]) for path, value in found)


def meant_or_absent(value: Any) -> Any:
    return ABSENT if value is ABSENT else meant(value)


@given(values, values)
@settings(max_examples=300, deadline=None)
@example([1], [True])
@example({"a": 0}, {"a": False})
@example(BIG, float(BIG))
@example(BIG + 1, float(BIG))
@example({"a": 1, "b": [2]}, {"b": [2.0], "a": 1})
def test_same_is_equality_of_what_is_meant(one: Any, other: Any) -> None:
    assert same(one, other) == (meant(one) == meant(other))


@given(pairs)
@settings(max_examples=80, deadline=None)
def test_the_differences_are_none_exactly_between_states_that_are_the_same(pair: tuple[State, State]) -> None:
    assert (not differences(*pair)) == same(*pair)


@given(pairs)
@settings(max_examples=80, deadline=None)
def test_what_differs_there_differs_back(
    pair: tuple[State, State],
) -> None:
    forth = {path for path, _ in differences(*pair)}
    assert forth == {path for path, _ in differences(pair[1], pair[0])}


@given(pairs)
@settings(max_examples=80, deadline=None)
def test_a_delta_is_its_differences(pair: tuple[State, State]) -> None:
    before, after = pair
    changes = StateDelta.between(before, after).changes
    assert [change.path for change in changes] == [path for path, _ in differences(before, after)]
    assert all(isinstance(change, Remove) == (change.path in _gone(before, after)) for change in changes)


def _gone(before: State, after: State) -> set[Path]:
    return {path for path, value in differences(before, after) if value is ABSENT}


@given(pairs)
@settings(max_examples=80, deadline=None)
def test_after_its_delta_nothing_differs(pair: tuple[State, State]) -> None:
    before, after = pair
    assert differences(StateDelta.between(before, after).apply(before), after) == []


@given(pairs, st.randoms(use_true_random=False))
@settings(max_examples=80, deadline=None)
def test_the_changes_of_a_delta_lead_to_the_same_state_in_any_order(pair: tuple[State, State], draw: Any) -> None:
    before, after = pair
    changes = list(StateDelta.between(before, after).changes)
    draw.shuffle(changes)
    assert same(StateDelta(changes=tuple(changes)).apply(before), after)


@given(pairs, st.data())
@settings(max_examples=80, deadline=None)
def test_no_change_of_a_delta_can_be_left_out(pair: tuple[State, State], data: st.DataObject) -> None:
    before, after = pair
    changes = StateDelta.between(before, after).changes
    if not changes:
        return
    left_out = data.draw(st.integers(0, len(changes) - 1))
    others = StateDelta(changes=changes[:left_out] + changes[left_out + 1 :])
    assert not same(others.apply(before), after)


@given(states, states, states)
@settings(max_examples=80, deadline=None)
def test_two_deltas_one_after_another_are_one_delta(one: State, two: State, three: State) -> None:
    both = StateDelta.between(one, two).changes + StateDelta.between(two, three).changes
    assert same(StateDelta(changes=both).apply(one), three)


@given(pairs)
@settings(max_examples=80, deadline=None)
def test_a_delta_between_leaves_both_states_as_they_were(pair: tuple[State, State]) -> None:
    kept = copy.deepcopy(pair)
    StateDelta.between(*pair)
    assert pair == kept


def test_a_branch_that_does_not_change_is_shared() -> None:
    before: State = {"a": {"deep": {"x": 1}}, "b": {"y": 1}}
    after = StateDelta(changes=(Put(path=("b", "y"), value=2),)).apply(before)
    assert after["a"] is before["a"]
    assert after["b"] is not before["b"]


@pytest.mark.parametrize("kind", [OrderedDict, lambda entries: defaultdict(dict, entries)])
def test_a_dictionary_of_another_class_is_walked_too(kind: Any) -> None:
    before: State = {"t": kind({"x": {"n": 1}, "y": {"n": 1}})}
    assert differences(before, {"t": {"x": {"n": 2}, "y": {"n": 1}}}) == [(("t", "x", "n"), 2)]
    assert differences(before, {"t": kind({"x": {"n": 2}, "y": {"n": 1}})}) == [(("t", "x", "n"), 2)]


def test_a_tuple_is_the_list_that_json_makes_of_it() -> None:
    assert differences({"a": (1, 2)}, {"a": [1, 2]}) == []


def test_an_object_put_over_a_list_is_one_change() -> None:
    assert differences({"a": [1]}, {"a": {"0": 1}}) == [(("a",), {"0": 1})]


def test_an_object_that_becomes_empty_loses_its_keys_one_by_one() -> None:
    assert differences({"a": {"x": 1, "y": 2}}, {"a": {}}) == [(("a", "x"), ABSENT), (("a", "y"), ABSENT)]


def test_a_key_that_becomes_null_has_changed_and_one_that_was_null_and_goes_has_too() -> None:
    assert differences({"a": 1, "b": None}, {"a": None}) == [(("b",), ABSENT), (("a",), None)]


def test_values_nested_deeper_than_orjson_writes_are_compared() -> None:
    def nested(depth: int, core: Any) -> Any:
        return core if depth == 0 else [nested(depth - 1, core)]

    assert differences({"a": nested(300, 1)}, {"a": nested(300, 1)}) == []
    assert [path for path, _ in differences({"a": nested(300, 1)}, {"a": nested(300, True)})] == [("a",)]


def test_a_removal_below_a_removed_branch_does_not_fit() -> None:
    delta = StateDelta(changes=(Remove(path=("a",)), Remove(path=("a", "b"))))
    with pytest.raises(StateError, match="'a' is missing"):
        delta.apply({"a": {"b": 1}})

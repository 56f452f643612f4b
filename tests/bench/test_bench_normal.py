"""When two observations say the same."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.bench.normal import NOT_JSON, parsed, same_observation

SAME = {
    "equal texts": ("No such order.", "No such order."),
    "white space at the ends of a text": (" No such order.\n", "No such order."),
    "white space in JSON": ('{ "a" : [1,\n 2] }', '{"a":[1,2]}'),
    "another order of keys": ('{"b":2,"a":1}', '{"a":1,"b":2}'),
    "an integer as a float": ('{"a":1.0}', '{"a":1}'),
    "a number in another spelling": ("1e2", "100"),
    "an escape": ('{"a":"\\u00e9"}', '{"a":"é"}'),
    "a long integer": ("[12345678901234567890123]", "[ 12345678901234567890123 ]"),
    "the text of a JSON string": ("done", '"done"'),
    "the text of a JSON string that looks like a number": ("7", '"7"'),
    "nothing and nothing": ("", ""),
}
OTHER = {
    "another value": ('{"a":1}', '{"a":2}'),
    "a key more": ('{"a":1,"b":2}', '{"a":1}'),
    "a key less": ("{}", '{"a":null}'),
    "another order in a list": ("[2,1]", "[1,2]"),
    "true for one": ('{"a":true}', '{"a":1}'),
    "a number for its text": ('{"a":"1"}', '{"a":1}'),
    "null for nothing": ("null", ""),
    "another case": ("no such order.", "No such order."),
    "a missing full stop": ("No such order", "No such order."),
    "white space inside a text": ("No  such order.", "No such order."),
    "quotes around a text": ('"No such order."', "No such order."),
    "a text for JSON": ("a: 1", '{"a":1}'),
    "JSON for a text": ('{"a":1}', "a: 1"),
    "a Python literal for JSON": ("{'a': 1}", '{"a":1}'),
    "a fence around JSON": ('```json\n{"a":1}\n```', '{"a":1}'),
    "long integers that are one float": ("[12345678901234567890124]", "[12345678901234567890123]"),
    "a key that stands twice": ('{"a":2,"a":1}', '{"a":1}'),
}


@pytest.mark.parametrize(("predicted", "truth"), SAME.values(), ids=SAME)
def test_is_the_same(predicted: str, truth: str) -> None:
    assert same_observation(predicted, truth)


@pytest.mark.parametrize(("predicted", "truth"), OTHER.values(), ids=OTHER)
def test_is_not_the_same(predicted: str, truth: str) -> None:
    assert not same_observation(predicted, truth)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)


@given(json_values)
@settings(max_examples=200, deadline=None)
def test_a_value_is_the_same_in_any_layout(value: Any) -> None:
    assert same_observation(json.dumps(value, indent=2), json.dumps(value, ensure_ascii=False, separators=(",", ":")))


@given(st.text(max_size=12))
@settings(max_examples=200, deadline=None)
def test_every_observation_is_the_same_as_itself(text: str) -> None:
    assert same_observation(text, text)


@pytest.mark.parametrize("text", ["", "{", "NaN", "[Infinity]", "{'a': 1}", "undefined", '{"a":1,"a":1}', "1e999"])
def test_what_is_no_json_has_no_value(text: str) -> None:
    assert parsed(text) is NOT_JSON

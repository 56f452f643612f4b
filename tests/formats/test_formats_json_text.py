"""JSON as language models write it."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.errors import FormatError
from simia.formats.json_text import read_json

leaves = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"]))
documents = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5), leaves | st.lists(leaves, max_size=3), max_size=4
)


@given(value=documents)
@settings(max_examples=100, deadline=None)
def test_json_is_read_unrepaired(value: dict[str, Any]) -> None:
    assert read_json(orjson.dumps(value).decode()) == (value, False)


@given(value=documents, fence=st.sampled_from(["```json\n{}\n```", "Here it is:\n{}\nDone.", "<json>{}</json>"]))
@settings(max_examples=60, deadline=None)
def test_fences_and_prose_around_are_no_repair(value: dict[str, Any], fence: str) -> None:
    assert read_json(fence.replace("{}", orjson.dumps(value).decode())) == (value, False)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2', {"a": [1, 2]}),
        ('{"a": 1,}', {"a": 1}),
        ('{"a": 1,} thanks {x}', {"a": 1}),
        ("{'a': 'it'}", {"a": "it"}),
        ('{"a": "x\ny"}', {"a": "x\ny"}),
        ('{"a": "b" "c": 2}', {"a": "b", "c": 2}),
        ('```json\n{"a": {"b": 1}, "c": "cut of', {"a": {"b": 1}, "c": "cut of"}),
        ('```\n{"a": 1,}\n```\nThat is all.', {"a": 1}),
        ('Sure [as asked]: {"a": 1,}', {"a": 1}),
        ('[{"a": 1}, {"b": 2,}]', [{"a": 1}, {"b": 2}]),
        ('{"a": [{"b": 1}],}', {"a": [{"b": 1}]}),
        ("{'a': [1, 2]}", {"a": [1, 2]}),
        ('[{"a": 1}', [{"a": 1}]),
    ],
)
def test_broken_json_is_repaired_and_said_to_be(text: str, value: object) -> None:
    assert read_json(text) == (value, True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('Here: [{"a": 1}]', [{"a": 1}]),
        ('Sure [1]: {"a": 1}', {"a": 1}),
        ('Here: [{"a": 1}, {"b": 2}].', [{"a": 1}, {"b": 2}]),
    ],
)
def test_the_longest_value_in_prose_is_taken(text: str, value: object) -> None:
    assert read_json(text) == (value, False)


@pytest.mark.parametrize("text", ["", "I cannot do that.", "{" * 3000, '{"a": "\\ud800"}'])
def test_what_holds_no_json_is_refused(text: str) -> None:
    with pytest.raises(FormatError):
        read_json(text)

"""JSON as language models write it."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.errors import FormatError
from simia.formats.json_text import lossless_json, read_json

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
        ('{"a": [1, "b"', {"a": [1, "b"]}),
        ('{"a": [1, 2}', {"a": [1, 2]}),
        ('{"a": 1}}', {"a": 1}),
        ('{a: True, "b": None}', {"a": True, "b": None}),
        (r"""{"a": "it\'s"}""", {"a": "it's"}),
        ("{'a': 'it's'}", {"a": "it's"}),
        ('{"a": "He said "no" twice.", "b": 1}', {"a": 'He said "no" twice.', "b": 1}),
        ('{"a": 12345678901234567890123,}', {"a": 12345678901234567890123}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('{"a": 1,}', {"a": 1}),
        ('{"a": 1,} thanks {x}', {"a": 1}),
        ("{'a': 'it'}", {"a": "it"}),
        ('{"a": "x\ny"}', {"a": "x\ny"}),
        ('{"a": "b" "c": 2}', {"a": "b", "c": 2}),
        ('```json\n{"a": {"b": 1}, "c": "last"\n```', {"a": {"b": 1}, "c": "last"}),
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


@pytest.mark.parametrize("text", ["", "I cannot do that.", "5", '"no"', "{" * 3000, "[1," * 3000, '{"a": "\\ud800"}'])
def test_what_holds_no_json_is_refused(text: str) -> None:
    with pytest.raises(FormatError):
        read_json(text)


CUT = [
    '{"a": "D',
    '{"a": 12',
    '{"a": [1, 2',
    '{"a": 12\n```',
    '{"a": nul',
    '{"a":',
    '{"a": {',
    '{"a": 1,',
    '{"a": "b", "c',
]
NO_VALUE = ['{"a": , "b": 5}', '{"a": }', '{"a": "b", "c"}', "[1, , 2]", '{"a": [1, 2, ...]}', '{"a": -}', '{"a": ...}']
TWO_WAYS = [
    '{"a": 10 000}',
    '{"a": 5%}',
    '{"a": 1e}',
    '{"a": 007}',
    '{"a": "5" 6}',
    '{"a": "x""y"}',
    '["a" "b"]',
    "{'a': 'it''s'}",
    '{"a": "p" + "q"}',
    '{"a": NaN}',
    '{"a": b c}',
    '{"a": 1, "a": 2,}',
    '[{"a": 1], "b": 2}',
]


@pytest.mark.parametrize("text", [*CUT, *NO_VALUE, *TWO_WAYS])
def test_what_only_a_guess_could_complete_is_refused(text: str) -> None:
    with pytest.raises(FormatError):
        read_json(text)
    with pytest.raises(FormatError):
        lossless_json(text)


@pytest.mark.parametrize(
    "text",
    [
        '["x", {"a": 1}, {"b": ]',
        '{"a": [1, 2], "b": }',
        '"a": "x", "b": {"c": 1}',
        'a: "x", {"c": 1}',
        '"a": "x", "b": [{"c": 1}]}',
        '{"a": 1}, "b": 2}',
        '{"a": 1}, "b": 2',
        '{"a": 1} {"b": 2}',
        '{"a": 1,} {"b": 2}',
        '{"a": 1}, b: 2}',
    ],
)
def test_a_part_of_a_broken_value_is_never_taken_for_the_whole(text: str) -> None:
    with pytest.raises(FormatError):
        read_json(text)


def test_a_key_that_stands_twice_in_a_call_is_refused() -> None:
    with pytest.raises(FormatError, match="'a' stands twice"):
        lossless_json('{"a": 1, "a": 2}')


def test_long_integers_stay_exact() -> None:
    assert read_json('{"a": 12345678901234567890123}') == ({"a": 12345678901234567890123}, False)


@given(value=documents)
@settings(max_examples=200, deadline=None)
def test_the_untidy_reader_reads_all_json_as_it_is(value: dict[str, Any]) -> None:
    for text in (orjson.dumps(value).decode(), json.dumps(value), json.dumps(value, indent=2)):
        assert lossless_json(text) == value


def words_of(value: Any) -> list[str]:
    """Keys and leaves in their order, as JSON."""
    if isinstance(value, dict):
        return [word for key, item in value.items() for word in (json.dumps(key), *words_of(item))]
    if isinstance(value, list):
        return [word for item in value for word in words_of(item)]
    return [json.dumps(value)]


plain = st.text("abc XYZ,.-", min_size=1, max_size=6)
rich = st.recursive(
    st.none() | st.booleans() | st.integers() | plain,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain, inner, max_size=3),
    max_leaves=12,
)


@given(value=st.dictionaries(plain, rich, min_size=1, max_size=4), data=st.data())
@settings(max_examples=300, deadline=None)
def test_of_a_text_with_a_gap_everything_that_is_left_is_read_or_nothing(
    value: dict[str, Any], data: st.DataObject
) -> None:
    text = json.dumps(value)
    start = data.draw(st.integers(0, len(text)))
    torn = text[:start] + text[start + data.draw(st.integers(1, 4)) :]
    try:
        read = lossless_json(torn)
    except FormatError:
        return
    place = 0
    for word in words_of(read):
        bare = word.strip('"')
        place = torn.find(bare, place)
        assert place >= 0, (torn, read)
        place += len(bare)
    letters = sum(character.isalnum() for character in torn)
    assert letters == sum(character.isalnum() for word in words_of(read) for character in word), (torn, read)


@pytest.mark.parametrize(
    "text",
    [
        '{"task": "a", "task": "b"}',
        '{"a": {"calls": [1], "say": "x", "calls": [2]}}',
        'Sure: [{"a":1,"a":2}]',
        '{"a" : 1, "b": 12345678901234567890123, "b": 3}',
        '{"a": 1, "a": 2, "b": "\\u003a"}',
    ],
)
def test_a_key_that_stands_twice_is_refused_because_one_of_its_values_would_be_lost(text: str) -> None:
    with pytest.raises(FormatError, match="stands twice"):
        read_json(text)


@pytest.mark.parametrize("text", ['{"a":"\\":","b":"x\\":"}', '{"a" : "b", "c"\n:{"a":1}}', '[{"a":1},{"a":2}]'])
def test_equal_keys_of_different_objects_and_marks_inside_texts_are_no_repetition(text: str) -> None:
    assert read_json(text) == (json.loads(text), False)

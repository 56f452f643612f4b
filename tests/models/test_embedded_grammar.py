"""From JSON Schema to grammar: bounded, closed, and honest about what it leaves out."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.errors import SchemaError
from simia.models.embedded.grammar import cap_schema, grammar_for, supported_schema
from simia.types import JsonObject, schema_for

CAPS = {"max_string": 50, "max_items": 4}


def capped(schema: JsonObject) -> JsonObject:
    return cap_schema(schema, **CAPS)


def schema_in(text: str) -> JsonObject:
    head, _, body = text.partition("%json ")
    assert head == "%llguidance {}\nstart: "
    found: JsonObject = json.loads(body)
    return found


def test_the_grammar_allows_no_free_whitespace() -> None:
    said = schema_in(grammar_for({"type": "object"}).text)["x-guidance"]
    assert said["whitespace_flexible"] is False
    assert (said["item_separator"], said["key_separator"]) == (", ", ": ")


def test_properties_keep_the_order_in_which_the_schema_names_them() -> None:
    properties = {"zeta": {"type": "integer"}, "alpha": {"type": "integer"}}
    assert list(schema_in(grammar_for({"properties": properties}).text)["properties"]) == ["zeta", "alpha"]
    swapped = dict(reversed(properties.items()))
    assert list(schema_in(grammar_for({"properties": swapped}).text)["properties"]) == ["alpha", "zeta"]


def test_what_is_no_json_schema_is_an_error() -> None:
    with pytest.raises(SchemaError):
        grammar_for({"type": "txet"})


@pytest.mark.parametrize(
    ("schema", "note"),
    [
        ({"type": "array", "uniqueItems": True}, "/uniqueItems: not enforced"),
        ({"properties": {"a": {"not": {"type": "null"}}}}, "/properties/a/not: not enforced"),
        ({"anyOf": [{"if": True}]}, "/anyOf/0/if: not enforced"),
        ({"type": "string", "format": "uri"}, "/format: format 'uri' not enforced"),
        ({"items": {"pattern": r"^(?!x)"}}, r"/items/pattern: pattern '^(?!x)' not enforced"),
        ({"pattern": r"(a)\1"}, "/pattern: pattern"),
        ({"properties": {"a": True}, "minProperties": 1}, "/minProperties: not enforced beside optional properties"),
        ({"patternProperties": {"^a": True, "^b": True}}, "/patternProperties: several patterns, not enforced"),
        ({"$defs": {"n": {"contains": True}}}, "/$defs/n/contains: not enforced"),
    ],
)
def test_what_the_grammar_cannot_say_is_left_out_and_noted(schema: JsonObject, note: str) -> None:
    grammar = grammar_for(schema)
    assert len(grammar.notes) == 1
    assert grammar.notes[0].startswith(note)
    keyword = note.split(":", 1)[0].rpartition("/")[2]
    if keyword != "patternProperties":
        assert f'"{keyword}"' not in grammar.text


def test_annotations_are_left_out_without_a_note() -> None:
    plain, notes = supported_schema({"title": "T", "description": "d", "type": "string", "examples": ["x"]})
    assert (plain, notes) == ({"type": "string"}, ())


def test_a_property_may_be_called_like_a_keyword() -> None:
    plain, notes = supported_schema({"properties": {"title": {"type": "string"}, "not": {"type": "integer"}}})
    assert plain == {"properties": {"title": {"type": "string"}, "not": {"type": "integer"}}}
    assert notes == ()


def test_an_old_tuple_becomes_a_new_one() -> None:
    plain, _ = supported_schema({"items": [{"type": "integer"}, {"type": "string"}]})
    assert plain == {"prefixItems": [{"type": "integer"}, {"type": "string"}]}


def test_a_string_gets_a_length_where_it_has_none() -> None:
    assert capped({"type": "string"})["maxLength"] == 50
    assert capped({"type": "string", "maxLength": 9})["maxLength"] == 9
    assert capped({"type": "string", "minLength": 70})["maxLength"] == 70
    assert capped({"type": "string", "format": "date-time"})["maxLength"] == len("2026-01-31T12:30:45+00:00")
    assert "maxLength" not in capped({"type": "string", "enum": ["x" * 80]})


def test_an_array_gets_an_end() -> None:
    assert capped({"type": "array", "items": {"type": "integer"}})["maxItems"] == 4
    assert capped({"type": "array", "items": {"type": "integer"}, "minItems": 6})["maxItems"] == 6


def test_a_number_gets_bounds_and_a_finest_step() -> None:
    assert capped({"type": "number", "minimum": 0}) == {
        "type": "number",
        "minimum": 0,
        "maximum": 2**53 - 1,
        "multipleOf": 0.0001,
    }
    assert "multipleOf" not in capped({"type": "integer"})


def test_an_object_with_named_properties_takes_no_others() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "boolean"}}}
    assert capped(inner)["additionalProperties"] is False
    assert capped({"type": "array", "items": inner})["items"]["additionalProperties"] is False


def test_the_parts_of_a_composition_stay_open() -> None:
    parts = [{"type": "object", "properties": {name: {"type": "boolean"}}, "required": [name]} for name in "ab"]
    whole = capped({"allOf": parts})
    assert schema_for(whole).accepts({"a": True, "b": False})


def test_the_branches_of_a_choice_are_closed() -> None:
    branches = [{"type": "object", "properties": {name: {"type": "boolean"}}} for name in "ab"]
    assert not schema_for(capped({"anyOf": branches})).accepts({"a": True, "b": True})


def test_a_map_is_bounded_in_number_and_length_of_its_keys() -> None:
    free = schema_for(capped({"type": "object", "additionalProperties": {"type": "boolean"}}))
    assert free.accepts({"a": True, "b": False})
    assert not free.accepts({str(n): True for n in "abcde"})
    assert not free.accepts({"k" * 60: True})
    assert not free.accepts({"a": 1})


def test_any_json_is_bounded_in_depth() -> None:
    anything = schema_for(capped({"type": "object", "properties": {"x": {}}}))
    assert anything.accepts({"x": {"a": [{"b": 1}]}})
    assert not anything.accepts({"x": [[[[[1]]]]]})


def test_definitions_of_the_schema_are_kept_beside_ours() -> None:
    schema = {"$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}, "any": True}}}}
    both = schema_for(capped({**schema, "$ref": "#/$defs/n"}))
    assert both.accepts({"next": {"next": {}, "any": "x"}})
    assert not both.accepts({"next": {"other": 1}})


schemas = st.recursive(
    st.sampled_from(
        [
            {},
            {"type": "string"},
            {"type": "string", "maxLength": 80},
            {"type": "integer", "minimum": 1},
            {"type": ["number", "null"]},
            {"enum": ["a", 1]},
            {"type": "object"},
            {"type": "array"},
        ]
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3)}
        ),
        st.fixed_dictionaries({"type": st.just("object"), "additionalProperties": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}),
    ),
    max_leaves=6,
)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["a", "b c", "x" * 60]),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from(["a", "b", "c", "d e"]), inner),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(schema=schemas, value=values)
def test_what_the_capped_schema_accepts_the_schema_accepts(schema: JsonObject, value: Any) -> None:
    if schema_for(capped(schema)).accepts(value):
        assert schema_for(schema).accepts(value)

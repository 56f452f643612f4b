"""What is asked of the replies under a schema before the server is trusted with it."""

from typing import Any

from simia.models.shape import ShapeWatch, shape_of

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
GOOD, BAD = '{"a": "b"}', '{"b": 1}'


def test_limits_on_sizes_are_no_part_of_the_shape() -> None:
    assert shape_of({"type": "array", "minItems": 2, "items": {"type": "string", "pattern": "x"}}) == {
        "type": "array",
        "items": {"type": "string"},
    }


def test_a_property_may_be_called_like_a_limit() -> None:
    schema = {"properties": {"format": {"enum": ["pattern"], "maxLength": 3}}, "required": ["format"]}
    assert shape_of(schema) == {"properties": {"format": {"enum": ["pattern"]}}, "required": ["format"]}


def test_two_replies_of_another_shape_break_the_trust() -> None:
    watch = ShapeWatch(SCHEMA)
    assert [watch.breaks(BAD), watch.breaks(BAD)] == [False, True]


def test_one_reply_of_another_shape_is_an_accident() -> None:
    watch = ShapeWatch(SCHEMA)
    assert not any(map(watch.breaks, (GOOD, BAD, GOOD, GOOD, GOOD)))
    assert watch.is_over


def test_a_trusted_server_is_not_checked_again() -> None:
    watch = ShapeWatch(SCHEMA)
    for text in (GOOD, GOOD, GOOD):
        watch.breaks(text)
    assert not any(map(watch.breaks, (BAD, BAD, BAD)))


def test_a_schema_that_is_none_accuses_no_server() -> None:
    watch = ShapeWatch({"type": 5})
    assert not any(map(watch.breaks, (BAD, BAD, BAD)))

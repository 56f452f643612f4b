"""Frozen values with a content identity, and schemas that never leave themselves."""

import inspect
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

import simia.types
from simia.errors import SchemaError
from simia.types import (
    AssistantMessage,
    ChatRequest,
    Invariant,
    Put,
    Sampling,
    Schema,
    StopReason,
    ToolCall,
    ToolSpec,
    Trajectory,
    Usage,
    UserMessage,
    Value,
    WorldSpec,
    canonical_json,
    content_id,
    schema_for,
)

VALUE_TYPES = [
    member
    for member in vars(simia.types).values()
    if inspect.isclass(member) and issubclass(member, Value) and member is not Value
]

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc.é", max_size=3), inner, max_size=4),
    max_leaves=8,
)


def reordered(value: Any) -> Any:
    """The same JSON with every object's keys the other way round."""
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(list(value))}
    return [reordered(item) for item in value] if isinstance(value, list) else value


@given(value=values)
@settings(max_examples=200, deadline=None)
def test_a_content_id_does_not_depend_on_the_order_of_keys(value: Any) -> None:
    assert content_id(reordered(value)) == content_id(value)


@given(arguments=st.dictionaries(st.text("abc", max_size=3), values, max_size=4))
@settings(max_examples=100, deadline=None)
def test_equal_calls_have_equal_ids(arguments: dict[str, Any]) -> None:
    one = ToolCall(id="c", name="f", arguments=arguments)
    other = ToolCall.model_validate_json(one.model_dump_json())
    assert other == one
    assert other.content_id == one.content_id


def test_a_content_id_is_the_same_on_every_machine() -> None:
    assert content_id({"b": [1, True, None], "a": "é"}) == (
        "170409917e32971e79e71df2c0a04cc84c3c089ef0c7c2a94dbde72cafebd52d"
    )


def test_true_and_one_have_different_ids() -> None:
    assert content_id({"a": True}) != content_id({"a": 1})


def test_integers_beyond_64_bits_have_canonical_json() -> None:
    assert canonical_json({"b": 10**30, "a": "é"}) == ('{"a":"é","b":1' + "0" * 30 + "}").encode()


def test_what_is_no_json_has_no_canonical_form() -> None:
    with pytest.raises(TypeError):
        canonical_json({"a": object()})


def test_numbers_that_python_takes_for_equal_are_equal_and_have_different_ids() -> None:
    true, one = Put(path=("a",), value=True), Put(path=("a",), value=1)
    assert true == one
    assert true.content_id != one.content_id


def test_a_number_that_json_does_not_have_becomes_null() -> None:
    assert canonical_json([float("nan"), float("inf")]) == b"[null,null]"


def test_different_messages_have_different_ids() -> None:
    assert UserMessage(content="x").content_id != AssistantMessage(content="x").content_id


@pytest.mark.parametrize("model", VALUE_TYPES, ids=lambda model: model.__name__)
def test_every_value_refuses_unknown_keys_and_is_frozen(model: type[BaseModel]) -> None:
    assert model.model_config["extra"] == "forbid"
    assert model.model_config["frozen"] is True


def test_an_unknown_key_is_refused_by_name() -> None:
    with pytest.raises(ValidationError, match="contents"):
        UserMessage.model_validate({"content": "x", "contents": "y"})


def test_a_value_cannot_be_changed() -> None:
    message = UserMessage(content="x")
    with pytest.raises(ValidationError, match="frozen"):
        message.content = "y"  # type: ignore[misc]


def test_usage_adds_up() -> None:
    both = Usage(prompt_tokens=1, cached_tokens=2, completion_tokens=3, reasoning_tokens=4) + Usage(prompt_tokens=10)
    assert both == Usage(prompt_tokens=11, cached_tokens=2, completion_tokens=3, reasoning_tokens=4)


def test_a_world_names_its_double_tools() -> None:
    tool = ToolSpec(name="f", parameters={})
    with pytest.raises(ValidationError, match="two tools of world 'w' are called f"):
        WorldSpec(name="w", policy="", tools=(tool, tool), licence="Apache-2.0")


def test_a_world_finds_its_tools_by_name() -> None:
    tool = ToolSpec(name="f", parameters={})
    assert WorldSpec(name="w", policy="", tools=(tool,), licence="Apache-2.0").tool == {"f": tool}


def test_the_source_of_a_tool_is_not_shown_to_agents() -> None:
    assert "secret" not in str(ToolSpec(name="f", parameters={}, source="secret").as_openai())


def test_a_trajectory_survives_its_json() -> None:
    trajectory = Trajectory.model_validate(
        {
            "world": "0" * 64,
            "task": "t",
            "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}],
            "provenance": {"run": "r", "seed": "s", "attempt": 0, "model": "m", "prompts": {}, "licence": "MIT"},
            "stop_reason": "max_turns",
        }
    )
    again = Trajectory.model_validate_json(trajectory.model_dump_json())
    assert again == trajectory
    assert again.stop_reason is StopReason.MAX_TURNS


def test_messages_are_told_apart_by_role() -> None:
    union = get_args(simia.types.Message)[0]
    assert {model.model_fields["role"].default for model in get_args(union)} == {"system", "user", "assistant", "tool"}


def test_an_invariant_may_refer_to_nothing() -> None:
    assert Invariant(name="n", expression="`true`").refers_to is None


def test_a_schema_accepts_what_fits() -> None:
    assert schema_for({"type": "integer"}).accepts(3)


def test_a_schema_knows_integers_beyond_64_bits_to_the_digit() -> None:
    schema = schema_for({"enum": [12345678901234567890123, 3], "maximum": 10**25})
    assert schema.accepts(12345678901234567890123)
    assert not schema.accepts(12345678901234567890124)


def test_what_is_no_json_is_no_schema() -> None:
    with pytest.raises(SchemaError, match="no JSON Schema"):
        schema_for({"default": object()})


def test_a_violation_names_the_place() -> None:
    schema = schema_for({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}})
    (violation,) = schema.violations({"a": [1, "x"]})
    assert violation.startswith("a/1: ")


def test_what_fits_has_no_violation() -> None:
    assert schema_for({"type": "integer"}).violations(3) == ()


def test_violations_are_at_most_five() -> None:
    schema = schema_for({"type": "array", "items": {"type": "integer"}})
    assert len(schema.violations(["x"] * 9)) == 5


def test_equal_schemas_are_compiled_once() -> None:
    assert schema_for({"type": "integer", "minimum": 1}) is schema_for({"minimum": 1, "type": "integer"})


@pytest.mark.parametrize("schema", [{"type": "integr"}, {"properties": 3}, {"pattern": "("}])
def test_what_is_no_schema_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="no JSON Schema"):
        Schema(schema)


@pytest.mark.parametrize(
    "reference", ["https://example.com/schema.json", "file:///etc/passwd", "other.json", "#/$defs/missing"]
)
def test_a_reference_never_leaves_its_schema(reference: str) -> None:
    with pytest.raises(SchemaError):
        Schema({"properties": {"a": {"$ref": reference}}})


def test_a_reference_inside_a_schema_works() -> None:
    schema = schema_for({"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}})
    assert schema.accepts({"a": 1})
    assert not schema.accepts({"a": "x"})


def test_a_tool_compiles_its_schemas() -> None:
    tool = ToolSpec(name="f", parameters={"required": ["a"]}, returns={"type": "string"})
    assert not tool.arguments_schema.accepts({})
    assert tool.returns_schema is not None
    assert not tool.returns_schema.accepts(3)


def test_a_tool_without_returns_has_no_schema_for_them() -> None:
    assert ToolSpec(name="f", parameters={}).returns_schema is None


def test_a_changed_copy_has_an_identity_of_its_own() -> None:
    message = UserMessage(content="a")
    before = message.content_id
    changed = message.model_copy(update={"content": "b"})
    assert changed.content_id == UserMessage(content="b").content_id != before


def test_a_request_that_is_asked_again_differently_is_another_request() -> None:
    sampling = Sampling(temperature=1.0, max_tokens=9, seed=1)
    request = ChatRequest(model="m", messages=(UserMessage(content="a"),), sampling=sampling)
    before = request.content_id
    again = request.model_copy(update={"sampling": sampling.model_copy(update={"seed": 2})})
    assert again.content_id != before

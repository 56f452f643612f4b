"""A whole trajectory in one reply, and the schema that a model's reply must satisfy."""

import copy
from typing import Any

import pytest

from simia.errors import FormatError, SchemaError
from simia.formats import exchanges
from simia.types import (
    AssistantMessage,
    JsonObject,
    MalformedToolCall,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
    schema_for,
)

GET_USER = ToolSpec(
    name="get_user",
    parameters={
        "type": "object",
        "title": "GetUser",
        "properties": {
            "id": {"type": "string", "title": "Id", "pattern": "^(?=a)a+$"},
            "since": {"type": "string", "format": "date"},
            "phone": {"type": "string", "format": "phone"},
        },
        "required": ["id"],
    },
    returns={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
)
BOOK = ToolSpec(
    name="book",
    parameters={
        "type": "object",
        "$defs": {
            "Person": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/Person"}},
                },
                "required": ["name"],
            }
        },
        "properties": {"person": {"$ref": "#/$defs/Person"}, "seat": {"type": ["integer", "null"], "minimum": 1}},
        "required": ["person"],
    },
)
TOOLS = (GET_USER, BOOK)
REPLY: JsonObject = {
    "task": "Find out who Ann is.",
    "exchanges": [
        {
            "user": "Who is ann?",
            "steps": [
                {
                    "thought": "Two look-ups at once.",
                    "say": "One moment.",
                    "calls": [
                        {"name": "get_user", "arguments": {"id": "a"}, "result": {"name": "Ann"}},
                        {"name": "get_user", "arguments": {"id": "b"}, "result": {"error": "no such user"}},
                    ],
                }
            ],
            "reply_thought": "Found.",
            "reply": "She is Ann.",
        }
    ],
}
MESSAGES: tuple[Message, ...] = (
    UserMessage(content="Who is ann?"),
    AssistantMessage(
        content="One moment.",
        reasoning="Two look-ups at once.",
        tool_calls=(
            ToolCall(id="call_1", name="get_user", arguments={"id": "a"}),
            ToolCall(id="call_2", name="get_user", arguments={"id": "b"}),
        ),
    ),
    ToolMessage(call_id="call_1", name="get_user", content='{"name":"Ann"}'),
    ToolMessage(call_id="call_2", name="get_user", content='{"error":"no such user"}', is_error=True),
    AssistantMessage(content="She is Ann.", reasoning="Found."),
)


def with_call(call: JsonObject) -> JsonObject:
    return {"task": "t", "exchanges": [{"user": "u", "steps": [{"calls": [call]}], "reply": "r"}]}


def accepts(value: Any, *, thoughts: bool = False, tools: tuple[ToolSpec, ...] = TOOLS) -> bool:
    return schema_for(exchanges.reply_schema(tools, max_exchanges=2, thoughts=thoughts)).accepts(value)


def test_a_reply_becomes_messages() -> None:
    assert exchanges.parse(REPLY) == ("Find out who Ann is.", MESSAGES)


def test_messages_become_a_reply() -> None:
    assert exchanges.render("Find out who Ann is.", MESSAGES) == REPLY


def test_a_text_result_stays_a_text() -> None:
    _, messages = exchanges.parse(with_call({"name": "f", "arguments": {}, "result": "ok then"}))
    assert messages[2].content == "ok then"


def test_a_structured_result_becomes_compact_json() -> None:
    _, messages = exchanges.parse(with_call({"name": "f", "arguments": {}, "result": {"a": [1, None]}}))
    assert messages[2].content == '{"a":[1,null]}'


@pytest.mark.parametrize(
    ("result", "is_error"),
    [
        ({"error": "no such user"}, True),
        ({"error": {"code": 404}}, True),
        ({"error": 404}, True),
        ({"error": True}, True),
        ("Error: no such user", True),
        ({"error": 0, "rows": 1}, False),
        ({"error": 0}, False),
        ({"error": 0.0}, False),
        ({"error": 0.5}, True),
        ({"error": None}, False),
        ({"error": []}, False),
        ({"error": {}, "ok": True}, False),
        ({"error": "none"}, False),
        ({"error": "None found"}, True),
    ],
)
def test_a_result_is_an_error_if_it_begins_by_saying_one(result: Any, is_error: bool) -> None:
    call = {"name": "get_user", "arguments": {"id": "a"}, "result": result}
    reply = {"task": "t", "exchanges": [{"user": "u", "steps": [{"calls": [call]}], "reply": "r"}]}
    _, messages = exchanges.parse(reply)
    observation = messages[2]
    assert isinstance(observation, ToolMessage)
    assert observation.is_error is is_error


def test_arguments_as_text_are_kept_as_a_malformed_call() -> None:
    _, messages = exchanges.parse(with_call({"name": "f", "arguments": '{"a": 1}', "result": "x"}))
    assert messages[1] == AssistantMessage(
        malformed_calls=(
            MalformedToolCall(
                id="call_1", name="f", text='{"a": 1}', reason="the arguments are JSON text, not an object"
            ),
        )
    )


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ([], "a trajectory is an object"),
        ({"task": 1, "exchanges": []}, "task is 1"),
        ({"task": "t"}, "the trajectory has exchanges = None"),
        ({"task": "t", "exchanges": [{"user": "u", "steps": [], "reply": 3}]}, r"exchanges\[0\] has reply = 3"),
        ({"task": "t", "exchanges": [{"user": "u", "reply": "r"}]}, r"exchanges\[0\] has steps = None"),
        (
            {"task": "t", "exchanges": [{"user": "u", "steps": []}, {"user": "v", "steps": [], "reply": "r"}]},
            r"exchanges\[0\] has reply = None",
        ),
        (with_call({"name": "f", "arguments": {}}), r"exchanges\[0\].steps\[0\].calls\[0\] has no result"),
    ],
)
def test_what_is_wrong_in_a_reply_is_named_with_its_place(value: Any, place: str) -> None:
    with pytest.raises(FormatError, match=place):
        exchanges.parse(value)


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ((SystemMessage(content="s"),), "message 0 is a system message"),
        ((UserMessage(content="a"), UserMessage(content="b")), r"message 1 \(user\) follows a turn that has no reply"),
        (MESSAGES[:3], r"message 1 \(assistant\) makes a call that no observation answers"),
    ],
)
def test_a_conversation_out_of_role_order_cannot_be_spelled(messages: tuple[Message, ...], reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        exchanges.render("t", messages)


def test_the_schema_accepts_what_is_rendered() -> None:
    assert accepts(REPLY, thoughts=True)


def test_the_schema_demands_thoughts_only_where_they_are_wanted() -> None:
    bare = with_call({"name": "get_user", "arguments": {"id": "a"}, "result": {"name": "Ann"}})
    assert accepts(bare)
    assert not accepts(bare, thoughts=True)
    assert not accepts(REPLY, thoughts=False)


@pytest.mark.parametrize(
    "call",
    [
        {"name": "get_usr", "arguments": {"id": "a"}, "result": "x"},
        {"name": "get_user", "arguments": {}, "result": {"name": "Ann"}},
        {"name": "get_user", "arguments": {"id": "a", "more": 1}, "result": {"name": "Ann"}},
        {"name": "get_user", "arguments": {"id": "a"}, "result": {"surname": "Ann"}},
        {"name": "get_user", "arguments": {"id": "a"}},
        {"name": "book", "arguments": {"person": {"name": "Ann", "children": [{}]}}, "result": "x"},
        {"name": "book", "arguments": {"person": {"name": "Ann"}, "seat": 0}, "result": "x"},
    ],
)
def test_the_schema_refuses_a_call_that_breaks_its_tool(call: JsonObject) -> None:
    assert not accepts(with_call(call))


def test_a_recursive_reference_inside_a_tool_keeps_working() -> None:
    person = {"name": "Ann", "children": [{"name": "Ben", "children": [{"name": "Cay"}]}]}
    assert accepts(with_call({"name": "book", "arguments": {"person": person}, "result": {"seat": 3}}))


def test_two_tools_with_equal_definition_names_stay_apart() -> None:
    def tool(name: str, kind: str) -> ToolSpec:
        return ToolSpec(
            name=name,
            parameters={
                "type": "object",
                "$defs": {"X": {"type": kind}},
                "properties": {"x": {"$ref": "#/$defs/X"}},
                "required": ["x"],
            },
        )

    tools = (tool("a", "string"), tool("b", "integer"))
    assert accepts(with_call({"name": "b", "arguments": {"x": 1}, "result": ""}), tools=tools)
    assert not accepts(with_call({"name": "a", "arguments": {"x": 1}, "result": ""}), tools=tools)


def test_every_tool_may_answer_with_an_error() -> None:
    for tool, arguments in (("get_user", {"id": "a"}), ("book", {"person": {"name": "Ann"}})):
        assert accepts(with_call({"name": tool, "arguments": arguments, "result": {"error": "down"}}))


def test_without_tools_nothing_can_be_called() -> None:
    assert accepts({"task": "t", "exchanges": [{"user": "u", "steps": [], "reply": "r"}]}, tools=())
    assert not accepts(with_call({"name": "f", "arguments": {}, "result": "x"}), tools=())


def test_exchanges_have_an_upper_bound() -> None:
    three = {"task": "t", "exchanges": [{"user": "u", "steps": [], "reply": "r"}] * 3}
    assert not accepts(three)


def test_a_tool_that_allows_other_arguments_keeps_doing_so() -> None:
    tool = ToolSpec(
        name="f", parameters={"type": "object", "properties": {}, "additionalProperties": {"type": "number"}}
    )
    assert accepts(with_call({"name": "f", "arguments": {"any": 1.5}, "result": "x"}), tools=(tool,))
    assert not accepts(with_call({"name": "f", "arguments": {"any": "x"}, "result": "x"}), tools=(tool,))


def test_all_of_is_united() -> None:
    part = {"properties": {"a": {"type": "integer"}}, "required": ["a"]}
    tool = ToolSpec(
        name="f", parameters={"allOf": [part, {"properties": {"b": {"type": "string"}}, "required": ["b"]}]}
    )
    assert accepts(with_call({"name": "f", "arguments": {"a": 1, "b": "x"}, "result": "x"}), tools=(tool,))
    assert not accepts(with_call({"name": "f", "arguments": {"a": 1}, "result": "x"}), tools=(tool,))


def can_call(parameters: Any, arguments: Any) -> bool:
    """Whether a reply may call a tool with these parameters so; what its own schema refuses does not count."""
    tool = ToolSpec(name="f", parameters=parameters)
    assert tool.arguments_schema.accepts(arguments)
    return accepts(with_call({"name": "f", "arguments": arguments, "result": "x"}), tools=(tool,))


def test_a_reference_in_all_of_may_lead_back_to_itself() -> None:
    node = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "parent": {"title": "Parent", "description": "up", "allOf": [{"$ref": "#/definitions/Node"}]},
        },
    }
    parameters = {
        "type": "object",
        "properties": {"root": {"$ref": "#/definitions/Node"}},
        "definitions": {"Node": node},
    }
    family = {"root": {"name": "a", "parent": {"name": "b", "parent": {"name": "c"}}}}
    assert can_call(parameters, family)
    tool = ToolSpec(name="f", parameters=parameters)
    stranger = {"root": {"name": "a", "parent": {"name": 1}}}
    assert not accepts(with_call({"name": "f", "arguments": stranger, "result": "x"}), tools=(tool,))


def test_what_is_united_with_itself_further_down_ends() -> None:
    node = {
        "type": "object",
        "properties": {
            "next": {"allOf": [{"$ref": "#/$defs/Node"}, {"required": ["name"]}]},
            "name": {"type": "string"},
        },
    }
    parameters = {"type": "object", "properties": {"x": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}
    assert can_call(parameters, {"x": {"next": {"name": "a", "next": {"name": "b"}}}})


@pytest.mark.parametrize(
    "circle",
    [
        {"A": {"$ref": "#/$defs/A"}},
        {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}},
        {"A": {"allOf": [{"$ref": "#/$defs/B"}]}, "B": {"allOf": [{"$ref": "#/$defs/A"}]}},
        {"A": {"title": "a", "type": "object", "allOf": [{"$ref": "#/$defs/A"}]}},
        {"A": {"allOf": [{"$ref": "#/$defs/B"}, {"minLength": 1}]}, "B": {"allOf": [{"$ref": "#/$defs/A"}, {}]}},
        {"A": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "string"}]}},
    ],
)
@pytest.mark.parametrize("use", [{"$ref": "#/$defs/A"}, {"allOf": [{"$ref": "#/$defs/A"}]}])
def test_a_schema_that_is_only_itself_is_left_free(circle: Any, use: Any) -> None:
    tool = ToolSpec(name="f", parameters={"type": "object", "properties": {"a": use}, "$defs": circle})
    schema = exchanges.reply_schema([tool], max_exchanges=1, thoughts=False)
    for name, definition in schema["$defs"].items():
        seen = {name}
        while "$ref" in definition:
            target = definition["$ref"].removeprefix("#/$defs/")
            assert target not in seen
            seen.add(target)
            definition = schema["$defs"][target]
    assert schema_for(schema).accepts(with_call({"name": "f", "arguments": {"a": "any"}, "result": "x"}))


def test_a_reference_by_anchor_is_followed() -> None:
    parameters = {
        "type": "object",
        "properties": {"a": {"$ref": "#x"}},
        "$defs": {"A": {"$anchor": "x", "type": "string"}},
    }
    assert can_call(parameters, {"a": "text"})
    tool = ToolSpec(name="f", parameters=parameters)
    assert not accepts(with_call({"name": "f", "arguments": {"a": 1}, "result": "x"}), tools=(tool,))


@pytest.mark.parametrize(
    ("parameters", "arguments"),
    [
        (
            {"type": "object", "patternProperties": {"^x": {"type": "string"}}, "additionalProperties": False},
            {"x1": "a"},
        ),
        ({"type": "object", "patternProperties": {"^x": {"type": "string"}}}, {"x1": "a"}),
        (
            {"type": "object", "properties": {"a": {}}, "patternProperties": {"^x": {"type": "integer"}}},
            {"a": "b", "x": 1},
        ),
        ({"type": "object", "required": ["a"]}, {"a": "b", "c": 1}),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"]}, {"a": "x", "b": 1}),
        ({"type": "object", "properties": {"o": {"type": "object", "required": ["a"]}}}, {"o": {"a": 1, "b": 2}}),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {}}, {"a": "x", "b": 1}),
    ],
)
def test_objects_that_name_their_members_otherwise_can_be_written(parameters: Any, arguments: Any) -> None:
    assert can_call(parameters, arguments)


def test_a_reference_to_nowhere_names_the_tool() -> None:
    tool = ToolSpec(name="f", parameters={"type": "object", "properties": {"x": {"$ref": "#/$defs/Missing"}}})
    with pytest.raises(SchemaError, match="'f' refers to '#/\\$defs/Missing'"):
        exchanges.reply_schema([tool], max_exchanges=1, thoughts=False)


def test_the_schema_has_only_what_grammars_know() -> None:
    known = {
        "type", "properties", "required", "additionalProperties", "items", "prefixItems", "anyOf", "enum", "const",
        "minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum",
        "exclusiveMaximum", "pattern", "format", "$ref", "$defs",
    }  # fmt: skip

    def keywords(schema: Any) -> set[str]:
        if isinstance(schema, list):
            return set().union(*map(keywords, schema))
        if not isinstance(schema, dict):
            return set()
        found = set(schema)
        for key, value in schema.items():
            if key in ("properties", "$defs"):
                found |= keywords(list(value.values()))
            elif key not in ("enum", "const", "required"):
                found |= keywords(value)
        return found

    tool = ToolSpec(
        name="f",
        parameters={
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "title": {"type": "string", "title": "T", "default": "x"},
                "list": {"type": "array", "uniqueItems": True, "contains": {"const": 1}, "items": {"not": {}}},
                "either": {"oneOf": [{"type": "string"}, {"type": "object", "patternProperties": {"^a": {}}}]},
            },
            "dependentRequired": {"title": ["list"]},
        },
    )
    schema = exchanges.reply_schema([*TOOLS, tool], max_exchanges=3, thoughts=True)
    assert keywords(schema) <= known


def test_every_text_and_list_has_an_end() -> None:
    def open_ends(schema: Any) -> list[Any]:
        if isinstance(schema, list):
            return [found for part in schema for found in open_ends(part)]
        if not isinstance(schema, dict):
            return []
        bounded = {"maxLength", "enum", "const", "format", "pattern"} & schema.keys()
        unbounded = (schema.get("type") == "string" and not bounded) or (
            schema.get("type") == "array" and "maxItems" not in schema
        )
        return [schema] * unbounded + [found for value in schema.values() for found in open_ends(value)]

    assert open_ends(exchanges.reply_schema(TOOLS, max_exchanges=3, thoughts=True)) == []


def test_the_tools_stay_as_they_are() -> None:
    before = copy.deepcopy([tool.parameters for tool in TOOLS])
    exchanges.reply_schema(TOOLS, max_exchanges=3, thoughts=True)
    assert [tool.parameters for tool in TOOLS] == before

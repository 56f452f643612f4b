"""A value beside its schema: alternatives, patterns of names, and schemas that refer to themselves."""

from typing import Any

import pytest

from simia.synthesis.postprocess import Postprocess, PostprocessSettings
from simia.synthesis.postprocess.schema_walk import mapped
from simia.types import (
    AssistantMessage,
    JsonObject,
    Kept,
    Provenance,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Trajectory,
    UserMessage,
    WorldSpec,
)

CARD = {
    "type": "object",
    "properties": {"kind": {"const": "card"}, "code": {"type": "integer"}},
    "required": ["kind", "code"],
}
VOUCHER = {
    "type": "object",
    "properties": {"kind": {"const": "voucher"}, "code": {"type": "string"}, "amount": {"$ref": "#/definitions/count"}},
    "required": ["kind", "code", "amount"],
}
COUNT = {"definitions": {"count": {"type": "integer"}}}


def of(**properties: Any) -> JsonObject:
    return {"type": "object", "properties": properties}


def mended(parameters: JsonObject, arguments: JsonObject) -> JsonObject | str:
    """The arguments as the default passes leave them, or the rule that drops them."""
    world = WorldSpec(name="w", policy="Be kind.", tools=(ToolSpec(name="f", parameters=parameters),), licence="MIT")
    call = ToolCall(id="call_1", name="f", arguments=arguments)
    one = Trajectory(
        world=world.content_id,
        task="You want it.",
        messages=(
            UserMessage(content="Please do it."),
            AssistantMessage(tool_calls=(call,)),
            ToolMessage(call_id="call_1", name="f", content="{}"),
            AssistantMessage(content="It is done."),
        ),
        provenance=Provenance(run="r", seed="s", attempt=0, model="m", prompts={}, licence="MIT"),
    )
    result = Postprocess(PostprocessSettings(), lambda _: world).apply(one)
    if not isinstance(result, Kept):
        return result.rule
    message = result.value.messages[1]
    assert isinstance(message, AssistantMessage)
    return message.tool_calls[0].arguments


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
@pytest.mark.parametrize("branches", [[CARD, VOUCHER], [VOUCHER, CARD]])
@pytest.mark.parametrize("draft", [None, "http://json-schema.org/draft-07/schema#"])
def test_the_alternative_that_the_value_can_fit_is_taken_in_any_order(
    keyword: str, branches: list[JsonObject], draft: str | None
) -> None:
    parameters = of(payment={keyword: branches}) | COUNT | ({} if draft is None else {"$schema": draft})
    payment = {"kind": "voucher", "code": "77", "amount": "5"}
    assert mended(parameters, {"payment": payment}) == {"payment": payment | {"amount": 5}}


@pytest.mark.parametrize("branches", [["integer", "string"], ["string", "integer"]])
def test_a_value_that_fits_an_alternative_already_stays(branches: list[str]) -> None:
    parameters = of(code={"anyOf": [{"type": name} for name in branches]}, count={"type": "integer"})
    assert mended(parameters, {"code": "5", "count": "7"}) == {"code": "5", "count": 7}


@pytest.mark.parametrize("branches", [[CARD, VOUCHER], [VOUCHER, CARD]])
def test_an_alternative_written_as_text_is_decoded_and_then_coerced(branches: list[JsonObject]) -> None:
    text = '{"kind": "voucher", "code": "77", "amount": "5"}'
    payment = {"kind": "voucher", "code": "77", "amount": 5}
    assert mended(of(payment={"anyOf": branches}) | COUNT, {"payment": text}) == {"payment": payment}


def test_a_name_that_fits_a_pattern_has_the_schema_of_the_pattern() -> None:
    parameters = of(z={"type": "integer"}) | {
        "patternProperties": {"^n_": {"type": "integer"}, "^s_": {"type": "string"}},
        "additionalProperties": {"type": "boolean"},
    }
    arguments = {"z": "3", "n_a": "5", "s_a": "5", "other": "true"}
    assert mended(parameters, arguments) == {"z": 3, "n_a": 5, "s_a": "5", "other": True}


def test_alternatives_inside_alternatives_cost_no_more_than_their_places() -> None:
    names = ("and", "or", "not", "any", "all", "none")
    node = {"$ref": "#/$defs/E"}
    branches: list[JsonObject] = [of(args={"type": "array", "items": node}, op={"const": name}) for name in names]
    schema = of(q=node) | {"$defs": {"E": {"oneOf": [*branches, {"type": "integer"}]}}}
    asked = 0

    def leaf(value: Any, types: frozenset[str]) -> Any:
        nonlocal asked
        asked += 1
        return int(value) if value == "1" and "integer" in types else value

    value: Any = "1"
    expected: Any = 1
    for _ in range(8):
        value, expected = {"op": "or", "args": [value]}, {"op": "or", "args": [expected]}
    assert mapped({"q": value}, schema, leaf) == {"q": expected}
    assert asked < 2000


def test_a_schema_that_leads_back_to_itself_ends() -> None:
    schema = {"allOf": [{"$ref": "#"}, {"$ref": "#"}], **of(count={"type": "integer"})}
    assert mapped({"count": "x"}, schema, lambda value, types: value) == {"count": "x"}

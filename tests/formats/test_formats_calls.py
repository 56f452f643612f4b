"""What may stand in a call: whatever an agent writes, a conversation with it can be kept and read again."""

import math
from typing import Any

import pytest

from simia.formats.calls import DEEPEST, call_of, foreign_call
from simia.formats.hermes import parse
from simia.models.answers import read_completion
from simia.types import AssistantMessage, MalformedToolCall, ToolCall


def nested(levels: int) -> str:
    """Arguments of so many levels."""
    return '{"a":' + "[" * (levels - 1) + "]" * (levels - 1) + "}"


def test_arguments_may_be_nested_as_deep_as_can_be_read_again() -> None:
    call = call_of("call_1", "look", nested(DEEPEST))
    assert isinstance(call, ToolCall)
    assert AssistantMessage.model_validate_json(AssistantMessage(tool_calls=(call,)).model_dump_json())


@pytest.mark.parametrize("levels", [DEEPEST + 1, 200, 300, 1100])
def test_deeper_arguments_are_a_malformed_call_verbatim(levels: int) -> None:
    call = call_of("call_1", "look", nested(levels))
    assert isinstance(call, MalformedToolCall)
    assert call.text == nested(levels)


def test_deep_arguments_are_malformed_also_where_they_are_no_text() -> None:
    deep: dict[str, Any] = {}
    for _ in range(DEEPEST):
        deep = {"a": deep}
    call = call_of("call_1", "look", deep)
    assert isinstance(call, MalformedToolCall)
    assert f"more than {DEEPEST} deep" in call.reason


@pytest.mark.parametrize("value", [math.nan, math.inf, "\ud800", {1, 2}])
def test_what_json_lacks_is_malformed_where_another_reader_took_it(value: object) -> None:
    call = foreign_call("call_1", "look", {"at": value})
    assert isinstance(call, MalformedToolCall)
    assert call.model_dump_json()


def test_arguments_that_another_reader_took_stay_as_they_are() -> None:
    arguments = {"at": "Zürich", "count": 2**70, "deep": [{"a": None}]}
    assert foreign_call("call_1", "look", arguments) == ToolCall(id="call_1", name="look", arguments=arguments)


@pytest.mark.parametrize("levels", [200, 300])
def test_a_deep_call_of_an_endpoint_is_malformed(levels: int) -> None:
    call = {"id": "c", "function": {"name": "look", "arguments": nested(levels)}}
    reply = read_completion({"choices": [{"message": {"tool_calls": [call]}}]}, asked="m", shown="it")
    assert not reply.tool_calls
    assert reply.malformed_calls[0].text == nested(levels)


def test_a_deep_call_of_a_training_file_is_malformed() -> None:
    block = f'<tool_call>\n{{"name": "look", "arguments": {nested(200)}}}\n</tool_call>'
    (message,) = parse([{"role": "assistant", "content": block}])
    assert isinstance(message, AssistantMessage)
    assert [call.name for call in message.malformed_calls] == ["look"]

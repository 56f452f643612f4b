"""Chat-completions messages as they come in the wild."""

from typing import Any

import pytest

from simia.errors import FormatError
from simia.formats import openai
from simia.types import AssistantMessage, MalformedToolCall, ToolCall, ToolMessage, ToolSpec, UserMessage

GET: dict[str, Any] = {"id": "c1", "type": "function", "function": {"name": "get_user", "arguments": '{"id": 7}'}}


def with_arguments(arguments: object) -> list[dict[str, Any]]:
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{**GET, "function": {"name": "f", "arguments": arguments}}],
        }
    ]


def only_turn(messages: list[dict[str, Any]]) -> AssistantMessage:
    (turn,) = openai.parse_messages(messages)
    assert isinstance(turn, AssistantMessage)
    return turn


def test_a_call_is_read() -> None:
    turn = only_turn([{"role": "assistant", "content": None, "tool_calls": [GET]}])
    assert turn.tool_calls == (ToolCall(id="c1", name="get_user", arguments={"id": 7}),)


def test_arguments_may_be_an_object() -> None:
    assert only_turn(with_arguments({"id": 7})).tool_calls[0].arguments == {"id": 7}


def test_broken_arguments_are_kept_verbatim() -> None:
    turn = only_turn(with_arguments('{"id": 7'))
    assert turn.tool_calls == ()
    assert turn.malformed_calls[0].text == '{"id": 7'
    assert turn.malformed_calls[0].reason.startswith("no JSON: ")


def test_empty_arguments_are_not_taken_for_an_empty_object() -> None:
    assert only_turn(with_arguments("")).malformed_calls[0].text == ""


def test_arguments_that_are_a_list_are_malformed() -> None:
    turn = only_turn(with_arguments("[1]"))
    assert turn.malformed_calls == (
        MalformedToolCall(id="c1", name="f", text="[1]", reason="the arguments are a list, not an object"),
    )


def test_long_integers_keep_every_digit() -> None:
    turn = only_turn(with_arguments('{"id": 123456789012345678901234567890}'))
    assert turn.tool_calls[0].arguments == {"id": 123456789012345678901234567890}


def test_content_may_be_a_list_of_text_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert openai.parse_messages([{"role": "user", "content": parts}]) == (UserMessage(content="ab"),)


def test_an_image_is_refused_with_its_place() -> None:
    with pytest.raises(FormatError, match=r"message 1 \(user\) has content that is no text"):
        openai.parse_messages([{"role": "user", "content": "x"}, {"role": "user", "content": [{"type": "image_url"}]}])


def test_an_unknown_role_is_named_with_its_place() -> None:
    with pytest.raises(FormatError, match="message 1 has the role 'critic'"):
        openai.parse_messages([{"role": "user", "content": "x"}, {"role": "critic", "content": "y"}])


def test_an_observation_takes_the_name_of_its_call() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "assistant", "tool_calls": [GET]},
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    ]
    assert openai.parse_messages(messages)[1] == ToolMessage(call_id="c1", name="get_user", content="ok")


def test_an_observation_without_id_answers_the_first_open_call() -> None:
    second = {**GET, "id": "c2", "function": {"name": "f", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "assistant", "tool_calls": [GET, second]},
        {"role": "tool", "content": "one"},
        {"role": "tool", "content": "two"},
    ]
    assert [message.call_id for message in openai.parse_messages(messages)[1:] if isinstance(message, ToolMessage)] == [
        "c1",
        "c2",
    ]


def test_an_observation_that_says_error_is_one() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "assistant", "tool_calls": [GET]},
        {"role": "tool", "tool_call_id": "c1", "content": "Error: x"},
    ]
    observation = openai.parse_messages(messages)[1]
    assert isinstance(observation, ToolMessage)
    assert observation.is_error


def test_reasoning_may_stand_under_either_name() -> None:
    for key in ("reasoning_content", "reasoning"):
        assert only_turn([{"role": "assistant", "content": "x", key: "why"}]).reasoning == "why"


def test_reasoning_can_be_left_out() -> None:
    message = AssistantMessage(content="x", reasoning="why")
    assert openai.render_messages([message], reasoning=False) == [{"role": "assistant", "content": "x"}]


def test_an_error_that_does_not_show_is_marked_in_the_text() -> None:
    (spelled,) = openai.render_messages([ToolMessage(call_id="c", name="f", content="gone", is_error=True)])
    assert spelled["content"] == '<tool_response is_error="true">\ngone\n</tool_response>'


def test_tools_read_back() -> None:
    tools = (ToolSpec(name="f", description="does", parameters={"type": "object", "properties": {}}),)
    assert openai.parse_tools(openai.render_tools(tools)) == tools


def test_a_tool_may_be_bare() -> None:
    bare = {"name": "f", "description": "does", "parameters": {"type": "object"}}
    assert openai.parse_tools([bare])[0].parameters == {"type": "object"}


def test_a_tool_without_parameters_takes_none() -> None:
    assert openai.parse_tools([{"name": "f"}])[0].parameters == {"type": "object", "properties": {}}


def test_a_tool_without_name_is_refused_with_its_place() -> None:
    with pytest.raises(FormatError, match="tool 0 has no name"):
        openai.parse_tools([{"type": "function", "function": {"parameters": {}}}])


def test_a_call_without_a_function_is_refused() -> None:
    with pytest.raises(FormatError, match=r"message 0 \(assistant\) has a tool call without a function"):
        openai.parse_messages([{"role": "assistant", "tool_calls": ["get_user"]}])

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


def test_an_invented_id_is_none_that_another_call_of_the_conversation_has() -> None:
    nameless = {"function": {"name": "f", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "assistant", "tool_calls": [{**nameless, "id": "call_2"}, nameless, nameless]},
        {"role": "assistant", "tool_calls": [{**nameless, "id": "call_3"}, nameless]},
    ]
    turns = [message for message in openai.parse_messages(messages) if isinstance(message, AssistantMessage)]
    assert [[call.id for call in turn.tool_calls] for turn in turns] == [
        ["call_2", "call_1", "call_4"],
        ["call_3", "call_5"],
    ]


LEGACY: dict[str, Any] = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}}


def test_a_function_call_is_the_one_call_of_its_turn_and_a_function_message_its_observation() -> None:
    messages = [LEGACY, {"role": "function", "name": "f", "content": "ok"}]
    assert openai.parse_messages(messages) == (
        AssistantMessage(tool_calls=(ToolCall(id="call_1", name="f", arguments={"a": 1}),)),
        ToolMessage(call_id="call_1", name="f", content="ok"),
    )


@pytest.mark.parametrize("beside", [{"function_call": None, "tool_calls": [GET]}, {**LEGACY, "tool_calls": []}])
def test_the_spelling_that_is_not_used_may_be_null_or_empty(beside: dict[str, Any]) -> None:
    assert len(only_turn([{"role": "assistant", "content": None, **beside}]).tool_calls) == 1


def test_both_spellings_of_calls_in_one_turn_are_refused() -> None:
    with pytest.raises(FormatError, match=r"message 0 \(assistant\) has both tool_calls and a function_call: keep one"):
        openai.parse_messages([{**LEGACY, "tool_calls": [GET]}])


def test_a_function_call_that_is_no_object_is_refused() -> None:
    with pytest.raises(FormatError, match=r"message 0 \(assistant\) has a tool call without a function"):
        openai.parse_messages([{**LEGACY, "function_call": "f"}])


@pytest.mark.parametrize("name", ["g", None])
def test_a_function_message_of_another_name_than_the_open_call_is_refused(name: str | None) -> None:
    with pytest.raises(FormatError, match=rf"message 1 \(function\) has the name {name!r}, and no call of that name"):
        openai.parse_messages([LEGACY, {"role": "function", "name": name, "content": "ok"}])


def test_a_function_message_answers_one_call_once() -> None:
    answer = {"role": "function", "name": "f", "content": "ok"}
    with pytest.raises(FormatError, match=r"message 2 \(function\)"):
        openai.parse_messages([LEGACY, answer, answer])


def test_the_parameters_of_a_tool_may_be_json_text() -> None:
    assert openai.parse_tools([{"name": "f", "parameters": '{"type": "object"}'}])[0].parameters == {"type": "object"}


@pytest.mark.parametrize(("text", "reason"), [("{", "that cannot be read: no JSON"), ("[]", "that are no object")])
def test_parameters_whose_text_is_no_object_are_refused(text: str, reason: str) -> None:
    with pytest.raises(FormatError, match=rf"tool 0 \(f\) has parameters {reason}"):
        openai.parse_tools([{"name": "f", "parameters": text}])

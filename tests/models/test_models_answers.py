"""Reading chat completions as servers really write them."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.errors import ReplyCut, RequestRefused
from simia.models.answers import read_completion, split_reasoning
from simia.types import ChatReply, Usage


def read(message: dict[str, Any], finish: Any = "stop", **more: Any) -> ChatReply:
    body = {"id": "r1", "model": "served", "choices": [{"message": message, "finish_reason": finish}], **more}
    return read_completion(body, asked="asked", shown="http://host/v1")


def called(arguments: Any, name: str = "find", **more: Any) -> ChatReply:
    return read({"content": None, "tool_calls": [{"function": {"name": name, "arguments": arguments}, **more}]})


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_in_its_own_field_stands_apart(field: str) -> None:
    reply = read({"content": "yes", field: "because"})
    assert (reply.text, reply.reasoning) == ("yes", "because")


def test_reasoning_in_think_marks_stands_apart() -> None:
    reply = read({"content": "<think>\nbecause\n</think>\n\nyes"})
    assert (reply.text, reply.reasoning) == ("yes", "because")


def test_reasoning_whose_opening_mark_the_template_wrote_stands_apart() -> None:
    assert split_reasoning("because</think>\n\nyes") == ("because", "yes")


def test_a_thought_that_never_ends_leaves_no_answer() -> None:
    assert split_reasoning("<think>because of") == ("because of", "")


def test_think_marks_inside_json_are_data() -> None:
    text = '{"thought": "a</think>b"}'
    assert split_reasoning(text) == ("", text)


def test_think_marks_in_the_middle_of_a_text_are_data() -> None:
    text = "He wrote <think>hm</think> on the board."
    assert split_reasoning(text) == ("", text)


@settings(max_examples=100, deadline=None)
@given(thought=st.text(), answer=st.text())
def test_a_thought_and_its_answer_come_apart_as_they_were_put_together(thought: str, answer: str) -> None:
    if "</think>" in thought:
        return
    assert split_reasoning(f"<think>{thought}</think>{answer}") == (thought.strip(), answer.lstrip())


@settings(max_examples=100, deadline=None)
@given(text=st.text().filter(lambda text: "think>" not in text))
def test_a_text_without_marks_stays_as_it_is(text: str) -> None:
    assert split_reasoning(text) == ("", text)


def test_a_model_that_declines_is_no_answer() -> None:
    reply = read({"content": None, "refusal": "I cannot help with that."})
    assert (reply.text, reply.finish_reason) == ("I cannot help with that.", "content_filter")


def test_content_in_parts_is_joined() -> None:
    assert (
        read({"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]}).text
        == "ab"
    )


def test_a_call_is_read() -> None:
    call = called('{"id": 1}', id="c1").tool_calls[0]
    assert (call.id, call.name, call.arguments) == ("c1", "find", {"id": 1})


def test_a_long_integer_in_the_arguments_stays_exact() -> None:
    assert called('{"order_id": 12345678901234567890123}').tool_calls[0].arguments == {
        "order_id": 12345678901234567890123
    }


def test_arguments_may_come_as_an_object() -> None:
    assert called({"id": 1}).tool_calls[0].arguments == {"id": 1}


@pytest.mark.parametrize("text", ["{'id': 1}", '{"id": ', "[1]", "", "null"])
def test_arguments_that_cannot_be_read_are_kept_verbatim(text: str) -> None:
    reply = called(text)
    assert reply.tool_calls == ()
    assert (reply.malformed_calls[0].name, reply.malformed_calls[0].text) == ("find", text)


def test_a_call_without_a_name_is_kept_whole() -> None:
    reply = read({"content": "", "tool_calls": [{"id": "c", "function": {"arguments": "{}"}}]})
    assert '"arguments":"{}"' in reply.malformed_calls[0].text


def test_calls_without_ids_get_different_ones_that_do_not_change() -> None:
    message = {"content": None, "tool_calls": [{"function": {"name": "a", "arguments": "{}"}}] * 2}
    first, second = read(message), read(message)
    assert first.tool_calls == second.tool_calls
    assert first.tool_calls[0].id != first.tool_calls[1].id


@pytest.mark.parametrize(
    ("finish", "meaning"),
    [("stop", "stop"), ("length", "length"), ("tool_calls", "tool_calls"), ("weird", "other"), (None, "other")],
)
def test_the_end_is_named_in_our_words(finish: str | None, meaning: str) -> None:
    assert read({"content": "x"}, finish).finish_reason == meaning


@pytest.mark.parametrize(
    "more",
    [
        {"usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}},
        {"usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 4}},
        {"usage": {"prompt_tokens": 9, "completion_tokens": 2}, "timings": {"cache_n": 4}},
    ],
)
def test_cached_tokens_are_found_where_each_server_puts_them(more: dict[str, Any]) -> None:
    usage = read({"content": "x"}, **more).usage
    assert usage == Usage(prompt_tokens=9, cached_tokens=4, completion_tokens=2)


def test_reasoning_tokens_are_counted() -> None:
    usage = {"completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 3}}
    assert read({"content": "x"}, usage=usage).usage.reasoning_tokens == 3


def test_a_body_that_is_no_completion_is_a_wrong_address() -> None:
    with pytest.raises(RequestRefused, match="check the base URL"):
        read_completion({"hello": 1}, asked="m", shown="http://host")


@pytest.mark.parametrize("choices", [[], None, [{}], [{"message": None}]])
def test_a_completion_without_a_message_is_worth_another_try(choices: Any) -> None:
    with pytest.raises(ReplyCut):
        read_completion({"choices": choices}, asked="m", shown="http://host")

"""Hermes: what stands in tags, and what does not."""

import pytest

from simia.errors import FormatError
from simia.formats import hermes
from simia.types import Message, ToolMessage

CALL = {"role": "assistant", "content": '<tool_call>{"name": "read_file", "arguments": {}}</tool_call>'}


def observed(text: str) -> Message:
    return hermes.parse([CALL, {"role": "tool", "content": text}])[1]


def test_a_bare_observation_that_looks_like_a_response_is_all_content() -> None:
    text = '{"name": "notes.txt", "content": "hello"}'
    assert observed(text) == ToolMessage(call_id="call_1", name="read_file", content=text)


def test_a_bare_observation_that_looks_like_a_python_response_is_all_content() -> None:
    text = "{'name': 'read_file', 'content': 'hello', 'is_error': True}"
    assert observed(text) == ToolMessage(call_id="call_1", name="read_file", content=text)


def test_a_bare_error_is_known_by_its_text() -> None:
    assert observed("Error: no such file") == ToolMessage(
        call_id="call_1", name="read_file", content="Error: no such file", is_error=True
    )


def test_a_response_in_tags_is_unwrapped() -> None:
    text = '<tool_response>\n{"name": "read_file", "content": "hello"}\n</tool_response>'
    assert observed(text) == ToolMessage(call_id="call_1", name="read_file", content="hello")


def test_an_observation_that_looks_like_a_response_reads_back_from_its_tags() -> None:
    messages = hermes.parse([CALL, {"role": "tool", "content": '{"name":"notes.txt","content":"hello"}'}])
    assert hermes.parse(hermes.render(messages)) == messages


@pytest.mark.parametrize("text", ["Note. <tool_response>{}</tool_response>", "<tool_response>{}</tool_response> Note."])
def test_text_outside_the_tags_of_an_observation_is_refused_because_it_would_be_lost(text: str) -> None:
    with pytest.raises(FormatError, match=r"outside its tags, which would be lost: 'Note\.'"):
        observed(text)

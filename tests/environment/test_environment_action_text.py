"""An agent's message as JSON text: what is read, and that nothing else is guessed at."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simia.environment.adapters.action_text import read_action
from simia.types import AssistantMessage, ToolCall


def read(text: str) -> AssistantMessage:
    numbers = count(1)
    return read_action(text, lambda: f"call_{next(numbers)}")


def test_words_are_read() -> None:
    assert read('{"say": "Which room?"}') == AssistantMessage(content="Which room?")


def test_silence_can_be_said() -> None:
    assert read('{"say": ""}') == AssistantMessage()


def test_calls_are_read_in_their_order() -> None:
    message = read('{"calls": [{"name": "a", "arguments": {"x": 1}}, {"name": "b", "arguments": {}}]}')

    assert message.tool_calls == (
        ToolCall(id="call_1", name="a", arguments={"x": 1}),
        ToolCall(id="call_2", name="b", arguments={}),
    )


def test_words_stand_beside_calls() -> None:
    message = read('{"say": "One moment.", "calls": [{"name": "a", "arguments": {}}]}')

    assert (message.content, len(message.tool_calls)) == ("One moment.", 1)


def test_a_call_without_a_name_is_kept_verbatim_beside_the_others() -> None:
    message = read('{"calls": [{"arguments": {}}, {"name": "a", "arguments": {}}]}')

    assert [call.text for call in message.malformed_calls] == ['{"arguments":{}}']
    assert [call.id for call in message.tool_calls] == ["call_2"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("turn on the lamp", "no JSON"),
        ("{}", "no {"),
        ("[]", "no {"),
        ('{"say": "Hi", "to": "them"}', "no {"),
        ('{"say": 1}', '"say" is no text'),
        ('{"calls": {}}', '"calls" is no list'),
    ],
)
def test_any_other_text_is_a_call_that_cannot_be_read(text: str, reason: str) -> None:
    (malformed,) = read(text).malformed_calls

    assert malformed.text == text
    assert reason in malformed.reason


@given(st.text())
def test_whatever_is_written_is_a_message(text: str) -> None:
    message = read(text)

    assert message.content or message.tool_calls or message.malformed_calls or '""' in text


@pytest.mark.parametrize("value", ["[" * 1100, "[" * 200 + "]" * 200, "[" * 300 + "]" * 300, '"\\ud800"', "NaN"])
def test_an_action_that_could_not_be_kept_is_malformed(value: str) -> None:
    text = f'{{"calls": [{{"name": "a", "arguments": {{"x": {value}}}}}]}}'

    message = read(text)

    assert [malformed.text for malformed in message.malformed_calls] == [text]
    assert not message.tool_calls

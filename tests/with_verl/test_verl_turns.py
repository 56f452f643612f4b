"""What is read in the text of a turn, where no engine's reader helps."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simia.environment.adapters.spoken_turn import parsed_turn, read_turn
from simia.formats.chat_template import as_template
from simia.types import AssistantMessage, ToolCall, ToolMessage

NAMES = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
ARGUMENTS = st.dictionaries(NAMES, st.one_of(st.booleans(), st.integers(-99, 99), st.text("ab <>/\n", max_size=9)))


def block(inside: str) -> str:
    return f"<tool_call>\n{inside}\n</tool_call>"


def test_words_and_calls_are_told_apart() -> None:
    turn = read_turn('I look.\n<tool_call>\n{"name": "look", "arguments": {"at": 1}}\n</tool_call>', 4)
    call = ToolCall(id="call_4", name="look", arguments={"at": 1})
    assert turn == AssistantMessage(content="I look.", tool_calls=(call,))


@given(st.lists(st.tuples(NAMES, ARGUMENTS), max_size=4))
def test_every_call_of_a_turn_is_read_in_its_order(calls: list[tuple[str, dict[str, object]]]) -> None:
    text = "\n".join(
        block(json.dumps({"name": name, "arguments": arguments}).replace("<", "\\u003c")) for name, arguments in calls
    )
    turn = read_turn(text, 1)
    assert [(call.name, call.arguments) for call in turn.tool_calls] == calls
    assert not turn.malformed_calls


@pytest.mark.parametrize(
    "inside",
    ["{", '{"name": "look"}', '{"name": 1, "arguments": {}}', '{"name": "look", "arguments": "{}"}', "[]", "NaN", ""],
)
def test_a_block_that_is_no_call_is_kept_as_it_was_written(inside: str) -> None:
    turn = read_turn(block(inside), 1)
    assert not turn.tool_calls
    assert [malformed.text for malformed in turn.malformed_calls] == [inside]


def test_calls_are_numbered_through_good_and_bad_ones() -> None:
    good = '{"name": "look", "arguments": {}}'
    turn = read_turn(block("{") + block(good) + block("{"), 1)
    assert [call.id for call in turn.tool_calls] == ["call_2"]
    assert [malformed.id for malformed in turn.malformed_calls] == ["call_1", "call_3"]


@pytest.mark.parametrize("text", ["<think>\nHm.\n</think>\n\nYes.", "Hm.\n</think>\n\nYes."])
def test_thoughts_are_no_words_also_where_the_prompt_began_them(text: str) -> None:
    turn = read_turn(text, 1)
    assert (turn.reasoning, turn.content) == ("Hm.", "Yes.")


def test_arguments_that_another_reader_could_not_read_are_malformed() -> None:
    turn = parsed_turn("", [("look", '{"at": 1}'), ("look", "{"), ("look", "[]")], 1)
    assert [call.id for call in turn.tool_calls] == ["call_1"]
    assert [malformed.text for malformed in turn.malformed_calls] == ["{", "[]"]


def test_a_call_that_another_reader_left_in_the_words_is_malformed() -> None:
    turn = parsed_turn("<tool_call>look!</tool_call>", [], 3)
    assert (turn.content, [malformed.id for malformed in turn.malformed_calls]) == ("", ["call_3"])


def test_templates_are_given_arguments_as_objects() -> None:
    message = AssistantMessage(content="I look.", tool_calls=(ToolCall(id="c", name="look", arguments={"at": 1}),))
    assert as_template(message)["tool_calls"][0]["function"] == {"name": "look", "arguments": {"at": 1}}
    result = ToolMessage(call_id="c", name="look", content="dark")
    assert as_template(result) == {"role": "tool", "name": "look", "tool_call_id": "c", "content": "dark"}


HOSTILE = ["[" * 1100, '{"name": "look", "arguments": {"at": "\\ud800"}}'] + [
    '{"name": "look", "arguments": {"at": ' + value + "}}"
    for value in ("[" * 1100, "[" * 200 + "]" * 200, "[" * 300 + "]" * 300, "NaN", "1e999", '1, "at": 2')
]


@pytest.mark.parametrize("inside", HOSTILE)
def test_a_turn_can_be_kept_and_read_again_whatever_stands_in_a_block(inside: str) -> None:
    turn = read_turn(block(inside) + block('{"name": "look", "arguments": {}}'), 1)
    assert [malformed.text for malformed in turn.malformed_calls] == [inside]
    assert [call.id for call in turn.tool_calls] == ["call_2"]
    assert AssistantMessage.model_validate_json(turn.model_dump_json()) == turn


@pytest.mark.parametrize("arguments", ["[" * 1100, '{"at": "\\ud800"}', '{"at": ' + "[" * 200 + "]" * 200 + "}"])
def test_arguments_that_cannot_be_kept_are_malformed_in_every_spelling(arguments: str) -> None:
    turn = parsed_turn("", [("look", arguments)], 1)
    assert [malformed.text for malformed in turn.malformed_calls] == [arguments]

"""For every spelling: what is rendered is read back the same."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from simia.errors import FormatError
from simia.formats import exchanges, hermes, llama3, openai, sharegpt, transcript
from simia.formats.calls import calls_of, malformed_call, normalise_ids, read_arguments
from simia.formats.markers import escape, has_marker, unescape
from simia.formats.observation import unwrap, wrap
from simia.types import (
    AssistantMessage,
    MalformedToolCall,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
    content_id,
)

MARKERS = [
    "A: ignore the above", "### User", "[3] tool get_user (call_1)", "| barred", "says", "calls x (y)",
    "<|im_start|>", "<|im_end|>", "<|eot_id|>", "<|python_tag|>", "<\\|python_tag|>", "<think>", "</think>",
    "<\\think>",
    "<tool_call>", "</tool_call>", "<\\\\tool_call>", "<tool_call", "<tool_response>", "</tool_response>",
    '<tool_response is_error="true">', "</tool_response>\n<tool_response>", "\n</tool_response>\n<tool_response>\n",
    '{"name": "x", "arguments": {}}', '{"name": "x", "parameters": {"a": 1}}', '\\{"name": "x", "parameters": {}}',
    "{'name': 'x', 'arguments': {}}", '["x"]', "[1, 2]", "Error: no such user", '{"error": "gone"}', '{"error": null}',
    '{"a":1}', '{"a": 1}', '{"content":"x"}', "\n", "\r\n", "\u2028", "\x85", "\x1c", " ", "\\", "|d x",
    "سلام", "\u202eabc", "👩‍👩‍👧", "\x00", "\x07", "null", "; ",
]  # fmt: skip

plain = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
texts = st.one_of(plain, st.lists(st.one_of(st.sampled_from(MARKERS), plain), max_size=5).map("".join))
names = st.one_of(st.sampled_from(["get_user", "book-flight", "a.b", "a b", "1"]), texts.filter(bool))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, values, max_size=3)


def unreadable(text: str) -> bool:
    try:
        read_arguments(text)
    except FormatError:
        return True
    return False


@st.composite
def turns_of_calls(draw: st.DrawFn, *, answered: bool) -> list[Message]:
    """An assistant's turn with parallel calls, and observations in any order, maybe not all."""
    ids = draw(st.lists(texts.filter(bool), min_size=1, max_size=3, unique=True))
    readable: list[ToolCall] = []
    malformed: list[MalformedToolCall] = []
    for call_id in ids:
        kind = draw(st.sampled_from(["readable", "readable", "named", "nameless"]))
        if kind == "readable":
            readable.append(ToolCall(id=call_id, name=draw(names), arguments=draw(objects)))
        elif kind == "named":
            malformed.append(malformed_call(call_id, draw(names), draw(texts.filter(unreadable))))
        else:
            malformed.append(malformed_call(call_id, None, draw(texts)))
    turn = AssistantMessage(
        content=draw(texts),
        reasoning=draw(st.none() | texts),
        tool_calls=tuple(readable),
        malformed_calls=tuple(malformed),
    )
    calls = draw(st.permutations(calls_of(turn)))
    if not answered:
        calls = calls[: draw(st.integers(0, len(calls)))]
    observations = [
        ToolMessage(
            call_id=call.id,
            name=call.name or "",
            content=draw(st.one_of(texts, values.map(lambda value: json.dumps(value)))),
            is_error=draw(st.booleans()),
        )
        for call in calls
    ]
    return [turn, *observations]


said = st.builds(AssistantMessage, content=texts, reasoning=st.none() | texts)
asked = st.builds(UserMessage, content=texts)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Message, ...]:
    """Any conversation whose observations follow their calls; a user speaks after an unanswered turn."""
    messages: list[Message] = list(draw(st.lists(st.builds(SystemMessage, content=texts), max_size=1)))
    for kind in draw(st.lists(st.sampled_from(["user", "say", "call"]), max_size=4)):
        if kind == "user":
            messages.append(draw(asked))
        elif kind == "say":
            messages.append(draw(said))
        else:
            turn = draw(turns_of_calls(answered=False))
            messages += turn
            if len(turn) == 1:
                messages.append(draw(asked))
    return tuple(messages)


@st.composite
def trajectories(draw: st.DrawFn) -> tuple[Message, ...]:
    """A conversation in role order with every call answered: maybe greeted first, maybe cut at the end."""
    messages: list[Message] = [draw(said)] if draw(st.booleans()) else []
    count = draw(st.integers(0, 3))
    for index in range(count):
        messages.append(draw(asked))
        for _ in range(draw(st.integers(0, 2))):
            messages += draw(turns_of_calls(answered=True))
        if index < count - 1 or draw(st.booleans()):
            messages.append(draw(said))
    return normalise_ids(messages)


Spelling = tuple[Callable[[Sequence[Message]], Any], Callable[[Any], tuple[Message, ...]]]

WITH_IDS: dict[str, Spelling] = {
    "openai": (openai.render_messages, openai.parse_messages),
    "transcript": (transcript.render, transcript.parse),
}
WITHOUT_IDS: dict[str, Spelling] = {
    "sharegpt": (sharegpt.render, sharegpt.parse),
    "hermes": (hermes.render, hermes.parse),
    "hermes in sharegpt": (lambda messages: hermes.render(messages, keys="sharegpt"), hermes.parse),
    "llama3": (llama3.render, llama3.parse),
}


def identical(one: Sequence[Message], other: Sequence[Message]) -> bool:
    """Equal, and also ``true`` is not ``1``."""
    return tuple(one) == tuple(other) and content_id([m.model_dump() for m in one]) == content_id(
        [m.model_dump() for m in other]
    )


@pytest.mark.parametrize("spelling", WITH_IDS)
@given(messages=conversations())
@settings(max_examples=150, deadline=None)
def test_what_a_spelling_with_ids_renders_it_reads_back(spelling: str, messages: tuple[Message, ...]) -> None:
    render, parse = WITH_IDS[spelling]
    assert identical(parse(render(messages)), messages)


@pytest.mark.parametrize("spelling", WITHOUT_IDS)
@given(messages=conversations())
@settings(max_examples=150, deadline=None)
@example(messages=(UserMessage(content="\u2028"), AssistantMessage(content="\\")))
def test_what_a_spelling_without_ids_renders_it_reads_back(spelling: str, messages: tuple[Message, ...]) -> None:
    render, parse = WITHOUT_IDS[spelling]
    normalised = normalise_ids(messages)
    assert identical(parse(render(normalised)), normalised)


@pytest.mark.parametrize("spelling", ["openai", *WITHOUT_IDS])
@given(messages=conversations())
@settings(max_examples=40, deadline=None)
def test_a_spelling_survives_a_json_lines_file(spelling: str, messages: tuple[Message, ...]) -> None:
    render, parse = {**WITH_IDS, **WITHOUT_IDS}[spelling]
    normalised = normalise_ids(messages)
    assert identical(parse(orjson.loads(orjson.dumps(render(normalised)))), normalised)


@given(task=texts, messages=trajectories())
@settings(max_examples=150, deadline=None)
def test_a_trajectory_in_one_reply_reads_back(task: str, messages: tuple[Message, ...]) -> None:
    task_again, again = exchanges.parse(exchanges.render(task, messages))
    assert task_again == task
    assert identical(again, messages)


@given(messages=conversations())
@settings(max_examples=60, deadline=None)
def test_normal_ids_stay_as_they_are(messages: tuple[Message, ...]) -> None:
    normalised = normalise_ids(messages)
    assert identical(normalise_ids(normalised), normalised)


@given(messages=conversations())
@settings(max_examples=60, deadline=None)
def test_normalising_ids_keeps_every_text(messages: tuple[Message, ...]) -> None:
    def said_in(some: Sequence[Message]) -> list[str]:
        return sorted(message.content for message in some)

    assert said_in(normalise_ids(messages)) == said_in(messages)


@given(text=texts)
@settings(max_examples=200, deadline=None)
def test_an_escaped_text_has_no_live_marker_and_reads_back(text: str) -> None:
    assert not has_marker(escape(text))
    assert unescape(escape(text)) == text


@given(content=texts, is_error=st.booleans(), position=st.none() | st.integers(0, 9))
@settings(max_examples=200, deadline=None)
def test_an_observation_reads_back_with_its_error_and_place(content: str, is_error: bool, position: int | None) -> None:
    assert unwrap(wrap(content, is_error, position)) == (content, is_error, position)


@given(messages=conversations())
@settings(max_examples=100, deadline=None)
def test_no_content_stands_at_the_margin_of_a_transcript(messages: tuple[Message, ...]) -> None:
    text = transcript.render(messages)
    heads = [line for line in text.splitlines() if line.startswith("[")]
    assert len(heads) == len(messages)
    assert all(line.startswith(("[", "|", "thinks", "says", "calls ")) for line in text.splitlines())

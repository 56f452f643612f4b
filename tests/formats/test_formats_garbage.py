"""Whatever a file holds, a reader gives messages or says FormatError."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.errors import FormatError
from simia.formats import exchanges, hermes, json_text, llama3, openai, sharegpt, transcript

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.sampled_from(
        [
            "user",
            "human",
            "gpt",
            "assistant",
            "tool",
            "ipython",
            "function_call",
            "observation",
            "system",
            "<tool_call>",
            "<tool_call>{",
            "<tool_response>",
            '{"name": "f", "arguments": {}}',
            "[",
            "[[]]",
            "{'a': '\\d'}",
            '<tool_response call="0">\nx\n</tool_response>',
            '{"name": "f", "content": 1, "call": -3}',
            "<|python_tag|>",
        ]
    ),
)
keys = st.sampled_from(
    [
        "role",
        "content",
        "from",
        "value",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "id",
        "tool_call_id",
        "reasoning",
        "task",
        "exchanges",
        "user",
        "steps",
        "calls",
        "result",
        "reply",
        "say",
        "is_error",
        "parameters",
    ]
)
garbage = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=5), max_leaves=20
)
records = st.lists(
    garbage
    | st.fixed_dictionaries({"role": leaves, "content": leaves}, optional={"tool_calls": garbage, "name": garbage})
    | st.fixed_dictionaries({"from": leaves, "value": leaves}),
    max_size=4,
)

READERS: dict[str, Callable[[Any], Any]] = {
    "openai": openai.parse_messages,
    "tools": openai.parse_tools,
    "sharegpt": sharegpt.parse,
    "hermes": hermes.parse,
    "llama3": llama3.parse,
}


@pytest.mark.parametrize("reader", READERS)
@given(value=records)
@settings(max_examples=200, deadline=None)
def test_a_reader_of_files_says_format_error_or_reads(reader: str, value: list[Any]) -> None:
    with suppress(FormatError):
        assert isinstance(READERS[reader](value), tuple)


@given(value=garbage | st.fixed_dictionaries({"task": st.just("t"), "exchanges": records}))
@settings(max_examples=300, deadline=None)
def test_a_reader_of_replies_says_format_error_or_reads(value: Any) -> None:
    with suppress(FormatError):
        task, messages = exchanges.parse(value)
        assert isinstance(task, str)
        assert isinstance(messages, tuple)


lines = st.lists(
    st.sampled_from(
        [
            "[1] user",
            "[2] assistant",
            "[3] tool f (c)",
            '[4] tool "\\q" (c)',
            "| x",
            "|",
            "|fffff x",
            "|d y",
            "thinks",
            "says",
            "calls f (c)",
            "calls f (c) unreadable",
            "calls (c)",
            '| {"a":',
            "| {}",
            "",
        ]
    )
    | st.text(max_size=5),
    max_size=6,
).map("\n".join)


@given(text=lines)
@settings(max_examples=300, deadline=None)
def test_a_reader_of_transcripts_says_format_error_or_reads(text: str) -> None:
    with suppress(FormatError):
        assert isinstance(transcript.parse(text), tuple)


@given(text=st.text(st.sampled_from('{}[]",:ab1`\n \\'), max_size=30))
@settings(max_examples=300, deadline=None)
def test_a_reader_of_json_says_format_error_or_reads(text: str) -> None:
    with suppress(FormatError):
        _, repaired = json_text.read_json(text)
        assert isinstance(repaired, bool)

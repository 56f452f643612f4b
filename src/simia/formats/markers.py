r"""Markers inside text: ``<tool_call>``, ``<tool_response>``, ``<think>``, ``<|python_tag|>``.

The public formats have no way to write a marker that is only text. Here one backslash goes in after its ``<``, and
one comes off when it is read: ``<think>`` in a text is spelled ``<\think>``, and ``<\think>`` is ``<\\think>``. Inside
JSON the ``<`` of a marker is spelled ``\u003c``, which every JSON reader undoes by itself.
"""

import json
import re
from typing import Any

_MARKER = r"(?:/?(?:tool_call|tool_response|think)[\s>]|\|python_tag\|>)"
_PLAIN = re.compile(rf"<(\\*)(?={_MARKER})")
_ESCAPED = re.compile(rf"<\\(\\*)(?={_MARKER})")
_IN_JSON = re.compile(rf"<(?={_MARKER})")
_REASONING = re.compile(r"\A\s*<think>\n?(.*?)\n?</think>\n?\n?", re.DOTALL)
_BLOCK = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)


def escape(text: str) -> str:
    """``text`` without any live marker; :func:`unescape` inverts it."""
    return _PLAIN.sub(r"<\\\1", text) if "<" in text else text


def unescape(text: str) -> str:
    """``text`` with one backslash fewer in every escaped marker."""
    return _ESCAPED.sub(r"<\1", text) if "<\\" in text else text


def has_marker(text: str) -> bool:
    """Whether ``text`` holds a live marker."""
    return "<" in text and _IN_JSON.search(text) is not None


def json_line(value: Any) -> str:
    """JSON in the spacing that chat templates use (``", "`` and ``": "``), without any live marker."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _IN_JSON.sub(r"\\u003c", text) if "<" in text else text


def render_reasoning(reasoning: str | None) -> str:
    """The reasoning block that Qwen3, DeepSeek-R1 and LLaMA-Factory write before the answer; empty without any."""
    return "" if reasoning is None else f"<think>\n{escape(reasoning)}\n</think>\n\n"


def split_reasoning(text: str) -> tuple[str | None, str]:
    """The reasoning at the start of ``text``, or None, and what follows it."""
    found = _REASONING.match(text)
    return (None, text) if found is None else (unescape(found.group(1)), text[found.end() :])


def split_blocks(text: str) -> tuple[str, list[str]]:
    """What is said beside the ``<tool_call>`` blocks, and the inside of each block. The last may lack its end.

    One newline before the first block belongs to the spelling. Text between and after blocks is kept, on lines of
    its own.
    """
    first = text.find("<tool_call>")
    if first < 0:
        return unescape(text), []
    said = [text[:first].removesuffix("\n")]
    blocks = []
    end = first
    for found in _BLOCK.finditer(text, first):
        said.append(text[end : found.start()].strip())
        blocks.append(found.group(1).removeprefix("\n").removesuffix("\n"))
        end = found.end()
    said.append(text[end:].strip())
    return unescape("\n".join([said[0], *filter(None, said[1:])]) if said[0] else "\n".join(filter(None, said))), blocks

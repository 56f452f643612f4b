"""Observations as text, where a spelling has no field for "this is an error" or "this answers that call".

An observation stands verbatim wherever reading it back gives the same: its text tells an error
(:func:`looks_like_error`) and its place tells the call. Only otherwise is it wrapped, in the tag that chat templates
write around observations, with attributes::

    <tool_response call="2" is_error="true">
    ...
    </tool_response>
"""

import re
from typing import Any

from simia.errors import FormatError
from simia.formats.calls import dump_json, load_json
from simia.formats.markers import escape, has_marker, unescape

_NOTHING = r"""(?i:null|false|-?0(?:\.0+)?(?=\s*[,}])|"\s*(?:none|no|null|ok|n/a|0)?\s*"|\[\s*\]|\{\s*\})"""
_ERROR = re.compile(rf'\s*(?:Error:|\{{\s*"error"\s*:\s*(?!{_NOTHING}|\s))')
_WRAPPED = re.compile(
    r'\A<tool_response(?: call="([0-9]{1,4})")?(?: is_error="(true|false)")?>\n(.*)\n</tool_response>\Z', re.DOTALL
)

JOINER = "\n</tool_response>\n<tool_response>\n"
"""What LLaMA-Factory's OpenAI converter puts between the observations of parallel calls, in one message."""


def looks_like_error(text: str) -> bool:
    """Whether a text reads as an error: ``Error: ...`` as tau2 writes it, or an object that starts with ``error`` and
    says one there (not ``0``, ``"none"``, ``[]``).
    """
    return _ERROR.match(text) is not None


def structured(content: str) -> Any:
    """The JSON value of an observation where its compact spelling gives ``content`` back exactly, else the text."""
    if content[:1] not in ("{", "["):
        return content
    try:
        value = load_json(content)
    except FormatError:
        return content
    return value if dump_json(value) == content else content


def wrap(content: str, is_error: bool, position: int | None = None) -> str:
    """The observation as text; ``position`` of its call, from 0, only where order does not tell it."""
    told = looks_like_error(content) == is_error
    if told and position is None and not has_marker(content):
        return content
    call = "" if position is None else f' call="{position + 1}"'
    error = "" if told else f' is_error="{str(is_error).lower()}"'
    return f"<tool_response{call}{error}>\n{escape(content)}\n</tool_response>"


def unwrap(text: str) -> tuple[str, bool, int | None]:
    """Content, whether it is an error, and the position of its call or None; inverts :func:`wrap`."""
    found = _WRAPPED.match(text)
    if found is None:
        return text, looks_like_error(text), None
    content = unescape(found.group(3))
    is_error = looks_like_error(content) if found.group(2) is None else found.group(2) == "true"
    return content, is_error, None if found.group(1) is None else int(found.group(1)) - 1

"""JSON that a language model wrote."""

from typing import Any

import json_repair
import orjson

from simia.errors import FormatError, boundary

_SHOWN = 80


def read_json(text: str) -> tuple[Any, bool]:
    """The JSON value in ``text``, and whether it had to be repaired.

    Prose and code fences around the value are passed over, which is no repair. Anything else that is wrong (a cut
    end, single quotes, a missing comma) goes to the json-repair library, and the caller counts it.

    Raises:
        FormatError: no object or list can be made of the text.
    """
    try:
        return orjson.loads(text), False
    except orjson.JSONDecodeError:
        pass
    start, end = _outermost(text)
    if start < 0:
        raise FormatError(f"the reply holds no JSON object or list: {text[:_SHOWN]!r}")
    try:
        return orjson.loads(text[start : end + 1]), False
    except orjson.JSONDecodeError:
        pass
    with boundary(FormatError, f"repair the JSON in {text[start : start + _SHOWN]!r}"):
        value = json_repair.loads(text[start:], skip_json_loads=True)
        orjson.dumps(value)
    if not isinstance(value, dict | list) or not value:
        raise FormatError(f"the reply holds no JSON that can be repaired: {text[start : start + _SHOWN]!r}")
    return value, True


def _outermost(text: str) -> tuple[int, int]:
    starts = [place for place in (text.find("{"), text.find("[")) if place >= 0]
    start = min(starts, default=-1)
    return start, text.rfind("}" if start >= 0 and text[start] == "{" else "]")

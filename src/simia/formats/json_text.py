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
    for span in _spans(text):
        try:
            return orjson.loads(span), False
        except orjson.JSONDecodeError:
            continue
    rest = _from_start(text)
    if not rest:
        raise FormatError(f"the reply holds no JSON object or list: {text[:_SHOWN]!r}")
    with boundary(FormatError, f"repair the JSON in {rest[:_SHOWN]!r}"):
        value = json_repair.loads(rest, skip_json_loads=True)
        orjson.dumps(value)
    if rest[0] == "{" and isinstance(value, list):
        # The library makes a list of an object and whatever stands behind it.
        value = next((item for item in value if isinstance(item, dict)), None)
    if not isinstance(value, dict | list) or not value:
        raise FormatError(f"the reply holds no JSON that can be repaired: {rest[:_SHOWN]!r}")
    return value, True


def _spans(text: str) -> list[str]:
    """From the first opening to the last closing bracket of each kind, the longer one first; never a part of a
    broken value: a list behind the first brace, or an object that a list directly holds.
    """
    brace, bracket = text.find("{"), text.find("[")
    spans = []
    if brace >= 0 and not (0 <= bracket < brace and not text[bracket + 1 : brace].strip()):
        spans.append(text[brace : text.rfind("}") + 1])
    if bracket >= 0 and not 0 <= brace < bracket:
        spans.append(text[bracket : text.rfind("]") + 1])
    return sorted(spans, key=len, reverse=True)


def _from_start(text: str) -> str:
    """From the first brace on, or from the bracket of a list that directly holds it; without its code fence."""
    brace, bracket = text.find("{"), text.find("[")
    if bracket >= 0 and (brace < 0 or (bracket < brace and not text[bracket + 1 : brace].strip())):
        brace = bracket
    if brace < 0:
        return ""
    fence = text.rfind("\n```", brace)
    return text[brace : fence if fence > brace else None]

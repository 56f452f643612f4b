"""JSON that a language model wrote."""

import re
from typing import Any

from simia.errors import FormatError
from simia.formats.calls import load_json
from simia.formats.untidy import read_untidy

_SHOWN = 80
# Beside the value that is read may stand prose, but nothing that looks like a part of JSON: it would be lost.
_DATA = re.compile(
    r"""["']\s*:                       # a quoted key
    |[{\[]\s*["'{\[]                   # a list or an object
    |[{,]\s*\w+\s*:\s*["'{\[0-9]       # a bare key
    |\w\s*:\s+["'0-9]|\w:["']          # ... that is the first one
    """,
    re.VERBOSE,
)
_SURPLUS = re.compile(r"[\s}\]]*")


def read_json(text: str) -> tuple[Any, bool]:
    """The object or list that ``text`` holds, and whether it had to be repaired.

    Prose and code fences around the value are passed over, which is no repair. Untidy spellings are read by
    :mod:`simia.formats.untidy`, which neither loses nor invents anything; so is JSON inside a JSON string. The caller
    counts these. Integers of any length stay exact.

    Raises:
        FormatError: the text holds no object or list, holds several, or is beyond repair without a guess (cut inside
            a value, a value missing).
    """
    value, repaired = _read(text, strict_first=True)
    if isinstance(value, str):
        value, repaired = _read(value, strict_first=True)[0], True
    return _container(value, text), repaired


def lossless_json(text: str) -> Any:
    """The same for the text of one call, where a key that stands twice is refused also in valid JSON: one of its
    values would be lost.

    Raises:
        FormatError: as :func:`read_json`.
    """
    value, _ = _read(text, strict_first=False)
    if isinstance(value, str):
        value, _ = _read(value, strict_first=False)
    return _container(value, text)


def _read(text: str, *, strict_first: bool) -> tuple[Any, bool]:
    """Value and whether it was repaired; a string where the text is one JSON string."""
    if strict_first or text.lstrip()[:1] == '"':
        try:
            return load_json(text), False
        except FormatError:
            pass
    start = _start(text)
    if start < 0:
        raise FormatError(f"the reply holds no JSON object or list: {text[:_SHOWN]!r}")
    if (lost := _DATA.search(text, 0, start)) is not None:
        raise FormatError(f"a part of a value stands before the first bracket: {text[lost.start() : start]!r:.80}")
    if strict_first:
        end = text.rfind("}" if text[start] == "{" else "]") + 1
        try:
            value = load_json(text[start:end])
        except FormatError:
            pass
        else:
            _refuse_data(text, end)
            return value, False
    value, end = read_untidy(text, start)
    _refuse_data(text, end)
    return value, True


def _container(value: Any, text: str) -> Any:
    if not isinstance(value, dict | list):
        raise FormatError(f"the reply is no JSON object or list: {text[:_SHOWN]!r}")
    return value


def _start(text: str) -> int:
    """The first brace, or the bracket of a list that holds it; -1 where there is neither."""
    brace, bracket = text.find("{"), text.find("[")
    if bracket < 0 or 0 <= brace < bracket:
        return brace
    between = text[bracket : max(brace, bracket)]
    # A list that is closed before the first brace is prose: "Sure [as asked]: {...}".
    return brace if brace >= 0 and 0 < between.count("[") == between.count("]") else bracket


def _refuse_data(text: str, end: int) -> None:
    """Raise if behind the value, and closing brackets too many, stands more than prose."""
    surplus = _SURPLUS.match(text, end)
    behind = surplus.end() if surplus is not None else end
    if text[behind : behind + 1] in tuple(",:\"'") or _DATA.search(text, behind) is not None:
        raise FormatError(f"more than one JSON value, or a part of one behind it: {text[behind : behind + _SHOWN]!r}")

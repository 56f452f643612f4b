"""Values of strange code as JSON text, or the reason why they have none."""

import math
from typing import Any

from .wire import dumps, loads


class NoJson(Exception):
    """A value has no JSON; the text says what is in the way, and where."""


def text_of(value: Any, what: str) -> str:
    """The JSON text of ``value``, called ``what``.

    Raises:
        NoJson: it has none.
    """
    try:
        text = dumps(value)
        text.encode()
    except (TypeError, ValueError, RecursionError) as cause:
        raise NoJson(f"{what} has no JSON: {_misfit(value, what) or type(cause).__name__}") from cause
    return text


def check_exact(value: Any, text: str, what: str) -> None:
    """Refuse a value that is another when its JSON ``text`` is read, because a key that is no text became one.

    Raises:
        NoJson: it has such a key.
    """
    if loads(text) != value:  # tuples are not equal to lists, but pass
        misfit = _misfit(value, what)
        if misfit is not None:
            raise NoJson(f"{what} has no JSON: {misfit}")


def _misfit(value: Any, where: str, depth: int = 0) -> str | None:
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                return f"the key {key!r:.80} in {where} is no text"
            found = None if depth > 100 else _misfit(inner, f"{where}.{key}", depth + 1)
            if found is not None:
                return found
        return None
    if isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            found = None if depth > 100 else _misfit(inner, f"{where}[{index}]", depth + 1)
            if found is not None:
                return found
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return f"{where} is {value}"
    if value is None or isinstance(value, str | int | float):
        return None
    return f"{where} is a {type(value).__name__}"

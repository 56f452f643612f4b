"""How much a failed call explains: one switch, so that what explanations are worth can be measured."""

import re
from typing import Any, Literal

from simia.errors import FormatError
from simia.formats.calls import dump_json, load_json

FeedbackMode = Literal["rich", "terse", "bare"]
"""``rich``: whatever the tool says, as where Simia's simulator adds a hint for the agent (the lunch break in arXiv
2511.01824). ``terse``: what is wrong, without why or what else could be done. ``bare``: only that it is.
"""

_FAILED = "failed"
_MOST_CHARS = 80
_LISTS = r"(?:available|known|allowed|valid|possible|supported)"
_CLAUSE_ENDS = re.compile(
    rf""";|\.\s|\n
    |,?\sbecause\s
    |[,(:]\s*(?:the\s)?{_LISTS}\b[^:;]{{0,40}}:\s   # ", valid values are: ..."
    |\savailable\s(?:tools|functions)(?:\sare)?:\s""",
    re.VERBOSE,
)
_LOOSE_ENDS = " \t\r\n.,:;("


def reduced(observation: str, mode: FeedbackMode) -> str:
    """The observation of a failed call as ``mode`` shows it. Reduced again, it stays as it is.

    An observation that is no ``{"error": "..."}`` is taken for the explanation itself. Only ``error`` is kept: whatever
    stands beside it explains, too.
    """
    if mode == "rich":
        return observation
    return dump_json({"error": _FAILED if mode == "bare" else _first_clause(_explanation(observation))})


def _explanation(observation: str) -> str:
    try:
        value: Any = load_json(observation)
    except FormatError:
        return observation
    text = value.get("error") if isinstance(value, dict) else None
    return text if isinstance(text, str) else observation


def _first_clause(text: str) -> str:
    """The beginning of ``text`` up to the first end of a clause, in whole words of at most 80 characters."""
    while (shorter := _cut(text)) != text:  # what is cut off may uncover another end
        text = shorter
    return text or _FAILED


def _cut(text: str) -> str:
    text = text.strip(_LOOSE_ENDS)
    for end in _CLAUSE_ENDS.finditer(text):
        if end.start():
            text = text[: end.start()]
            break
    if len(text) > _MOST_CHARS:
        words = text[: _MOST_CHARS + 1].rsplit(maxsplit=1)
        text = words[0] if len(words) > 1 else text[:_MOST_CHARS]
    return text.strip(_LOOSE_ENDS)

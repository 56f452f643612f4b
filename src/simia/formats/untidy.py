"""JSON as a hand would write it, read without loss.

What is read beyond JSON: single quotes, bare keys, Python's ``True``, ``False`` and ``None``, raw line breaks in
strings, ``\\'`` for an apostrophe, a quoted word inside a text, commas before a closing bracket, a missing comma before
a key, a list that ends with its object, and closing brackets that are missing at the end.

Everything that is written is in the value, and everything in the value is written, in the same order. So whatever may
be read in two ways is refused: a text that ends in a number (it may be a cut one), an unknown word, a missing value, a
key that stands twice, two strings side by side, ``...``. Repairing libraries guess there, and a guess in a training
file looks like what a model meant.
"""

import re
from typing import Any

from simia.errors import FormatError
from simia.formats.calls import load_json

_MAX_DEPTH = 100
_SHOWN = 30

# A number must be followed by a separator on sight: 10 000, 5% and 12 at the end of the text are none.
_TOKEN = re.compile(
    r"""\s*(?:(?P<mark>[{}\[\],:])
    |(?P<quote>["'])
    |(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?=\s*[,}\]]|\s+["'])
    |(?P<word>[A-Za-z_$][\w$-]*)
    |(?P<end>\Z|```|</\w+>))""",
    re.VERBOSE,
)
# A quotation inside a text ('he said "no" twice') opens before a word and closes behind one, and the text goes on.
_DOUBLE = re.compile(
    r"""((?:[^"\\]|\\.|(?<=[\s(])"(?=\w)[^"\\]{1,200}(?<=[\w.!?])"(?=[.!?;)]|\s+[A-Za-z(]))*+)\"""", re.DOTALL
)
# An apostrophe stands between two letters; any other single quote ends the string.
_SINGLE = re.compile(r"((?:[^'\\]|\\.|(?<=\w)'(?=\w))*+)'", re.DOTALL)
_SPECIAL = re.compile(r"""\\(.)|"|[\x00-\x1f]""", re.DOTALL)
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}


def read_untidy(text: str, start: int) -> tuple[Any, int]:
    """The object or list whose bracket is ``text[start]``, and the place behind it.

    Raises:
        FormatError: it cannot be read without a guess; the message says where and why.
    """
    return _Reader(text, start).container(0)


class _Reader:
    """One pass over the text; ``_at`` is the place where the next token begins."""

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._at = start

    def container(self, depth: int) -> tuple[Any, int]:
        """The value whose bracket comes next, and the place behind it."""
        opening = self._token()
        value = self._object(depth) if opening == "{" else self._list(depth, in_object=False)
        return value, self._at

    def _object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while (token := self._token()) != "}":
            if token == "":
                self._end_of(found)
                break
            key = self._key(token)
            if self._token() != ":":
                raise self._refusal(f"key {key!r:.40} has no value")
            if key in found:
                raise self._refusal(f"key {key!r:.40} stands twice")
            found[key] = self._value(self._token(), depth + 1, in_object=True)
            before = self._at
            token = self._token()
            if token != ",":
                self._at = before
                if token not in ("}", "", '"', "'"):
                    raise self._refusal("neither a comma nor a bracket follows the value")
            elif self._peek() == "":
                raise self._refusal("the text is cut behind a comma")
        return found

    def _list(self, depth: int, *, in_object: bool) -> list[Any]:
        found: list[Any] = []
        while True:
            before = self._at
            token = self._token()
            if token == "]":
                return found
            if token == "}" and in_object and found:
                self._at = before
                return found
            if token == "":
                self._end_of(found)
                return found
            found.append(self._value(token, depth + 1, in_object=False))
            if (following := self._peek()) == ",":
                self._token()
                if self._peek() == "":
                    raise self._refusal("the text is cut behind a comma")
            elif following not in ("]", "") and not (following == "}" and in_object):
                raise self._refusal("neither a comma nor a bracket follows the value")

    def _value(self, token: str, depth: int, *, in_object: bool) -> Any:
        if depth > _MAX_DEPTH:
            raise self._refusal(f"more than {_MAX_DEPTH} levels")
        if token == "{":
            return self._object(depth)
        if token == "[":
            return self._list(depth, in_object=in_object)
        if token in ('"', "'"):
            return self._string(token)
        if token in _WORDS:
            return _WORDS[token]
        if token[:1] in "-0123456789" and token:
            return load_json(token)
        raise self._refusal(f"{token!r:.40} is no value" if token else "the text is cut before a value")

    def _key(self, token: str) -> str:
        if token in ('"', "'"):
            return self._string(token)
        if token in _WORDS or not (token[0].isalpha() or token[0] in "_$"):
            raise self._refusal(f"{token!r:.40} is no key")
        return token

    def _string(self, quote: str) -> str:
        found = (_DOUBLE if quote == '"' else _SINGLE).match(self._text, self._at)
        if found is None:
            raise self._refusal("a string has no end")
        self._at = found.end()
        string: str = load_json(f'"{_SPECIAL.sub(_spelled, found.group(1))}"')
        return string

    def _token(self) -> str:
        """The next token: a mark, the quote that opens a string, a number, a word, or nothing at the end."""
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            raise self._refusal("what stands there is no JSON, or a number that may be cut")
        if found.lastgroup == "end":
            return ""
        self._at = found.end()
        return found[found.lastgroup or 0]

    def _peek(self) -> str:
        before = self._at
        token = self._token()
        self._at = before
        return token

    def _end_of(self, found: dict[str, Any] | list[Any]) -> None:
        if not found:
            raise self._refusal("the text is cut behind a bracket")

    def _refusal(self, why: str) -> FormatError:
        seen = self._text[max(0, self._at - _SHOWN) : self._at + _SHOWN]
        return FormatError(f"{why}, near {seen!r}")


def _spelled(special: re.Match[str]) -> str:
    """An escape, a quotation mark or a control character as JSON spells it."""
    text = special.group()
    if text == "\\'":
        return "'"
    if text == '"':
        return '\\"'
    return text if text[0] == "\\" else f"\\u{ord(text):04x}"

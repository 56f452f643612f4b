"""The two pipes to the parent, one JSON text a line, and the last word of a process that ran into a wall."""

import json
import os
from typing import Any, NoReturn

_CHUNK = 1 << 20
_STOPPED = 86
OUT_OF_MEMORY = 87
"""The exit code that says so where there is no memory left for words."""
MOST_TOLD = 2000
"""So many characters of an error of strange code are told."""

# Bound before strange code is loaded, which may put other functions in their place.
_read = os.read
_write = os.write
_exit = os._exit
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
_decode = json.JSONDecoder().decode


def dumps(value: Any) -> str:
    """Compact JSON text.

    Raises:
        ValueError: it holds a number that is none, or itself.
        TypeError: it holds what has no JSON.
        RecursionError: it is nested too deeply.
    """
    return _encode(value)


def loads(text: str) -> Any:
    """The JSON value of ``text``."""
    return _decode(text)


class Wire:
    """Requests in, replies out."""

    def __init__(self, requests: int, replies: int) -> None:
        self.requests = requests
        self.replies = replies
        self._ahead = b""

    def line(self) -> str | None:
        """The next line; None when the parent is gone."""
        parts = []
        while True:
            head, newline, tail = self._ahead.partition(b"\n")
            parts.append(head)
            if newline:
                self._ahead = tail
                return b"".join(parts).decode()
            self._ahead = _read(self.requests, _CHUNK)
            if not self._ahead:
                return None

    def send(self, text: str) -> None:
        """Write ``text`` as a line.

        Raises:
            UnicodeEncodeError: it holds half a character, for which there is no UTF-8.
        """
        left = text.encode() + b"\n"
        while left:
            left = left[_write(self.replies, left) :]

    def stop(self, wall: str, attempt: str) -> NoReturn:
        """Tell the parent what was tried, and end this process: strange code gets no chance to go on."""
        try:
            self.send(dumps({"wall": wall, "attempt": attempt.encode(errors="replace").decode()[:300]}))
        finally:
            _exit(_STOPPED)

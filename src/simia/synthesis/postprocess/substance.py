"""Passes over what conversations are made of: ids that come from somewhere, and sentences that go somewhere."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from simia.synthesis.postprocess.edit import Context
from simia.types import Dropped, Trajectory

_NAMES_AN_ID = re.compile(r"(?:^|[_-])(?:ids?|numbers?|emails?)$|[a-z0-9](?:I[dD]s?|Numbers?|Emails?)$")
_LETTERS_AND_DIGITS = re.compile(r"[\W_]+")
_WINDOW_WORDS = 100
_FEWEST_WORDS = 24
_LEAST_DIFFERENT = 0.3
_MOST_TIMES = 2
_SAYS_SOMETHING_WORDS = 6


def grounded_ids(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Drops ``ungrounded_id``: an argument named as an id, a number or an e-mail address (``order_id``, ``userEmail``)
    whose text neither the user, nor an earlier result, nor the policy or the tools ever said. An agent that learns to
    make up ids calls tools at random. Signs and letter case do not count: a user may write ``w 123`` for ``#W123``.
    """
    heard: list[str] = []
    plain = _Plain(context)
    for message in trajectory.messages:
        if message.role == "user" or message.role == "tool":
            heard.append(message.content)
        elif message.role == "assistant":
            for call in message.tool_calls:
                for name, value in _ids(call.arguments):
                    is_heard = value != "" and any(value in text for text in reversed(heard))
                    if not is_heard and not plain.has(value, heard):
                        return Dropped("ungrounded_id", f"{call.id} {call.name}: nobody said {name} {value!r}")
    return trajectory


def no_repetition(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Drops ``repetition``: a message that turns in circles (of its last 100 words fewer than 3 in 10 are different
    words), and a user or an agent who says the very same thing twice in a row, or three times in all.
    """
    said: Counter[tuple[str, str]] = Counter()
    before = {"user": "", "assistant": ""}
    for position, message in enumerate(trajectory.messages, 1):
        role = message.role
        if role != "user" and role != "assistant":
            continue
        words = message.content.split()
        if len(words) >= _FEWEST_WORDS:
            last = words[-_WINDOW_WORDS:]
            if len(set(last)) < _LEAST_DIFFERENT * len(last):
                return Dropped("repetition", f"message {position} ({role}) turns in circles: {_end(words)}")
        if len(words) >= _SAYS_SOMETHING_WORDS:
            said[role, message.content] += 1
            if message.content == before[role] or said[role, message.content] > _MOST_TIMES:
                return Dropped("repetition", f"message {position} ({role}) was said before: {_end(words)}")
            before[role] = message.content
    return trajectory


class _Plain:
    """The slower look, for ids that are not there to the letter: letters and digits only, in lower case."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._heard: list[str] = []

    def has(self, value: str, heard: list[str]) -> bool:
        wanted = _plain(value)
        if not wanted:
            return False
        self._heard.extend(_plain(text) for text in heard[len(self._heard) :])
        return any(wanted in text for text in self._heard) or wanted in self._context.plain_world


def _plain(text: str) -> str:
    return _LETTERS_AND_DIGITS.sub("", text.lower())


def _ids(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """The texts and integers below names that name ids, each with its name."""
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _ids(entry, key)
    elif isinstance(value, list):
        for entry in value:
            yield from _ids(entry, name)
    elif isinstance(value, (str, int)) and not isinstance(value, bool) and name and _NAMES_AN_ID.search(name):
        yield name, str(value)


def _end(words: list[str]) -> str:
    return repr(" ".join(words[-10:]))

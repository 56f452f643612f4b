"""Passes over what conversations are made of: ids that come from somewhere, and sentences that go somewhere."""

import re
from functools import lru_cache
from typing import Any

from simia.synthesis.postprocess.edit import Context
from simia.types import Dropped, Trajectory

_NAMES_AN_ID = re.compile(r"(?:^|[_-])(?:ids?|numbers?|emails?)$|[a-z0-9](?:I[dD]s?|Numbers?|Emails?)$")
_LETTERS_AND_DIGITS = re.compile(r"[\W_]+")
_WINDOW_WORDS = 100
_FEWEST_WORDS = 24
_FEWEST_CHARS = 80
_LEAST_DIFFERENT = 0.3
_MOST_TIMES = 2
_SAYS_SOMETHING_CHARS = 30
_SAMPLE_CHARS = 16
_SAMPLE_EVERY = 256
_SECRET_WORDS = 3
_SEQUENCE = 5
_COPIED = 0.5
_COPIED_CHARS = 24
_COPIED_SAMPLES = 0.1


def grounded_ids(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Drops ``ungrounded_id``: an argument named as an id, a number or an e-mail address (``order_id``, ``userEmail``)
    whose text neither the user, nor an earlier result, nor the policy or the tools ever said. An agent that learns to
    make up ids calls tools at random. Signs and letter case do not count: a user may write ``w 123`` for ``#W123``.
    """
    heard: list[str] = []
    plain: _Plain | None = None
    for message in trajectory.messages:
        if message.role == "user" or message.role == "tool":
            heard.append(message.content)
        elif message.role == "assistant":
            for call in message.tool_calls:
                found: list[tuple[str, str]] = []
                for name, entry in call.arguments.items():
                    _collect(name, entry, found)
                for name, value in found:
                    for text in heard:
                        if value in text and value:
                            break
                    else:
                        plain = plain or _Plain(context)
                        if not plain.has(value, heard):
                            return Dropped("ungrounded_id", f"{call.id} {call.name}: nobody said {name} {value!r}")
    return trajectory


def no_repetition(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Drops ``repetition``: a message that turns in circles (of its last 100 words fewer than 3 in 10 are different
    words), and a user or an agent who says the very same thing twice in a row, or three times in all.
    """
    said: dict[tuple[str, str], int] = {}
    before: dict[str, str] = {}
    for position, message in enumerate(trajectory.messages, 1):
        role, content = message.role, message.content
        if role != "user" and role != "assistant":
            continue
        previous, before[role] = before.get(role), content
        if len(content) < _SAYS_SOMETHING_CHARS:
            continue
        if _turns_in_circles(content):
            return Dropped("repetition", f"message {position} ({role}) turns in circles: {_end(content)}")
        times = said[role, content] = said.get((role, content), 0) + 1
        if previous == content or times > _MOST_TIMES:
            return Dropped("repetition", f"message {position} ({role}) was said before: {_end(content)}")
    return trajectory


def leaked_plan(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Drops ``leaked_plan``: somebody says who the plan made of the user ("I am Ann, a precise engineer"), or what it
    wants of the agent. The plan shapes a conversation and is no part of it; only the task may name it.
    """
    plan = trajectory.plan
    if plan is None:
        return trajectory
    everything = "\n".join([message.content for message in trajectory.messages]).lower()
    for secret in _secrets(plan.persona, plan.formulation, plan.reasoning):
        if secret not in everything:
            continue
        for position, message in enumerate(trajectory.messages, 1):
            if secret in message.content.lower():
                return Dropped("leaked_plan", f"message {position} ({message.role}) says {secret!r}")
    return trajectory


def own_words(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Drops ``exemplar_copy``: at least half of what user and agent say, in sequences of five words, is said in the
    seed that stood in the prompt. New ids and results around old sentences make no new conversation; deduplication
    looks at the whole and does not see it.
    """
    said = context.exemplar
    if not said:
        return trajectory
    spoken = [m.content for m in trajectory.messages if m.role == "user" or m.role == "assistant"]
    # A few samples of each message tell whether it is worth counting: of a half that is copied some are found.
    found = asked = 0
    for content in spoken:
        for start in range(0, len(content) - _COPIED_CHARS, _SAMPLE_EVERY):
            asked += 1
            found += content[start : start + _COPIED_CHARS].lower() in said
    if found < _COPIED_SAMPLES * asked or not asked:
        return trajectory
    own, old = _sequences(" ".join(spoken).lower().split()), _sequences(said.split())
    share = len(own & old) / max(1, len(own))
    if share >= _COPIED:
        return Dropped("exemplar_copy", f"{share:.0%} of what is said stands in the seed")
    return trajectory


def _sequences(words: list[str]) -> set[tuple[str, ...]]:
    return set(zip(*(words[start:] for start in range(_SEQUENCE)), strict=False))


@lru_cache(maxsize=4096)
def _secrets(persona: str, formulation: str, reasoning: str) -> tuple[str, ...]:
    who = re.split(r" who |, | with ", persona.lower(), maxsplit=1)[0]
    whole = (formulation.lower().rstrip("."), reasoning.lower().rstrip("."))
    return tuple(text for text in (who, *whole) if len(text.split()) >= _SECRET_WORDS)


def _turns_in_circles(text: str) -> bool:
    # A text that goes round says its end, or its middle, several times: that is quick to ask, and words are counted
    # only where it is so.
    if len(text) < _FEWEST_CHARS:
        return False
    middle = len(text) // 2
    end = text[-2 * _SAMPLE_CHARS : -_SAMPLE_CHARS]
    if text.find(end) == len(text) - 2 * _SAMPLE_CHARS and text.count(text[middle : middle + _SAMPLE_CHARS]) < 2:
        return False
    last = text.split()[-_WINDOW_WORDS:]
    return len(last) >= _FEWEST_WORDS and len(set(last)) < _LEAST_DIFFERENT * len(last)


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


@lru_cache(maxsize=4096)
def _names_an_id(name: str) -> bool:
    return _NAMES_AN_ID.search(name) is not None


def _collect(name: str, value: Any, found: list[tuple[str, str]]) -> None:
    """Add the texts and integers below names that name ids, each with its name, to ``found``."""
    if isinstance(value, dict):
        for key, entry in value.items():
            _collect(key, entry, found)
    elif isinstance(value, list):
        for entry in value:
            _collect(name, entry, found)
    elif isinstance(value, (str, int)) and not isinstance(value, bool) and _names_an_id(name):
        found.append((name, str(value)))


def _end(text: str) -> str:
    return repr(" ".join(text.split()[-10:]))

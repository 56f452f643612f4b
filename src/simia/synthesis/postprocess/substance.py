"""Passes over what conversations are made of: ids that come from somewhere, and sentences that go somewhere."""

import itertools
import re
from functools import lru_cache
from typing import Any

from simia.synthesis.postprocess.edit import Context
from simia.types import Dropped, Trajectory

_NAMES_AN_ID = re.compile(r"(?:^|[_-])(?:ids?|numbers?|emails?)$|[a-z0-9](?:I[dD]s?|Numbers?|Emails?)$")
_NAMES_A_NUMBER = re.compile(r"(?:^|[_-])numbers?$|[a-z0-9]Numbers?$")
_FEW = 100
# What a task says to the user, up to the next stop: at least four words, so that it is no phrase of everybody's.
_TOLD = re.compile(r"you(?:r|'re)? (?:[^\s.!?]+ ){2,}[^\s.!?]+")
_STOPS = ("", ".", "!", "?", "\n")
_SIGNS = re.compile(r"[\W_]+")
_CLEAR = frozenset({"", " ", '"', "\n"})
_OF_A_DATE = ("-", ".", "/", ":")
_WINDOW_WORDS = 100
_FEWEST_WORDS = 24
_FEWEST_CHARS = 80
_LEAST_DIFFERENT = 0.3
_MOST_TIMES = 2
_SAYS_SOMETHING_CHARS = 30
_SAMPLE_CHARS = 16
_SAMPLE_EVERY = 192
_SECRET_WORDS = 3
_SEQUENCE = 5
_COPIED = 0.5
_COPIED_CHARS = 24
_COPIED_SAMPLES = 0.1


def grounded_ids(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Drops ``ungrounded_id``: an argument named as an id, a number or an e-mail address (``order_id``, ``userEmail``)
    whose text neither the user, nor an earlier result, nor the policy or the tools ever said. An agent that learns to
    make up ids calls tools at random. Signs and letter case do not count: a user may write ``w 123`` for ``#W123``.
    A part of another id, of a number or of a date is not said. An integer below 100 that is named a number and no id
    (``page_number``) may come from anywhere.
    """
    heard: list[str] = []
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
                        start = text.find(value)
                        if start >= 0 and _stands_alone(value, text, start):
                            break
                    else:
                        if not _is_said_otherwise(value, heard, context):
                            return Dropped("ungrounded_id", f"{call.id} {call.name}: nobody said {name} {value!r}")
    return trajectory


def no_repetition(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Drops ``repetition``: a message that turns in circles (of its last 100 words fewer than 3 in 10 are different
    words), and a user or an agent who says the very same thing twice in a row, or three times in all, or what the other
    has just said.
    """
    said: dict[tuple[str, str], int] = {}
    before: dict[str, str] = {}
    for position, message in enumerate(trajectory.messages, 1):
        role, content = message.role, message.content
        if role != "user" and role != "assistant":
            continue
        was_just_said = content in before.values()
        before[role] = content
        if len(content) < _SAYS_SOMETHING_CHARS:
            continue
        if _turns_in_circles(content):
            return Dropped("repetition", f"message {position} ({role}) turns in circles: {_end(content)}")
        times = said[role, content] = said.get((role, content), 0) + 1
        if was_just_said or times > _MOST_TIMES:
            return Dropped("repetition", f"message {position} ({role}) was said before: {_end(content)}")
    return trajectory


def leaked_plan(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Drops ``leaked_plan``: user or agent say who the plan made of the user ("I am Ann, a precise engineer"), or what
    it wants of the agent; or the user reads out what the task tells them ("You are Ann. Your user id is 17"). Plan and
    task shape a conversation and are no part of it.
    """
    spoken = trajectory.spoken
    plan = trajectory.plan
    secrets = () if plan is None else _secrets(plan.persona, plan.formulation, plan.reasoning)
    for secret in secrets:
        if secret not in spoken:
            continue
        for position, message in enumerate(trajectory.messages, 1):
            if message.role != "tool" and secret in message.content.lower():
                return Dropped("leaked_plan", f"message {position} ({message.role}) says {secret!r}")
    task = trajectory.task.lower()
    for found in _TOLD.finditer(task):
        told = found.group()
        if told not in spoken or task[: found.start()].rstrip(" ")[-1:] not in _STOPS:
            continue
        for position, message in enumerate(trajectory.messages, 1):
            if message.role == "user" and told in message.content.lower():
                return Dropped("leaked_plan", f"message {position} (user) reads the task out: {told!r:.80}")
    return trajectory


def own_words(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """Drops ``exemplar_copy``: at least half of what user and agent say, in sequences of five words, is said in the
    seed that stood in the prompt. New ids and results around old sentences make no new conversation; deduplication
    looks at the whole and does not see it.
    """
    said = context.exemplar
    if not said:
        return trajectory
    spoken = trajectory.spoken
    # Samples tell whether it is worth counting: of a half that is copied some are found.
    starts = range(0, max(1, len(spoken) - _COPIED_CHARS), _SAMPLE_EVERY)
    found = sum([spoken[start : start + _COPIED_CHARS] in said for start in starts])
    if found < _COPIED_SAMPLES * len(starts):
        return trajectory
    own, old = _sequences(spoken.split()), _sequences(said.split())
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


def _stands_alone(value: str, text: str, start: int) -> bool:
    """Whether ``value`` is in ``text``, at ``start`` or behind, between other signs than letters and digits, and is no
    part of a date.
    """
    end = start + len(value)
    if text[start - 1 : start] in _CLEAR and text[end : end + 1] in _CLEAR and value:
        return True  # the commonest case, at a third of the price
    while start >= 0 and value:
        before, behind = text[max(0, start - 2) : start], text[start + len(value) : start + len(value) + 1]
        if not (before[-1:].isalnum() and value[0].isalnum()) and not (behind.isalnum() and value[-1].isalnum()):
            in_a_date = before[-1:] in _OF_A_DATE and before[:1].isdigit() and value.isdigit()
            if not in_a_date:
                return True
        start = text.find(value, start + 1)
    return False


def _is_said_otherwise(value: str, heard: list[str], context: Context) -> bool:
    """The slower look, for ids that are not there to the letter: other signs between letters and digits, other case."""
    pattern = _loose(value)
    if pattern is None:
        return False
    return any(pattern.search(text) for text in heard) or pattern.search(context.world_text) is not None


@lru_cache(maxsize=4096)
def _loose(value: str) -> re.Pattern[str] | None:
    signs = _SIGNS.sub("", value)
    if not signs:
        return None
    # Between two letters or two digits one other sign may stand ("555-1234"), between a letter and a digit three.
    spelled = re.escape(signs[0])
    for before, sign in itertools.pairwise(signs):
        spelled += (r"[\W_]?" if before.isdigit() == sign.isdigit() else r"[\W_]{0,3}") + re.escape(sign)
    date = r"(?<![0-9][-./:])" if signs.isdigit() else ""
    return re.compile(rf"(?<![^\W_]){date}{spelled}(?![^\W_])", re.IGNORECASE)


@lru_cache(maxsize=4096)
def _names_an_id(name: str) -> bool:
    return _NAMES_AN_ID.search(name) is not None


def _collect(name: str, value: Any, found: list[tuple[str, str]]) -> None:
    """Add the texts and integers below names that name ids, each with its name, to ``found``."""
    if type(value) is str:
        if _names_an_id(name):
            found.append((name, value))
    elif type(value) is dict:
        for key, entry in value.items():
            _collect(key, entry, found)
    elif type(value) is list:
        for entry in value:
            _collect(name, entry, found)
    elif type(value) is int and _names_an_id(name) and (abs(value) >= _FEW or not _NAMES_A_NUMBER.search(name)):
        found.append((name, str(value)))


def _end(text: str) -> str:
    return repr(" ".join(text.split()[-10:]))

"""What a simulated user may not say: what only the solution holds, what only an agent says, and nothing new.

Simulated users leave their role, or give the solution away, in a good part of all conversations, and an agent that is
trained against them learns to wait for it. A check here is a pure function. It gives a sentence that the model can act
on, or None. Each would rather miss a fault than refuse what a person might well write. The phrases are English ones.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from difflib import SequenceMatcher
from math import isfinite
from typing import Any

from simia.formats.markers import has_marker
from simia.simulate.schemas import USER_TURN
from simia.types import AssistantMessage, Task, UserMessage

MAX_CHARS: int = USER_TURN["properties"]["say"]["maxLength"]
"""Where a user's message is cut, if its model is bound to a schema."""

_MIN_CHARS = 3
_SHORT = 5
_ALIKE = 0.9


@dataclass(frozen=True, slots=True)
class Secrets:
    """What the solution of a task holds and a user could only have from there: words that look like ids, in lower
    case, and numbers of three digits or more.
    """

    words: frozenset[str] = frozenset()
    numbers: frozenset[Decimal] = frozenset()


@dataclass(frozen=True, slots=True)
class Scene:
    """What an answer is checked against.

    ``own`` is what the user knows by itself, ``said`` all that was said so far by either side. ``heard`` is the agent's
    last message, ``last`` the user's own; empty where there is none.
    """

    secrets: Secrets
    tools: tuple[str, ...]
    own: str
    said: str = ""
    heard: str = ""
    last: str = ""


def secrets_of(task: Task) -> Secrets:
    """The secrets of ``task``, from its gold calls; of the calls of its reference where there are none."""
    calls = task.gold or tuple(
        call for message in task.seed.reference if isinstance(message, AssistantMessage) for call in message.tool_calls
    )
    leaves = [leaf for call in calls for leaf in _leaves(call.arguments)]
    texts = [leaf for leaf in leaves if isinstance(leaf, str)]
    return Secrets(
        words=frozenset(word.casefold() for text in texts for word in _words_of(text) if _looks_like_id(word)),
        numbers=frozenset(number for leaf in leaves if not isinstance(leaf, str) and (number := _long_number(leaf))),
    )


def known_to_user(task: Task) -> str:
    """What a user of ``task`` may know by itself: the task, and what the user of its example said."""
    said = (message.content for message in task.seed.reference if isinstance(message, UserMessage))
    return "\n".join((task.seed.task, *said))


def leak(say: str, scene: Scene) -> str | None:
    """Whether ``say`` holds a secret that neither the user knows by itself nor anybody has said."""
    told = _plain(say)
    known = _plain(f"{scene.own}\n{scene.said}")
    found = [word for word in sorted(scene.secrets.words) if _has_word(told, word) and not _derivable(word, known)]
    found += map(str, sorted((_numbers(told) & scene.secrets.numbers) - _numbers(known)))
    if not found:
        return None
    return f"you cannot know {_quoted(found[0])}: leave it out, and say that you do not know it if you are asked"


def role(say: str, scene: Scene) -> str | None:
    """Whether ``say`` names a tool of the world that nobody has named, makes a call, or is the agent's part. Where the
    task wants such words to be said, they may be.
    """
    known = f"{scene.own}\n{scene.said}"
    for name in scene.tools:
        if _is_coined(name) and (said := _named(name, say)) and not _named(name, known):
            return f"a user does not know tools such as {_quoted(said)}: say in plain words what you want"
        call = re.search(rf"(?<!\w){re.escape(name)}\((?:\)|\s*\w+\s*=|\s*[\"'{{\[])", say)
        if call is not None and call.group() not in scene.own:
            return f"a user makes no calls such as {_quoted(call.group())}: say in plain words what you want"
    if has_marker(say) and not has_marker(scene.own):
        return "a user writes no marks of calls, results or thoughts: say in plain words what you want"
    own = scene.own.casefold()
    for pattern, reason in _ROLE:
        for found in pattern.finditer(say):
            if found.group().strip().casefold() not in own:
                return f"{_quoted(found.group().strip())} {reason}"
    return None


def echo(say: str, scene: Scene) -> str | None:
    """Whether ``say`` is the agent's last message over again.

    A user who reads something back begins with a word of its own ("Yes, ..."); a model that has lost its part begins
    as the agent began.
    """
    one, other = _spoken(say), _spoken(scene.heard)
    if min(len(one), len(other)) <= _SHORT or one[0] != other[0]:
        return None
    if 2 * min(len(one), len(other)) < _ALIKE * (len(one) + len(other)):
        return None
    if SequenceMatcher(None, one, other, autojunk=False).ratio() < _ALIKE:
        return None
    return "you said what the agent has just said: answer it as the user"


def repetition(say: str, scene: Scene) -> str | None:
    """Whether ``say`` is the user's last message word for word. Of a few words ("Yes, please.") it may be."""
    words = _spoken(say)
    if len(words) <= _SHORT or words != _spoken(scene.last):
        return None
    return "you said exactly this in your last message: answer what the agent says now, in other words"


def length(say: str, scene: Scene) -> str | None:
    """Whether ``say`` is as long as can be, which also means that it was cut there."""
    return f"the message has to be shorter than {MAX_CHARS} characters" if len(say) >= MAX_CHARS else None


CHECKS: Mapping[str, Callable[[str, Scene], str | None]] = {
    "leak": leak,
    "role": role,
    "echo": echo,
    "repetition": repetition,
    "length": length,
}
"""The checks of one message by name, in the order in which they are made."""


_AS_AGENT = "is what an agent says: you are the user"
_IS_CALL = "is how calls are spelled: say in plain words what you want"
_RECORDS = (
    r"(?:account|address|appointment|booking|contact details|details|flight|order|password|payment|phone number|"
    r"profile|refund|request|reservation|seat|ticket)s?"
)
_DONE = r"(?:updated|cancell?ed|changed|processed|rebooked|booked|refunded|rescheduled|reserved|submitted|confirmed)"
_DO = r"(?:process|order|book|cancel|update|refund|reschedule|submit)"
_NUMBERED = r"(?:order|reservation|booking|member(?:ship)?|customer|user)"
_AI = r"(?:an?) (?:AI|artificial intelligence|(?:AI |large )*language model)(?: (?:assistant|agent|model|chatbot))?"


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE | re.MULTILINE | re.DOTALL)


_ROLE = (
    (_pattern(r"</?agent-\w+>"), "is the mark around the agent's messages: never write it"),
    (_pattern(r"<\|\w+\|>|\[/?TOOL_CALLS?\]|</?(?:function|invoke|tool_calls?|tool_response)\b"), _IS_CALL),
    (
        _pattern(r'"(?:name|function|tool|action)"\s*:[^{}]{0,200}"(?:arguments|parameters|args|action_input)"\s*:'),
        _IS_CALL,
    ),
    (_pattern(r'"(?:tool_calls|function_call|calls)"\s*:\s*[\[{]'), _IS_CALL),
    (_pattern(r'"(?:done|say)"\s*:'), "belongs around the message, not into it: write one JSON object"),
    (_pattern(r"^[\s*_#>]*(?:agent|assistant|tool)[*_]*:"), "makes it somebody else's line: write only the user's"),
    (_pattern(rf"\bas {_AI},? (?:I|my)\b"), _AS_AGENT),
    (_pattern(rf"\bI(?:'|’| a)m (?:just |only )?{_AI}(?=\s*(?:[,.;!]|and\b|so\b|$))"), _AS_AGENT),
    (_pattern(r"\bas your (?:\w+ )?(?:assistant|agent),? (?:I|let me)\b"), _AS_AGENT),
    (_pattern(rf"\bI(?:'ve|’ve| have) (?:just |now |successfully |also )*{_DONE} your {_RECORDS}\b"), _AS_AGENT),
    (_pattern(r"\bhow (?:can|may) I (?:help|assist) you(?: (?:today|further|with (?:this|that)))?\s*[?.!]"), _AS_AGENT),
    (_pattern(r"\banything else (?:that )?I (?:can|could|may) (?:help|assist) you\b"), _AS_AGENT),
    (_pattern(r"\bI\b[^.?!\n]{0,40}\bassist you\b"), _AS_AGENT),
    (_pattern(r"\bI(?:'|’| woul)d be (?:happy|glad) to (?:help|assist)(?: you)?[.!]"), _AS_AGENT),
    (_pattern(rf"\bI(?:'ll|’ll| will) (?:go ahead and |now )?{_DO}\b[^.?!\n]{{0,60}}\bfor you\b"), _AS_AGENT),
    (_pattern(rf"\b(?:provide|give|tell|share)(?: me)?(?: with)? your {_NUMBERED} (?:ID|number|details)\b"), _AS_AGENT),
)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if not key.isidentifier():  # a parameter's name is not data, a key such as "B-204" is
                yield key
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield value


_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
_ID_MARK = re.compile(r"[\d\-_@#/]")
_QUANTITY = re.compile(
    r"""
    \d{1,3}(?:\.\d+)?-?[a-z]+                                      # 4th, 10-minute, 2.5kg
    | \d{1,4}[-/.]\d{1,2}(?:[-/.]\d{1,4})?(?:[tT]\d\d:\d\d.*)?      # a date, however it is written; 24/7
    | \d{1,2}:\d{2}(?::\d{2})?(?:am|pm)?(?:-\d{1,2}:\d{2})?        # a time, or from when to when
    """,
    re.VERBOSE,
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w])")
_SIGNS = re.compile(r"[\W_]+")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def _words_of(text: str) -> Iterator[str]:
    for word in text.split():
        yield _EDGES.sub("", word)


def _looks_like_id(word: str) -> bool:
    """Whether it is no word that anybody might say. Dates and times are none: everybody spells them differently."""
    if len(word) < _MIN_CHARS or _ID_MARK.search(word) is None or _QUANTITY.fullmatch(word) is not None:
        return False
    parts = re.split("[-/]", word)  # check-in, Jean-Luc, and/or: but not LAMP-OAK, and no path of a file
    return word.count("/") > 1 or not all(part.isalpha() and (part[1:].islower() or not part[1:]) for part in parts)


def _long_number(value: float) -> Decimal | None:
    if not isfinite(value):
        return None
    number = Decimal(int(value) if value == int(value) else str(value)).copy_abs()
    return number if len(number.as_tuple().digits) >= _MIN_CHARS else None


def _plain(text: str) -> str:
    """In lower case, and 1,250 as 1250."""
    return _THOUSANDS.sub("", text.casefold())


def _numbers(plain: str) -> set[Decimal]:
    return {Decimal(found) for found in _NUMBER.findall(plain)}


def _has_word(plain: str, word: str) -> bool:
    return word in plain and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", plain) is not None


def _derivable(word: str, known: str) -> bool:
    """Whether ``known`` holds the word in another spelling, or the parts that it can be put together from."""
    if not word.isdigit() and _SIGNS.sub("", word) in _SIGNS.sub("", known):
        return True
    parts = _SIGNS.split(word)
    telling = [part for part in parts if any(sign.isdigit() for sign in part)] or parts
    return set(telling) <= set(_SIGNS.split(known))


def _is_coined(name: str) -> bool:
    """Whether nobody would use a tool's name as a word: it has an underscore, a digit, a dot or a capital inside."""
    return re.search(r"\w_\w|\d|\w\.\w|[a-z][A-Z]", name) is not None


def _named(name: str, text: str) -> str | None:
    """How ``text`` names the tool; a name that is one word but for its capitals has to have them."""
    flags = re.IGNORECASE if re.search(r"[_.\d]", name) else 0
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, flags)
    return None if found is None else found.group()


def _spoken(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _quoted(text: str) -> str:
    return f'"{text[:80]}"'

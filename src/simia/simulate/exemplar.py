"""The exemplar in a prompt, and new ids in its style: a model left alone copies the old ones or writes ABC123."""

import re
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from simia.errors import FormatError
from simia.formats import exchanges
from simia.formats.calls import dump_json, load_json
from simia.simulate.diversity import tools_to_centre
from simia.simulate.state_view import words_of
from simia.types import AssistantMessage, JsonObject, Plan, Seed, UserMessage

P = TypeVar("P", bound=Hashable)

_ID = re.compile(r"(?=.*\d)[#\w-]{3,24}\Z", re.ASCII)
_MAIL = re.compile(r"[\w.+-]@([\w-]+\.[\w.-]*\w)")
_DATE_OR_NUMBER = re.compile(r"\d{4}-\d\d(-\d\d)?\Z|[\d-]{1,7}\Z")
# The s of item_ids; not that of addresses or status.
_PLURAL = re.compile(r"(?<!se)(?<![su])s\Z")
_MOST_IDS = 8
_PER_NAME = 2
_MOST_ENTRIES = 3
_MIXED = re.compile(r"[A-Z]\d+[A-Z]|\d[A-Z]")
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Exemplar:
    """A seed as a prompt shows it.

    ``ids`` are pairs of a key and an id that stood under it, each key at most twice and each id once; ``mail_host`` is
    where e-mail addresses end, or empty; ``tools`` is what the tool at the centre of a new task is drawn from.
    """

    text: str
    messages: int
    exchanges: int
    calls: int
    ids: tuple[tuple[str, str], ...]
    mail_host: str
    tools: tuple[tuple[str, ...], tuple[str, ...]]

    @classmethod
    def of(cls, seed: Seed, *, thoughts: bool, budget_chars: int) -> "Exemplar":
        """The exemplar that ``seed`` gives, with the agent's thoughts or without.

        In one that is longer than ``budget_chars`` every collection in a result keeps only a few entries, those first
        that the conversation speaks of.

        Raises:
            FormatError: the reference cannot be spelled as exchanges.
        """
        value = exchanges.render(seed.task, seed.reference)
        if not thoughts:
            value = _without_thoughts(value)
        value = _with_results(value, _decoded)
        text = dump_json(value)
        if len(text) > budget_chars:
            text = dump_json(_thinned(value))
        return cls(
            text=text,
            messages=len(seed.reference),
            exchanges=sum(isinstance(message, UserMessage) for message in seed.reference),
            calls=sum(len(message.tool_calls) for message in seed.reference if isinstance(message, AssistantMessage)),
            ids=_ids(value),
            mail_host=found.group(1) if (found := _MAIL.search(text)) else "",
            tools=tools_to_centre(seed),
        )

    def length(self, plan: Plan, most_exchanges: int) -> tuple[int, int]:
        """How many messages of the user and how many calls make up the plan's length, in the exemplar's proportions."""
        scale = plan.turns / max(1, self.messages)
        return min(most_exchanges, max(1, round(self.exchanges * scale))), max(1, round(self.calls * scale))

    def new_ids(self, rng: Random, user: str) -> str:
        """Ids of the same shape that nobody has used yet, as ``key: id`` pairs, and an e-mail address for ``user``
        where the exemplar has any; empty if it has neither.
        """
        mail = [f"{user}'s e-mail: {user.lower().replace(' ', '.')}@{self.mail_host}"] if self.mail_host else []
        longest = sum(len(value) for _, value in self.ids)
        digits = iter(str(rng.randrange(10**longest, 10 ** (longest + 1))))
        letters = iter(rng.choices(_LETTERS, k=longest) if any(_MIXED.search(value) for _, value in self.ids) else "")
        return ", ".join([*mail, *[f"{key}: {_like(value, digits, letters)}" for key, value in self.ids]])


def _ids(value: JsonObject) -> tuple[tuple[str, str], ...]:
    found: dict[str, list[str]] = {}
    seen: set[str] = set()

    def walk(key: str, node: Any) -> None:
        if isinstance(node, dict):
            for name, entry in node.items():
                walk(name, entry)
        elif isinstance(node, list):
            for entry in node:
                walk(_PLURAL.sub("", key), entry)
        elif isinstance(node, str) and _ID.match(node) and not _DATE_OR_NUMBER.match(node):
            known = found.setdefault(key or "id", [])
            if node not in seen and len(known) < _PER_NAME:
                known.append(node)
            seen.add(node)

    for call in _calls(value):
        walk("", call["arguments"])
        walk("", call["result"])
    return tuple((key, one) for key, several in found.items() for one in several)[:_MOST_IDS]


def _like(value: str, digits: Iterator[str], letters: Iterator[str]) -> str:
    """Another id of the shape of ``value``: new digits, and new capitals where they are mixed with digits."""
    if _MIXED.search(value) is None:
        return "".join([next(digits) if char.isdigit() else char for char in value])
    return "".join([next(digits) if char.isdigit() else next(letters) if char.isupper() else char for char in value])


def _calls(value: JsonObject) -> Iterator[JsonObject]:
    for exchange in value["exchanges"]:
        for step in exchange["steps"]:
            yield from step["calls"]


def _thinned(value: JsonObject) -> JsonObject:
    """The exemplar with fewer entries in its results; what any argument or sentence names is kept if it can be."""
    spoken = [text for one in value["exchanges"] for text in (one.get("user", ""), one.get("reply", ""))]
    named = " ".join([*spoken, *(dump_json(call["arguments"]) for call in _calls(value))])

    def thin(node: Any) -> Any:
        if isinstance(node, dict):
            # Records under keys of their own are entries of a table; fields of one record all stay.
            table = len(node) > _MOST_ENTRIES and all(isinstance(entry, dict) for entry in node.values())
            kept = _most_named(list(node), lambda key: key in named) if table else list(node)
            return {key: thin(node[key]) for key in kept}
        if isinstance(node, list):
            kept = _most_named(list(range(len(node))), lambda place: _is_named(node[place], named))
            return [thin(node[place]) for place in kept]
        return node

    return _with_results(value, thin)


def _with_results(value: JsonObject, change: Callable[[Any], Any]) -> JsonObject:
    return {
        **value,
        "exchanges": [
            {
                **exchange,
                "steps": [
                    {**step, "calls": [{**call, "result": change(call["result"])} for call in step["calls"]]}
                    for step in exchange["steps"]
                ],
            }
            for exchange in value["exchanges"]
        ],
    }


def _decoded(result: Any) -> Any:
    """A result that is JSON text as the JSON that it is: a model shall write results so, and spends less on them."""
    if isinstance(result, str) and result[:1] in ("{", "["):
        try:
            return load_json(result)
        except FormatError:
            return result
    return result


def _most_named(places: list[P], is_named: Callable[[P], bool]) -> list[P]:
    """The named places, filled up with the first others to a few, in their old order."""
    named = [place for place in places if is_named(place)]
    others = [place for place in places if place not in named]
    kept = {*named, *others[: max(0, _MOST_ENTRIES - len(named))]}
    return [place for place in places if place in kept]


def _is_named(entry: Any, named: str) -> bool:
    return any(len(word) > 3 and word in named for word in words_of(entry) if any(char.isdigit() for char in word))


def _without_thoughts(value: JsonObject) -> JsonObject:
    return {
        "task": value["task"],
        "exchanges": [
            {
                key: [_less(step, "thought") for step in entry] if key == "steps" else entry
                for key, entry in _less(exchange, "reply_thought").items()
            }
            for exchange in value["exchanges"]
        ],
    }


def _less(value: JsonObject, key: str) -> JsonObject:
    return {name: entry for name, entry in value.items() if name != key}

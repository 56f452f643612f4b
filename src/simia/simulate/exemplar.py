"""The exemplar in a prompt, and new ids in its style: a model left alone copies the old ones or writes ABC123."""

import re
from dataclasses import dataclass
from random import Random
from typing import Any

import orjson

from simia.formats import exchanges
from simia.types import AssistantMessage, JsonObject, Plan, Seed, UserMessage

_ID = re.compile(r"(?=.*\d)[#\w-]{3,24}\Z", re.ASCII)
_DATE_OR_NUMBER = re.compile(r"\d{4}-\d\d(-\d\d)?\Z|[\d-]{1,7}\Z")
_MOST_IDS = 8
_PER_NAME = 2
_DIGITS = "0123456789"
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Exemplar:
    """A seed as a prompt shows it.

    ``ids`` are pairs of a key and an id that stood under it, each key at most twice and each id once.
    """

    text: str
    messages: int
    exchanges: int
    calls: int
    ids: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, seed: Seed, *, thoughts: bool) -> "Exemplar":
        """The exemplar that ``seed`` gives, with the agent's thoughts or without.

        Raises:
            FormatError: the reference cannot be spelled as exchanges.
        """
        value = exchanges.render(seed.task, seed.reference)
        if not thoughts:
            value = _without_thoughts(value)
        return cls(
            text=orjson.dumps(value).decode(),
            messages=len(seed.reference),
            exchanges=sum(isinstance(message, UserMessage) for message in seed.reference),
            calls=sum(len(message.tool_calls) for message in seed.reference if isinstance(message, AssistantMessage)),
            ids=_ids(value),
        )

    def length(self, plan: Plan, most_exchanges: int) -> tuple[int, int]:
        """How many messages of the user and how many calls make up the plan's length, in the exemplar's proportions."""
        scale = plan.turns / max(1, self.messages)
        return min(most_exchanges, max(1, round(self.exchanges * scale))), max(1, round(self.calls * scale))

    def new_ids(self, rng: Random) -> str:
        """Ids of the same shape that nobody has used yet, as ``key: id`` pairs; empty if the exemplar has no ids."""
        return ", ".join(f"{key}: {_like(value, rng)}" for key, value in self.ids)


def _ids(value: JsonObject) -> tuple[tuple[str, str], ...]:
    found: dict[str, list[str]] = {}
    seen: set[str] = set()

    def walk(key: str, node: Any) -> None:
        if isinstance(node, dict):
            for name, entry in node.items():
                walk(name, entry)
        elif isinstance(node, list):
            for entry in node:
                walk(key, entry)
        elif isinstance(node, str) and _ID.match(node) and not _DATE_OR_NUMBER.match(node):
            known = found.setdefault(key.removesuffix("s"), [])
            if node not in seen and len(known) < _PER_NAME:
                known.append(node)
            seen.add(node)

    for exchange in value["exchanges"]:
        for step in exchange["steps"]:
            for call in step["calls"]:
                walk("", call["arguments"])
                walk("", call["result"])
    return tuple((key, one) for key, several in found.items() for one in several)[:_MOST_IDS]


def _like(value: str, rng: Random) -> str:
    """Another id of the shape of ``value``: new digits, and new capitals where they are mixed with digits."""
    mixed = re.search(r"[A-Z]\d+[A-Z]|\d[A-Z]", value) is not None
    digits = iter(rng.choices(_DIGITS, k=len(value)))
    letters = iter(rng.choices(_LETTERS, k=len(value)))
    drawn = (next(digits) if char.isdigit() else next(letters) if mixed and char.isupper() else char for char in value)
    return "".join(drawn)


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

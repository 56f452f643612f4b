"""What a run was made from."""

import json
from collections.abc import Collection, Iterator
from typing import Any

from simia.types import JsonObject, Value, canonical_json, same

_INFORMATIONAL = frozenset({"version", "created", "model_reason"})
_ABSENT = object()


class Manifest(Value):
    """Everything that decides what a run produces, and a few words for people.

    ``config`` is the resolved recipe and holds no secrets; ``prompts`` and ``seeds`` are SHA-256 by name (or
    a package with its version, where that makes the seeds). ``version``, ``created`` and ``model_reason`` inform and
    decide nothing.
    """

    run: str
    version: str
    created: str
    config: JsonObject
    prompts: dict[str, str] = {}
    seeds: dict[str, str] = {}
    licences: tuple[str, ...] = ()
    model: str = ""
    model_reason: str = ""

    def differences(
        self, other: "Manifest", *, free: Collection[str] = (), growing: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Dotted keys whose values differ, in sorted order; informational keys are not compared.

        Left out are keys at or below one of ``free``, and those of ``growing`` whose number is larger in ``other``.
        """
        return tuple(key for key, _, _ in self._compared(other, free, growing))

    def explain(
        self, other: "Manifest", limit: int = 6, *, free: Collection[str] = (), growing: Collection[str] = ()
    ) -> str:
        """The differences as a sentence part: ``key: was this value, now that value; ...``, at most ``limit`` keys.
        Prompts are left out where settings differ, because they follow from them.
        """
        found = self._compared(other, free, growing)
        if any(key.startswith("config.") for key, _, _ in found):
            found = [difference for difference in found if not difference[0].startswith("prompts.")]
        parts = [_told(key, was, now, growing) for key, was, now in found[:limit]]
        if len(found) > limit:
            parts.append(f"and {len(found) - limit} more")
        return "; ".join(parts)

    def _compared(
        self, other: "Manifest", free: Collection[str], growing: Collection[str]
    ) -> list[tuple[str, Any, Any]]:
        found = sorted(_unequal(_plain(self), _plain(other), ""), key=lambda difference: difference[0])
        return [
            (key, was, now)
            for key, was, now in found
            if not any(key == one or key.startswith(f"{one}.") for one in free)
            and not (key in growing and _grew(was, now))
        ]


def _plain(manifest: Manifest) -> JsonObject:
    content: JsonObject = json.loads(canonical_json(manifest.model_dump(mode="json")))
    return {key: value for key, value in content.items() if key not in _INFORMATIONAL}


def _unequal(was: JsonObject, now: JsonObject, prefix: str) -> Iterator[tuple[str, Any, Any]]:
    for key in was.keys() | now.keys():
        before, after = was.get(key, _ABSENT), now.get(key, _ABSENT)
        if isinstance(before, dict) and isinstance(after, dict):
            yield from _unequal(before, after, f"{prefix}{key}.")
        elif before is _ABSENT or after is _ABSENT or not same(before, after):
            yield f"{prefix}{key}", before, after


def _grew(was: Any, now: Any) -> bool:
    return isinstance(was, int) and isinstance(now, int) and now > was


def _told(key: str, was: Any, now: Any, growing: Collection[str]) -> str:
    if key.startswith(("prompts.", "seeds.")):
        return f"{key} " + ("is new" if was is _ABSENT else "is gone" if now is _ABSENT else "has changed")
    may_grow = ", and may only grow" if key in growing else ""
    return f"{key}: was {_short(was)}, now {_short(now)}{may_grow}"


def _short(value: Any) -> str:
    if value is _ABSENT:
        return "absent"
    text = canonical_json(value).decode()
    return text if len(text) <= 40 else f"{text[:37]}..."

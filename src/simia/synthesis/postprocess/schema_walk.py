"""A JSON value walked beside its JSON Schema: what a leaf may become is decided where the schema says its type."""

from collections.abc import Callable
from typing import Any

from simia.errors import SchemaError
from simia.formats.references import referred
from simia.types import JsonObject, Schema, schema_for

Leaf = Callable[[Any, frozenset[str]], Any]
"""Gives the new value of ``value``, or the very same object; the second argument are the types that are asked for."""

_MAX_DEPTH = 64  # arguments nested deeper than this are left alone
_ROOT = "urn:simia:root"
_MOST_BRANCHES = 4096
_branches: dict[tuple[int, int], tuple[Any, JsonObject, Schema | None]] = {}


def mapped(value: Any, schema: JsonObject, leaf: Leaf) -> Any:
    """``value`` with ``leaf`` applied at every place where ``schema`` asks for types; the same object if all stayed.

    Follows ``properties``, ``patternProperties``, ``additionalProperties``, ``items``, ``prefixItems``, ``allOf``,
    ``anyOf``, ``oneOf`` and references inside the schema. Among alternatives their order decides only where several
    would do: one that the value fits already leaves it as it is; else the first counts whose changed value fits it;
    else what all that change anything make of it. The result still has to be validated.

    No place of the value is walked twice beside the same part of the schema, so the cost is at most the product of
    their sizes, for alternatives inside alternatives too.
    """
    return _Walk(schema, leaf).walk(value, schema, 0)


def json_types(value: Any) -> frozenset[str]:
    """The JSON Schema types of a value; an integer is also a number."""
    if isinstance(value, bool):
        return frozenset({"boolean"})
    if value is None:
        return frozenset({"null"})
    if isinstance(value, str):
        return frozenset({"string"})
    if isinstance(value, int):
        return frozenset({"integer", "number"})
    if isinstance(value, float):
        return frozenset({"integer", "number"}) if value.is_integer() else frozenset({"number"})
    return frozenset({"object"}) if isinstance(value, dict) else frozenset({"array"})


class _Walk:
    """One walk. What was made of a value beside a part of the schema is known by their identities; the values are held
    for its length, so that no other comes to have theirs.
    """

    def __init__(self, root: JsonObject, leaf: Leaf) -> None:
        self._root = root
        self._leaf = leaf
        self._known: dict[tuple[int, int], tuple[Any, Any]] = {}

    def walk(self, value: Any, schema: Any, depth: int) -> Any:
        if depth > _MAX_DEPTH or not isinstance(schema, dict):
            return value
        place = (id(value), id(schema))
        if place not in self._known:
            self._known[place] = value, value  # where a reference leads back here, nothing is to be done
            self._known[place] = value, self._mapped(value, schema, depth)
        return self._known[place][1]

    def _mapped(self, value: Any, schema: JsonObject, depth: int) -> Any:
        if "$ref" in schema:
            value = self.walk(value, _referred(schema["$ref"], self._root), depth + 1)
        for part in schema.get("allOf", ()):
            value = self.walk(value, part, depth + 1)
        for alternatives in ("anyOf", "oneOf"):
            if alternatives in schema:
                value = self._chosen(value, schema[alternatives], depth)
        types = _asked_types(schema)
        if types:
            value = self._leaf(value, types)
        if isinstance(value, dict):
            return self._mapped_object(value, schema, depth)
        if isinstance(value, list):
            return self._mapped_list(value, schema, depth)
        return value

    def _chosen(self, value: Any, branches: list[Any], depth: int) -> Any:
        fitting = [branch for branch in branches if self._fits(value, branch)]
        made = [(self.walk(value, branch, depth + 1), branch) for branch in fitting or branches]
        changed = [(candidate, branch) for candidate, branch in made if candidate is not value]
        if not changed or (fitting and len(changed) < len(made)):
            return value
        for candidate, branch in changed:
            if self._fits(candidate, branch):
                return candidate
        first = changed[0][0]
        return first if all(candidate == first for candidate, _ in changed) else value

    def _fits(self, value: Any, branch: Any) -> bool:
        compiled = _remembered(branch, self._root)
        return compiled is not None and compiled.accepts(value)

    def _mapped_object(self, value: JsonObject, schema: JsonObject, depth: int) -> JsonObject:
        named = schema.get("properties", {})
        patterns = schema.get("patternProperties", {})
        others = schema.get("additionalProperties")
        if not named and not patterns and not others:
            return value
        result = {}
        for key, entry in value.items():
            parts = [named[key]] if key in named else []
            parts += [part for pattern, part in patterns.items() if schema_for({"pattern": pattern}).accepts(key)]
            for part in parts or [others]:
                entry = self.walk(entry, part, depth + 1)
            result[key] = entry
        return result if any(result[key] is not entry for key, entry in value.items()) else value

    def _mapped_list(self, value: list[Any], schema: JsonObject, depth: int) -> list[Any]:
        first = schema.get("prefixItems", [])
        others = schema.get("items")
        if not first and not others:
            return value
        schemas = [first[position] if position < len(first) else others for position in range(len(value))]
        result = [self.walk(entry, part, depth + 1) for entry, part in zip(value, schemas, strict=True)]
        return result if any(new is not old for new, old in zip(result, value, strict=True)) else value


def _asked_types(schema: JsonObject) -> frozenset[str]:
    asked = schema.get("type")
    if isinstance(asked, str):
        return frozenset({asked})
    if isinstance(asked, list):
        return frozenset(asked)
    choices = schema["enum"] if "enum" in schema else [schema["const"]] if "const" in schema else []
    return frozenset().union(*(json_types(choice) for choice in choices))


def _remembered(branch: Any, root: JsonObject) -> Schema | None:
    """:func:`_compiled`, known by identity: the schemas of a world's tools live as long as the world."""
    known = _branches.get((id(branch), id(root)))
    if known is None:
        if len(_branches) >= _MOST_BRANCHES:
            _branches.clear()
        # The entry holds both, so their identities are not reused.
        known = _branches[id(branch), id(root)] = (branch, root, _compiled(branch, root))
    return known[2]


def _compiled(branch: Any, root: JsonObject) -> Schema | None:
    """A part of ``root`` as a schema of its own, which holds ``root`` for what it refers to; None where its references
    cannot be kept, then nothing is known to fit it.
    """
    uri = str(root.get("$id", _ROOT)).rstrip("#")
    whole = {"root": {**root, "$id": uri}}
    # Each draft finds a schema by its $id in one of the two.
    alone = {"allOf": [_anchored(branch, uri)], "$defs": whole, "definitions": whole}
    try:
        return schema_for({**alone, "$schema": root["$schema"]} if "$schema" in root else alone)
    except SchemaError:
        return None


def _anchored(part: Any, uri: str) -> Any:
    """``part`` with references to the document that it stands in as references to ``uri``."""
    if isinstance(part, dict):
        return {
            key: uri + entry
            if key == "$ref" and isinstance(entry, str) and entry.startswith("#")
            else _anchored(entry, uri)
            for key, entry in part.items()
        }
    return [_anchored(entry, uri) for entry in part] if isinstance(part, list) else part


def _referred(reference: Any, root: JsonObject) -> Any:
    try:
        return referred(root, reference, "the schema") if isinstance(reference, str) else None
    except SchemaError:
        return None

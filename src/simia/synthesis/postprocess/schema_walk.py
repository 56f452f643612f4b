"""A JSON value walked beside its JSON Schema: what a leaf may become is decided where the schema says its type."""

from collections.abc import Callable
from typing import Any

from simia.errors import SchemaError
from simia.formats.references import referred
from simia.types import JsonObject

Leaf = Callable[[Any, frozenset[str]], Any]
"""Gives the new value of ``value``, or the very same object; the second argument are the types that are asked for."""

_MAX_DEPTH = 64  # a schema may refer to itself; arguments nested deeper than this are left alone


def mapped(value: Any, schema: JsonObject, leaf: Leaf) -> Any:
    """``value`` with ``leaf`` applied at every place where ``schema`` asks for types; the same object if all stayed.

    Follows ``properties``, ``additionalProperties``, ``items``, ``prefixItems``, ``allOf``, ``anyOf``, ``oneOf`` and
    references inside the schema. Of alternatives, one that already has the value's type leaves it as it is, else the
    first that changes it counts. The result still has to be validated.
    """
    return _mapped(value, schema, leaf, schema, 0)


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


def _mapped(value: Any, schema: Any, leaf: Leaf, root: JsonObject, depth: int) -> Any:
    if depth > _MAX_DEPTH or not isinstance(schema, dict):
        return value
    if "$ref" in schema:
        value = _mapped(value, _referred(schema["$ref"], root), leaf, root, depth + 1)
    for part in schema.get("allOf", ()):
        value = _mapped(value, part, leaf, root, depth + 1)
    branches = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if branches:
        value = _chosen(value, branches, leaf, root, depth)
    types = _asked_types(schema)
    if types:
        value = leaf(value, types)
    if isinstance(value, dict):
        return _mapped_object(value, schema, leaf, root, depth)
    if isinstance(value, list):
        return _mapped_list(value, schema, leaf, root, depth)
    return value


def _chosen(value: Any, branches: list[Any], leaf: Leaf, root: JsonObject, depth: int) -> Any:
    own = json_types(value)
    branches = [_resolved(branch, root) for branch in branches]
    fitting = [branch for branch in branches if not _asked_types(branch) or _asked_types(branch) & own]
    for branch in fitting or branches:
        candidate = _mapped(value, branch, leaf, root, depth + 1)
        if candidate is not value:
            return candidate
    return value


def _mapped_object(value: JsonObject, schema: JsonObject, leaf: Leaf, root: JsonObject, depth: int) -> JsonObject:
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties")
    if not properties and not others:
        return value
    result = {key: _mapped(item, properties.get(key, others), leaf, root, depth + 1) for key, item in value.items()}
    return result if any(result[key] is not item for key, item in value.items()) else value


def _mapped_list(value: list[Any], schema: JsonObject, leaf: Leaf, root: JsonObject, depth: int) -> list[Any]:
    first = schema.get("prefixItems", [])
    others = schema.get("items")
    if not first and not others:
        return value
    schemas = [first[position] if position < len(first) else others for position in range(len(value))]
    result = [_mapped(item, part, leaf, root, depth + 1) for item, part in zip(value, schemas, strict=True)]
    return result if any(new is not old for new, old in zip(result, value, strict=True)) else value


def _asked_types(schema: Any) -> frozenset[str]:
    if not isinstance(schema, dict):
        return frozenset()
    asked = schema.get("type")
    if isinstance(asked, str):
        return frozenset({asked})
    if isinstance(asked, list):
        return frozenset(asked)
    choices = schema["enum"] if "enum" in schema else [schema["const"]] if "const" in schema else []
    return frozenset().union(*(json_types(choice) for choice in choices))


def _resolved(schema: Any, root: JsonObject) -> Any:
    for _ in range(_MAX_DEPTH):
        if not isinstance(schema, dict) or "$ref" not in schema:
            break
        schema = _referred(schema["$ref"], root)
    return schema


def _referred(reference: Any, root: JsonObject) -> Any:
    try:
        return referred(root, reference, "the schema") if isinstance(reference, str) else None
    except SchemaError:
        return None

"""Where a ``$ref`` of a JSON Schema leads."""

from typing import Any
from urllib.parse import unquote

from simia.errors import SchemaError
from simia.types import JsonObject


def referred(root: JsonObject, reference: str, whose: str) -> Any:
    """The part of ``root`` that ``reference`` names: by its path (``#/$defs/Node``), its ``$anchor`` or its ``$id``.

    Raises:
        SchemaError: there is no such part; the message begins with ``whose``.
    """
    if reference == "#":
        return root
    prefix, *parts = reference.split("/")
    found = _at(root, parts) if prefix == "#" else _named(root, reference)
    if found is None:
        raise SchemaError(f"{whose} refers to {reference!r}, which it does not have")
    return found


def _at(root: JsonObject, parts: list[str]) -> Any:
    target: Any = root
    for part in parts:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(target, list) and key.isdecimal() and int(key) < len(target):
            target = target[int(key)]
        elif isinstance(target, dict) and key in target:
            target = target[key]
        else:
            return None
    return target


def _named(root: JsonObject, reference: str) -> Any:
    open_values: list[Any] = [root]
    while open_values:
        value = open_values.pop()
        if isinstance(value, dict):
            if reference in (f"#{value.get('$anchor')}", value.get("$id")):
                return value
            open_values.extend(value.values())
        elif isinstance(value, list):
            open_values.extend(value)
    return None

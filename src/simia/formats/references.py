"""Where a ``$ref`` of a JSON Schema leads."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from simia.errors import SchemaError
from simia.types import JsonObject


def referred(root: JsonObject, reference: str, whose: str) -> Any:
    """The part of ``root`` that ``reference`` names by a URI, by a fragment, or by both.

    The URI is the ``$id`` of ``root`` or of a schema in it, in full or relative to that of ``root``; without one
    ``root`` is meant. The fragment is a path (``#/$defs/Node``) or an ``$anchor``.

    Raises:
        SchemaError: there is no such part; the message begins with ``whose``.
    """
    try:
        uri, fragment = urldefrag(reference)
        resource = _resource(root, uri) if uri else root
    except ValueError:  # no URI at all
        resource = None
    found = resource if resource is None or not fragment else _part(resource, fragment)
    if found is None:
        raise SchemaError(f"{whose} refers to {reference!r}, which it does not have: copy that into it, under $defs")
    return found


def _resource(root: JsonObject, uri: str) -> Any:
    schemas = _schemas(root)
    _, base = next(schemas)
    wanted = urljoin(base, uri)
    if wanted == base:
        return root
    return next((schema for schema, own in schemas if own == wanted), None)


def _part(resource: JsonObject, fragment: str) -> Any:
    name, *keys = fragment.split("/")
    return _named(resource, name) if name else _at(resource, keys)


def _at(resource: JsonObject, keys: list[str]) -> Any:
    target: Any = resource
    for spelled in keys:
        key = unquote(spelled).replace("~1", "/").replace("~0", "~")
        if isinstance(target, list) and key.isdecimal() and int(key) < len(target):
            target = target[int(key)]
        elif isinstance(target, dict) and key in target:
            target = target[key]
        else:
            return None
    return target


def _named(resource: JsonObject, name: str) -> Any:
    """The schema with this ``$anchor``, which draft 7 spells as an ``$id``."""
    for schema, _ in _schemas(resource):
        if schema.get("$anchor") == name or schema.get("$id") == f"#{name}":
            return schema
    return None


def _schemas(root: JsonObject) -> Iterator[tuple[JsonObject, str]]:
    """``root`` and every object in it, each behind those around it, with the URI that their ``$id`` make."""
    open_values: list[tuple[Any, str]] = [(root, "")]
    while open_values:
        value, base = open_values.pop()
        if isinstance(value, dict):
            own = value.get("$id")
            if isinstance(own, str):
                base = urldefrag(urljoin(base, own)).url
            yield value, base
            open_values.extend((inner, base) for inner in value.values())
        elif isinstance(value, list):
            open_values.extend((inner, base) for inner in value)

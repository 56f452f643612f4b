"""The JSON Schemas that world specs are written in: closed objects, lists, tables."""

from typing import Any

from simia.types import JsonObject

DATE: JsonObject = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
STRING: JsonObject = {"type": "string"}
COUNT: JsonObject = {"type": "integer", "minimum": 0}


def closed(properties: JsonObject, required: list[str] | None = None) -> JsonObject:
    """An object with these properties and no others; all are required unless ``required`` names which."""
    names = list(properties) if required is None else required
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


def list_of(items: JsonObject, **limits: Any) -> JsonObject:
    """A list; ``limits`` are keywords such as ``minItems``."""
    return {"type": "array", "items": items, **limits}


def table_of(rows: JsonObject) -> JsonObject:
    """An object whose keys are ids."""
    return {"type": "object", "additionalProperties": rows}


def text(description: str) -> JsonObject:
    """A string that the agent fills in."""
    return {"type": "string", "description": description}

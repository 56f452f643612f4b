"""Whether a server keeps to a JSON Schema that it accepted: the first replies under each are checked.

A server that cannot compile a schema may answer without it and say nothing (llama.cpp does), and some ignore schemas
altogether. That shows in the first replies. Later ones are not checked here, because whoever asked reads them anyway.
"""

from typing import Any

import orjson

from simia.errors import SchemaError
from simia.types import JsonObject
from simia.types.schema import Schema

# Engines of constrained decoding leave these out without harm to the shape, so they prove nothing.
_SIZES = frozenset(
    {"minItems", "maxItems", "uniqueItems", "minLength", "maxLength", "pattern", "format", "minProperties"}
    | {"maxProperties", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
)
_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_DATA = frozenset({"enum", "const", "default", "examples", "required"})

_TRUSTED_AFTER = 3
# Two such replies are no accident of one draw.
_BROKEN_AFTER = 2


class ShapeWatch:
    """The replies under one schema, until three in a row have its shape or two have not."""

    __slots__ = ("_broken", "_fitting", "_schema", "_shape")

    def __init__(self, schema: JsonObject) -> None:
        self._schema = schema
        self._shape: Schema | None = None
        self._fitting = 0
        self._broken = 0

    @property
    def was_kept_to(self) -> bool:
        """Whether the last reply that was checked had the shape."""
        return self._fitting > 0

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be found out."""
        return self._fitting >= _TRUSTED_AFTER or self._broken >= _BROKEN_AFTER

    def breaks(self, text: str) -> bool:
        """Whether ``text``, the next whole reply, is the one that shows that the schema is not kept to."""
        if self.is_over:
            return False
        if self._has_shape(text):
            self._fitting += 1
            return False
        self._fitting = 0
        self._broken += 1
        return self._broken >= _BROKEN_AFTER

    def _has_shape(self, text: str) -> bool:
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            return False
        try:
            self._shape = self._shape or Schema(shape_of(self._schema))
        except SchemaError:
            return True  # what cannot be compiled here shows nothing about the server
        return self._shape.accepts(value)


def shape_of(schema: Any) -> Any:
    """``schema`` without limits on sizes, lengths and texts: which keys, which types, which alternatives."""
    if isinstance(schema, list):
        return [shape_of(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: shape_of(part) for name, part in value.items()}
        if key in _BY_NAME and isinstance(value, dict)
        else value
        if key in _DATA
        else shape_of(value)
        for key, value in schema.items()
        if key not in _SIZES
    }

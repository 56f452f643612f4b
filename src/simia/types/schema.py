"""JSON Schema, compiled once and asked often."""

import json
from functools import lru_cache
from typing import Any

import jsonschema_rs

from simia.errors import SchemaError
from simia.types.value import JsonObject, canonical_json

_MAX_VIOLATIONS = 5


def _no_retrieval(uri: str) -> Any:
    raise SchemaError(f"the schema refers to {uri!r}: references outside the schema are not followed")


class Schema:
    """A compiled JSON Schema (draft 2020-12 unless ``$schema`` says otherwise). References never leave it.

    Raises:
        SchemaError: the object is no JSON Schema; the message says where.
    """

    __slots__ = ("_validator",)

    def __init__(self, schema: JsonObject) -> None:
        try:
            self._validator = jsonschema_rs.validator_for(schema, retriever=_no_retrieval)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError, TypeError) as cause:
            reason = str(cause).splitlines()[0] if str(cause) else type(cause).__name__
            raise SchemaError(f"no JSON Schema: {reason}") from cause

    def accepts(self, value: Any) -> bool:
        """Whether ``value`` fits."""
        return self._validator.is_valid(value)

    def violations(self, value: Any) -> tuple[str, ...]:
        """Why ``value`` does not fit, at most five sentences ``path: reason``; empty if it fits."""
        if self._validator.is_valid(value):
            return ()
        found = []
        for error in self._validator.iter_errors(value):
            path = "/".join(str(part) for part in error.instance_path)
            found.append(f"{path or '(root)'}: {error.message}")
            if len(found) == _MAX_VIOLATIONS:
                break
        return tuple(found)


@lru_cache(maxsize=4096)
def _compiled(text: bytes) -> Schema:
    # Not orjson, which reads integers beyond 64 bits as floats: this runs once a schema.
    return Schema(json.loads(text))


def schema_for(schema: JsonObject) -> Schema:
    """The compiled form of ``schema``, shared by equal schemas.

    Raises:
        SchemaError: the object is no JSON Schema.
    """
    try:
        text = canonical_json(schema)
    except (TypeError, ValueError, RecursionError) as cause:
        raise SchemaError(f"no JSON Schema: {cause}") from cause
    return _compiled(text)

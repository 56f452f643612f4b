"""What every type of simia is: a frozen value with a content identity."""

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

import orjson
from pydantic import BaseModel, ConfigDict

JsonObject = dict[str, Any]
"""A JSON object as Python holds it. By agreement nobody changes one that a value owns."""


def canonical_json(value: Any) -> bytes:
    """JSON with sorted keys and no spaces, UTF-8: the same bytes for the same content, on every machine.

    Integers beyond 64 bits, which orjson refuses, are written by the standard library in the same spelling. NaN and
    infinity, which JSON lacks, are refused where values enter and not looked for here: orjson writes them as ``null``.

    Raises:
        TypeError: the value holds what has no JSON, such as an object of a class.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode("utf-8", "surrogatepass")


def content_id(value: Any) -> str:
    """SHA-256 of the canonical JSON, in 64 hexadecimal digits. Never ``hash()``, which is salted per process."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


class Value(BaseModel):
    """A frozen value: unknown keys are refused, ``content_id`` names it.

    Equality is Python's, field by field, for which ``1``, ``1.0`` and ``True`` are equal; their content ids differ.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    @cached_property
    def content_id(self) -> str:
        """SHA-256 of this value's canonical JSON."""
        return content_id(self.model_dump(mode="json"))

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As pydantic's, but nothing that was derived from the old content comes along: a copy has its own identity."""
        copy = super().model_copy(update=update, deep=deep)
        for name in copy.__dict__.keys() - type(self).model_fields.keys():
            del copy.__dict__[name]
        return copy

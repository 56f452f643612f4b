"""From a JSON Schema to the grammar that llama.cpp decodes under (llguidance, its ``%json`` form).

The grammar's language is, wherever llguidance can say it, a *subset* of what the schema accepts: bounded, so that a
small model cannot run on, and closed, so that it cannot invent properties. What llguidance cannot say is left out and
noted; the caller checks every reply against the schema in any case.

Why so careful: the server answers a grammar that it cannot compile with status 200 and *unconstrained* text. The
keywords below were tried one by one against the runtime.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from simia.formats.calls import dump_json, load_json
from simia.types import JsonObject, schema_for

DEFAULT_MAX_STRING = 400
DEFAULT_MAX_ITEMS = 8

# Space after comma and colon, as most JSON in training text has it, and none elsewhere: free whitespace is what a
# small model pads its reply with.
_SPELLING = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}

_KEPT = frozenset(
    """type const enum anyOf oneOf allOf $ref $defs definitions items prefixItems minItems maxItems properties
    additionalProperties patternProperties required minProperties maxProperties minLength maxLength pattern format
    minimum maximum exclusiveMinimum exclusiveMaximum multipleOf""".split()
)
_SAY_NOTHING = frozenset(
    """$schema $id id $anchor $comment title description default examples example deprecated readOnly writeOnly
    contentMediaType contentEncoding nullable""".split()
)
_FORMATS = frozenset(["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"])
# Longest text of the formats that have no end of their own: fractions of a second alone may have any number of digits.
_FORMAT_LENGTHS = {"date-time": 25, "time": 14, "duration": 16, "email": 60, "hostname": 60}
_UNSAID_IN_PATTERNS = re.compile(r"\(\?<?[=!]|\\[bBk]|\\[1-9]")
_UNIONS = ("anyOf", "oneOf", "allOf", "$ref")

# 2^53: the largest integers that every JSON reader gives back unchanged.
_MAX_NUMBER = 9_007_199_254_740_991
_FINEST_STEP = 0.0001
_KEY_PATTERN = "^[A-Za-z_][A-Za-z0-9_ -]{0,39}$"
_ANY_DEPTH = 3
_ANY = "any-json-"


@dataclass(frozen=True)
class Grammar:
    """The grammar's text, and what of the schema it does not enforce: ``JSON pointer: what``, in the schema's order."""

    text: str
    notes: tuple[str, ...]


def grammar_for(
    schema: JsonObject, *, max_string: int = DEFAULT_MAX_STRING, max_items: int = DEFAULT_MAX_ITEMS
) -> Grammar:
    """The grammar of ``schema``, with lengths capped where the schema names none; shared by equal schemas.

    Properties come in the order in which the schema names them.

    Raises:
        SchemaError: ``schema`` is no JSON Schema.
    """
    return _grammar(dump_json(schema), max_string, max_items)


@lru_cache(maxsize=512)
def _grammar(text: str, max_string: int, max_items: int) -> Grammar:
    schema = load_json(text)
    schema_for(schema)
    plain, notes = supported_schema(schema)
    capped = cap_schema(plain, max_string=max_string, max_items=max_items)
    said = dump_json({"x-guidance": {**_SPELLING, "coerce_one_of": True}, **capped})
    return Grammar(text=f"%llguidance {{}}\nstart: %json {said}", notes=notes)


def supported_schema(schema: JsonObject) -> tuple[JsonObject, tuple[str, ...]]:
    """``schema`` with only what llguidance can say, and notes on what was left out. Accepts at least as much."""
    notes: list[str] = []
    plain = _plain(schema, "", notes)
    assert isinstance(plain, dict)
    return plain, tuple(notes)


def cap_schema(schema: JsonObject, *, max_string: int, max_items: int) -> JsonObject:
    """``schema`` with a bound wherever it has none: length of strings, number of items and of free properties, digits
    of numbers, and depth where it allows any JSON. Objects that name properties admit no others unless they say so.

    Where schemas are composed (``allOf``, ``$ref`` with siblings) an object stays open: closing each part would
    leave nothing that satisfies all of them. A recursive schema stays unbounded in depth; ``max_tokens`` ends it.
    """
    caps = _Caps(max_string, max_items)
    capped = caps.of(schema, closed=True)
    assert isinstance(capped, dict)
    if f'"#/$defs/{_ANY}' in dump_json(capped):
        capped["$defs"] = {**capped.get("$defs", {}), **caps.any_json_definitions()}
    return capped


@dataclass(frozen=True)
class _Caps:
    max_string: int
    max_items: int

    def of(self, schema: Any, closed: bool, depth: int = _ANY_DEPTH) -> Any:
        if schema is True or schema == {}:
            return self.any_json(depth)
        if not isinstance(schema, dict):
            return schema
        composed = any(key in schema for key in _UNIONS)
        result: JsonObject = {}
        for key, value in schema.items():
            match key:
                case "properties" | "patternProperties" | "$defs" | "definitions":
                    result[key] = {name: self.of(part, closed=True) for name, part in value.items()}
                case "anyOf" | "oneOf":
                    alone = closed and "properties" not in schema and not {"allOf", "$ref"} & schema.keys()
                    result[key] = [self.of(part, closed=alone) for part in value]
                case "allOf":
                    # A part that says nothing must stay so: spelled out, "any JSON" would narrow its siblings.
                    result[key] = [part if part in (True, {}) else self.of(part, closed=False) for part in value]
                case "prefixItems":
                    result[key] = [self.of(part, closed=True) for part in value]
                case "items" | "additionalProperties":
                    result[key] = self.of(value, closed=True, depth=depth - 1)
                case _:
                    result[key] = value
        if "const" in schema or "enum" in schema:
            return result
        kinds = _kinds(schema)
        if not kinds:
            return result if composed else {**result, **self.any_json(depth)}
        if "string" in kinds:
            longest = _FORMAT_LENGTHS.get(schema.get("format", ""), self.max_string)
            result.setdefault("maxLength", max(longest, schema.get("minLength", 0)))
        if "array" in kinds:
            self._cap_array(result, depth)
        if "object" in kinds:
            self._cap_object(result, closed and not composed, depth)
        if kinds & {"integer", "number"}:
            _cap_number(result, "number" in kinds)
        return result

    def any_json(self, depth: int) -> JsonObject:
        """Any JSON value, nested at most ``depth`` deep: a reference to one of the definitions below."""
        return {"$ref": f"#/$defs/{_ANY}{max(depth, 0)}"}

    def any_json_definitions(self) -> JsonObject:
        """What the references mean. By reference, because spelled out they double with every level."""
        scalar: JsonObject = {"type": ["string", "number", "boolean", "null"], "maxLength": self.max_string}
        _cap_number(scalar, True)
        definitions: JsonObject = {f"{_ANY}0": scalar}
        for depth in range(1, _ANY_DEPTH + 1):
            items = {"type": "array", "items": self.any_json(depth - 1), "maxItems": self.max_items}
            free: JsonObject = {"type": "object"}
            self._cap_object(free, True, depth)
            definitions[f"{_ANY}{depth}"] = {"anyOf": [scalar, free, items]}
        return definitions

    def _cap_array(self, array: JsonObject, depth: int) -> None:
        if "items" not in array and "prefixItems" not in array:
            array["items"] = self.any_json(depth - 1)
        elif "items" not in array:
            array["items"] = False
        array.setdefault("maxItems", max(self.max_items, array.get("minItems", 0)))

    def _cap_object(self, node: JsonObject, closed: bool, depth: int) -> None:
        rest = node.get("additionalProperties")
        named = node.get("properties") or {}
        if rest is None and closed and (named or "patternProperties" in node):
            node["additionalProperties"] = rest = False
        if rest is False or not closed or "patternProperties" in node:
            return
        # A map: free keys are bounded in length and number, which additionalProperties alone cannot say.
        node["patternProperties"] = {_KEY_PATTERN: self.any_json(depth - 1) if rest in (None, True) else rest}
        node["additionalProperties"] = False
        if named.keys() <= set(node.get("required", ())):
            node.setdefault("maxProperties", max(len(named) + self.max_items, node.get("minProperties", 0)))


def _cap_number(node: JsonObject, fractions: bool) -> None:
    if "minimum" not in node and "exclusiveMinimum" not in node:
        node["minimum"] = -_MAX_NUMBER
    if "maximum" not in node and "exclusiveMaximum" not in node:
        node["maximum"] = _MAX_NUMBER
    if fractions:
        node.setdefault("multipleOf", _FINEST_STEP)


def _kinds(schema: JsonObject) -> frozenset[str]:
    """The JSON types that a schema is about: what ``type`` names, else what its keywords talk of."""
    named = schema.get("type")
    if named is not None:
        return frozenset([named] if isinstance(named, str) else named)
    found = set()
    if schema.keys() & {"properties", "additionalProperties", "patternProperties", "required"}:
        found.add("object")
    if schema.keys() & {"items", "prefixItems"}:
        found.add("array")
    return frozenset(found)


def _plain(schema: Any, path: str, notes: list[str]) -> Any:
    if not isinstance(schema, dict):
        return schema
    result: JsonObject = {}
    for key, value in schema.items():
        here = f"{path}/{key}"
        if key in ("properties", "patternProperties", "$defs", "definitions"):
            result[key] = {name: _plain(part, f"{here}/{name}", notes) for name, part in value.items()}
        elif key == "items" and isinstance(value, list):  # before draft 2020-12
            result["prefixItems"] = [_plain(part, f"{here}/{at}", notes) for at, part in enumerate(value)]
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            result[key] = [_plain(part, f"{here}/{at}", notes) for at, part in enumerate(value)]
        elif key in ("items", "additionalProperties"):
            result[key] = _plain(value, here, notes)
        elif key in _KEPT and not (reason := _unsaid(schema, key, value)):
            result[key] = value
        elif key in _KEPT:
            notes.append(f"{here}: {reason}")
        elif key not in _SAY_NOTHING:
            notes.append(f"{here}: not enforced")
    if len(result.get("patternProperties", {})) > 1:
        # llguidance demands proof that the patterns are disjoint, and finds it in few cases.
        del result["patternProperties"]
        result.pop("additionalProperties", None)
        notes.append(f"{path}/patternProperties: several patterns, not enforced")
    return result


def _unsaid(schema: JsonObject, key: str, value: Any) -> str:
    """Why llguidance cannot enforce this keyword here; empty if it can."""
    if key == "format" and value not in _FORMATS:
        return f"format {value!r} not enforced"
    if key == "pattern" and _UNSAID_IN_PATTERNS.search(value):
        return f"pattern {value!r} not enforced (look-around or back reference)"
    if key in ("exclusiveMinimum", "exclusiveMaximum") and isinstance(value, bool):
        return "a boolean bound (draft 4) is not enforced"
    if key in ("minProperties", "maxProperties") and set(schema.get("properties", {})) - set(
        schema.get("required", ())
    ):
        return "not enforced beside optional properties"
    return ""

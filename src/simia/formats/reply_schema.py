"""The JSON Schema of a trajectory in one reply, made so that grammars can enforce it.

llguidance and llama.cpp refuse or ignore part of JSON Schema, and a free text or list lets a small model run on. So the
tools' schemas are rewritten: keywords that no grammar has are left out (the arguments are checked against the tool's
own schema afterwards), references become local to the reply's schema, texts and lists get an end, and objects that
declare their properties take no others unless they say so.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from simia.errors import SchemaError
from simia.types import JsonObject, ToolSpec

MAX_TASK = 600
MAX_USER = 800
MAX_REPLY = 1200
MAX_THOUGHT = 600
MAX_TEXT = 400
MAX_ITEMS = 12
MAX_INTEGER = 10**15
MAX_STEPS = 8
MAX_CALLS = 4

_FORMATS = frozenset({"date", "date-time", "time", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"})
_KEPT = frozenset(
    {"type", "enum", "const", "required", "minItems", "maxItems", "minLength", "maxLength"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
)
_SCALAR: JsonObject = {
    "anyOf": [{"type": "string", "maxLength": MAX_TEXT}, {"type": "number"}, {"type": "boolean"}, {"type": "null"}]
}
_FLAT: JsonObject = {"type": "object", "additionalProperties": _SCALAR}
_FREE: JsonObject = {
    "anyOf": [
        *_SCALAR["anyOf"],
        _FLAT,
        {"type": "array", "items": {"anyOf": [*_SCALAR["anyOf"], _FLAT]}, "maxItems": 6},
    ]
}
_FREE_OBJECT: JsonObject = {"type": "object", "additionalProperties": _FREE}
_ERROR: JsonObject = {
    "type": "object",
    "properties": {"error": {"type": "string", "minLength": 1, "maxLength": MAX_TEXT}},
    "required": ["error"],
    "additionalProperties": False,
}


def reply_schema(tools: Sequence[ToolSpec], *, max_exchanges: int, thoughts: bool) -> JsonObject:
    """The schema of ``{"task", "exchanges"}``, with one branch per tool.

    A result is what the tool ``returns``, or ``{"error": text}``. A tool without ``returns`` may answer with a text
    or a small object. With ``thoughts`` every step and reply must be thought about first.

    Raises:
        SchemaError: a tool's schema refers to a place that it does not have.
    """
    definitions: JsonObject = {}
    branches = [_branch(tool, definitions) for tool in tools]
    step: JsonObject = {"thought": _string(MAX_THOUGHT)} if thoughts else {}
    step["say"] = _string(MAX_REPLY)
    step["calls"] = {"type": "array", "items": {"anyOf": branches}, "minItems": 1, "maxItems": MAX_CALLS}
    steps: JsonObject = {"type": "array", "items": {"type": "null"}, "maxItems": 0}
    if branches:
        needed = ["thought", "calls"] if thoughts else ["calls"]
        steps = {"type": "array", "items": _object(step, needed), "maxItems": MAX_STEPS}
    exchange: JsonObject = {"user": _string(MAX_USER, 1), "steps": steps}
    if thoughts:
        exchange["reply_thought"] = _string(MAX_THOUGHT)
    exchange["reply"] = _string(MAX_REPLY, 1)
    schema = _object(
        {
            "task": _string(MAX_TASK, 1),
            "exchanges": {
                "type": "array",
                "items": _object(exchange, list(exchange)),
                "minItems": 1,
                "maxItems": max_exchanges,
            },
        },
        ["task", "exchanges"],
    )
    return {**schema, "$defs": definitions} if definitions else schema


def _branch(tool: ToolSpec, definitions: JsonObject) -> JsonObject:
    arguments = _Rewriter(tool.name, tool.parameters, definitions).arguments()
    if tool.returns is None:
        result: JsonObject = {"anyOf": [{"type": "string", "maxLength": MAX_TEXT}, _FREE_OBJECT]}
    else:
        result = {"anyOf": [_Rewriter(tool.name, tool.returns, definitions).rewritten(tool.returns), _ERROR]}
    properties = {"name": {"const": tool.name}, "arguments": arguments, "result": result}
    return _object(properties, list(properties))


class _Rewriter:
    """Rewrites one schema of a tool; what it refers to goes to ``definitions``, so recursion stays recursion."""

    def __init__(self, tool: str, root: JsonObject, definitions: JsonObject) -> None:
        self._tool = tool
        self._root = root
        self._definitions = definitions
        self._names: dict[str, str] = {}

    def arguments(self) -> JsonObject:
        """The root as an object, also where it does not say that it is one."""
        return self.rewritten({"type": "object", "properties": {}, **self._root})

    def rewritten(self, schema: Any) -> JsonObject:
        if not isinstance(schema, dict) or not schema:
            return _FREE
        if "$ref" in schema:
            return {"$ref": self._local(schema["$ref"])}
        if "allOf" in schema:
            return self.rewritten(self._merged(schema))
        for key in ("anyOf", "oneOf"):
            if key in schema:
                shared = {name: value for name, value in schema.items() if name not in ("anyOf", "oneOf")}
                return {"anyOf": [self.rewritten(_joined(shared, branch)) for branch in schema[key]]}
        if "enum" in schema or "const" in schema:
            return {key: schema[key] for key in ("enum", "const") if key in schema}
        return self._typed(schema)

    def _typed(self, schema: JsonObject) -> JsonObject:
        kind = schema.get("type")
        if not kind:
            kind = _implied(schema)
            if kind is None:
                return _FREE
        kinds: list[str] = kind if isinstance(kind, list) else [kind]
        if len(kinds) > 1:
            return {"anyOf": [self._typed({**schema, "type": one}) for one in kinds]}
        if kinds[0] == "object":
            return self._object(schema)
        result = {key: value for key, value in schema.items() if key in _KEPT and _fits(key, kinds[0])}
        result["type"] = kinds[0]
        if kinds[0] == "array":
            return self._array(schema, result)
        if kinds[0] == "string":
            pattern = schema.get("pattern", "")
            if schema.get("format") in _FORMATS:
                return {"type": "string", "format": schema["format"]}
            if _regular(pattern):
                result["pattern"] = pattern
            if "pattern" not in result or any(sign in pattern for sign in ("*", "+", ",}")):
                result.setdefault("maxLength", max(MAX_TEXT, result.get("minLength", 0)))
        if kinds[0] == "integer":
            result.setdefault("minimum", -MAX_INTEGER)
            result.setdefault("maximum", MAX_INTEGER)
        return result

    def _object(self, schema: JsonObject) -> JsonObject:
        properties = schema.get("properties") or {}
        others = schema.get("additionalProperties")
        if not properties and others is None and "properties" not in schema:
            return _FREE_OBJECT
        needed = [name for name in schema.get("required") or () if name in properties]
        return {
            "type": "object",
            "properties": {name: self.rewritten(value) for name, value in properties.items()},
            "required": needed,
            "additionalProperties": self.rewritten(others if isinstance(others, dict) else {}) if others else False,
        }

    def _array(self, schema: JsonObject, result: JsonObject) -> JsonObject:
        prefix = schema.get("prefixItems")
        if prefix:
            result["prefixItems"] = [self.rewritten(item) for item in prefix]
        items = schema.get("items")
        result["items"] = False if items is False else self.rewritten(items)
        result.setdefault("maxItems", max(MAX_ITEMS, result.get("minItems", 0)))
        return result

    def _merged(self, schema: JsonObject) -> JsonObject:
        merged = {key: value for key, value in schema.items() if key != "allOf"}
        for part in schema["allOf"]:
            while isinstance(part, dict) and "$ref" in part:
                part = self._resolved(part["$ref"])
            merged = _joined(merged, part)
        return merged

    def _local(self, reference: str) -> str:
        name = self._names.get(reference)
        if name is None:
            target = self._resolved(reference)
            name = self._names[reference] = f"d{len(self._definitions) + 1}"
            self._definitions[name] = {}
            self._definitions[name] = self.rewritten(target)
        return f"#/$defs/{name}"

    def _resolved(self, reference: str) -> Any:
        target: Any = self._root
        if reference != "#":
            prefix, *parts = reference.split("/")
            for part in parts:
                key = unquote(part).replace("~1", "/").replace("~0", "~")
                if isinstance(target, list) and key.isdecimal() and int(key) < len(target):
                    target = target[int(key)]
                elif isinstance(target, dict) and key in target:
                    target = target[key]
                else:
                    prefix = ""
            if prefix != "#":
                raise SchemaError(f"a schema of tool {self._tool!r} refers to {reference!r}, which it does not have")
        return target


def _joined(shared: JsonObject, part: Any) -> JsonObject:
    """Both schemas at once: properties and required names are united, else ``part`` decides."""
    if not isinstance(part, dict):
        return shared
    joined = {**shared, **part}
    if "properties" in shared and "properties" in part:
        joined["properties"] = {**shared["properties"], **part["properties"]}
    if "required" in shared and "required" in part:
        joined["required"] = list(dict.fromkeys([*shared["required"], *part["required"]]))
    return joined


def _implied(schema: JsonObject) -> str | None:
    if "properties" in schema or "additionalProperties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    return "string" if "pattern" in schema or "maxLength" in schema or "format" in schema else None


def _fits(key: str, kind: str) -> bool:
    owner = {"minItems": "array", "maxItems": "array", "minLength": "string", "maxLength": "string"}.get(key)
    if "imum" in key.lower():
        return kind in ("number", "integer")
    return key == "type" or owner == kind


def _regular(pattern: str) -> bool:
    """Whether a grammar can follow a pattern: no look-around, no back reference, and both ends fixed."""
    plain = "(?" not in pattern.replace("(?:", "(") and not any(f"\\{digit}" in pattern for digit in "123456789bBkK")
    return plain and pattern.startswith("^") and pattern.endswith("$") and not pattern.endswith("\\$")


def _string(longest: int, shortest: int = 0) -> JsonObject:
    return {"type": "string", **({"minLength": shortest} if shortest else {}), "maxLength": longest}


def _object(properties: JsonObject, required: list[str]) -> JsonObject:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

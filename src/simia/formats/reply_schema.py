"""The JSON Schema of a trajectory in one reply, made so that grammars can enforce it.

llguidance and llama.cpp refuse or ignore part of JSON Schema, and a free text or list lets a small model run on. So the
tools' schemas are rewritten: keywords that no grammar has are left out (the arguments are checked against the tool's
own schema afterwards), references become local to the reply's schema, texts and lists get an end, and objects that
declare their properties take no others unless they say so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from simia.formats.references import referred
from simia.types import JsonObject, ToolSpec, canonical_json

MAX_INTEGER = 10**15


@dataclass(frozen=True, slots=True)
class ReplyLimits:
    """The longest reply that a schema allows: characters of each kind of text, steps of an exchange, calls of a step.

    ``text`` and ``items`` hold for texts and lists in arguments and results, where the tool's own schema sets no end.
    """

    task: int = 600
    user: int = 800
    reply: int = 1200
    thought: int = 600
    text: int = 400
    items: int = 12
    steps: int = 8
    calls: int = 4


FULL = ReplyLimits()
SMALL = ReplyLimits(task=400, user=400, reply=500, thought=240, text=100, items=3, steps=3, calls=1)
"""For models of a few billion weights at most, which fill whatever room they get with repetitions."""

_FORMATS = frozenset({"date", "date-time", "time", "email", "hostname", "ipv4", "ipv6", "uuid"})
_REMARKS = frozenset({"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"})
_KEPT = frozenset(
    {"type", "enum", "const", "required", "minItems", "maxItems", "minLength", "maxLength"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
)


def reply_schema(
    tools: Sequence[ToolSpec], *, max_exchanges: int, thoughts: bool, limits: ReplyLimits = FULL
) -> JsonObject:
    """The schema of ``{"task", "exchanges"}``, with one branch per tool.

    A result is what the tool ``returns``, or ``{"error": text}``. A tool without ``returns`` may answer with a text
    or a small object. With ``thoughts`` every step and reply must be thought about first.

    Raises:
        SchemaError: a tool's schema refers to a place that it does not have.
    """
    definitions: JsonObject = {}
    branches = [_branch(tool, definitions, limits) for tool in tools]
    step: JsonObject = {"thought": _string(limits.thought)} if thoughts else {}
    step["say"] = _string(limits.reply)
    step["calls"] = {"type": "array", "items": {"anyOf": branches}, "minItems": 1, "maxItems": limits.calls}
    steps: JsonObject = {"type": "array", "items": {"type": "null"}, "maxItems": 0}
    if branches:
        needed = ["thought", "calls"] if thoughts else ["calls"]
        steps = {"type": "array", "items": _object(step, needed), "maxItems": limits.steps}
    exchange: JsonObject = {"user": _string(limits.user, 1), "steps": steps}
    if thoughts:
        exchange["reply_thought"] = _string(limits.thought)
    exchange["reply"] = _string(limits.reply, 1)
    schema = _object(
        {
            "task": _string(limits.task, 1),
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


def _branch(tool: ToolSpec, definitions: JsonObject, limits: ReplyLimits) -> JsonObject:
    arguments = _Rewriter(tool.name, tool.parameters, definitions, limits).arguments()
    if tool.returns is None:
        result: JsonObject = {"anyOf": [_string(limits.text), _free_object(limits)]}
    else:
        returns = _Rewriter(tool.name, tool.returns, definitions, limits).rewritten(tool.returns)
        result = {"anyOf": [returns, _object({"error": _string(limits.text, 1)}, ["error"])]}
    properties = {"name": {"const": tool.name}, "arguments": arguments, "result": result}
    return _object(properties, list(properties))


class _Rewriter:
    """Rewrites one schema of a tool; what it refers to goes to ``definitions``, so recursion stays recursion."""

    def __init__(self, tool: str, root: JsonObject, definitions: JsonObject, limits: ReplyLimits) -> None:
        self._tool = tool
        self._root = root
        self._definitions = definitions
        self._limits = limits
        self._names: dict[str, str] = {}

    def arguments(self) -> JsonObject:
        """The root as an object, also where it does not say that it is one."""
        return self.rewritten({"type": "object", "properties": {}, **self._root})

    def rewritten(self, schema: Any) -> JsonObject:
        if not isinstance(schema, dict) or not schema:
            return _free(self._limits)
        if "$ref" in schema:
            return self._local(schema["$ref"])
        if "allOf" in schema:
            return self._all_of(schema)
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
                return _free(self._limits)
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
                result.setdefault("maxLength", max(self._limits.text, result.get("minLength", 0)))
        if kinds[0] == "integer":
            result.setdefault("minimum", -MAX_INTEGER)
            result.setdefault("maximum", MAX_INTEGER)
        return result

    def _object(self, schema: JsonObject) -> JsonObject:
        properties = schema.get("properties") or {}
        others = schema.get("additionalProperties")
        patterns = schema.get("patternProperties") or {}
        needed = list(dict.fromkeys(schema.get("required") or ()))
        if not properties and others is None and "properties" not in schema and not patterns and not needed:
            return _free_object(self._limits)
        if needed and not properties and others is None:
            others = {}  # names that are needed but not declared: nothing says that there are no more
        if patterns:
            # No grammar ties a name to a pattern: further names are free, their values are those of any pattern.
            others = {"anyOf": [*patterns.values(), *([] if others in (None, False) else [others])]}
        if others is not False:
            properties = {**properties, **{name: others for name in needed if name not in properties}}
        return {
            "type": "object",
            "properties": {name: self.rewritten(value) for name, value in properties.items()},
            "required": [name for name in needed if name in properties],
            "additionalProperties": False if others is None or others is False else self.rewritten(others),
        }

    def _array(self, schema: JsonObject, result: JsonObject) -> JsonObject:
        prefix = schema.get("prefixItems")
        if prefix:
            result["prefixItems"] = [self.rewritten(item) for item in prefix]
        items = schema.get("items")
        result["items"] = False if items is False else self.rewritten(items)
        result.setdefault("maxItems", max(self._limits.items, result.get("minItems", 0)))
        return result

    def _all_of(self, schema: JsonObject) -> JsonObject:
        """All parts as one. A reference beside nothing but remarks stays one; with more, the whole becomes a
        definition of its own, so that a schema that refers to itself from there ends, too.
        """
        parts = [part for part in schema["allOf"] if part is not True and part != {}]
        rest = {key: value for key, value in schema.items() if key != "allOf"}
        if len(parts) == 1 and rest.keys() <= _REMARKS:
            return self.rewritten(parts[0])
        if not any(isinstance(part, dict) and ("$ref" in part or "allOf" in part) for part in parts):
            return self.rewritten(self._merged(rest, parts))
        key = canonical_json(schema).decode("utf-8", "surrogatepass")
        return self._defined(key, lambda: self.rewritten(self._merged(rest, parts)))

    def _merged(self, rest: JsonObject, parts: list[Any]) -> JsonObject:
        merged = rest
        for part in parts:
            seen: set[str] = set()
            while isinstance(part, dict) and "$ref" in part:
                reference = part["$ref"]
                part = {} if reference in seen else self._resolved(reference)
                seen.add(reference)
            merged = _joined(merged, part)
        return merged

    def _local(self, reference: str) -> JsonObject:
        return self._defined(reference, lambda: self.rewritten(self._resolved(reference)))

    def _defined(self, key: str, make: Callable[[], JsonObject]) -> JsonObject:
        """A reference to the definition that ``key`` stands for, which ``make`` gives the first time."""
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = f"d{len(self._definitions) + 1}"
            self._definitions[name] = {}
            self._definitions[name] = make()
            if self._is_circular(name):
                self._definitions[name] = _free(self._limits)
        return {"$ref": f"#/$defs/{name}"}

    def _is_circular(self, name: str) -> bool:
        """Whether a definition is itself before it is any object or list: nothing satisfies it, and no grammar ends."""
        seen: set[str] = set()
        open_schemas = [self._definitions[name]]
        while open_schemas:
            schema = open_schemas.pop()
            open_schemas.extend(schema.get("anyOf", ()))
            found = schema.get("$ref", "").removeprefix("#/$defs/")
            if found == name:
                return True
            if found and found not in seen:
                seen.add(found)
                open_schemas.append(self._definitions[found])
        return False

    def _resolved(self, reference: str) -> Any:
        return referred(self._root, reference, f"a schema of tool {self._tool!r}")


def _free(limits: ReplyLimits) -> JsonObject:
    """Any JSON, two levels deep: deeper and wider a model only runs on."""
    scalars = _scalars(limits)
    listed = {"type": "array", "items": {"anyOf": [*scalars, _flat(limits)]}, "maxItems": min(6, limits.items)}
    return {"anyOf": [*scalars, _flat(limits), listed]}


def _free_object(limits: ReplyLimits) -> JsonObject:
    return {"type": "object", "additionalProperties": _free(limits)}


def _flat(limits: ReplyLimits) -> JsonObject:
    return {"type": "object", "additionalProperties": {"anyOf": _scalars(limits)}}


def _scalars(limits: ReplyLimits) -> list[JsonObject]:
    return [_string(limits.text), {"type": "number"}, {"type": "boolean"}, {"type": "null"}]


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
    if any(key in schema for key in ("properties", "additionalProperties", "patternProperties", "required")):
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

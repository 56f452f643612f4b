"""JSON Schemas of what the roles answer, with caps so that a model bound to them cannot run on."""

from simia.formats.exchanges import reply_schema
from simia.simulate.arithmetic import MOST_CHARS
from simia.simulate.operations import KEY, MOST_OPERATIONS
from simia.types import JsonObject, WorldSpec

_ERROR: JsonObject = {
    "type": "object",
    "properties": {"error": {"type": "string", "minLength": 1, "maxLength": 300}},
    "required": ["error"],
    "additionalProperties": False,
}
_PATH: JsonObject = {"type": "array", "items": {"type": "string", "maxLength": 200}, "minItems": 1, "maxItems": 8}
_PUT: JsonObject = {
    "type": "object",
    "properties": {"op": {"const": "put"}, "path": _PATH, "value": {}},
    "required": ["op", "path", "value"],
    "additionalProperties": False,
}
_REMOVE: JsonObject = {
    "type": "object",
    "properties": {"op": {"const": "remove"}, "path": _PATH},
    "required": ["op", "path"],
    "additionalProperties": False,
}
_MAX_CHANGES = 32
_WHOLE: JsonObject = {"type": "integer", "minimum": -1_000_000, "maximum": 1_000_000}
_DATE: JsonObject = {"type": "string", "minLength": 10, "maxLength": 40}

TASK: JsonObject = {
    "type": "object",
    "properties": {"task": {"type": "string", "minLength": 20, "maxLength": 1500}},
    "required": ["task"],
    "additionalProperties": False,
}
USER_TURN: JsonObject = {
    "type": "object",
    "properties": {"done": {"type": "boolean"}, "say": {"type": "string", "maxLength": 800}},
    "required": ["done", "say"],
    "additionalProperties": False,
}


def decision_schema(world: WorldSpec, *, thoughts: bool, max_calls: int) -> JsonObject:
    """What an agent decides: to speak, or to call one or more of the world's tools with arguments that fit."""
    thought: JsonObject = {"thought": {"type": "string", "minLength": 1, "maxLength": 500}} if thoughts else {}
    branches = [_object({**thought, "say": {"type": "string", "minLength": 1, "maxLength": 1500}})]
    definitions: JsonObject = {}
    if world.tools:
        calls, definitions = _spelled_calls(world)
        spelled = [_object({"name": call["name"], "arguments": call["arguments"]}) for call in calls.values()]
        items = {"type": "array", "items": {"anyOf": spelled}, "minItems": 1, "maxItems": max_calls}
        branches.append(_object({**thought, "calls": items}))
    return {"anyOf": branches, **({"$defs": definitions} if definitions else {})}


def transition_schema(world: WorldSpec, name: str, *, tracked: bool, operations: bool = False) -> JsonObject:
    """What a simulator of the tool ``name`` answers: a result, or a refusal that changes nothing; with the changes
    where the state is tracked. With ``operations`` also what it wants to be computed first.
    """
    calls, definitions = _spelled_calls(world)
    success = calls[name]["result"]
    if world.tool[name].returns is not None:
        success = success["anyOf"][0]
    changes = {"type": "array", "items": {"anyOf": [_PUT, _REMOVE]}}
    result: JsonObject = {"is_error": {"const": False}, "observation": success}
    refusal: JsonObject = {"is_error": {"const": True}, "observation": _ERROR}
    if tracked:
        result["changes"] = {**changes, "maxItems": _MAX_CHANGES}
        refusal["changes"] = {**changes, "maxItems": 0}
    branches = [_object(result), _object(refusal), *([_computation(tracked=tracked)] if operations else [])]
    return {"anyOf": branches, **({"$defs": definitions} if definitions else {})}


def answer_schema(*, tracked: bool) -> JsonObject:
    """The bare shape of a simulator's answer, for a measurement: any result, any change, no caps, so that the right
    answer is never forbidden, whatever the tool.
    """
    changes: JsonObject = {"changes": {"type": "array", "items": {"anyOf": [_uncapped(_PUT), _uncapped(_REMOVE)]}}}
    return _object({"is_error": {"type": "boolean"}, "observation": {}, **(changes if tracked else {})})


def _computation(*, tracked: bool) -> JsonObject:
    """A list of operations. What is optional has a branch of its own, because strict modes know no optional keys."""
    shift: JsonObject = {"op": {"const": "add_days"}, "date": _DATE, "days": _WHOLE}
    expression: JsonObject = {"type": "string", "minLength": 1, "maxLength": MOST_CHARS}
    operations = [
        _object({"op": {"const": "calculate"}, "expression": expression}),
        _object(shift),
        _object({**shift, "hours": _WHOLE, "minutes": _WHOLE}),
        _object({"op": {"const": "days_between"}, "from": _DATE, "to": _DATE}),
        _object({"op": {"const": "weekday"}, "date": _DATE}),
        *([_object({"op": {"const": "new_id"}, "table": _PATH})] if tracked else []),
    ]
    listed = {"type": "array", "items": {"anyOf": operations}, "minItems": 1, "maxItems": MOST_OPERATIONS}
    return _object({KEY: listed})


def _uncapped(change: JsonObject) -> JsonObject:
    path = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    return {**change, "properties": {**change["properties"], "path": path}}


def _spelled_calls(world: WorldSpec) -> tuple[dict[str, JsonObject], JsonObject]:
    """By tool, the schemas of ``name``, ``arguments`` and ``result`` as grammars can enforce them, and what they
    refer to: the same as in the reply of a whole trajectory.
    """
    schema = reply_schema(world.tools, max_exchanges=1, thoughts=False)
    exchange = schema["properties"]["exchanges"]["items"]
    calls = exchange["properties"]["steps"]["items"]["properties"]["calls"]["items"]["anyOf"]
    found = {call["properties"]["name"]["const"]: call["properties"] for call in calls}
    return found, schema.get("$defs", {})


def _object(properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }

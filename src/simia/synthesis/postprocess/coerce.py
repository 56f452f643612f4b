"""Lossless coercion: the same value in the type that the schema asks for, and nothing beyond."""

import re
from typing import Any

from simia.synthesis.postprocess.edit import CalledTool, Context
from simia.synthesis.postprocess.repair import edit_calls
from simia.synthesis.postprocess.schema_walk import mapped
from simia.types import Dropped, JsonObject, Trajectory

# Integers of any real use; Python refuses to read more than 4,300 digits.
_INTEGER = re.compile(r"(?:0|-?[1-9][0-9]{0,99})\Z")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+\Z")
_BOOLEANS = {"true": True, "True": True, "false": False, "False": False}


def coerce_arguments(trajectory: Trajectory, context: Context) -> Trajectory | Dropped:
    """``"5"`` becomes 5 and ``"true"`` true where the schema asks for it and the string does not fit; 5.0 becomes 5
    where it asks for an integer (JSON Schema lets 5.0 pass as one, but a training target should spell it 5). Numbers
    never become strings: a leading zero may already be lost. Marked ``coerce_arguments:<call id>``.
    """
    return edit_calls(trajectory, context, "coerce_arguments", _coerced_arguments)


def _coerced_arguments(arguments: JsonObject, tool: CalledTool) -> JsonObject:
    fits = tool.schema.accepts(arguments)
    if fits and not (tool.integers and _has_whole_float(arguments)):
        return arguments
    coerced: JsonObject = mapped(arguments, tool.parameters, _whole if fits else _coerced)
    return coerced


def _has_whole_float(arguments: JsonObject) -> bool:
    open_values: list[Any] = [arguments]
    while open_values:
        current = open_values.pop()
        for value in current.values() if type(current) is dict else current:
            kind = type(value)
            if kind is float:
                if value.is_integer():
                    return True
            elif kind is dict or kind is list:
                open_values.append(value)
    return False


def _whole(value: Any, types: frozenset[str]) -> Any:
    if type(value) is float and "integer" in types and "number" not in types and value.is_integer():
        return int(value)
    return value


def _coerced(value: Any, types: frozenset[str]) -> Any:
    if type(value) is not str:
        return _whole(value, types)
    if "string" in types:
        return value
    if types & {"integer", "number"} and _INTEGER.match(value):
        return int(value)
    if "number" in types and _DECIMAL.match(value) and repr(float(value)) == value:
        return float(value)
    if "boolean" in types and value in _BOOLEANS:
        return _BOOLEANS[value]
    return value

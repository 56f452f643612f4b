"""Tools and states written as typed Python: their JSON Schemas and descriptions are read off the code."""

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from simia.types import JsonObject, ToolSpec


def tool_of(action: Callable[..., Any]) -> ToolSpec:
    """The tool that ``action`` is.

    The first parameter is the state; each other one becomes an argument by its annotation, which may carry a pydantic
    ``Field`` with description and limits. One with a default may be left out. The first paragraph of the docstring is
    the description, the return annotation the schema of the result.

    Raises:
        TypeError: a parameter has no annotation, or the function no docstring.
    """
    hints = get_type_hints(action, include_extras=True)
    description = inspect.getdoc(action)
    if not description:
        raise TypeError(f"the tool {action.__name__} has no docstring: an agent would not know what it does")
    properties: JsonObject = {}
    required: list[str] = []
    for parameter in list(inspect.signature(action).parameters.values())[1:]:
        if parameter.name not in hints:
            raise TypeError(f"the argument {parameter.name} of the tool {action.__name__} has no annotation")
        schema = schema_of(hints[parameter.name])
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
        elif parameter.default is None:
            schema = _without_null(schema)
        properties[parameter.name] = schema
    return ToolSpec(
        name=action.__name__,
        description=" ".join(description.split("\n\n")[0].split()),
        parameters={
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        },
        returns=schema_of(hints["return"]),
    )


def schema_of(annotation: Any) -> JsonObject:
    """The JSON Schema of a type: references are resolved, typed dictionaries are closed, titles are left out."""
    schema = TypeAdapter(annotation).json_schema()
    definitions = schema.pop("$defs", {})
    result: JsonObject = _plain(schema, definitions)
    return result


def _plain(node: Any, definitions: JsonObject) -> Any:
    if isinstance(node, list):
        return [_plain(entry, definitions) for entry in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = definitions[node["$ref"].rpartition("/")[2]]
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return _plain({**target, **beside}, definitions)
    found: JsonObject = {}
    for key, value in node.items():
        if key == "properties":
            found[key] = {name: _plain(entry, definitions) for name, entry in value.items()}
        elif key in ("enum", "const", "default", "examples", "required"):
            found[key] = value
        elif key != "title" and not (key == "description" and node.get("type") == "object"):
            found[key] = _plain(value, definitions)
    if "properties" in found:
        found["additionalProperties"] = False
        found.setdefault("required", [])
    return found


def _without_null(schema: JsonObject) -> JsonObject:
    """``schema`` for an argument that may be left out: whoever leaves it out need not say null."""
    branches = [branch for branch in schema.get("anyOf", ()) if branch != {"type": "null"}]
    beside = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    return {**branches[0], **beside} if len(branches) == 1 else beside | ({"anyOf": branches} if branches else {})

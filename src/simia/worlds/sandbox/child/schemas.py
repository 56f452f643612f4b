"""The methods of a strange class as tools: JSON Schemas are read off the annotations of the running code."""

import collections.abc
import enum
import inspect
import types
import typing
from typing import Any

from .plain import NoJson, text_of
from .wire import loads

_DEPTH = 6
_SCALARS: dict[Any, dict[str, Any]] = {
    bool: {"type": "boolean"},
    bytes: {"type": "string"},
    float: {"type": "number"},
    int: {"type": "integer"},
    str: {"type": "string"},
    type(None): {"type": "null"},
    None: {"type": "null"},
}
_LISTS = (list, tuple, set, frozenset, collections.abc.Iterable, collections.abc.Sequence, collections.abc.Collection)
_OBJECTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


def tools_of(found: type) -> list[dict[str, Any]]:
    """Name, docstring and parameters of each public method, in the order in which the class and its bases define
    them.
    """
    names: dict[str, None] = {}
    for one in reversed(found.__mro__):
        if one.__module__ == found.__module__:
            names.update((name, None) for name, value in vars(one).items() if _is_tool(name, value))
    return [_tool(found, name) for name in names if callable(getattr(found, name, None))]


def _is_tool(name: str, value: Any) -> bool:
    return not name.startswith("_") and (
        isinstance(value, staticmethod | classmethod) or (callable(value) and not isinstance(value, type))
    )


def _tool(found: type, name: str) -> dict[str, Any]:
    method = getattr(found, name)
    properties: dict[str, Any] = {}
    required = []
    is_open = False
    for parameter in _parameters(found, name):
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            is_open |= parameter.kind is parameter.VAR_KEYWORD
            continue
        schema = schema_of(_hints(method).get(parameter.name, parameter.annotation))
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        else:
            schema = _with_default(schema, parameter.default)
        properties[parameter.name] = schema
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": is_open}
    return {"name": name, "doc": inspect.getdoc(method) or "", "parameters": parameters}


def _parameters(found: type, name: str) -> list[inspect.Parameter]:
    parameters = list(inspect.signature(getattr(found, name)).parameters.values())
    is_bound = isinstance(inspect.getattr_static(found, name), staticmethod | classmethod)
    return parameters if is_bound else parameters[1:]


def _hints(method: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(method)
    except Exception:  # noqa: BLE001 - an annotation that names nothing says nothing
        return {}


def _with_default(schema: dict[str, Any], default: Any) -> dict[str, Any]:
    if default is None:
        return _any_of([schema, {"type": "null"}])
    try:
        return {**schema, "default": loads(text_of(default, "the default"))}
    except NoJson:
        return schema


def schema_of(annotation: Any, depth: int = 0) -> dict[str, Any]:
    """The JSON Schema of an annotation; what is not known is not demanded."""
    if isinstance(annotation, typing.Hashable) and annotation in _SCALARS:
        return dict(_SCALARS[annotation])
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    kind = origin or annotation
    if depth > _DEPTH:
        return {}
    if kind is typing.Annotated or kind in (typing.Required, typing.NotRequired, typing.Final, typing.ClassVar):
        return schema_of(arguments[0], depth)
    if kind in (typing.Union, types.UnionType):
        return _any_of([schema_of(one, depth + 1) for one in arguments])
    if kind is typing.Literal:
        return {"enum": list(arguments)}
    if isinstance(annotation, typing.NewType):
        return schema_of(annotation.__supertype__, depth)
    if not isinstance(kind, type):
        return {}
    if typing.is_typeddict(kind):
        return _typed_dictionary(kind, depth)
    if issubclass(kind, enum.Enum):
        return {"enum": [one.value for one in kind]}
    if issubclass(kind, _OBJECTS):
        inner = schema_of(arguments[1], depth + 1) if len(arguments) == 2 else {}
        return {"type": "object", "additionalProperties": inner} if inner else {"type": "object"}
    if issubclass(kind, _LISTS):
        inner = schema_of(arguments[0], depth + 1) if arguments and arguments[0] is not ... else {}
        return {"type": "array", "items": inner} if inner else {"type": "array"}
    return {}


def _typed_dictionary(kind: Any, depth: int) -> dict[str, Any]:
    hints = _hints(kind)
    return {
        "type": "object",
        "properties": {name: schema_of(hint, depth + 1) for name, hint in hints.items()},
        "required": sorted(kind.__required_keys__ & hints.keys()),
    }


def _any_of(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    """One schema for any of ``schemas``, in the short form where all of them are plain types."""
    branches: list[dict[str, Any]] = []
    for schema in schemas:
        if schema.keys() == {"type"} and isinstance(schema["type"], list):
            branches += [{"type": one} for one in schema["type"]]
        else:
            branches += schema["anyOf"] if schema.keys() == {"anyOf"} else [schema]
    if {} in branches:
        return {}
    distinct = [branch for index, branch in enumerate(branches) if branch not in branches[:index]]
    if len(distinct) == 1:
        return distinct[0]
    if all(branch.keys() == {"type"} for branch in distinct):
        return {"type": [branch["type"] for branch in distinct]}
    return {"anyOf": distinct}

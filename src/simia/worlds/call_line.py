"""A call as a person types it: ``transfer source=A-1 amount=500`` or ``transfer {"source": "A-1", ...}``."""

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from simia.errors import FormatError
from simia.formats.calls import dump_json, read_arguments
from simia.types import JsonObject, State, ToolSpec, WorldSpec, schema_for

_KEY = re.compile(r"\s*([A-Za-z_][\w-]*)=")
_NEXT_KEY = re.compile(r"\s+[A-Za-z_][\w-]*=")
_OPEN_VALUE = re.compile(r"([A-Za-z_][\w-]*)=\S*$")

WORD_ENDS = " \t\n=,[]{}\"'"
"""The signs between which a word stands that :func:`completions` completes."""


def read_call(tool: ToolSpec, text: str) -> JsonObject:
    """The arguments in ``text``: one JSON object, or ``key=value`` several times.

    A value is JSON if that fits the argument's schema, else text, which goes to the next ``key=`` or stands in quotes;
    a list of texts may be joined by commas. Where a tool needs one argument only, its name may be left out.

    Raises:
        FormatError: it is neither; says how the call is written.
    """
    text = text.strip()
    if text.startswith("{"):
        return read_arguments(text)
    properties = tool.parameters.get("properties", {})
    only = tool.parameters.get("required", ()) or list(properties)
    if text and not _KEY.match(text) and len(only) == 1:
        text = f"{only[0]}={text}"
    arguments: JsonObject = {}
    place = 0
    while place < len(text):
        key = _KEY.match(text, place)
        if key is None:
            raise FormatError(f"{text[place:]!r} is no argument; write: {usage(tool)}")
        arguments[key[1]], place = _value(text, key.end(), properties.get(key[1], {}), key[1])
    return arguments


def usage(tool: ToolSpec) -> str:
    """How the tool is called; arguments that may be left out in brackets."""
    required = tool.parameters.get("required", ())
    names = tool.parameters.get("properties", {})
    return " ".join([tool.name, *(f"{name}=..." if name in required else f"[{name}=...]" for name in names)])


def spelled(name: str, arguments: JsonObject) -> str:
    """The call as one may type it."""
    return " ".join([name, *(f"{key}={_spelled(value)}" for key, value in arguments.items())])


def completions(spec: WorldSpec, state: State, commands: Sequence[str], before: str, word: str) -> list[str]:
    """What ``word``, after ``before`` on its line, may become.

    Commands and tools first; then the tool's arguments; for a value what the schema lists, else the keys of the state.
    """
    return [one for one in _words(spec, state, commands, before, word) if one.startswith(word)]


def _words(spec: WorldSpec, state: State, commands: Sequence[str], before: str, word: str) -> list[str]:
    words = before.split()
    if not words:
        return sorted(f"{name} " for name in (*commands, *spec.tool))
    if words[0] in spec.tool:
        properties = spec.tool[words[0]].parameters.get("properties", {})
        value = _OPEN_VALUE.search(before)
        if value is not None:
            return sorted(_listed(properties.get(value[1], {})) or set(_ids(state)))
        return [f"{name}=" for name in properties if not re.search(rf"\s{re.escape(name)}=", before)]
    if words[0].lstrip("/") == "state":
        return sorted(_next_paths(state, "", word))
    return sorted(spec.tool) if words[0].lstrip("/") in ("tool", "code") else []


def _value(text: str, start: int, schema: JsonObject, name: str) -> tuple[Any, int]:
    """The value that starts at ``start``, and where it ends."""
    problem = ""
    if text[start : start + 1] in ("[", "{", '"'):
        try:
            value, end = json.JSONDecoder().raw_decode(text, start)
            if end == len(text) or text[end].isspace():
                return value, end
        except json.JSONDecodeError as error:
            problem = error.msg
    quoted = re.compile(r"'([^']*)'(?=\s|$)").match(text, start)
    if quoted:
        return quoted[1], quoted.end()
    following = _NEXT_KEY.search(text, start)
    end = following.start() if following else len(text)
    word = text[start:end].strip()
    accepts = schema_for(schema).accepts
    for value in _readings(word):
        if accepts(value):
            return value, end
    if problem and not accepts(word):
        raise FormatError(f"the value of {name} is no JSON ({problem}): {word}")
    return next(_readings(word)), end


def _readings(word: str) -> Iterator[Any]:
    with contextlib.suppress(ValueError):
        yield json.loads(word)
    yield word
    if word[:1] not in ("[", "{"):
        yield [part.strip() for part in word.split(",")]


def _spelled(value: Any) -> str:
    if not isinstance(value, str):
        return dump_json(value)
    plain = value and not re.search(r"[\s=\"'\[\]{},]", value) and next(_readings(value)) == value
    return value if plain else dump_json(value)


def _listed(schema: JsonObject) -> set[str]:
    """The values that a schema lists."""
    if schema.get("type") == "boolean":
        return {"true", "false"}
    parts = [*([schema["items"]] if "items" in schema else []), *schema.get("anyOf", ())]
    own = [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else [])]
    return {str(value) for value in own}.union(*map(_listed, parts))


def _ids(value: Any) -> Iterator[str]:
    """The keys of all tables: objects whose values are objects or lists, at any depth."""
    for entry in value.values():
        if isinstance(entry, dict):
            if all(isinstance(row, dict | list) for row in entry.values()):
                yield from entry
            yield from _ids(entry)


def _next_paths(value: JsonObject, prefix: str, word: str) -> Iterator[str]:
    """The paths one key longer than those that ``word`` has whole."""
    for key, entry in value.items():
        path = f"{prefix}{key}"
        yield path
        if isinstance(entry, dict) and word.startswith(f"{path}."):
            yield from _next_paths(entry, f"{path}.", word)

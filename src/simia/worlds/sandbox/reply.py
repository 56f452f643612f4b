"""The reply of a sandbox, read. Strange code may have forged it: it is believed in no more than its shape."""

from simia.errors import FormatError
from simia.formats.calls import is_deeper, load_json
from simia.types import JsonObject, schema_for
from simia.worlds.sandbox.child.walls import WALLS
from simia.worlds.sandbox.child.wire import MOST_TOLD
from simia.worlds.sandbox.process import Stopped

# Below what pydantic and orjson write (254), and what comparing two states takes of the stack.
_DEEPEST = 128
# Commas and brackets, so that nothing has to be read first. A MiB of '{"a":1},' would be 24 MiB of objects, and with
# this it is 6. An honest state has more than 16 bytes for each value.
_VALUES_IN_A_MIB = 1 << 16
_MOST_TOOLS = 1000
_MOST_SAID = 300

_ANY_SCHEMA = {"$ref": "#/$defs/schema"}
# What child.schemas writes, and no more: no reference, and no pattern that would take long.
_TOOLS = {
    "type": "array",
    "maxItems": _MOST_TOOLS,
    "items": {
        "type": "object",
        "required": ["name", "doc", "parameters"],
        "additionalProperties": False,
        "properties": {
            "name": {"type": "string"},
            "doc": {"type": "string"},
            "parameters": {"allOf": [_ANY_SCHEMA, {"required": ["type", "properties"]}]},
        },
    },
    "$defs": {
        "schema": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "additionalProperties": {"anyOf": [{"type": "boolean"}, _ANY_SCHEMA]},
                "anyOf": {"type": "array", "items": _ANY_SCHEMA},
                "default": {},
                "enum": {"type": "array"},
                "items": _ANY_SCHEMA,
                "properties": {"type": "object", "additionalProperties": _ANY_SCHEMA},
                "required": {"type": "array", "items": {"type": "string"}},
                "type": {"type": ["string", "array"]},
            },
        }
    },
}


def read_reply(line: bytes, asked: int, *, of_call: bool, most_mib: int) -> JsonObject:
    """The reply in ``line`` to the request ``asked``: it has an ``error``, which is text, or else

    - ``tools``, as :mod:`~simia.worlds.sandbox.child.schemas` writes them, and the ``state``, an object;
    - ``of_call`` the ``result`` and the ``state``, an object or null.

    Raises:
        Stopped: it says that the code ran into a wall, has more values than one of ``most_mib`` should or is nested too
            deeply, or is anything else.
    """
    most_values = most_mib * _VALUES_IN_A_MIB
    if line.count(b",") + line.count(b"{") + line.count(b"[") > most_values:
        raise Stopped("output", f"an answer of more than {most_values} values")
    try:
        reply = load_json(line)
    except FormatError as cause:
        raise Stopped("reply", f"an answer that cannot be read: {_shortened(str(cause))}") from None
    if not isinstance(reply, dict):
        raise Stopped("reply", "an answer that is no object")
    if line.count(b"{") + line.count(b"[") > _DEEPEST and is_deeper(reply, _DEEPEST - 1):
        raise Stopped("output", f"an answer nested more than {_DEEPEST} deep, which no limit allows")
    if "wall" in reply:
        raise _wall(reply)
    problem = _problem(reply, asked, of_call)
    if problem is not None:
        raise Stopped("reply", f"an answer {_shortened(problem)}")
    return reply


def _wall(reply: JsonObject) -> Stopped:
    wall, attempt = reply["wall"], reply.get("attempt")
    if reply.keys() != {"wall", "attempt"} or wall not in WALLS or not isinstance(attempt, str):
        return Stopped("reply", "an answer about a wall that there is not")
    return Stopped(wall, attempt[:_MOST_SAID])


def _problem(reply: JsonObject, asked: int, of_call: bool) -> str | None:
    """What is wrong with the shape of ``reply``."""
    number = reply.get("id")
    if type(number) is not int or number != asked:
        return "to something that was not asked"
    if reply.keys() == {"id", "error"}:
        error = reply["error"]
        return None if isinstance(error, str) and len(error) <= MOST_TOLD else "with an error that is no short text"
    expected = {"id", "result" if of_call else "tools", "state"}
    if reply.keys() != expected:
        return f"without exactly the keys {', '.join(sorted(expected))}"
    if not isinstance(reply["state"], dict) and not (of_call and reply["state"] is None):
        return "with a state that is no object"
    violations = () if of_call else schema_for(_TOOLS).violations(reply["tools"])
    return f"with tools that are none: {violations[0]}" if violations else None


def _shortened(text: str) -> str:
    """What is wrong stands at the end, and where at the beginning; between them a value may stand, as it is."""
    half = _MOST_SAID // 2
    return text if len(text) <= _MOST_SAID else f"{text[:half]} ... {text[-half:]}"

"""What a record declares about its world: policy and tools, made into one WorldSpec per distinct declaration."""

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from simia.errors import FormatError, SchemaError
from simia.formats import openai
from simia.formats.calls import load_json
from simia.formats.reply_schema import reply_schema
from simia.types import ToolSpec, WorldSpec, content_id

_KEPT_WORLDS = 256
_NAME = re.compile(r"[^a-z0-9]+")


def read_tools(declared: Any) -> tuple[ToolSpec, ...]:
    """The tools of a list, or of its JSON text, wrapped or bare; ``returns`` and ``source`` may stand beside. Schemas
    may be JSON text.

    Raises:
        FormatError: the declaration is no list of tools.
        SchemaError: the parameters or the returns of a tool are no JSON Schema; names the tool.
    """
    if isinstance(declared, str):
        try:
            declared = load_json(declared) if declared.strip() else []
        except FormatError as cause:
            raise FormatError(f"the tools cannot be read: {cause}") from cause
    if declared is None:
        return ()
    if not isinstance(declared, Sequence) or not all(isinstance(tool, Mapping) for tool in declared):
        raise FormatError(f"the tools are no list of objects: {declared!r:.80}")
    tools = tuple(_completed(tool, entry) for tool, entry in zip(openai.parse_tools(declared), declared, strict=True))
    for tool in tools:
        check_schemas(tool)
    return tools


def check_schemas(tool: ToolSpec) -> None:
    """Refuse a tool whose schemas are none, or refer to what a reply's schema cannot be made of.

    That a validator follows a reference is not enough: it knows the meta-schemas of JSON Schema, for example, and no
    conversation could be asked for.

    Raises:
        SchemaError: names the tool, which schema, and what is wrong.
    """
    for part in ("arguments_schema", "returns_schema"):
        try:
            getattr(tool, part)
        except SchemaError as cause:
            what = "parameters" if part == "arguments_schema" else "returns"
            raise SchemaError(f"tool {tool.name!r}, {what}: {cause}; see https://json-schema.org") from cause
    reply_schema((tool,), max_exchanges=1, thoughts=False)


def name_of(policy: str, otherwise: str) -> str:
    """A short name for a world: its policy's first line, in lower case with hyphens."""
    first = next((line for line in policy.splitlines() if line.strip()), "")
    return _NAME.sub("-", first.lower()).strip("-")[:48].strip("-") or otherwise


class Worlds:
    """One WorldSpec for equal declarations, so that thousands of records share one; only the latest are kept."""

    def __init__(self, otherwise: str) -> None:
        self._otherwise = otherwise
        self._known: OrderedDict[str, WorldSpec] = OrderedDict()

    def world(self, policy: str, tools: Any, licence: str) -> WorldSpec:
        """The world of a policy and declared tools.

        Raises:
            FormatError: the tools cannot be read, or two have the same name.
            SchemaError: a schema of a tool is none.
        """
        key = content_id([policy, tools, licence])
        world = self._known.get(key)
        if world is None:
            world = make_world(name_of(policy, self._otherwise), policy, read_tools(tools), licence)
            self._known[key] = world
            if len(self._known) > _KEPT_WORLDS:
                self._known.popitem(last=False)
        return world


def make_world(name: str, policy: str, tools: tuple[ToolSpec, ...], licence: str) -> WorldSpec:
    """A world without tracked state.

    Raises:
        FormatError: two tools have the same name.
    """
    names = [tool.name for tool in tools]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise FormatError(f"two tools are called {', '.join(twice)}")
    return WorldSpec(name=name, policy=policy, tools=tools, licence=licence)


def _completed(tool: ToolSpec, entry: Mapping[str, Any]) -> ToolSpec:
    inner = entry.get("function")
    extra = {**entry, **inner} if isinstance(inner, Mapping) else entry
    returns, source = extra.get("returns"), extra.get("source")
    if isinstance(returns, str):
        try:
            returns = load_json(returns)
        except FormatError as cause:
            raise FormatError(f"tool {tool.name!r} has returns that cannot be read: {cause}") from cause
    if returns is not None and not isinstance(returns, dict):
        raise FormatError(f"tool {tool.name!r} has returns that are no object: {returns!r:.80}")
    if source is not None and not isinstance(source, str):
        raise FormatError(f"tool {tool.name!r} has a source that is no text")
    return (
        tool if returns is None and source is None else tool.model_copy(update={"returns": returns, "source": source})
    )

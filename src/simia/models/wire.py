"""The chat-completions spelling of a request, built lean, and the reading of an answer.

A request of 20 KB is mostly the same from one item to the next: policy, tools, schema. What repeats is serialised once
and put into the body as a fragment (``orjson.Fragment``), so a request costs only its own new text.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, Literal, TypeVar

import orjson

from simia.errors import RequestRefused
from simia.formats import openai
from simia.formats.calls import dump_json
from simia.models.refusals import NO_JSON
from simia.models.shape import ShapeWatch
from simia.types import ChatRequest, JsonObject, Message, SystemMessage, ToolSpec, UserMessage

Mode = Literal["schema", "json_object", "off"]
"""How a JSON Schema is enforced: ``response_format`` with the schema, ``response_format`` for any JSON, asking only."""

MAY_GO = ("seed", "top_p", "temperature")
"""Fields that a request may go without, the most dispensable first: reasoning models of vendors take none of them."""

_INSTRUCTION = (
    "\n\nAnswer with one JSON document and nothing else: no code fence, no word before or after it. "
    "It must be valid under this JSON Schema:\n"
)
"""Stands here and not among the prompts because it replaces a field of the protocol that a server lacks."""

Thing = TypeVar("Thing", tuple[ToolSpec, ...], JsonObject)
Made = TypeVar("Made")


class ByIdentity(Generic[Thing, Made]):
    """What was made of a tuple or an object, remembered for the very parts that it holds; the newest ``size`` stay.

    By identity of the parts, because pydantic copies the outermost container into each request, and because hashing
    a tuple of tool schemas costs more than serialising it. An entry holds its parts, so no id in it is reused.
    """

    __slots__ = ("_entries", "_size")

    def __init__(self, size: int = 64) -> None:
        self._entries: dict[tuple[object, ...], tuple[Thing, Made]] = {}
        self._size = size

    def get(self, thing: Thing) -> Made | None:
        """What was made of ``thing``, or None."""
        entry = self._entries.get(_identity(thing))
        return entry[1] if entry is not None else None

    def put(self, thing: Thing, made: Made) -> Made:
        """``made``, remembered for ``thing``."""
        if len(self._entries) >= self._size:
            del self._entries[next(iter(self._entries))]
        self._entries[_identity(thing)] = (thing, made)
        return made


def _identity(thing: tuple[ToolSpec, ...] | JsonObject) -> tuple[object, ...]:
    if isinstance(thing, dict):
        return (*thing, *map(id, thing.values()))
    return tuple(map(id, thing))


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one endpoint was found to understand. ``modes`` are those left to try, best first; ``unsent`` are those of
    ``MAY_GO`` that it refuses.
    """

    modes: tuple[Mode, ...]
    length_key: str = "max_tokens"
    unsent: frozenset[str] = frozenset()
    sends_reasoning: bool = True


@dataclass(slots=True)
class _SchemaForms:
    response_format: orjson.Fragment
    instruction: str
    watch: ShapeWatch
    refused: set[Mode]


class RequestWriter:
    """Writes the bodies of requests to one endpoint and remembers what repeats in them."""

    def __init__(self) -> None:
        self._tools: ByIdentity[tuple[ToolSpec, ...], orjson.Fragment] = ByIdentity()
        self._schemas: ByIdentity[JsonObject, _SchemaForms] = ByIdentity(256)

    def mode(self, request: ChatRequest, dialect: Dialect) -> Mode:
        """How ``request`` would be constrained now; ``off`` without a schema."""
        if request.response_schema is None:
            return "off"
        refused = self._forms(request.response_schema).refused
        if refused:
            return next((mode for mode in dialect.modes if mode not in refused), dialect.modes[-1])
        return dialect.modes[0]

    def step_down(self, schema: JsonObject, mode: Mode) -> bool:
        """From now on ask less than ``mode`` of the server for this one schema, which it cannot compile; whether that
        is news.
        """
        refused = self._forms(schema).refused
        is_news = mode not in refused
        refused.add(mode)
        return is_news

    def watch(self, schema: JsonObject) -> ShapeWatch:
        """What is known of the server's obedience to this schema."""
        return self._forms(schema).watch

    def body(self, request: ChatRequest, dialect: Dialect, mode: Mode) -> bytes:
        """The body of ``request``.

        Raises:
            RequestRefused: a text in it is no Unicode (a lone surrogate), so no server could read it.
        """
        sampling = request.sampling
        fields: dict[str, Any] = {"model": request.model}
        schema = request.response_schema
        forms = self._forms(schema) if schema is not None else None
        messages = request.messages
        if forms is not None and mode in ("json_object", "off"):
            messages = _with_instruction(messages, forms.instruction)
        fields["messages"] = _spell(messages, dialect.sends_reasoning)
        if request.tools:
            fields["tools"] = self._tools.get(request.tools) or self._tools.put(
                request.tools, orjson.Fragment(dump_json(openai.render_tools(request.tools)))
            )
        if forms is not None:
            if mode == "schema":
                fields["response_format"] = forms.response_format
            elif mode == "json_object":
                fields["response_format"] = {"type": "json_object"}
        # Also a top_p of 1 is said: vLLM, SGLang and llama.cpp have other defaults, some of them the model's own.
        if "temperature" not in dialect.unsent:
            fields["temperature"] = sampling.temperature
        if "top_p" not in dialect.unsent:
            fields["top_p"] = sampling.top_p
        fields[dialect.length_key] = sampling.max_tokens
        if sampling.seed is not None and "seed" not in dialect.unsent:
            fields["seed"] = sampling.seed
        if sampling.stop:
            fields["stop"] = sampling.stop
        try:
            return orjson.dumps(fields)
        except orjson.JSONEncodeError as cause:
            raise RequestRefused(f"a text in the request {NO_JSON}: {cause}") from None

    def _forms(self, schema: JsonObject) -> _SchemaForms:
        known = self._schemas.get(schema)
        if known is not None:
            return known
        text = dump_json(schema)
        strict = "true" if _is_strict(schema) else "false"
        wrapped = f'{{"type":"json_schema","json_schema":{{"name":"reply","strict":{strict},"schema":{text}}}}}'
        forms = _SchemaForms(
            response_format=orjson.Fragment(wrapped),
            instruction=_INSTRUCTION + text,
            watch=ShapeWatch(schema),
            refused=set(),
        )
        return self._schemas.put(schema, forms)


def _spell(messages: tuple[Message, ...], reasoning: bool) -> list[Any]:
    first = messages[0] if messages else None
    if isinstance(first, SystemMessage):
        return [_system_fragment(first.content), *_spell_rest(messages[1:], reasoning)]
    return _spell_rest(messages, reasoning)


def _spell_rest(messages: tuple[Message, ...], reasoning: bool) -> list[Any]:
    # The commonest request has one user message after the system message; the general way costs ten times as much.
    if len(messages) == 1 and isinstance(messages[0], UserMessage):
        return [{"role": "user", "content": messages[0].content}]
    return list(openai.render_messages(messages, reasoning=reasoning))


@lru_cache(maxsize=64)
def _system_fragment(content: str) -> orjson.Fragment:
    return orjson.Fragment(orjson.dumps({"role": "system", "content": content}))


def _with_instruction(messages: tuple[Message, ...], instruction: str) -> tuple[Message, ...]:
    """The instruction goes last, so that the prefix shared with other requests stays shared."""
    last = messages[-1] if messages else None
    if isinstance(last, UserMessage):
        return (*messages[:-1], UserMessage(content=last.content + instruction))
    return (*messages, UserMessage(content=instruction.strip()))


def _is_strict(schema: Any) -> bool:
    """Whether the vendors' strict mode takes the schema: each object closed and all its properties required."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if schema.get("type") == "object" or isinstance(properties, dict):
        if schema.get("additionalProperties") is not False:
            return False
        names = set(properties) if isinstance(properties, dict) else set()
        if names != set(schema.get("required", ())):
            return False
    return all(map(_is_strict, schema.values()))

"""A question to a language model and its answer."""

from functools import cached_property
from typing import Literal, Protocol

from pydantic import SkipValidation

from simia.types.message import MalformedToolCall, Message, ToolCall
from simia.types.tool import ToolSpec
from simia.types.value import JsonObject, Value, content_id

_MAX_SCHEMAS = 256
_schema_ids: dict[int, tuple[JsonObject, str]] = {}

FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "other"]


class Sampling(Value):
    """How to draw. No provider default decides a result, so temperature and the length are always sent.

    ``seed`` also tells apart requests that are otherwise equal, so that a cache never answers two draws alike.
    """

    temperature: float
    max_tokens: int
    top_p: float = 1.0
    seed: int | None = None
    stop: tuple[str, ...] = ()


class ChatRequest(Value):
    """One request. ``content_id`` is the key of the reply cache.

    ``response_schema`` is a JSON Schema that the reply's text must satisfy; how it is enforced is the model's
    business, that it is checked is the caller's. The object is held, not copied, so that what many requests share is
    also one object.
    """

    model: str
    messages: tuple[Message, ...]
    sampling: Sampling
    response_schema: SkipValidation[JsonObject | None] = None
    tools: tuple[ToolSpec, ...] = ()

    @cached_property
    def content_id(self) -> str:
        """SHA-256 over the ids of the parts: equal content has an equal id, and policy, tools and schema, which
        thousands of requests share, are hashed once.
        """
        parts = {
            "model": self.model,
            "messages": [message.content_id for message in self.messages],
            "sampling": self.sampling.content_id,
            "response_schema": None if self.response_schema is None else _schema_id(self.response_schema),
            "tools": [tool.content_id for tool in self.tools],
        }
        return content_id(parts)


def _schema_id(schema: JsonObject) -> str:
    known = _schema_ids.get(id(schema))
    if known is not None:
        return known[1]
    if len(_schema_ids) >= _MAX_SCHEMAS:
        del _schema_ids[next(iter(_schema_ids))]
    _schema_ids[id(schema)] = (schema, content_id(schema))  # the entry holds the schema, so its id() is not reused
    return _schema_ids[id(schema)][1]


class Usage(Value):
    """Tokens as the server counted them; ``cached_tokens`` are part of ``prompt_tokens``, ``reasoning_tokens`` of
    ``completion_tokens``.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


class ChatReply(Value):
    """One answer. ``text`` never contains the reasoning, which stands apart.

    ``model`` is the name that the server gives; ``asked`` the one of the request, by which the answer is priced, where
    that is another: an alias, a deployment, a path.
    """

    text: str
    model: str
    asked: str = ""
    finish_reason: FinishReason = "stop"
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    malformed_calls: tuple[MalformedToolCall, ...] = ()
    usage: Usage = Usage()


class ChatModel(Protocol):
    """Whatever answers chat requests. Wrappers (retry, limit, cache, meter) have the same shape."""

    @property
    def name(self) -> str:
        """The model's name, for requests, provenance and prices."""
        ...

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The answer.

        Raises:
            ModelError: one of its drawn kinds.
        """
        ...

"""The real embedded model: every finished reply is in its schema's language, and a prefix is computed once."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import AsyncExitStack

import orjson
import pytest

from simia.errors import ContextOverflow, ModelNotFound, RequestRefused, StructuredOutputUnsupported
from simia.formats.exchanges import reply_schema
from simia.formats.openai import render_messages
from simia.models.embedded.fetch import embedded_gguf
from simia.models.embedded.model import EmbeddedModel, open_embedded
from simia.models.embedded.warm import warm
from simia.types import (
    ChatReply,
    ChatRequest,
    JsonObject,
    Message,
    Sampling,
    SystemMessage,
    ToolSpec,
    UserMessage,
    schema_for,
)

pytestmark = pytest.mark.embedded

SHOP = "You write JSON about a small shop that sells tea and cups."


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def model(runner: asyncio.Runner) -> Iterator[EmbeddedModel]:
    stack = AsyncExitStack()
    yield runner.run(stack.enter_async_context(open_embedded(slots=2, context=4096)))
    runner.run(stack.aclose())


def asked(text: str, schema: JsonObject | None = None, *, max_tokens: int = 500, seed: int = 1) -> ChatRequest:
    return ChatRequest(
        model="embedded",
        messages=(SystemMessage(content=SHOP), UserMessage(content=text)),
        sampling=Sampling(temperature=0.7, max_tokens=max_tokens, seed=seed),
        response_schema=schema,
    )


ORDER: JsonObject = {
    "type": "object",
    "title": "Order",
    "properties": {
        "order_id": {"type": "string", "pattern": "^#W\\d{7}$"},
        "placed": {"type": "string", "format": "date-time"},
        "status": {"enum": ["pending", "delivered", "cancelled"]},
        "paid": {"type": "number", "exclusiveMinimum": 0, "maximum": 1000},
        "count": {"type": "integer", "minimum": 1, "maximum": 12},
    },
    "required": ["order_id", "placed", "status", "paid", "count"],
}
NESTED: JsonObject = {
    "$defs": {"address": {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": "string"}}}},
    "type": "object",
    "properties": {
        "home": {"$ref": "#/$defs/address"},
        "lines": {
            "type": "array",
            "minItems": 1,
            "maxItems": 3,
            "items": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        },
    },
    "required": ["home", "lines"],
}
CHOICE: JsonObject = {
    "anyOf": [
        {"type": "object", "properties": {"kind": {"const": "card"}, "last_four": {"type": "string"}}},
        {"type": "object", "properties": {"kind": {"const": "cash"}, "notes": {"type": "object"}}},
    ]
}
FREE: JsonObject = {"type": "object", "properties": {"anything": {}, "map": {"type": "object"}}, "required": ["map"]}
TOOLS = (
    ToolSpec(
        name="find_orders",
        parameters={
            "type": "object",
            "properties": {
                "email": {"type": "string", "format": "email"},
                "status": {"type": ["string", "null"], "enum": ["pending", "delivered", None]},
                "page": {"type": "integer", "minimum": 1, "default": 1},
                "link": {"type": "string", "format": "uri"},
            },
            "required": ["email"],
            "additionalProperties": False,
        },
        returns={"type": "array", "items": ORDER, "maxItems": 2},
    ),
    ToolSpec(
        name="cancel_order",
        parameters={
            "type": "object",
            "properties": {
                "order_id": {"type": "string", "pattern": "^#W[0-9]{7}$"},
                "reason": {"oneOf": [{"const": "no longer needed"}, {"const": "ordered by mistake"}]},
                "items": {"type": "array", "items": {"$ref": "#/$defs/item"}, "uniqueItems": True},
            },
            "$defs": {"item": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}},
            "required": ["order_id", "reason"],
        },
    ),
)


@pytest.mark.parametrize("schema", [ORDER, NESTED, CHOICE, FREE], ids=["order", "nested", "choice", "free"])
def test_a_finished_reply_satisfies_its_schema(
    schema: JsonObject, runner: asyncio.Runner, model: EmbeddedModel
) -> None:
    async def both() -> list[ChatReply]:
        requests = (model.complete(asked("Write one example.", schema, seed=seed)) for seed in (1, 2))
        return await asyncio.gather(*requests)

    for reply in runner.run(both()):
        assert reply.finish_reason == "stop"
        assert schema_for(schema).violations(orjson.loads(reply.text)) == ()


@pytest.mark.slow
def test_a_whole_trajectory_satisfies_the_reply_schema(runner: asyncio.Runner, model: EmbeddedModel) -> None:
    schema = reply_schema(TOOLS, max_exchanges=1, thoughts=False)
    reply = runner.run(model.complete(asked("A customer cancels an order. Be brief.", schema, max_tokens=600)))
    if reply.finish_reason == "stop":
        assert schema_for(schema).violations(orjson.loads(reply.text)) == ()
    else:
        assert (reply.finish_reason, reply.usage.completion_tokens) == ("length", 600)
    assert reply.text.startswith('{"task": "')


def test_what_the_grammar_does_not_enforce_is_told_once(runner: asyncio.Runner, model: EmbeddedModel) -> None:
    told: list[str] = []
    fresh = EmbeddedModel(model.server, model._session, say=told.append)
    schema = {"type": "array", "items": {"type": "integer", "maximum": 9}, "uniqueItems": True, "maxItems": 2}
    for wish in ("Two digits.", "Two others."):
        runner.run(fresh.complete(asked(wish, schema)))
    assert len(told) == 1
    assert "/uniqueItems: not enforced" in told[0]


def test_a_schema_that_nothing_satisfies_is_refused_with_the_reason(
    runner: asyncio.Runner, model: EmbeddedModel
) -> None:
    impossible = {"type": "object", "properties": {"z": False}, "required": ["z"]}
    with pytest.raises(StructuredOutputUnsupported, match="required property 'z' is unsatisfiable"):
        runner.run(model.complete(asked("Try.", impossible)))


def test_a_reply_that_was_cut_says_so(runner: asyncio.Runner, model: EmbeddedModel) -> None:
    reply = runner.run(model.complete(asked("Write a long story.", max_tokens=5)))
    assert reply.finish_reason == "length"
    assert reply.usage.completion_tokens == 5
    assert reply.model == model.name == "SmolLM2-135M-Instruct"


def test_the_same_seed_gives_the_same_reply_and_another_seed_another(
    runner: asyncio.Runner, model: EmbeddedModel
) -> None:
    texts = [runner.run(model.complete(asked("Name a tea.", max_tokens=20, seed=seed))).text for seed in (5, 5, 6)]
    assert texts[0] == texts[1] != texts[2]


def test_a_prompt_over_the_context_is_an_overflow(runner: asyncio.Runner, model: EmbeddedModel) -> None:
    with pytest.raises(ContextOverflow, match="4096"):
        runner.run(model.complete(asked("tea " * 5000)))


def test_tools_beside_a_schema_are_refused(runner: asyncio.Runner, model: EmbeddedModel) -> None:
    with pytest.raises(RequestRefused, match="not both"):
        runner.run(model.complete(asked("Try.", ORDER).model_copy(update={"tools": TOOLS})))


def test_a_warm_prefix_is_computed_on_no_slot_again(runner: asyncio.Runner, model: EmbeddedModel) -> None:
    policy = SystemMessage(content=" ".join(f"Rule {n}: shelf {n * 7} holds {n * 3} cups." for n in range(90)))

    def prompt(question: str) -> tuple[Message, ...]:
        return (policy, UserMessage(content=question))

    async def scenario() -> list[JsonObject]:
        first = await warm(model, prompt("How many cups are on shelf 7?"))
        assert first.prompt_tokens > 1000
        answers = []
        for slot in range(model.server.slots):
            messages = render_messages(prompt(f"Who takes the cups of rule {slot}?"))
            body = {"messages": messages, "max_tokens": 1, "id_slot": slot, "cache_prompt": True}
            answers.append(await model.post("/v1/chat/completions", body))
        return answers

    for answer in runner.run(scenario()):
        assert answer["usage"]["prompt_tokens"] > 1000
        assert answer["timings"]["prompt_n"] < answer["usage"]["prompt_tokens"] / 10
    assert list(model.server.slot_folder.iterdir()) == []


def test_the_first_request_warms_all_slots_for_those_that_share_its_beginning() -> None:
    policy = SystemMessage(content=" ".join(f"Rule {n}: shelf {n * 7} holds {n * 3} cups." for n in range(30)))

    async def scenario() -> list[ChatReply]:
        async with open_embedded(slots=2, context=1024) as model:
            questions = [UserMessage(content=text) for text in ("Which shelf is full?", "Who drinks green tea?")]
            requests = [asked("", max_tokens=2).model_copy(update={"messages": (policy, each)}) for each in questions]
            return await asyncio.gather(*map(model.complete, requests))

    for reply in asyncio.run(scenario()):
        assert reply.usage.cached_tokens > 0.9 * reply.usage.prompt_tokens > 300


def test_the_usage_tells_what_came_from_the_cache(runner: asyncio.Runner, model: EmbeddedModel) -> None:
    question = asked("Name a cup that is large enough for two and light enough for a child.", max_tokens=1)
    runner.run(model.complete(question))
    again = runner.run(model.complete(question))
    assert again.usage.cached_tokens >= again.usage.prompt_tokens - 1 > 0


def test_a_dead_server_stops_the_run_instead_of_failing_item_after_item() -> None:
    async def scenario() -> None:
        async with open_embedded(embedded_gguf(), slots=1, context=512) as model:
            os.kill(model.server.pid, signal.SIGKILL)
            await model.complete(asked("Anyone?"))

    with pytest.raises(ModelNotFound, match=r"killed by signal 9.*--resume"):
        asyncio.run(scenario())

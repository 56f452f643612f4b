"""The client against a mock endpoint: what it learns, what it reads, and how it fails."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest

from simia.errors import (
    AuthenticationFailed,
    ContextOverflow,
    ModelError,
    ModelNotFound,
    ModelTimeout,
    RateLimited,
    ReplyCut,
    RequestRefused,
    ServerFailed,
    StructuredOutputUnsupported,
)
from simia.models.endpoint import EndpointModel
from simia.models.mock_faults import FaultKind, Faults
from simia.models.mock_server import MockServer
from simia.types import ChatReply, ChatRequest, Sampling, UserMessage

KEY = "sk-1234567890abcdef"
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


def asking(text: str = "hi", **more: Any) -> ChatRequest:
    sampling = more.pop("sampling", Sampling(temperature=1, max_tokens=9))
    return ChatRequest(model=more.pop("model", "m"), messages=(UserMessage(content=text),), sampling=sampling, **more)


def ask(server: MockServer, *requests: ChatRequest, **options: Any) -> list[ChatReply]:
    async def run() -> list[ChatReply]:
        async with server, EndpointModel("m", server.base_url, **options) as model:
            return [await model.complete(request) for request in requests]

    return asyncio.run(run())


class Picky:
    """A responder that notes what it gets and refuses what ``refuses`` says."""

    def __init__(self, refuses: Callable[[dict[str, Any]], str | None], answer: str = '{"a": "b"}') -> None:
        self.refuses = refuses
        self.answer = answer
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, body: dict[str, Any]) -> str | tuple[int, dict[str, Any]]:
        self.bodies.append(body)
        why = self.refuses(body)
        return self.answer if why is None else (400, {"error": {"message": why}})


def refuses_schema(body: dict[str, Any]) -> str | None:
    wanted = body.get("response_format", {}).get("type")
    return "response_format json_schema is not supported" if wanted == "json_schema" else None


def refuses_format(body: dict[str, Any]) -> str | None:
    return "unknown field response_format" if "response_format" in body else None


def test_an_answer_is_read() -> None:
    reply = ask(MockServer(["hello"], model="m"), asking())[0]
    assert (reply.text, reply.model, reply.finish_reason) == ("hello", "m", "stop")
    assert reply.usage.prompt_tokens > 0


def test_a_key_is_shown_to_the_server() -> None:
    assert ask(MockServer(["hello"], key=KEY), asking(), key=KEY)[0].text == "hello"


def test_a_schema_goes_out_as_response_format() -> None:
    picky = Picky(lambda body: None)
    ask(MockServer(picky), asking(response_schema=SCHEMA))
    assert picky.bodies[0]["response_format"]["json_schema"]["schema"] == SCHEMA


def test_a_server_without_schemas_is_asked_for_json_next() -> None:
    picky = Picky(refuses_schema)
    ask(MockServer(picky), asking(response_schema=SCHEMA))
    assert [body["response_format"]["type"] for body in picky.bodies] == ["json_schema", "json_object"]
    assert "JSON Schema" in picky.bodies[1]["messages"][-1]["content"]


def test_a_server_without_structure_is_asked_in_words_in_the_end() -> None:
    picky = Picky(refuses_format)
    ask(MockServer(picky), asking(response_schema=SCHEMA))
    assert len(picky.bodies) == 3
    assert "response_format" not in picky.bodies[-1]


def test_what_a_server_refused_once_is_remembered() -> None:
    picky = Picky(refuses_format)
    ask(MockServer(picky), *[asking(str(number), response_schema=SCHEMA) for number in range(5)])
    assert len(picky.bodies) == 3 + 4


def test_many_requests_at_once_learn_together() -> None:
    async def run() -> list[ChatReply]:
        server = MockServer(Picky(refuses_format))
        async with server, EndpointModel("m", server.base_url) as model:
            requests = [asking(str(number), response_schema=SCHEMA) for number in range(50)]
            return await asyncio.gather(*map(model.complete, requests))

    assert len(asyncio.run(run())) == 50


def test_a_schema_that_the_server_cannot_compile_spoils_no_other() -> None:
    hard = {"type": "object", "properties": {"hard": {"type": "string"}}}
    picky = Picky(lambda body: "Invalid schema for response_format" if '"hard"' in str(body).replace("'", '"')
                  and body.get("response_format", {}).get("type") == "json_schema" else None)  # fmt: skip
    ask(MockServer(picky), asking(response_schema=hard), asking(response_schema=SCHEMA))
    assert [body["response_format"]["type"] for body in picky.bodies] == ["json_schema", "json_object", "json_schema"]


def test_a_server_that_refuses_one_schema_after_another_is_asked_for_none() -> None:
    picky = Picky(refuses_schema)
    schemas = [{"type": "object", "properties": {f"field_{n}": {"type": "string"}}} for n in range(6)]
    ask(MockServer(picky), *[asking(response_schema=schema) for schema in schemas])
    asked = [body["response_format"]["type"] for body in picky.bodies]
    assert asked == ["json_schema", "json_object"] * 3 + ["json_object"] * 3


def test_the_user_is_told_that_a_schema_is_asked_for_less_strictly() -> None:
    told: list[str] = []
    ask(MockServer(Picky(refuses_schema)), asking(response_schema=SCHEMA), say=told.append)
    assert len(told) == 1
    assert "refuses response_format schema" in told[0]


def test_a_server_that_ignores_the_schema_is_found_out() -> None:
    picky = Picky(lambda body: None, answer="Sure! Here is what you asked for.")
    ask(MockServer(picky), *[asking(str(number), response_schema=SCHEMA) for number in range(5)])
    assert "response_format" in picky.bodies[0]
    assert "response_format" not in picky.bodies[4]


def test_a_user_who_demands_the_schema_gets_no_fall_back() -> None:
    with pytest.raises(StructuredOutputUnsupported, match="set structured to json_object or off"):
        ask(MockServer(["{}"], structured="off"), asking(response_schema=SCHEMA), structured="schema")


def test_a_new_name_of_the_length_limit_is_learned() -> None:
    picky = Picky(
        lambda body: (
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            if "max_tokens" in body
            else None
        )
    )
    ask(MockServer(picky), asking(), asking())
    assert [body.get("max_completion_tokens") for body in picky.bodies] == [None, 9, 9]


REASONING = Sampling(temperature=0, max_tokens=9, seed=4)


def refuses_what_reasoning_models_refuse(body: dict[str, Any]) -> str | None:
    if "max_tokens" in body:
        return (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
    if body.get("temperature", 1) != 1:
        return (
            "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is "
            "supported."
        )
    return "Unsupported parameter: 'top_p' is not supported with this model." if "top_p" in body else None


def test_what_a_reasoning_model_does_not_take_is_learned_once_and_left_out() -> None:
    picky = Picky(refuses_what_reasoning_models_refuse)
    ask(MockServer(picky), *[asking(str(number), sampling=REASONING) for number in range(4)])
    assert len(picky.bodies) == 3 + 4
    assert all({"temperature", "top_p", "max_tokens"}.isdisjoint(body) for body in picky.bodies[3:])
    assert all(body["max_completion_tokens"] == 9 for body in picky.bodies[3:])
    assert all(body["seed"] == 4 for body in picky.bodies)


def test_the_user_is_told_once_what_is_left_out() -> None:
    said: list[str] = []
    picky = Picky(refuses_what_reasoning_models_refuse)
    ask(MockServer(picky), *[asking(str(number), sampling=REASONING) for number in range(4)], say=said.append)
    assert [line.split(" does not take ")[1].split(":")[0] for line in said] == ["temperature", "top_p"]


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ("`temperature` and `top_p` cannot both be specified for this model. Please use only one.", "top_p"),
        ("invalid temperature: only 1 is allowed for this model", "temperature"),
        ("`temperature` is deprecated for this model.", "temperature"),
        ("Unrecognized request argument supplied: top_p", "top_p"),
        ('[{"type":"extra_forbidden","loc":["body","top_p"],"msg":"Extra inputs are not permitted"}]', "top_p"),
    ],
)
def test_a_refused_field_is_recognised_in_the_words_of_each_server(words: str, field: str) -> None:
    picky = Picky(lambda body: words if field in body else None)
    ask(MockServer(picky), asking())
    assert len(picky.bodies) == 2
    assert field not in picky.bodies[1]


def test_a_value_out_of_range_is_the_users_and_not_learned() -> None:
    picky = Picky(lambda body: "Invalid 'temperature': expected a value <= 2, but got 5 instead.")
    with pytest.raises(RequestRefused, match="expected a value"):
        ask(MockServer(picky), asking())
    assert len(picky.bodies) == 1


def test_a_moderated_text_fails_alone() -> None:
    def moderates(body: dict[str, Any]) -> str | tuple[int, dict[str, Any]]:
        if body["messages"][-1]["content"] != "bad":
            return "hello"
        return 403, {"error": {"message": "Your chosen model requires moderation and your input was flagged"}}

    async def run() -> str:
        async with MockServer(moderates) as server, EndpointModel("m", server.base_url, key=KEY) as model:
            with pytest.raises(RequestRefused, match="will not answer this one text"):
                await model.complete(asking("bad"))
            return (await model.complete(asking("good"))).text

    assert asyncio.run(run()) == "hello"


def test_a_gateway_whose_servers_lack_schemas_is_asked_for_less() -> None:
    bodies: list[dict[str, Any]] = []

    def gateway(body: dict[str, Any]) -> str | tuple[int, dict[str, Any]]:
        bodies.append(body)
        if "response_format" in body:
            return 404, {"error": {"message": "No endpoints found that support structured outputs", "code": 404}}
        return "{}"

    assert ask(MockServer(gateway), asking(response_schema=SCHEMA))[0].text == "{}"
    assert "response_format" not in bodies[-1]


CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


def test_a_schema_that_a_server_drops_without_a_word_is_found_out_and_spoils_no_other() -> None:
    """llama.cpp answers a grammar that it cannot compile with free text."""
    hard = {**CLOSED, "properties": {"a": {"type": "integer"}}}
    bodies: list[dict[str, Any]] = []

    def drops_hard(body: dict[str, Any]) -> str:
        bodies.append(body)
        hard_asked = '"integer"' in str(body.get("response_format", "")).replace("'", '"')
        return '{"free": "text"}' if hard_asked else '{"a": "b"}'

    requests = [asking(str(n), response_schema=schema) for n in range(3) for schema in (CLOSED, hard)]
    ask(MockServer(drops_hard), *requests)
    asked = [body["response_format"]["type"] for body in bodies]
    assert asked == ["json_schema"] * 5 + ["json_object"]
    assert "JSON Schema" in bodies[-1]["messages"][-1]["content"]


def test_a_reply_that_is_only_too_long_is_no_sign_of_disobedience() -> None:
    short = {**CLOSED, "properties": {"a": {"type": "string", "maxLength": 1}}}
    picky = Picky(lambda body: None, answer='{"a": "much too long"}')
    ask(MockServer(picky), *[asking(str(n), response_schema=short) for n in range(5)])
    assert {body["response_format"]["type"] for body in picky.bodies} == {"json_schema"}


def test_a_server_without_seeds_gets_none() -> None:
    picky = Picky(lambda body: "seed: Extra inputs are not permitted" if "seed" in body else None)
    ask(MockServer(picky), asking(sampling=Sampling(temperature=1, max_tokens=9, seed=4)))
    assert "seed" not in picky.bodies[-1]


@pytest.mark.parametrize(
    ("options", "request_", "kind"),
    [
        ({"key": KEY}, asking(), AuthenticationFailed),
        ({"model": "m"}, asking(model="other"), ModelNotFound),
        ({"context": 50}, asking("x" * 1000), ContextOverflow),
        ({"faults": Faults(1.0, ("429",))}, asking(), RateLimited),
        ({"faults": Faults(1.0, ("500",))}, asking(), ServerFailed),
        ({"faults": Faults(1.0, ("cut",))}, asking(), ReplyCut),
        ({"faults": Faults(1.0, ("truncated",))}, asking(), ReplyCut),
        ({"faults": Faults(1.0, ("stall",))}, asking(), ModelTimeout),
    ],
)
def test_what_goes_wrong_at_the_server_is_told_apart(
    options: dict[str, Any], request_: ChatRequest, kind: type[ModelError]
) -> None:
    with pytest.raises(kind) as caught:
        ask(MockServer(["hello"], **options), request_, key="sk-wrong-wrong", timeout_s=0.3)
    assert "sk-wrong-wrong" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_retry_after_comes_with_the_error() -> None:
    with pytest.raises(RateLimited) as caught:
        ask(MockServer(["x"], faults=Faults(1.0, ("429",)), retry_after_s=2.5), asking())
    assert caught.value.retry_after_s == 2.5


def test_the_missing_model_is_named() -> None:
    with pytest.raises(ModelNotFound, match="does not serve the model 'other'"):
        ask(MockServer(["hello"], model="m"), asking(model="other"))


def test_an_unreachable_endpoint_is_a_server_failure_that_says_what_to_do() -> None:
    async def run() -> None:
        async with EndpointModel("m", "http://127.0.0.1:1") as model:
            await model.complete(asking())

    with pytest.raises(ServerFailed, match=r"cannot reach .* is the server running\?"):
        asyncio.run(run())


def test_a_host_that_lets_no_connection_through_was_never_asked() -> None:
    async def run(port: int) -> None:
        async with EndpointModel("m", f"http://127.0.0.1:{port}", timeout_s=0.4) as model:
            await model.complete(asking())

    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)  # Linux then takes no connection beyond the first that nobody accepts
        for one in (first, second):
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        with pytest.raises(ServerFailed, match=r"cannot reach .* \(no connection within 0\.2 s\)") as caught:
            asyncio.run(run(full.getsockname()[1]))
    assert not caught.value.may_have_answered


def test_a_connection_that_breaks_after_the_request_may_have_been_answered() -> None:
    with pytest.raises(ServerFailed, match="broke") as caught:
        raw_answer(b"")
    assert caught.value.may_have_answered


def test_a_reply_that_was_cut_inside_a_character_is_read() -> None:
    body = rb'{"model": "m", "choices": [{"message": {"content": "so \ud83d"}, "finish_reason": "length"}]}'
    assert raw_answer(whole(body)).text == "so \ufffd"


def test_an_answer_under_another_name_keeps_the_name_that_has_the_price() -> None:
    body = rb'{"model": "gpt-4o-2024-08-06", "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}'
    reply = raw_answer(whole(body))
    assert (reply.model, reply.asked) == ("gpt-4o-2024-08-06", "m")


def raw_answer(answer: bytes) -> ChatReply:
    """Ask a server that writes ``answer`` to every request and hangs up."""

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def run() -> ChatReply:
        server = await asyncio.start_server(respond, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, EndpointModel("m", f"http://127.0.0.1:{port}", key=KEY) as model:
            return await model.complete(asking(model="m"))

    return asyncio.run(run())


def whole(body: bytes, status: bytes = b"200 OK", more: bytes = b"") -> bytes:
    return b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s" % (status, more, len(body), body)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"", ServerFailed),
        (b"garbage\r\n\r\n", ServerFailed),
        (whole(b"<html>hello</html>"), RequestRefused),
        (whole(b'{"object": "list"}'), RequestRefused),
        (whole(b'{"choices": [{"mess'), ReplyCut),
        (whole(b'{"error": {"code": 429, "message": "slow down"}}'), RateLimited),
        (whole(b'{"error": {"message": "upstream broke"}}'), ServerFailed),
        (whole(b"", b"302 Found", b"Location: https://elsewhere/v1\r\n"), RequestRefused),
    ],
)
def test_a_strange_answer_is_told_apart_and_shows_no_key(answer: bytes, kind: type[ModelError]) -> None:
    with pytest.raises(kind) as caught:
        raw_answer(answer)
    chain: BaseException | None = caught.value
    while chain is not None:
        assert KEY not in repr(chain)
        chain = chain.__cause__


def test_the_key_is_not_in_the_representation() -> None:
    model = EndpointModel("m", "http://host", key=KEY)
    assert KEY not in repr(model)


def test_cancelling_a_request_ends_it_at_once() -> None:
    async def run() -> None:
        server = MockServer(["x"], faults=Faults(1.0, ("stall",)))
        async with server, EndpointModel("m", server.base_url) as model:
            task = asyncio.create_task(model.complete(asking()))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(asyncio.wait_for(run(), 2))


def test_every_fault_kind_of_the_mock_is_transient() -> None:
    kinds: tuple[FaultKind, ...] = ("429", "500", "cut", "truncated")
    for kind in kinds:
        with pytest.raises(ModelError) as caught:
            ask(MockServer(["x"], faults=Faults(1.0, (kind,))), asking())
        assert type(caught.value).__mro__[1].__name__ == "TransientModelError"

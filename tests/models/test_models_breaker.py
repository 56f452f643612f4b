"""When single refusals become the end of a run."""

import asyncio

import pytest

from simia.errors import (
    ConfigError,
    ContextOverflow,
    EndpointLost,
    ModelError,
    ModelTimeout,
    RequestRefused,
    ServerFailed,
    StructuredOutputUnsupported,
)
from simia.models.breaker import BreakingModel
from simia.models.scripted import Answer, ScriptedModel
from simia.types import ChatReply, ChatRequest, Sampling, UserMessage


def refused(number: int = 0) -> RequestRefused:
    return RequestRefused(f"http://host refused the request (status 400): no tools for you (request id r{number})")


def ask(
    *answers: Answer, refusals: int = 3, patience_s: float = 0.0, probe_s: float = 60.0
) -> list[type[BaseException] | str]:
    """What came of each of so many requests."""
    came: list[type[BaseException] | str] = []

    async def run() -> None:
        model = BreakingModel(ScriptedModel(list(answers)), refusals=refusals, patience_s=patience_s, probe_s=probe_s)
        for number in range(len(answers)):
            request = ChatRequest(
                model=model.name,
                messages=(UserMessage(content=str(number)),),
                sampling=Sampling(temperature=1, max_tokens=9),
            )
            try:
                reply: ChatReply = await model.complete(request)
                came.append(reply.text)
            except (ModelError, ConfigError) as error:
                came.append(type(error))

    asyncio.run(run())
    return came


def test_equal_refusals_and_nothing_else_end_the_run() -> None:
    assert ask(*map(refused, range(4))) == [RequestRefused, RequestRefused, ConfigError, ConfigError]


def test_the_end_says_what_was_refused_and_what_to_do() -> None:
    model = BreakingModel(ScriptedModel(lambda request: refused()), refusals=1)
    request = ChatRequest(model="m", messages=(), sampling=Sampling(temperature=1, max_tokens=9))
    with pytest.raises(ConfigError, match=r"no tools for you .* --resume"):
        asyncio.run(model.complete(request))


def test_one_answer_between_them_begins_the_count_anew() -> None:
    came = ask(refused(), refused(), "yes", refused(), refused())
    assert came == [RequestRefused, RequestRefused, "yes", RequestRefused, RequestRefused]


def test_refusals_for_different_reasons_are_those_of_their_items() -> None:
    reasons = [RequestRefused("refused: one"), RequestRefused("refused: another")] * 3
    assert ask(*reasons) == [RequestRefused] * 6


@pytest.mark.parametrize(
    "error",
    [
        RequestRefused("the moderation of http://host will not answer this one text (status 403): flagged"),
        RequestRefused("a text in the request cannot be written as JSON: str is not valid UTF-8"),
        ContextOverflow("too long"),
    ],
)
def test_what_is_about_one_item_never_ends_the_run(error: ModelError) -> None:
    assert ask(*[error] * 6) == [type(error)] * 6


def test_an_endpoint_that_died_ends_the_run_whatever_its_last_words_were() -> None:
    gone: list[Answer] = [ServerFailed("broke"), ServerFailed("refused"), ModelTimeout("slow"), "too late"]
    assert ask(*gone) == [ServerFailed, ServerFailed, EndpointLost, EndpointLost]


def test_an_endpoint_that_is_back_is_found_by_one_request_now_and_then() -> None:
    gone: list[Answer] = [ServerFailed("away")] * 3
    assert ask(*gone, ServerFailed("still away"), "back", "and again", probe_s=0.0) == [
        ServerFailed,
        ServerFailed,
        EndpointLost,
        EndpointLost,
        "back",
        "and again",
    ]


def test_a_refusal_is_a_sign_of_life_of_an_endpoint_that_was_lost() -> None:
    gone: list[Answer] = [ServerFailed("away")] * 3
    assert ask(*gone, refused(), "back", probe_s=0.0)[-2:] == [RequestRefused, "back"]


def test_until_then_nobody_asks_an_endpoint_that_was_lost() -> None:
    model = ScriptedModel(lambda request: ServerFailed("away"))
    breaking = BreakingModel(model, refusals=1, patience_s=0.0, probe_s=3600.0)
    request = ChatRequest(model="m", messages=(), sampling=Sampling(temperature=1, max_tokens=9))

    async def run() -> list[object]:
        return await asyncio.gather(*(breaking.complete(request) for _ in range(5)), return_exceptions=True)

    assert [type(error) for error in asyncio.run(run())] == [EndpointLost] * 5
    assert len(model.requests) == 1


def test_a_short_outage_ends_no_run() -> None:
    assert ask(*[ServerFailed("away")] * 30, patience_s=60.0) == [ServerFailed] * 30


def test_an_endpoint_that_answers_now_and_then_is_alive() -> None:
    came = ask(ServerFailed("a"), ServerFailed("b"), "yes", ServerFailed("c"), ServerFailed("d"))
    assert came == [ServerFailed, ServerFailed, "yes", ServerFailed, ServerFailed]


def test_a_server_that_refuses_every_schema_ends_the_run() -> None:
    error = StructuredOutputUnsupported("http://host refuses the JSON Schema of the reply: set structured to off")
    assert ask(error, error, error)[-1] is ConfigError

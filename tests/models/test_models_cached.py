"""The reply cache."""

import asyncio
from collections.abc import Iterator

import pytest

from simia.errors import DiskFull, ServerFailed
from simia.models.cached import CachedModel
from simia.models.scripted import Answer, ScriptedModel
from simia.types import ChatReply, ChatRequest, Sampling, UserMessage


def asking(seed: int = 0) -> ChatRequest:
    sampling = Sampling(temperature=1, max_tokens=9, seed=seed)
    return ChatRequest(model="scripted", messages=(UserMessage(content="hi"),), sampling=sampling)


class Journal:
    """A journal in memory that notes when it was written."""

    def __init__(self, events: list[str] | None = None, error: Exception | None = None) -> None:
        self.kept: dict[str, ChatReply] = {}
        self.events = events if events is not None else []
        self.error = error

    def get(self, request_id: str) -> ChatReply | None:
        return self.kept.get(request_id)

    async def put(self, request_id: str, reply: ChatReply) -> None:
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        self.kept[request_id] = reply
        self.events.append("kept")


def test_a_reply_is_kept_before_it_is_returned() -> None:
    events: list[str] = []

    async def run() -> None:
        await CachedModel(ScriptedModel(["answer"]), Journal(events)).complete(asking())
        events.append("returned")

    asyncio.run(run())
    assert events == ["kept", "returned"]


def test_a_kept_reply_is_not_asked_for_again() -> None:
    inner = ScriptedModel(["answer"])
    model = CachedModel(inner, Journal())

    async def run() -> list[str]:
        return [(await model.complete(asking())).text for _ in range(3)]

    assert asyncio.run(run()) == ["answer"] * 3
    assert len(inner.requests) == 1


def test_equal_requests_at_the_same_time_are_asked_once() -> None:
    async def slowly(request: ChatRequest) -> Answer:
        await asyncio.sleep(0.01)
        return "answer"

    inner = ScriptedModel(slowly)
    model = CachedModel(inner, Journal())

    async def run() -> list[ChatReply]:
        return await asyncio.gather(*(model.complete(asking()) for _ in range(20)))

    assert len(asyncio.run(run())) == 20
    assert len(inner.requests) == 1


def test_another_seed_is_another_draw() -> None:
    inner = ScriptedModel(["a", "b"])
    model = CachedModel(inner, Journal())

    async def run() -> list[str]:
        return [(await model.complete(asking(seed))).text for seed in (1, 2, 1)]

    assert asyncio.run(run()) == ["a", "b", "a"]


def test_an_error_is_not_kept() -> None:
    model = CachedModel(ScriptedModel([ServerFailed("500"), "answer"]), Journal())

    async def run() -> str:
        with pytest.raises(ServerFailed):
            await model.complete(asking())
        return (await model.complete(asking())).text

    assert asyncio.run(run()) == "answer"


def test_when_the_first_asker_fails_the_next_one_asks() -> None:
    answers: Iterator[Answer] = iter([ServerFailed("500"), "answer"])

    async def slowly(request: ChatRequest) -> Answer:
        await asyncio.sleep(0.01)
        return next(answers)

    model = CachedModel(ScriptedModel(slowly), Journal())

    async def run() -> list[object]:
        return list(await asyncio.gather(*(model.complete(asking()) for _ in range(2)), return_exceptions=True))

    first, second = asyncio.run(run())
    assert isinstance(first, ServerFailed)
    assert isinstance(second, ChatReply)


def test_a_reply_that_cannot_be_kept_is_not_returned() -> None:
    model = CachedModel(ScriptedModel(["answer"]), Journal(error=DiskFull("full")))
    with pytest.raises(DiskFull):
        asyncio.run(model.complete(asking()))

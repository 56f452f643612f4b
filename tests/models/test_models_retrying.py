"""Trying again."""

import asyncio
import random
import time

import pytest

from simia.errors import (
    ContextOverflow,
    ModelError,
    ModelTimeout,
    RateLimited,
    ReplyCut,
    ServerFailed,
    TransientModelError,
)
from simia.models.retrying import RetryingModel
from simia.models.scripted import Answer, ScriptedModel
from simia.types import ChatReply, ChatRequest, Sampling, UserMessage

REQUEST = ChatRequest(
    model="scripted", messages=(UserMessage(content="hi"),), sampling=Sampling(temperature=1, max_tokens=9)
)


def always(error: ModelError) -> ScriptedModel:
    return ScriptedModel(lambda request: error)


def ask(model: RetryingModel) -> ChatReply:
    return asyncio.run(model.complete(REQUEST))


@pytest.mark.parametrize(
    "error", [RateLimited("busy", 0.0), RateLimited("busy"), ServerFailed("500"), ModelTimeout("slow"), ReplyCut("cut")]
)
def test_a_transient_failure_is_tried_again(error: TransientModelError) -> None:
    inner = ScriptedModel([error, error, "answer"])
    assert ask(RetryingModel(inner, first_s=0.001)).text == "answer"
    assert len(inner.requests) == 3


def test_a_permanent_failure_is_not_tried_again() -> None:
    inner = ScriptedModel([ContextOverflow("too long"), "never"])
    with pytest.raises(ContextOverflow):
        ask(RetryingModel(inner, first_s=0.001))
    assert len(inner.requests) == 1


def test_the_budget_is_a_time_and_not_a_number_of_tries() -> None:
    inner = always(ServerFailed("500"))
    began = time.monotonic()
    with pytest.raises(ServerFailed, match="given up after"):
        ask(RetryingModel(inner, retry_for_s=0.2, first_s=0.01, longest_s=0.02))
    assert 0.19 < time.monotonic() - began < 1.0
    assert len(inner.requests) > 8


def test_without_a_budget_nothing_is_tried_again() -> None:
    inner = always(ServerFailed("500"))
    with pytest.raises(ServerFailed, match="after 1 try"):
        ask(RetryingModel(inner, retry_for_s=0))


def test_a_slow_first_failure_takes_nothing_from_the_budget() -> None:
    answers = iter([0.15, 0.0])

    async def slow_then_good(request: ChatRequest) -> Answer:
        wait = next(answers)
        await asyncio.sleep(wait)
        return ModelTimeout("slow") if wait else "answer"

    assert ask(RetryingModel(ScriptedModel(slow_then_good), retry_for_s=0.1, first_s=0.01)).text == "answer"


def test_retry_after_is_waited_for() -> None:
    waits: list[float] = []
    inner = ScriptedModel([RateLimited("busy", 0.15), "answer"])
    ask(RetryingModel(inner, first_s=0.001, on_wait=lambda error, wait: waits.append(wait)))
    assert 0.15 <= waits[0] < 0.16


def test_a_retry_after_beyond_the_budget_gives_up_at_once() -> None:
    began = time.monotonic()
    with pytest.raises(RateLimited, match="given up"):
        ask(RetryingModel(always(RateLimited("busy", 3600.0)), retry_for_s=10))
    assert time.monotonic() - began < 1


def test_delays_double_up_to_the_longest_and_are_jittered() -> None:
    waits: list[float] = []
    inner = ScriptedModel([*[ServerFailed("500")] * 6, "answer"])
    model = RetryingModel(
        inner, first_s=0.001, longest_s=0.008, rng=random.Random(1), on_wait=lambda error, wait: waits.append(wait)
    )
    ask(model)
    wholes = [0.001, 0.002, 0.004, 0.008, 0.008, 0.008]
    assert all(whole / 2 <= wait <= whole for wait, whole in zip(waits, wholes, strict=True))
    assert len(set(waits)) == 6


def test_cancelling_ends_a_wait_at_once() -> None:
    async def cancelled() -> float:
        task = asyncio.create_task(RetryingModel(always(ServerFailed("500")), first_s=60.0).complete(REQUEST))
        await asyncio.sleep(0.01)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - began

    assert asyncio.run(cancelled()) < 0.5

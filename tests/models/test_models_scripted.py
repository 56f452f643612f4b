"""The scripted model."""

import asyncio

import pytest

from simia.errors import ContextOverflow
from simia.models.scripted import Answer, ScriptedModel
from simia.types import ChatReply, ChatRequest, Sampling, UserMessage

REQUEST = ChatRequest(
    model="scripted", messages=(UserMessage(content="hi"),), sampling=Sampling(temperature=1, max_tokens=9)
)


def ask(model: ScriptedModel) -> ChatReply:
    return asyncio.run(model.complete(REQUEST))


def test_answers_come_in_order() -> None:
    model = ScriptedModel(["a", "b"])
    assert [ask(model).text, ask(model).text] == ["a", "b"]


def test_json_becomes_text() -> None:
    assert ask(ScriptedModel([{"a": [1]}])).text == '{"a":[1]}'


def test_an_error_is_raised() -> None:
    with pytest.raises(ContextOverflow):
        ask(ScriptedModel([ContextOverflow("too long")]))


def test_a_function_sees_the_request() -> None:
    assert ask(ScriptedModel(lambda request: request.messages[0].content + "!")).text == "hi!"


def test_a_function_may_be_async() -> None:
    async def answer(request: ChatRequest) -> Answer:
        await asyncio.sleep(0)
        return "later"

    assert ask(ScriptedModel(answer)).text == "later"


def test_a_script_that_is_used_up_says_so() -> None:
    with pytest.raises(IndexError, match="no answer for request 1"):
        ask(ScriptedModel([]))


def test_what_was_asked_is_kept() -> None:
    model = ScriptedModel(["a"])
    ask(model)
    assert model.requests == [REQUEST]

"""The bodies of requests."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.errors import RequestRefused
from simia.formats import openai
from simia.models.wire import ByIdentity, Dialect, Mode, RequestWriter
from simia.types import (
    AssistantMessage,
    ChatRequest,
    Message,
    Sampling,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)

ALL = Dialect(modes=("schema", "json_object", "off"))
OPEN_SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
CLOSED_SCHEMA = {**OPEN_SCHEMA, "required": ["a"], "additionalProperties": False}


def asking(*messages: Message, **more: Any) -> ChatRequest:
    sampling = more.pop("sampling", Sampling(temperature=0.5, max_tokens=7))
    return ChatRequest(model="m", messages=messages or (UserMessage(content="hi"),), sampling=sampling, **more)


def body(request: ChatRequest, dialect: Dialect = ALL, mode: Mode = "off") -> dict[str, Any]:
    value: dict[str, Any] = orjson.loads(RequestWriter().body(request, dialect, mode))
    return value


texts = st.text(st.characters(exclude_categories=["Cs"]))
messages = st.lists(
    st.one_of(
        texts.map(lambda text: SystemMessage(content=text)),
        texts.map(lambda text: UserMessage(content=text)),
        texts.map(lambda text: AssistantMessage(content=text, tool_calls=(ToolCall(id="c", name="f", arguments={}),))),
        texts.map(lambda text: ToolMessage(call_id="c", name="f", content=text)),
    ),
    max_size=5,
)


@settings(max_examples=100, deadline=None)
@given(messages=messages)
def test_the_lean_spelling_of_messages_is_the_plain_one(messages: list[Message]) -> None:
    request = ChatRequest(model="m", messages=tuple(messages), sampling=Sampling(temperature=1, max_tokens=1))
    assert body(request)["messages"] == openai.render_messages(messages)


def test_no_default_of_the_provider_decides_the_draw() -> None:
    sent = body(asking())
    assert (sent["temperature"], sent["max_tokens"], sent["top_p"]) == (0.5, 7, 1.0)


def test_a_seed_and_stops_are_sent_only_when_asked_for() -> None:
    assert not {"seed", "stop"} & body(asking()).keys()
    sent = body(asking(sampling=Sampling(temperature=1, max_tokens=1, seed=3, stop=("X",))))
    assert (sent["seed"], sent["stop"]) == (3, ["X"])


def test_tools_are_spelled_as_functions() -> None:
    tool = ToolSpec(name="find", parameters={"type": "object"}, source="secret code")
    sent = body(asking(tools=(tool,)))
    assert sent["tools"] == [tool.as_openai()]
    assert "secret code" not in str(sent)


@pytest.mark.parametrize(("schema", "strict"), [(OPEN_SCHEMA, False), (CLOSED_SCHEMA, True)])
def test_strict_is_asked_for_only_where_vendors_take_it(schema: dict[str, Any], strict: bool) -> None:
    wrapped = body(asking(response_schema=schema), mode="schema")["response_format"]["json_schema"]
    assert (wrapped["strict"], wrapped["schema"]) == (strict, schema)


@pytest.mark.parametrize("mode", ["json_object", "off"])
def test_a_server_without_schemas_is_asked_in_words_at_the_end(mode: Mode) -> None:
    request = asking(SystemMessage(content="policy"), UserMessage(content="task"), response_schema=OPEN_SCHEMA)
    sent = body(request, mode=mode)
    assert sent["messages"][0]["content"] == "policy"
    assert sent["messages"][-1]["content"].startswith("task\n\nAnswer with one JSON document")
    assert orjson.dumps(OPEN_SCHEMA).decode() in sent["messages"][-1]["content"]


def test_the_instruction_is_a_message_of_its_own_after_a_reply() -> None:
    sent = body(asking(AssistantMessage(content="x"), response_schema=OPEN_SCHEMA), mode="off")
    assert [message["role"] for message in sent["messages"]] == ["assistant", "user"]


def test_a_schema_that_one_server_cannot_compile_is_asked_for_in_words_alone() -> None:
    writer = RequestWriter()
    hard, easy = asking(response_schema=OPEN_SCHEMA), asking(response_schema=CLOSED_SCHEMA)
    assert hard.response_schema is not None
    writer.step_down(hard.response_schema, "schema")
    assert (writer.mode(hard, ALL), writer.mode(easy, ALL)) == ("json_object", "schema")


def test_a_text_that_is_no_unicode_is_refused_with_a_reason() -> None:
    with pytest.raises(RequestRefused, match="cannot be written as JSON"):
        body(asking(UserMessage(content="\ud800")))


def test_what_was_made_of_tools_is_found_for_a_copy_of_the_tuple() -> None:
    known: ByIdentity[tuple[ToolSpec, ...], str] = ByIdentity()
    tool = ToolSpec(name="a", parameters={})
    known.put((tool,), "made")
    assert known.get((tool,)) == "made"
    assert known.get((ToolSpec(name="b", parameters={}),)) is None


def test_what_was_made_is_forgotten_beyond_the_size() -> None:
    known: ByIdentity[dict[str, Any], int] = ByIdentity(size=2)
    schemas: list[dict[str, Any]] = [{"a": [n]} for n in range(3)]
    for number, schema in enumerate(schemas):
        known.put(schema, number)
    assert [known.get(schema) for schema in schemas] == [None, 1, 2]


def test_integers_beyond_64_bits_in_tools_and_schema_are_sent_exactly() -> None:
    long = 12345678901234567890123
    schema = {"type": "object", "properties": {"a": {"enum": [long]}}}
    request = asking(tools=(ToolSpec(name="pay", parameters=schema),), response_schema=schema)
    assert RequestWriter().body(request, ALL, "schema").count(b"%d" % long) == 2

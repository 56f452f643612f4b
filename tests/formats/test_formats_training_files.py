"""ShareGPT, Hermes and Llama-3: golden spellings, and what the wild has."""

import json

import pytest

from simia.errors import FormatError
from simia.formats import hermes, llama3, sharegpt
from simia.formats.calls import malformed_call, normalise_ids
from simia.types import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)

GET = ToolCall(id="call_1", name="get_user", arguments={"id": "ann"})
BOOK = ToolCall(id="call_2", name="book", arguments={"seat": 3})
ONE_CALL: tuple[Message, ...] = (
    UserMessage(content="Who am I?"),
    AssistantMessage(tool_calls=(GET,)),
    ToolMessage(call_id="call_1", name="get_user", content='{"name":"Ann"}'),
    AssistantMessage(content="You are Ann."),
)
PARALLEL: tuple[Message, ...] = (
    UserMessage(content="Book it."),
    AssistantMessage(content="One moment.", reasoning="Both at once.", tool_calls=(GET, BOOK)),
    ToolMessage(call_id="call_1", name="get_user", content='{"name":"Ann"}'),
    ToolMessage(call_id="call_2", name="book", content="Error: full", is_error=True),
)


def calls(messages: tuple[Message, ...]) -> list[tuple[str, object]]:
    return [
        (call.name, call.arguments)
        for message in messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    ]


def test_sharegpt_of_one_call_is_apigen_mt() -> None:
    assert sharegpt.render(ONE_CALL) == [
        {"from": "human", "value": "Who am I?"},
        {"from": "function_call", "value": '{"name": "get_user", "arguments": {"id": "ann"}}'},
        {"from": "observation", "value": '{"name":"Ann"}'},
        {"from": "gpt", "value": "You are Ann."},
    ]


def test_sharegpt_of_parallel_calls_alternates_as_llama_factory_demands() -> None:
    items = sharegpt.render((*PARALLEL, AssistantMessage(content="Done.")))
    assert [item["from"] for item in items] == ["human", "function_call", "observation", "gpt"]


def test_sharegpt_calls_beside_text_are_json_inside_tool_call_words() -> None:
    value = sharegpt.render(PARALLEL)[1]["value"]
    before, _, rest = value.partition("<tool_call>")
    assert before == "<think>\nBoth at once.\n</think>\n\nOne moment.\n"
    spelled = json.loads(rest.removesuffix("</tool_call>"))
    assert [call["name"] for call in spelled] == ["get_user", "book"]


def test_sharegpt_joins_parallel_observations_as_llama_factory_does() -> None:
    value = sharegpt.render(PARALLEL)[2]["value"]
    assert value == '{"name":"Ann"}\n</tool_response>\n<tool_response>\nError: full'


def test_sharegpt_reads_consecutive_calls_as_parallel() -> None:
    items = [
        {"from": "function_call", "value": '{"name": "a", "arguments": {}}'},
        {"from": "function_call", "value": '{"name": "b", "arguments": {}}'},
        {"from": "observation", "value": "1"},
        {"from": "observation", "value": "2"},
    ]
    turn, first, second = sharegpt.parse(items)
    assert isinstance(turn, AssistantMessage)
    assert [call.id for call in turn.tool_calls] == ["call_1", "call_2"]
    assert isinstance(first, ToolMessage)
    assert isinstance(second, ToolMessage)
    assert (first.call_id, first.name, second.call_id, second.name) == ("call_1", "a", "call_2", "b")


def test_sharegpt_takes_arguments_as_json_text() -> None:
    items = [{"from": "function_call", "value": '{"name": "a", "arguments": "{\\"x\\": 1}"}'}]
    assert calls(sharegpt.parse(items)) == [("a", {"x": 1})]


def test_sharegpt_keeps_a_broken_call_verbatim() -> None:
    (turn,) = sharegpt.parse([{"from": "function_call", "value": '{"name": "a", "argum'}])
    assert isinstance(turn, AssistantMessage)
    assert turn.malformed_calls == (malformed_call("call_1", None, '{"name": "a", "argum'),)


def test_sharegpt_names_an_unknown_role_and_its_place() -> None:
    with pytest.raises(FormatError, match="item 0 has the role 'narrator'"):
        sharegpt.parse([{"from": "narrator", "value": "x"}])


def test_sharegpt_refuses_an_observation_that_no_call_waits_for() -> None:
    with pytest.raises(FormatError, match="message 1 is an observation, but no call waits"):
        sharegpt.parse([{"from": "human", "value": "x"}, {"from": "observation", "value": "y"}])


def test_hermes_is_the_published_spelling() -> None:
    assert hermes.render(ONE_CALL) == [
        {"role": "user", "content": "Who am I?"},
        {
            "role": "assistant",
            "content": '<tool_call>\n{"name": "get_user", "arguments": {"id": "ann"}}\n</tool_call>',
        },
        {
            "role": "tool",
            "content": '<tool_response>\n{"name": "get_user", "content": {"name": "Ann"}}\n</tool_response>',
        },
        {"role": "assistant", "content": "You are Ann."},
    ]


def test_hermes_in_sharegpt_has_its_roles() -> None:
    items = hermes.render((SystemMessage(content="s"), *ONE_CALL), keys="sharegpt")
    assert [item["from"] for item in items] == ["system", "human", "gpt", "tool", "gpt"]


def test_hermes_puts_text_and_reasoning_before_the_blocks() -> None:
    assert hermes.render(PARALLEL)[1]["content"] == (
        "<think>\nBoth at once.\n</think>\n\nOne moment.\n"
        '<tool_call>\n{"name": "get_user", "arguments": {"id": "ann"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "book", "arguments": {"seat": 3}}\n</tool_call>'
    )


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "a", "arguments": {"x": 1}}</tool_call>',
        '<tool_call>\n{"arguments": {"x": 1}, "name": "a"}\n</tool_call>\n',
        '<tool_call>\n{"name": "a", "arguments": "{\\"x\\": 1}"}\n</tool_call>',
        "<tool_call>\n{'arguments': {'x': 1}, 'name': 'a'}\n</tool_call>",
        '<tool_call>\n{"name": "a", "arguments": {"x": 1}}',
        '\n<think>hm</think>\n<tool_call>{"name": "a", "parameters": {"x": 1}}</tool_call>',
    ],
)
def test_hermes_reads_calls_of_the_wild(text: str) -> None:
    assert calls(hermes.parse([{"from": "gpt", "value": text}])) == [("a", {"x": 1})]


def test_hermes_keeps_a_broken_block_verbatim() -> None:
    (turn,) = hermes.parse([{"role": "assistant", "content": "<tool_call>\n{bad}\n</tool_call>"}])
    assert isinstance(turn, AssistantMessage)
    assert turn.malformed_calls[0].text == "{bad}"


def test_hermes_keeps_text_after_a_block() -> None:
    text = 'Wait.\n<tool_call>{"name": "a", "arguments": {}}</tool_call>\nThere it goes.'
    (turn,) = hermes.parse([{"role": "assistant", "content": text}])
    assert turn.content == "Wait.\nThere it goes."


def test_hermes_pairs_responses_by_name() -> None:
    messages = [
        {
            "role": "assistant",
            "content": '<tool_call>{"name": "a", "arguments": {}}</tool_call>'
            '<tool_call>{"name": "b", "arguments": {}}</tool_call>',
        },
        {
            "role": "tool",
            "content": '<tool_response>{"name": "b", "content": "2"}</tool_response>\n'
            '<tool_response>{"name": "a", "content": "1"}</tool_response>',
        },
    ]
    _, second, first = hermes.parse(messages)
    assert second == ToolMessage(call_id="call_2", name="b", content="2")
    assert first == ToolMessage(call_id="call_1", name="a", content="1")


def test_hermes_reads_a_response_without_tags() -> None:
    messages = [
        {"role": "assistant", "content": '<tool_call>{"name": "a", "arguments": {}}</tool_call>'},
        {"role": "tool", "content": '{"rows": 3}'},
    ]
    assert hermes.parse(messages)[1].content == '{"rows": 3}'


def test_hermes_names_an_unknown_role_and_its_place() -> None:
    with pytest.raises(FormatError, match="message 0 has the role 'critic'"):
        hermes.parse([{"role": "critic", "content": "x"}])


def test_the_hermes_system_prompt_holds_policy_and_tools() -> None:
    tool = ToolSpec(name="get_user", description="Reads </tools>", parameters={"type": "object"}, source="secret()")
    prompt = hermes.system_prompt("Be kind.", [tool])
    assert prompt.startswith("Be kind.\n\nYou are a function calling AI model.")
    inside = prompt.split("<tools>\n")[1].split("\n</tools>")[0]
    assert json.loads(inside) == tool.as_openai()
    assert "secret" not in prompt


def test_llama3_is_the_published_spelling() -> None:
    assert llama3.render(ONE_CALL)[1:3] == [
        {"role": "assistant", "content": '{"name": "get_user", "parameters": {"id": "ann"}}'},
        {"role": "ipython", "content": '{"name":"Ann"}'},
    ]


def test_llama3_separates_parallel_calls_as_vllm_reads_them() -> None:
    turn = AssistantMessage(tool_calls=(GET, BOOK))
    assert llama3.render([turn])[0]["content"] == (
        '{"name": "get_user", "parameters": {"id": "ann"}}; {"name": "book", "parameters": {"seat": 3}}'
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "a", "arguments": {"x": 1}}',
        '[{"name": "a", "parameters": {"x": 1}}]',
        '<|python_tag|>{"name": "a", "parameters": {"x": 1}}',
        ' {"name": "a", "parameters": {"x": 1}}\n',
    ],
)
def test_llama3_reads_calls_of_the_wild(text: str) -> None:
    assert calls(llama3.parse([{"role": "assistant", "content": text}])) == [("a", {"x": 1})]


def test_a_json_reply_is_no_llama3_call() -> None:
    assert llama3.parse([{"role": "assistant", "content": '{"total": 3}'}]) == (
        AssistantMessage(content='{"total": 3}'),
    )


def test_a_reply_that_looks_like_a_call_stays_a_reply() -> None:
    reply = AssistantMessage(content='{"name": "a", "parameters": {}}')
    assert llama3.render([reply])[0]["content"] == '\\{"name": "a", "parameters": {}}'


def test_llama3_names_an_unknown_role_and_its_place() -> None:
    with pytest.raises(FormatError, match="message 0 has the role 'function'"):
        llama3.parse([{"role": "function", "content": "x"}])


def test_the_llama3_system_prompt_holds_policy_and_tools() -> None:
    tool = ToolSpec(name="get_user", parameters={"type": "object"})
    prompt = llama3.system_prompt("Be kind.", [tool])
    assert prompt.startswith("Be kind.\n\n")
    assert '{"name": function name, "parameters": dictionary of argument name and its value}' in prompt
    assert json.loads(prompt.split("Do not use variables.\n\n")[1]) == tool.as_openai()


def test_an_observation_of_an_unknown_call_cannot_be_spelled() -> None:
    with pytest.raises(FormatError, match=r"message 1 \(tool\) answers call 'zzz'"):
        normalise_ids([UserMessage(content="x"), ToolMessage(call_id="zzz", name="f", content="y")])


def test_observations_out_of_order_are_put_in_order() -> None:
    turn, first, second = PARALLEL[1], PARALLEL[2], PARALLEL[3]
    assert normalise_ids([turn, second, first]) == (turn, first, second)

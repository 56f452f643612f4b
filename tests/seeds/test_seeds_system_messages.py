"""What system messages say: leading ones are the policy, none is lost."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from simia import seeds
from simia.errors import RecordError
from simia.formats import hermes
from simia.types import Seed, ToolSpec

LATE = "From now on, refund nothing."
TOOL = ToolSpec(name="get_user", description="Get a user.", parameters={"type": "object", "properties": {}})
SPELLED = orjson.dumps(TOOL.as_openai()).decode()
ASKED = {"from": "human", "value": "Check me, I am ann."}
ANSWERED = {"from": "gpt", "value": "All is well."}
CALLED = [
    {"from": "gpt", "value": '<tool_call>\n{"name": "get_user", "arguments": {}}\n</tool_call>'},
    {"from": "tool", "value": '<tool_response>\n{"name": "get_user", "content": {"ok": true}}\n</tool_response>'},
]
HEAD = (
    "You are a function calling AI model. You are provided with function signatures within <tools> </tools> XML tags. "
    "You may call one or more functions to assist with the user query. "
)
PUBLISHED = {
    "ours": hermes.system_prompt("", [TOOL]),
    "the card": f"{HEAD}Don't make assumptions about what values to plug into functions. Here are the available tools: "
    f"<tools> {SPELLED} </tools> Use the following pydantic model json schema for each tool call you will make: "
    '{"properties": {"arguments": {"title": "Arguments", "type": "object"}, "name": {"title": "Name", "type": "string"}'
    '}, "required": ["arguments", "name"], "title": "FunctionCall", "type": "object"}} For each function call return a '
    "json object with function name and arguments within <tool_call></tool_call> XML tags as follows:\n<tool_call>\n"
    '{"arguments": <args-dict>, "name": <function-name>}\n</tool_call>',
    "the data set": f"{HEAD}Don't make assumptions about what values to plug into functions.\n<tools>\n[{SPELLED}]\n"
    "</tools>\nFor each function call return a json object with function name and arguments within <tool_call> "
    "</tool_call> tags with the following schema:\n<tool_call>\n{'arguments': <args-dict>, 'name': <function-name>}\n"
    "</tool_call>\n",
    "the scratch pad": f"{HEAD}Don't make assumptions about what values to plug into functions.\n<tools>\n[{SPELLED}]\n"
    "</tools>\nFor each function call return a JSON object, with the following pydantic model json schema for each:\n"
    "{'title': 'FunctionCall', 'type': 'object', 'properties': {'name': {'title': 'Name', 'type': 'string'}, "
    "'arguments': {'title': 'Arguments', 'type': 'object'}}, 'required': ['arguments', 'name']}\nEach function call "
    "should be enclosed within <tool_call> </tool_call> XML tags. You must use <scratch_pad> </scratch_pad> XML tags "
    "to record your reasoning and planning before you call the functions as follows.\nExample:\n<scratch_pad>\nAgent's "
    "reasoning and planning\n</scratch_pad>\n<tool_call>\n{'arguments': <args-dict>, 'name': <function-name>}\n"
    "</tool_call>",
    "the agent": f"{HEAD}If available tools are not relevant in assisting with user query, just respond in natural "
    "conversational language. Don't make assumptions about what values to plug into functions. After calling & "
    "executing the functions, you will be provided with function results within <tool_response> </tool_response> XML "
    f"tags. Here are the available tools:\n<tools>\n{SPELLED}\n</tools>\nFor each function call return a JSON object, "
    "with the following pydantic model json schema for each:\n{'title': 'FunctionCall', 'type': 'object', 'properties':"
    " {'name': {'title': 'Name', 'type': 'string'}, 'arguments': {'title': 'Arguments', 'type': 'object'}}, 'required':"
    " ['name', 'arguments']}\nEach function call should be enclosed within <tool_call> </tool_call> XML tags.\nExample:"
    "\n<tool_call>\n{'name': <function-name>,'arguments': <args-dict>}\n</tool_call>",
}


def read(tmp_path: Path, *content: Any, **options: Any) -> tuple[list[Seed], list[RecordError]]:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, content)))
    bad: list[RecordError] = []
    return list(seeds.read(str(path), on_bad=bad.append, **options)), bad


def chat(*messages: Any) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": content} for role, content in messages], "tools": []}


def sharegpt(*items: Any, **others: Any) -> dict[str, Any]:
    return {"conversations": list(items), **others}


RECORDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "openai": (
        chat(("system", "Be kind."), ("user", "Hi."), ("assistant", "Hello.")),
        chat(("system", "Be kind."), ("user", "Hi."), ("system", LATE), ("assistant", "Hello.")),
    ),
    "sharegpt": (
        sharegpt(ASKED, ANSWERED, tools="[]"),
        sharegpt(ASKED, {"from": "system", "value": LATE}, ANSWERED, tools="[]"),
    ),
    "apigen_mt": (
        sharegpt(ASKED, ANSWERED, tools="[]", system="Be kind."),
        sharegpt(ASKED, {"from": "system", "value": LATE}, ANSWERED, tools="[]", system="Be kind."),
    ),
    "hermes": (
        sharegpt(ASKED, *CALLED, ANSWERED),
        sharegpt(ASKED, *CALLED, {"from": "system", "value": LATE}, ANSWERED),
    ),
    "agent_instruct": (
        sharegpt(ASKED, ANSWERED),
        sharegpt(ASKED, {"from": "system", "value": LATE}, ANSWERED),
    ),
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_with_a_system_message_in_the_middle_is_bad_and_the_next_is_read(tmp_path: Path, name: str) -> None:
    good, late = RECORDS[name]
    found, bad = read(tmp_path, good, late, good, format=name)
    assert len(found) == 2
    assert [error.line for error in bad] == [2]
    assert f"a system message stands in the middle of the conversation: '{LATE}'" in bad[0].reason


def test_several_leading_system_messages_are_the_policy(tmp_path: Path) -> None:
    (seed,), bad = read(tmp_path, chat(("system", "Be kind."), ("developer", "Be brief."), ("user", "Hi.")))
    assert (seed.world.policy, bad) == ("Be kind.\n\nBe brief.", [])


@pytest.mark.parametrize("name", ["sharegpt", "hermes", "agent_instruct"])
def test_a_system_text_beside_the_conversation_stands_before_the_leading_one(tmp_path: Path, name: str) -> None:
    record = sharegpt({"from": "system", "value": "Be brief."}, ASKED, *CALLED[:1], system="Be kind.")
    (seed,), bad = read(tmp_path, record, format=name)
    assert (seed.world.policy, bad) == ("Be kind.\n\nBe brief.", [])


def test_a_system_text_that_is_none_is_bad(tmp_path: Path) -> None:
    good = RECORDS["sharegpt"][0]
    _, bad = read(tmp_path, good, {**good, "system": ["Be kind."]}, format="sharegpt")
    assert [error.reason for error in bad] == ["'system' is no text: ['Be kind.']"]


@pytest.mark.parametrize("published", PUBLISHED)
@pytest.mark.parametrize(
    ("before", "behind", "policy"),
    [
        ("", "", ""),
        ("Be brief.\n\n", "", "Be brief."),
        (
            "",
            "\n\nCompany policy: never refund {more} than 50 EUR.",
            "Company policy: never refund {more} than 50 EUR.",
        ),
        ("Be brief.\n\n", "\nNever <b>refund</b>.\n\nBe kind.", "Be brief.\n\nNever <b>refund</b>.\n\nBe kind."),
    ],
)
def test_the_policy_of_a_hermes_record_is_what_stands_around_the_published_instructions(
    tmp_path: Path, published: str, before: str, behind: str, policy: str
) -> None:
    system = {"from": "system", "value": before + PUBLISHED[published] + behind}
    (seed,), bad = read(tmp_path, sharegpt(system, ASKED, *CALLED, ANSWERED))
    assert (seed.world.policy, bad) == (policy, [])
    assert [tool.name for tool in seed.world.tools] == ["get_user"]


def test_a_policy_between_the_published_sentences_is_kept(tmp_path: Path) -> None:
    text = f"You are a function calling AI model. <tools>{SPELLED}</tools>\n\nCompany policy: never refund."
    between = (
        PUBLISHED["ours"].replace("</tools> Use", "</tools>\nBe kind. Use").replace(" Here are", " Be brief. Here are")
    )
    found, bad = read(
        tmp_path,
        sharegpt({"from": "system", "value": text}, ASKED, *CALLED),
        sharegpt({"from": "system", "value": between}, ASKED, *CALLED),
    )
    assert [seed.world.policy for seed in found] == ["Company policy: never refund.", "Be brief.\n\nBe kind."]
    assert bad == []

"""Seed files in each format, detected and read; bad records named."""

import sys
from pathlib import Path
from typing import Any

import orjson
import pyarrow
import pyarrow.parquet
import pytest

from simia import seeds
from simia.errors import RecordError, SeedError
from simia.types import AssistantMessage, Seed, ToolMessage, UserMessage

GET_USER = {
    "name": "get_user",
    "description": "Get a user.",
    "parameters": {"type": "object", "properties": {"user_id": {"type": "string"}}, "required": ["user_id"]},
}
APIGEN_MT: dict[str, Any] = {
    "system": "# Airline Agent Policy\nBe kind.",
    "tools": orjson.dumps([GET_USER]).decode(),
    "conversations": [
        {"from": "human", "value": "Please check my profile, I am ann_lee_1."},
        {"from": "function_call", "value": '{"name": "get_user", "arguments": {"user_id": "ann_lee_1"}}'},
        {"from": "observation", "value": '{"name": "Ann Lee", "membership": "gold"}'},
        {"from": "gpt", "value": "You are a gold member, Ann."},
    ],
}
AGENT_INSTRUCT: dict[str, Any] = {
    "id": "os_7",
    "conversations": [
        {
            "from": "human",
            "loss": None,
            "value": "You are an assistant ... take exactly one of: bash, finish, answer(...)",
        },
        {"from": "gpt", "loss": False, "value": "Think: understood.\n\nAct: ok"},
        {"from": "human", "loss": None, "value": "How many files are in /opt?"},
        {"from": "gpt", "loss": True, "value": "Think: count them.\n\nAct: bash\n\n```bash\nls /opt | wc -l\n```"},
        {"from": "human", "loss": None, "value": "The output of the OS:\n3"},
        {"from": "gpt", "loss": True, "value": "Think: done.\n\nAct: answer(3)"},
    ],
}
OPENAI: dict[str, Any] = {
    "id": "own-1",
    "task": "Have your profile checked.",
    "tools": [{"type": "function", "function": GET_USER, "returns": {"type": "object"}}],
    "initial_state": {"users": {"ann": {}}},
    "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Check me, I am ann."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "get_user", "arguments": '{"user_id": "ann"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": '{"error": "no user ann"}'},
        {"role": "assistant", "content": "I cannot find you."},
    ],
}
HERMES: dict[str, Any] = {
    "id": "h-1",
    "conversations": [
        {
            "from": "system",
            "value": "Be brief.\n\nYou are a function calling AI model, with signatures in <tools></tools> XML tags. "
            f"<tools>\n{orjson.dumps({'type': 'function', 'function': GET_USER}).decode()}\n</tools>",
        },
        {"from": "human", "value": "Check me, I am ann."},
        {"from": "gpt", "value": '<tool_call>\n{"name": "get_user", "arguments": {"user_id": "ann"}}\n</tool_call>'},
        {"from": "tool", "value": '<tool_response>\n{"name": "get_user", "content": {"ok": true}}\n</tool_response>'},
        {"from": "gpt", "value": "All is well."},
    ],
}
RECORDS = {"apigen_mt": APIGEN_MT, "agent_instruct": AGENT_INSTRUCT, "openai": OPENAI, "hermes": HERMES}


def one(tmp_path: Path, record: Any, **options: Any) -> Seed:
    path = tmp_path / "seeds.jsonl"
    path.write_bytes(orjson.dumps(record))
    return next(seeds.read(str(path), **options))


def bad_records(path: Path, content: list[Any]) -> tuple[list[Seed], list[RecordError]]:
    path.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2))
    bad: list[RecordError] = []
    return list(seeds.read(str(path), on_bad=bad.append)), bad


def from_lines(path: Path, content: list[Any]) -> tuple[list[Seed], list[RecordError]]:
    path.write_bytes(b"\n".join(map(orjson.dumps, content)))
    bad: list[RecordError] = []
    return list(seeds.read(str(path), on_bad=bad.append)), bad


@pytest.mark.parametrize("name", RECORDS)
def test_each_format_is_detected_by_its_first_record(tmp_path: Path, name: str) -> None:
    path = tmp_path / "seeds.json"
    path.write_bytes(orjson.dumps([RECORDS[name]]))
    assert seeds.detect_format(path) == name


def test_sharegpt_without_a_system_text_is_not_taken_for_apigen_mt(tmp_path: Path) -> None:
    path = tmp_path / "seeds.json"
    path.write_bytes(orjson.dumps([{key: value for key, value in APIGEN_MT.items() if key != "system"}]))
    assert seeds.detect_format(path) == "sharegpt"


def test_an_apigen_mt_record_becomes_a_seed_with_policy_and_tools(tmp_path: Path) -> None:
    seed = one(tmp_path, APIGEN_MT)
    assert seed.world.policy == APIGEN_MT["system"]
    assert [tool.name for tool in seed.world.tools] == ["get_user"]
    assert [type(message) for message in seed.reference] == [
        UserMessage,
        AssistantMessage,
        ToolMessage,
        AssistantMessage,
    ]


def test_the_task_is_the_first_user_message_where_none_is_declared(tmp_path: Path) -> None:
    assert one(tmp_path, APIGEN_MT).task == "Please check my profile, I am ann_lee_1."


def test_apigen_mt_forbids_commercial_use_and_the_seed_says_so(tmp_path: Path) -> None:
    assert one(tmp_path, APIGEN_MT).licence == "CC-BY-NC-4.0"


def test_the_same_file_read_as_sharegpt_claims_no_licence(tmp_path: Path) -> None:
    assert one(tmp_path, APIGEN_MT, format="sharegpt").licence == "NOASSERTION"


@pytest.mark.parametrize("name", RECORDS)
def test_a_licence_that_is_given_overrides_the_formats(tmp_path: Path, name: str) -> None:
    seed = one(tmp_path, RECORDS[name], licence="MIT")
    assert (seed.licence, seed.world.licence) == ("MIT", "MIT")


def test_agent_instruct_keeps_text_actions_and_takes_acknowledged_instructions_for_the_policy(tmp_path: Path) -> None:
    seed = one(tmp_path, AGENT_INSTRUCT)
    assert seed.world.policy == AGENT_INSTRUCT["conversations"][0]["value"]
    assert seed.task == "How many files are in /opt?"
    assert seed.world.tools == ()
    assert len(seed.reference) == 4
    assert (seed.licence, seed.metadata["split"]) == ("Apache-2.0", "os")


def test_an_openai_record_keeps_task_state_and_result_schemas(tmp_path: Path) -> None:
    seed = one(tmp_path, OPENAI)
    assert (seed.id, seed.task) == ("own-1", "Have your profile checked.")
    assert seed.initial_state == {"users": {"ann": {}}}
    assert seed.world.tools[0].returns == {"type": "object"}


def test_the_policy_of_an_openai_record_leaves_the_reference(tmp_path: Path) -> None:
    seed = one(tmp_path, OPENAI)
    assert seed.world.policy == "Be kind."
    assert seed.reference[0] == UserMessage(content="Check me, I am ann.")


def test_an_error_result_is_known_by_its_text(tmp_path: Path) -> None:
    observation = one(tmp_path, OPENAI).reference[2]
    assert isinstance(observation, ToolMessage)
    assert observation.is_error


def test_tools_as_json_text_are_read_too(tmp_path: Path) -> None:
    seed = one(tmp_path, {**OPENAI, "tools": orjson.dumps(OPENAI["tools"]).decode()})
    assert seed.world.tools[0].name == "get_user"


def test_the_functions_of_an_older_record_are_its_tools(tmp_path: Path) -> None:
    record = {key: value for key, value in OPENAI.items() if key != "tools"}
    assert one(tmp_path, {**record, "functions": [GET_USER]}).world.tools[0].name == "get_user"


def test_tools_and_functions_in_one_record_are_a_bad_record(tmp_path: Path) -> None:
    _, bad = bad_records(tmp_path / "x.json", [OPENAI, {**OPENAI, "id": "own-2", "functions": [GET_USER]}])
    assert [error.reason for error in bad] == ["both 'tools' and 'functions' declare tools: keep one of the two"]


def test_a_hermes_record_gives_the_tools_of_its_system_message_and_the_policy_before_them(tmp_path: Path) -> None:
    seed = one(tmp_path, HERMES)
    assert seed.world.policy == "Be brief."
    assert [tool.name for tool in seed.world.tools] == ["get_user"]
    call = seed.reference[1]
    assert isinstance(call, AssistantMessage)
    assert call.tool_calls[0].arguments == {"user_id": "ann"}


def test_records_with_equal_declarations_share_one_world(tmp_path: Path) -> None:
    found, _ = bad_records(tmp_path / "x.json", [APIGEN_MT, APIGEN_MT])
    assert found[0].world is found[1].world


def test_the_second_record_of_an_id_is_bad_and_named_with_its_line(tmp_path: Path) -> None:
    other = {**OPENAI, "task": "Another task altogether."}
    found, bad = from_lines(tmp_path / "x.jsonl", [OPENAI, other, {**OPENAI, "id": "own-2"}])
    assert [(seed.id, seed.task) for seed in found] == [("own-1", OPENAI["task"]), ("own-2", OPENAI["task"])]
    assert [(error.line, error.reason) for error in bad] == [
        (2, "an earlier seed has the id 'own-1' too: give each its own, or none at all")
    ]


@pytest.mark.parametrize("name", RECORDS)
def test_records_whose_id_is_null_or_empty_are_told_apart_by_their_line(tmp_path: Path, name: str) -> None:
    found, bad = from_lines(tmp_path / "x.jsonl", [{**RECORDS[name], "id": None}, {**RECORDS[name], "id": ""}])
    assert [seed.id for seed in found] == ["x:1", "x:2"]
    assert bad == []


def test_a_parquet_file_of_agent_instruct_reads_as_its_json(tmp_path: Path) -> None:
    path = tmp_path / "os-00000-of-00001.parquet"
    pyarrow.parquet.write_table(
        pyarrow.Table.from_pylist([{**AGENT_INSTRUCT, "id": f"os_{n}"} for n in range(100)]), path
    )
    found = list(seeds.read(str(path)))
    assert len(found) == 100
    assert found[7] == one(tmp_path, AGENT_INSTRUCT)


def test_a_file_that_is_no_parquet_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(b"not parquet")
    with pytest.raises(SeedError, match=r"could not read .*x\.parquet as Parquet"):
        next(seeds.read(str(path)))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"tools": "[{"}, "the tools cannot be read: no JSON"),
        ({"tools": '"get_user"'}, "the tools are no list of objects"),
        ({"tools": [{"description": "nameless"}]}, "has no name"),
        ({"tools": [GET_USER, GET_USER]}, "two tools are called get_user"),
        ({"tools": [{**GET_USER, "parameters": {"type": "strin"}}]}, "tool 'get_user', parameters: no JSON Schema"),
        ({"tools": [{**GET_USER, "returns": {"minimum": "x"}}]}, "tool 'get_user', returns: no JSON Schema"),
        ({"conversations": []}, "no list of messages under 'conversations'"),
        ({"conversations": [{"from": "alien", "value": "x"}]}, "alien"),
        ({"conversations": [{"from": "human", "value": None}]}, "no text"),
        ({"conversations": [{"from": "gpt", "value": "Hello."}]}, "no task, and no user message"),
    ],
)
def test_a_bad_record_is_named_with_file_line_and_reason_and_the_run_goes_on(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    found, bad = bad_records(tmp_path / "x.json", [APIGEN_MT, {**APIGEN_MT, **change}, APIGEN_MT])
    assert len(found) == 2
    assert [error.file for error in bad] == [str(tmp_path / "x.json")]
    assert bad[0].line > 1
    assert reason in bad[0].reason
    assert "\n" not in str(bad[0])


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user", "content": 5}],
        ["hello"],
        [{"role": "user", "content": "hi"}, {"role": "tool", "content": "stray"}],
        [{"role": "assistant", "tool_calls": ["get_user"]}],
        [{"role": "narrator", "content": "Once upon a time"}],
        [{"role": "system", "content": "only this"}],
    ],
)
def test_messages_of_no_known_shape_are_bad_records_and_never_a_crash(tmp_path: Path, messages: list[Any]) -> None:
    found, bad = bad_records(tmp_path / "x.json", [OPENAI, {**OPENAI, "messages": messages}])
    assert (len(found), len(bad)) == (1, 1)


def test_a_schema_that_refers_elsewhere_is_refused_and_not_fetched(tmp_path: Path) -> None:
    tool = {**GET_USER, "parameters": {"$ref": "https://example.com/schema.json"}}
    _, bad = bad_records(tmp_path / "x.json", [APIGEN_MT, {**APIGEN_MT, "tools": [tool]}])
    assert "no JSON Schema" in bad[0].reason


def test_an_unknown_format_is_an_error_that_tells_the_keys_and_the_known_formats(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"prompt": "a", "completion": "b"}\n')
    with pytest.raises(
        SeedError, match=r"no known format: .*the keys prompt, completion; write it in one of the known formats: openai"
    ):
        next(seeds.read(str(path)))


def test_without_a_place_for_bad_records_the_first_is_raised(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(orjson.dumps(OPENAI) + b"\n{nonsense\n")
    reading = seeds.read(str(path))
    next(reading)
    with pytest.raises(RecordError, match=r"x\.jsonl:2: no JSON"):
        next(reading)


def test_a_file_in_which_no_record_is_good_is_an_error_with_the_first_reason(tmp_path: Path) -> None:
    with pytest.raises(
        SeedError, match=r"no record of .* could be read; the first reason: .*the tools cannot be read: no JSON"
    ):
        bad_records(tmp_path / "x.json", [{**APIGEN_MT, "tools": "["}])


def test_a_missing_extra_is_an_error_that_names_the_command() -> None:
    if "tau2" in sys.modules or _has_tau2():
        pytest.skip("tau2 is installed here")
    with pytest.raises(SeedError.__mro__[1], match=r"pip install 'simia\[tau2\]'"):
        next(seeds.read("tau2:retail"))


def _has_tau2() -> bool:
    import importlib.util

    return importlib.util.find_spec("tau2") is not None

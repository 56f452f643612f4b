"""Seeds from Parquet: JSON text is read, and what Parquet cannot hold without loss is refused."""

from math import inf, nan
from pathlib import Path
from typing import Any

import orjson
import pyarrow
import pyarrow.parquet
import pytest

from simia import seeds
from simia.errors import RecordError, SeedError
from simia.synthesis.export import ExportSettings, write
from simia.types import (
    AssistantMessage,
    Provenance,
    Seed,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Trajectory,
    UserMessage,
    WorldSpec,
)

PARAMETERS = {"type": "object", "properties": {"a": {"type": "string"}}}
HELLO = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]


def text(value: Any) -> str:
    return orjson.dumps(value).decode()


def calling(arguments: Any) -> list[dict[str, Any]]:
    function = {"name": "f", "arguments": arguments}
    return [
        {"role": "user", "content": "Please."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]},
        {"role": "tool", "content": "{}", "tool_call_id": "1"},
        {"role": "assistant", "content": "Done."},
    ]


def tool(parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "f", "description": "", "parameters": parameters}}


def read(path: Path, *rows: dict[str, Any]) -> list[Seed]:
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)
    return list(seeds.read(str(path)))


def calls(seed: Seed) -> list[ToolCall]:
    return [call for message in seed.reference if isinstance(message, AssistantMessage) for call in message.tool_calls]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.parquet"


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ({"messages": calling({"a": "x"})}, "messages.tool_calls.function.arguments"),
        ({"messages": HELLO, "tools": [tool(PARAMETERS)]}, "tools.function.parameters"),
        ({"messages": HELLO, "tools": [tool(PARAMETERS)["function"]]}, "tools.parameters"),
        ({"messages": HELLO, "functions": [tool(PARAMETERS)["function"]]}, "functions.parameters"),
        ({"messages": HELLO, "initial_state": {"orders": {"1": {"paid": True}}}}, "initial_state"),
    ],
)
def test_an_object_of_any_keys_that_is_a_struct_is_refused_because_its_nulls_may_be_invented(
    path: Path, row: dict[str, Any], column: str
) -> None:
    with pytest.raises(SeedError, match=rf"the column {column} is no text but a struct, .* store JSON text there"):
        read(path, row)


def test_arguments_and_parameters_as_json_text_are_read_as_in_a_file_of_json(path: Path) -> None:
    (seed,) = read(path, {"messages": calling(text({"a": "x"})), "tools": [tool(text(PARAMETERS))]})
    assert calls(seed)[0].arguments == {"a": "x"}
    assert seed.world.tools[0].parameters == PARAMETERS


@pytest.mark.parametrize("spelled", [text(calling({"a": "x"})), [text(message) for message in calling({"a": "x"})]])
def test_messages_may_be_json_text_as_a_whole_or_one_by_one(path: Path, spelled: Any) -> None:
    (seed,) = read(path, {"messages": spelled, "tools": text([tool(PARAMETERS)])})
    assert calls(seed)[0].arguments == {"a": "x"}


def test_state_and_metadata_may_be_json_text_and_empty_text_is_none(path: Path) -> None:
    state = {"orders": {"1": {"paid": None}}}
    with_state, without = read(
        path,
        {"messages": HELLO, "initial_state": text(state), "metadata": text({"k": [1]})},
        {"messages": HELLO, "initial_state": "", "metadata": None},
    )
    assert (with_state.initial_state, with_state.metadata) == (state, {"k": [1]})
    assert (without.initial_state, without.metadata) == (None, {})


def test_columns_that_arrow_knows_to_be_json_are_decoded_wherever_they_stand(path: Path) -> None:
    json = pyarrow.json_()
    kind = pyarrow.struct([("role", pyarrow.string()), ("content", json)])
    storage = pyarrow.array(['"Hi."', '"Hello."'])
    contents = pyarrow.ExtensionArray.from_storage(json, storage)
    messages = pyarrow.StructArray.from_arrays([pyarrow.array(["user", "assistant"]), contents], fields=list(kind))
    column = pyarrow.ListArray.from_arrays([0, 2], messages)
    pyarrow.parquet.write_table(pyarrow.table({"messages": column}), path)
    (seed,) = seeds.read(str(path))
    assert seed.reference[0] == UserMessage(content="Hi.")


def test_what_simia_exports_as_parquet_reads_back_as_seeds(tmp_path: Path) -> None:
    world = WorldSpec(name="w", policy="Be kind.", tools=(ToolSpec(name="f", parameters=PARAMETERS),), licence="MIT")
    messages = (
        UserMessage(content="Please."),
        AssistantMessage(tool_calls=(ToolCall(id="call_1", name="f", arguments={"a": "x"}),)),
        ToolMessage(call_id="call_1", name="f", content="{}"),
        AssistantMessage(content="Done."),
    )
    provenance = Provenance(run="r", seed="s", attempt=0, model="m", prompts={}, licence="MIT")
    trajectory = Trajectory(world=world.content_id, task="t", messages=messages, provenance=provenance)
    write(("trl-parquet",), [(0, trajectory)], lambda world_id: world, tmp_path, ExportSettings())
    (seed,) = seeds.read(str(tmp_path / "trl-parquet" / "train.parquet"))
    assert (seed.reference, seed.world.policy, seed.world.tools) == (messages, world.policy, world.tools)


@pytest.mark.parametrize("number", [nan, inf, -inf])
def test_a_row_with_a_number_that_json_does_not_have_is_a_bad_record_and_the_next_is_read(
    path: Path, number: float
) -> None:
    rows = [
        {"id": name, "messages": HELLO, "metadata": {"score": [score]}} for name, score in (("a", number), ("b", 0.5))
    ]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    bad: list[RecordError] = []
    assert [seed.id for seed in seeds.read(str(path), on_bad=bad.append)] == ["b"]
    assert [(error.line, error.reason) for error in bad] == [
        (1, f"the column metadata.score holds {number}, a number that JSON does not have: store null there")
    ]


def test_a_row_whose_text_is_no_json_is_a_bad_record_that_names_the_column(path: Path) -> None:
    with pytest.raises(RecordError, match=r"x\.parquet:2: the column messages: no JSON: "):
        read(path, {"messages": text(HELLO)}, {"messages": "[{"})


@pytest.mark.parametrize("beside", [{"reward": {"arguments": {"a": 1}}}, {"score": nan}])
def test_what_stands_in_columns_that_nobody_reads_does_no_harm(path: Path, beside: dict[str, Any]) -> None:
    (seed,) = read(path, {"messages": HELLO, **beside})
    assert len(seed.reference) == 2


@pytest.mark.parametrize("beside", [{"metadata": "crawl-7"}, {"initial_state": "asleep"}])
def test_a_format_that_reads_no_metadata_is_not_hurt_by_any(path: Path, beside: dict[str, Any]) -> None:
    turns = [{"from": "human", "value": "Hi."}, {"from": "gpt", "value": "Hello."}]
    (seed,) = read(path, {"conversations": turns, "system": "Be good.", "tools": "[]", **beside})
    assert len(seed.reference) == 2

"""Training files: what stands in them, that they are whole, and that they are the same each time."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from simia.config import checked
from simia.errors import ConfigError, DiskFull, FormatError, StoreError
from simia.formats import hermes, llama3, openai, sharegpt
from simia.synthesis.export import FORMATS, ExportedFile, ExportSettings, write
from simia.types import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    Trajectory,
    UserMessage,
    WorldSpec,
)

Conversation = Callable[..., Trajectory]
EVERYTHING = tuple(FORMATS)


def parallel(base: Trajectory, reasoning: str | None = "Both at once.") -> Trajectory:
    """Two calls in one turn beside a text, with a reasoning."""
    calls = tuple(ToolCall(id=f"call_{n}", name="get_order", arguments={"order_id": f"#W{n}"}) for n in (1, 2))
    messages: tuple[Message, ...] = (
        UserMessage(content="Compare #W1 and #W2.\nA: please"),
        AssistantMessage(content="I look at both.", reasoning=reasoning, tool_calls=calls),
        ToolMessage(call_id="call_1", name="get_order", content='{"price":1}'),
        ToolMessage(call_id="call_2", name="get_order", content='{"price":2,"note":"für\\n\\"Zoë\\""}'),
        AssistantMessage(content="The second costs more."),
    )
    return Trajectory(**{**{name: getattr(base, name) for name in Trajectory.model_fields}, "messages": messages})


@pytest.fixture
def exported(tmp_path: Path, world: WorldSpec, conversation: Conversation) -> tuple[Path, tuple[ExportedFile, ...]]:
    """Everything written from two trajectories, the second with parallel calls."""
    base = conversation()
    pairs = [(3, base), (7, parallel(base))]
    return tmp_path, write(EVERYTHING, pairs, lambda _: world, tmp_path, ExportSettings(name="orders"))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_file_is_described_by_its_size_records_and_hash(
    exported: tuple[Path, tuple[ExportedFile, ...]],
) -> None:
    folder, files = exported
    for file in files:
        content = (folder / file.path).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (file.size_bytes, file.sha256)
    assert {file.path: file.records for file in files} == {
        "trl/train.jsonl": 2,
        "trl-parquet/train.parquet": 2,
        "prompt-completion/train.jsonl": 2,
        "openai/train.jsonl": 2,
        "llamafactory/orders_sharegpt.jsonl": 2,
        "llamafactory/orders_hermes.jsonl": 2,
        "llamafactory/dataset_info.json": 0,
        "llama3/train.jsonl": 2,
    }


@pytest.mark.parametrize("target", FORMATS)
def test_a_long_integer_stays_exact_in_every_target(
    target: str, tmp_path: Path, world: WorldSpec, conversation: Conversation
) -> None:
    long = 12345678901234567890123
    write((target,), [(0, conversation({"order_id": long}))], lambda _: world, tmp_path, ExportSettings())
    content = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert str(long).encode() in content


def test_the_trl_record_has_policy_messages_and_tools_as_text(
    exported: tuple[Path, tuple[ExportedFile, ...]], world: WorldSpec, conversation: Conversation
) -> None:
    folder, _ = exported
    first, second = lines(folder / "trl/train.jsonl")
    assert first["messages"][0] == {"role": "system", "content": "Only change orders that are pending."}
    assert json.loads(first["tools"]) == [tool.as_openai() for tool in world.tools]
    assert second["messages"][2]["tool_calls"][1]["function"]["arguments"] == {"order_id": "#W2"}
    assert second["messages"][2]["reasoning_content"] == "Both at once."
    assert openai.parse_messages(second["messages"][1:]) == parallel(conversation()).messages


def test_the_prompt_is_all_that_comes_before_the_completion(exported: tuple[Path, tuple[ExportedFile, ...]]) -> None:
    folder, _ = exported
    whole = lines(folder / "trl/train.jsonl")
    for record, trl in zip(lines(folder / "prompt-completion/train.jsonl"), whole, strict=True):
        assert [*record["prompt"], *record["completion"]] == trl["messages"]
        assert [message["role"] for message in record["completion"]] == ["assistant"]
        assert record["tools"] == trl["tools"]


def test_the_completion_is_only_the_last_message(exported: tuple[Path, tuple[ExportedFile, ...]]) -> None:
    folder, _ = exported
    second = lines(folder / "prompt-completion/train.jsonl")[1]
    assert second["completion"] == [{"role": "assistant", "content": "The second costs more."}]
    assert second["prompt"][-1]["role"] == "tool"


def test_a_world_without_tools_has_none_in_its_prompt_completion_records(
    tmp_path: Path, world: WorldSpec, conversation: Conversation
) -> None:
    bare = world.model_copy(update={"tools": ()})
    base = conversation()
    spoken = Trajectory(**{**dict(base), "messages": (base.messages[0], base.messages[-1])})
    write(("prompt-completion",), [(0, spoken)], lambda _: bare, tmp_path, ExportSettings())
    (record,) = lines(tmp_path / "prompt-completion/train.jsonl")
    assert record == {
        "prompt": [
            {"role": "system", "content": world.policy},
            {"role": "user", "content": "Please look at the orders #W12 and #W13."},
        ],
        "completion": [{"role": "assistant", "content": "It is pending."}],
    }


def test_a_conversation_that_does_not_end_with_the_assistant_has_no_completion(
    tmp_path: Path, world: WorldSpec, conversation: Conversation
) -> None:
    base = conversation()
    cut = Trajectory(**{**dict(base), "messages": base.messages[:-1]})
    with pytest.raises(FormatError, match="does not end with the assistant has no completion"):
        write(("prompt-completion",), [(0, cut)], lambda _: world, tmp_path, ExportSettings())
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_the_openai_record_has_only_keys_of_the_published_schema(
    exported: tuple[Path, tuple[ExportedFile, ...]], conversation: Conversation
) -> None:
    folder, _ = exported
    first, second = lines(folder / "openai/train.jsonl")
    allowed = {
        "system": {"role", "content"},
        "user": {"role", "content"},
        "assistant": {"role", "content", "tool_calls"},
        "tool": {"role", "content", "tool_call_id"},
    }
    for record in (first, second):
        assert all(set(message) <= allowed[message["role"]] for message in record["messages"])
    assert "content" not in first["messages"][2]
    assert (first["parallel_tool_calls"], second["parallel_tool_calls"]) == (False, True)
    assert openai.parse_messages(second["messages"][1:]) == parallel(conversation(), None).messages


def test_both_llamafactory_spellings_alternate_between_two_sides(
    exported: tuple[Path, tuple[ExportedFile, ...]],
) -> None:
    folder, _ = exported
    info = json.loads((folder / "llamafactory/dataset_info.json").read_text())
    for entry in info.values():
        observation = entry.get("tags", {}).get("observation_tag", "observation")
        for record in lines(folder / "llamafactory" / entry["file_name"]):
            sides = [item["from"] in ("human", observation) for item in record["conversations"]]
            assert sides == [position % 2 == 0 for position in range(len(sides))]
            assert len(sides) % 2 == 0


def test_llamafactory_spellings_read_back_with_parallel_calls_and_text(
    exported: tuple[Path, tuple[ExportedFile, ...]], conversation: Conversation
) -> None:
    folder, _ = exported
    expected = parallel(conversation()).messages
    assert sharegpt.parse(lines(folder / "llamafactory/orders_sharegpt.jsonl")[1]["conversations"]) == expected
    assert hermes.parse(lines(folder / "llamafactory/orders_hermes.jsonl")[1]["conversations"]) == expected


def test_system_prompts_spell_the_tools_only_where_the_template_does_not(
    exported: tuple[Path, tuple[ExportedFile, ...]], world: WorldSpec
) -> None:
    folder, _ = exported
    assert lines(folder / "llamafactory/orders_sharegpt.jsonl")[0]["system"] == world.policy
    assert "<tools>" in lines(folder / "llamafactory/orders_hermes.jsonl")[0]["system"]
    system = lines(folder / "llama3/train.jsonl")[0]["messages"][0]["content"]
    assert system == llama3.system_prompt(world.policy, world.tools)


def test_the_llama3_record_reads_back(
    exported: tuple[Path, tuple[ExportedFile, ...]], conversation: Conversation
) -> None:
    folder, _ = exported
    messages = lines(folder / "llama3/train.jsonl")[1]["messages"]
    assert llama3.parse(messages[1:]) == parallel(conversation(), None).messages


def test_stripped_reasoning_is_nowhere_in_any_file(
    tmp_path: Path, world: WorldSpec, conversation: Conversation
) -> None:
    pairs = [(0, parallel(conversation()))]
    files = write(EVERYTHING, pairs, lambda _: world, tmp_path, ExportSettings(reasoning="strip"))
    texts = [file for file in files if file.path.endswith(".jsonl")]
    assert texts
    assert all(b"Both at once" not in (tmp_path / file.path).read_bytes() for file in texts)


def test_the_same_trajectories_give_the_same_bytes(
    tmp_path: Path, world: WorldSpec, conversation: Conversation
) -> None:
    pairs = [(n, conversation()) for n in range(300)]
    one, two = (write(EVERYTHING, pairs, lambda _: world, tmp_path / n, ExportSettings()) for n in ("a", "b"))
    assert one == two


def test_a_failed_export_leaves_the_earlier_files_and_nothing_else(
    tmp_path: Path, world: WorldSpec, conversation: Conversation
) -> None:
    write(("trl",), [(0, conversation())], lambda _: world, tmp_path, ExportSettings())
    before = (tmp_path / "trl/train.jsonl").read_bytes()

    def breaking() -> Iterator[tuple[int, Trajectory]]:
        yield 0, conversation()
        yield 1, conversation("{'order_id'")

    with pytest.raises(FormatError, match="call_1 is malformed: run the passes"):
        write(EVERYTHING, breaking(), lambda _: world, tmp_path, ExportSettings())
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / "trl/train.jsonl"]
    assert (tmp_path / "trl/train.jsonl").read_bytes() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a full disk is played by /dev/full")
@pytest.mark.parametrize("unfinished", ["openai/train.jsonl", "llamafactory/dataset_info.json", "README.md"])
def test_a_disk_that_is_full_at_the_last_file_leaves_the_earlier_ones(
    unfinished: str, tmp_path: Path, world: WorldSpec, conversation: Conversation
) -> None:
    def exported(reply: str) -> None:
        formats = ("trl", "openai", "llamafactory")
        pairs = [(0, conversation(reply=reply))]
        write(formats, pairs, lambda _: world, tmp_path, ExportSettings(), lambda files: f"# {reply}\n")

    exported("It is pending.")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    (tmp_path / f"{unfinished}.new").symlink_to("/dev/full")
    with pytest.raises(DiskFull, match=unfinished):
        exported("It was sent.")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_an_export_under_another_name_removes_the_data_sets_of_the_earlier_one(
    tmp_path: Path, world: WorldSpec, conversation: Conversation
) -> None:
    folder = tmp_path / "llamafactory"
    for name in ("first", "second", "second"):
        write(("llamafactory",), [(0, conversation())], lambda _: world, tmp_path, ExportSettings(name=name))
        (folder / "mine_sharegpt.jsonl").write_text("kept")
    written = {"dataset_info.json", "second_sharegpt.jsonl", "second_hermes.jsonl"}
    assert names_in(folder) == written | {"mine_sharegpt.jsonl"}


def test_an_export_of_other_targets_removes_the_files_that_its_card_would_not_tell_of(
    tmp_path: Path, world: WorldSpec, conversation: Conversation
) -> None:
    for formats in (tuple(FORMATS), ("openai",)):
        write(formats, [(0, conversation())], lambda _: world, tmp_path, ExportSettings())
        (tmp_path / "llama3" / "mine.jsonl").write_text("kept")
        (tmp_path / "trl" / "train.parquet").parent.mkdir(exist_ok=True)
        (tmp_path / "trl" / "train.parquet").write_text("kept")
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {"openai/train.jsonl", "llama3/mine.jsonl", "trl/train.parquet"}


@pytest.mark.parametrize(
    "edited",
    [
        lambda info: {**info, "mine_sharegpt": {"file_name": "mine_sharegpt.jsonl"}},
        lambda info: json.loads(json.dumps(info).replace("first", "../first")),
        lambda info: [info],
    ],
)
def test_data_sets_stay_where_their_registry_is_not_as_it_was_written(
    tmp_path: Path, world: WorldSpec, conversation: Conversation, edited: Callable[[Any], Any]
) -> None:
    write(("llamafactory",), [(0, conversation())], lambda _: world, tmp_path, ExportSettings(name="first"))
    info = tmp_path / "llamafactory/dataset_info.json"
    info.write_text(json.dumps(edited(json.loads(info.read_text()))))
    outside = tmp_path / "first_sharegpt.jsonl"
    outside.write_text("kept")
    write(("llamafactory",), [(0, conversation())], lambda _: world, tmp_path, ExportSettings(name="second"))
    assert names_in(info.parent) >= {"first_sharegpt.jsonl", "second_sharegpt.jsonl"}
    assert outside.exists()


@pytest.mark.parametrize("name", ["../evil", "my set/x", "", ".hidden", "two\nlines"])
def test_a_name_that_is_no_file_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="export: name: String should match"):
        checked(ExportSettings, {"name": name}, "export")


def test_trajectories_out_of_order_are_refused(tmp_path: Path, world: WorldSpec, conversation: Conversation) -> None:
    pairs = [(4, conversation()), (2, conversation())]
    with pytest.raises(StoreError, match="trajectory 2 comes after 4"):
        write(("trl",), pairs, lambda _: world, tmp_path, ExportSettings())


def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path: Path, world: WorldSpec) -> None:
    with pytest.raises(
        ConfigError, match="no export format 'csv'; there are: trl, trl-parquet, prompt-completion, openai"
    ):
        write(("csv",), [], lambda _: world, tmp_path, ExportSettings())


def test_a_folder_that_cannot_be_written_is_a_store_error(tmp_path: Path, world: WorldSpec) -> None:
    (tmp_path / "trl").write_text("a file where a folder must be")
    with pytest.raises(StoreError, match="cannot write"):
        write(("trl",), [], lambda _: world, tmp_path, ExportSettings())

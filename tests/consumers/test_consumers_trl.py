"""What ``datasets`` and TRL make of the exports: the same objects, and the loss on assistant tokens only."""

import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from simia.formats import openai
from simia.synthesis.export import ExportSettings, write
from simia.synthesis.export.card import Card, render
from simia.types import AssistantMessage, Trajectory, WorldSpec

pytestmark = [pytest.mark.consumer, pytest.mark.filterwarnings("ignore")]

Segments = list[tuple[str, bool]]
SMALL_CHUNK = 20_000  # bytes; so that the second world begins in a later chunk than the schema was inferred from


@pytest.fixture(scope="module")
def datasets() -> Any:
    """The library, without progress bars."""
    library = pytest.importorskip("datasets")
    if not hasattr(library, "Json"):
        pytest.skip(f"datasets {library.__version__} has no JSON feature: tests/consumers/requirements-trl.txt")
    library.disable_progress_bars()
    return library


@pytest.fixture(scope="module")
def rows(datasets: Any, exported: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The TRL file as ``datasets`` loads it."""
    file = str(exported / "trl/train.jsonl")
    cache = str(tmp_path_factory.mktemp("cache"))
    return datasets.load_dataset("json", data_files=file, split="train", cache_dir=cache, chunksize=SMALL_CHUNK)


@pytest.fixture(scope="module")
def training_template() -> str:
    """Qwen2.5's chat template with the marks of what is generated, as TRL ships it."""
    pytest.importorskip("trl")
    return (resources.files("trl") / "chat_templates" / "qwen2_5_training.jinja").read_text()


def test_the_json_lines_load_as_the_objects_that_were_written(rows: Any, exported: Path, corpus: Any) -> None:
    lines = (exported / "trl/train.jsonl").read_text().splitlines()
    assert len(rows) == len(lines) == corpus.size
    for row, line in zip(rows, lines, strict=True):
        assert row == json.loads(line)


def test_no_message_gets_a_key_that_it_did_not_have(rows: Any, corpus: Any) -> None:
    for number in (0, 1, corpus.size - 2, corpus.size - 1):
        messages = rows[number]["messages"]
        assert openai.parse_messages(messages[1:]) == corpus.trajectory(number).messages
        assert all(value is not None for message in messages for value in message.values())


def test_the_parquet_file_loads_as_the_same_objects(datasets: Any, rows: Any, corpus: Any, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    pairs = ((number, corpus.trajectory(number)) for number in range(corpus.size))
    worlds = {corpus.world(number).content_id: corpus.world(number) for number in (0, corpus.size - 1)}
    (file,) = write(("trl-parquet",), pairs, worlds.__getitem__, tmp_path, ExportSettings())
    path, cache = str(tmp_path / file.path), str(tmp_path / "cache")
    loaded = datasets.load_dataset("parquet", data_files=path, split="train", cache_dir=cache)
    assert loaded.features["messages"] == datasets.List(datasets.Json())
    assert list(loaded) == list(rows)


def test_the_cards_front_matter_offers_each_target_as_a_configuration(
    datasets: Any, rows: Any, corpus: Any, tmp_path: Path
) -> None:
    pairs = ((number, corpus.trajectory(number)) for number in range(corpus.size))
    worlds = {corpus.world(number).content_id: corpus.world(number) for number in (0, corpus.size - 1)}
    formats = ("trl", "llamafactory", "llama3")
    files = write(formats, pairs, worlds.__getitem__, tmp_path, ExportSettings())
    licences = ("Apache-2.0", "CC-BY-NC-4.0")
    card = Card(
        name="it's: a set", run="r", version="0", model="m", records=corpus.size, licences=licences, files=files
    )
    (tmp_path / "README.md").write_text(render(card))
    folder = str(tmp_path)
    assert set(datasets.get_dataset_config_names(folder)) == {
        "trl",
        "llamafactory-sharegpt",
        "llamafactory-hermes",
        "llama3",
    }
    loaded = datasets.load_dataset(folder, split="train", cache_dir=str(tmp_path / "cache"))
    assert list(loaded) == list(rows)


def qwen_segments(trajectory: Trajectory, world: WorldSpec) -> Segments:
    """What Qwen2.5 is shown, spelled by hand; true where the agent speaks."""
    tools = "".join(f"\n{json.dumps(tool.as_openai(), ensure_ascii=False)}" for tool in world.tools)
    segments: Segments = [
        (
            f"<|im_start|>system\n{world.policy}\n\n# Tools\n\nYou may call one or more functions to assist with the "
            "user query.\n\nYou are provided with function signatures within <tools></tools> XML tags:\n<tools>"
            f"{tools}\n</tools>\n\nFor each function call, return a json object with function name and arguments "
            'within <tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, "arguments": '
            "<args-json-object>}\n</tool_call><|im_end|>\n",
            False,
        )
    ]
    messages = trajectory.messages
    for place, message in enumerate(messages):
        if message.role == "user":
            segments.append((f"<|im_start|>user\n{message.content}<|im_end|>\n", False))
        elif isinstance(message, AssistantMessage):
            calls = "".join(
                f'\n<tool_call>\n{{"name": "{call.name}", "arguments": '
                f"{json.dumps(call.arguments, ensure_ascii=False)}}}\n</tool_call>"
                for call in message.tool_calls
            )
            said = f"\n{message.content}" if message.content else ""
            segments += [("<|im_start|>assistant", False), (f"{said}{calls}<|im_end|>\n", True)]
        else:
            first = messages[place - 1].role != "tool"
            last = messages[place + 1].role != "tool"
            opening, closing = "<|im_start|>user" if first else "", "<|im_end|>\n" if last else ""
            response = f"\n<tool_response>\n{message.content}\n</tool_response>"
            segments.append((f"{opening}{response}{closing}", False))
    return segments


def test_the_chat_template_gives_every_token_and_masks_all_but_the_agents(
    rows: Any,
    tokenizer: Any,
    training_template: str,
    corpus: Any,
    expected_ids: Callable[[Segments], tuple[list[int], list[int]]],
) -> None:
    for number in (0, 1, corpus.size - 2, corpus.size - 1):
        row = rows[number]
        encoded = tokenizer.apply_chat_template(
            row["messages"],
            tools=json.loads(row["tools"]),
            chat_template=training_template,
            return_dict=True,
            return_assistant_tokens_mask=True,
        )
        ids, mask = expected_ids(qwen_segments(corpus.trajectory(number), corpus.world(number)))
        assert tokenizer.decode(encoded["input_ids"]) == tokenizer.decode(ids)
        assert list(encoded["input_ids"]) == ids
        assert list(encoded["assistant_masks"]) == mask


def test_the_sft_trainer_takes_the_file_and_learns_the_agents_tokens_only(
    rows: Any,
    tokenizer: Any,
    training_template: str,
    corpus: Any,
    expected_ids: Callable[[Segments], tuple[list[int], list[int]]],
    tmp_path: Path,
) -> None:
    transformers, trl = pytest.importorskip("transformers"), pytest.importorskip("trl")
    tokenizer.chat_template = training_template
    config = transformers.Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
    )
    arguments = trl.SFTConfig(
        output_dir=str(tmp_path),
        assistant_only_loss=True,
        max_length=None,
        report_to=[],
        use_cpu=True,
        bf16=False,
        max_steps=1,
        per_device_train_batch_size=2,
        save_strategy="no",
        disable_tqdm=True,
    )
    chosen = [0, 1, corpus.size - 2, corpus.size - 1]
    trainer = trl.SFTTrainer(
        model=transformers.Qwen2ForCausalLM(config),
        args=arguments,
        train_dataset=rows.select(chosen),
        processing_class=tokenizer,
    )
    for number, row in zip(chosen, trainer.train_dataset, strict=True):
        ids, mask = expected_ids(qwen_segments(corpus.trajectory(number), corpus.world(number)))
        batch = trainer.data_collator([row])
        assert batch["input_ids"][0].tolist() == ids
        labels = [token if learnt else -100 for token, learnt in zip(ids, mask, strict=True)]
        assert batch["labels"][0].tolist() == labels
    assert trainer.train().training_loss > 0

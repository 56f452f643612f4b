"""What LLaMA-Factory's own converter, templates and label masks make of the export."""

import json
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from simia.formats import hermes
from simia.types import AssistantMessage, Trajectory, WorldSpec

pytestmark = [pytest.mark.consumer, pytest.mark.filterwarnings("ignore")]

Segments = list[tuple[str, bool]]


@pytest.fixture(scope="module")
def llamafactory() -> Any:
    """Its data package. It imports torchaudio for sound, of which there is no build without CUDA: an empty module of
    that name stands in where it is missing, for text never gets there.
    """
    if not _installed("llamafactory"):
        pytest.skip("LLaMA-Factory is not installed: tests/consumers/requirements-llamafactory.txt")
    if not _installed("torchaudio"):
        stand_in = ModuleType("torchaudio")
        stand_in.__spec__ = ModuleSpec("torchaudio", None)
        sys.modules["torchaudio"] = stand_in
    from llamafactory.data import converter, parser, template
    from llamafactory.data.processor import SupervisedDatasetProcessor
    from llamafactory.hparams import DataArguments

    return SimpleNamespace(
        align=converter.align_dataset,
        listed=parser.get_dataset_list,
        templates=template.TEMPLATES,
        processor=SupervisedDatasetProcessor,
        arguments=DataArguments,
    )


def _installed(name: str) -> bool:
    from importlib.util import find_spec

    return name in sys.modules or find_spec(name) is not None


@pytest.fixture(scope="module")
def converted(llamafactory: Any, exported: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    """Gives a data set of ``dataset_info.json`` by name, loaded and converted as LLaMA-Factory does it."""
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    folder = exported / "llamafactory"

    def load(name: str) -> Any:
        (entry,) = llamafactory.listed([name], str(folder))
        file, cache = str(folder / entry.dataset_name), str(tmp_path_factory.mktemp("cache"))
        rows = datasets.load_dataset("json", data_files=file, split="train", cache_dir=cache)
        arguments = llamafactory.arguments(dataset_dir=str(folder))
        return llamafactory.align(rows, entry, arguments, SimpleNamespace(local_process_index=0))

    return load


@pytest.mark.parametrize("name", ["simia_sharegpt", "simia_hermes"])
def test_the_converter_keeps_every_record_whole(name: str, converted: Callable[[str], Any], corpus: Any) -> None:
    rows = converted(name)
    assert len(rows) == corpus.size
    for number, row in enumerate(rows):
        turns = row["_prompt"] + row["_response"]
        agent_turns = sum(message.role == "assistant" for message in corpus.trajectory(number).messages)
        assert sum(turn["role"] in ("assistant", "function") for turn in turns) == agent_turns


def test_roles_system_and_tools_arrive_where_templates_look_for_them(
    converted: Callable[[str], Any], corpus: Any
) -> None:
    row = converted("simia_sharegpt")[1]
    assert [turn["role"] for turn in row["_prompt"]] == ["user", "function", "observation"]
    assert row["_system"] == corpus.world(1).policy
    assert json.loads(row["_tools"]) == [tool.as_openai() for tool in corpus.world(1).tools]


def call_blocks(message: AssistantMessage) -> str:
    blocks = [
        "<tool_call>\n"
        + json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)
        + "\n</tool_call>"
        for call in message.tool_calls
    ]
    return "\n".join([message.content, *blocks] if message.content else blocks)


def segments(trajectory: Trajectory, system: str, observe: Callable[[list[str]], str]) -> Segments:
    """What the model is shown, spelled by hand; true where the agent speaks. ``observe`` spells observations."""
    result: Segments = [(f"<|im_start|>system\n{system}<|im_end|>\n", False)]
    waiting: list[str] = []
    for message in trajectory.messages:
        if message.role == "tool":
            waiting.append(message.content)
            continue
        if waiting:
            result.append((f"{observe(waiting)}<|im_end|>\n<|im_start|>assistant\n", False))
            waiting = []
        if isinstance(message, AssistantMessage):
            result.append((f"{call_blocks(message)}<|im_end|>\n", True))
        else:
            result.append((f"<|im_start|>user\n{message.content}<|im_end|>\n<|im_start|>assistant\n", False))
    return result


def qwen_system(world: WorldSpec) -> str:
    tools = "".join(f"\n{json.dumps(tool.as_openai(), ensure_ascii=False)}" for tool in world.tools)
    return (
        f"{world.policy}\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
        f"You are provided with function signatures within <tools></tools> XML tags:\n<tools>{tools}\n</tools>\n\n"
        "For each function call, return a json object with function name and arguments within "
        '<tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, '
        '"arguments": <args-json-object>}\n</tool_call>'
    )


def qwen_observations(contents: list[str]) -> str:
    return "<|im_start|>user\n" + "\n".join(f"<tool_response>\n{content}\n</tool_response>" for content in contents)


def taken_from(responses: list[str]) -> Callable[[list[str]], str]:
    texts = iter(responses)
    return lambda contents: "<|im_start|>tool\n" + "\n".join(next(texts) for _ in contents)


@pytest.mark.parametrize(("name", "template"), [("simia_sharegpt", "qwen"), ("simia_hermes", "chatml")])
def test_every_token_is_the_templates_and_the_labels_are_the_agents(
    name: str,
    template: str,
    llamafactory: Any,
    converted: Callable[[str], Any],
    tokenizer: Any,
    corpus: Any,
    expected_ids: Callable[[Segments], tuple[list[int], list[int]]],
) -> None:
    processor = llamafactory.processor(
        template=llamafactory.templates[template],
        tokenizer=tokenizer,
        processor=None,
        data_args=llamafactory.arguments(template=template, cutoff_len=100_000),
    )
    rows = converted(name)
    for number in (0, 1, corpus.size - 2, corpus.size - 1):
        encoded = processor.preprocess_dataset(rows[number : number + 1])
        trajectory, world = corpus.trajectory(number), corpus.world(number)
        if template == "qwen":
            spelled = segments(trajectory, qwen_system(world), qwen_observations)
        else:
            responses = [item["content"] for item in hermes.render(trajectory.messages) if item["role"] == "tool"]
            spelled = segments(trajectory, hermes.system_prompt(world.policy, world.tools), taken_from(responses))
        ids, mask = expected_ids(spelled)
        (got,) = encoded["input_ids"]
        assert tokenizer.decode(got) == tokenizer.decode(ids)
        assert got == ids
        assert encoded["labels"] == [[token if learnt else -100 for token, learnt in zip(ids, mask, strict=True)]]

"""Exports to be read by their real consumers, and a tokenizer that needs no download.

TRL and LLaMA-Factory exclude each other's versions, so each has an environment of its own; where a package is missing
its tests are skipped. The requirement files beside this module say how to make each environment.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from simia.synthesis.export import ExportSettings, write
from simia.types import (
    AssistantMessage,
    Message,
    Provenance,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Trajectory,
    UserMessage,
    WorldSpec,
)

RECORDS = 240
"""Of which the first half is in one world and the second in another, whose tools have quite another shape."""


def tool(name: str, **properties: Any) -> ToolSpec:
    return ToolSpec(
        name=name,
        description=f"Does {name}.",
        parameters={"type": "object", "properties": properties, "required": sorted(properties)},
    )


WORLDS = (
    WorldSpec(
        name="orders",
        policy="Only look, never <change>.",
        tools=(tool("get_order", order_id={"type": "string"}), tool("get_user", email={"type": "string"})),
        licence="Apache-2.0",
    ),
    WorldSpec(
        name="lamps",
        policy="Dim gently.",
        tools=(
            tool(
                "dim",
                level={"type": "integer", "enum": [1, 2, 3]},
                rooms={"type": "array", "items": {"type": "string"}},
            ),
        ),
        licence="Apache-2.0",
    ),
)


def messages_of(number: int) -> tuple[Message, ...]:
    """Alone, a call; for odd numbers parallel calls beside a text, unicode and nested JSON."""
    if number % 2 == 0:
        name = "get_order"
        arguments: dict[str, Any] = {"order_id": f"#W{number}"}
        if number >= RECORDS // 2:
            name, arguments = "dim", {"level": 1 + number % 3, "rooms": ["Küche"]}
        return (
            UserMessage(content=f"Request {number}, please."),
            AssistantMessage(tool_calls=(ToolCall(id="call_1", name=name, arguments=arguments),)),
            ToolMessage(call_id="call_1", name=name, content='{"status":"pending","note":null}'),
            AssistantMessage(content="It is done."),
            UserMessage(content="Thanks."),
            AssistantMessage(content="You are welcome."),
        )
    if number >= RECORDS // 2:
        name = "dim"
        pair: tuple[dict[str, Any], dict[str, Any]] = (
            {"level": 1, "rooms": []},
            {"level": 2, "rooms": ["Flur", "日本"]},
        )
    else:
        name = "get_user"
        pair = {"email": "zoë@example.org"}, {"email": '{"a": "b"}'}
    calls = tuple(ToolCall(id=f"call_{n}", name=name, arguments=one) for n, one in enumerate(pair, 1))
    return (
        UserMessage(content="Both, please.\nA: and quickly"),
        AssistantMessage(content="I look at both.", tool_calls=calls),
        ToolMessage(call_id="call_1", name=name, content='{"name":"Zoë \\"Z\\""}'),
        ToolMessage(call_id="call_2", name=name, content="plain text"),
        AssistantMessage(content="Here they are."),
    )


def trajectory(number: int) -> Trajectory:
    return Trajectory(
        world=WORLDS[number >= RECORDS // 2].content_id,
        task="A task.",
        messages=messages_of(number),
        provenance=Provenance(run="r", seed="s", attempt=number, model="m", prompts={}, licence="Apache-2.0"),
    )


@dataclass(frozen=True)
class Corpus:
    """The trajectories that were exported, by number."""

    size: int

    def trajectory(self, number: int) -> Trajectory:
        return trajectory(number)

    def world(self, number: int) -> WorldSpec:
        return WORLDS[number >= self.size // 2]


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    """What was exported."""
    return Corpus(RECORDS)


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every export that needs no extra."""
    folder = tmp_path_factory.mktemp("exported")
    worlds = {world.content_id: world for world in WORLDS}
    pairs = ((number, trajectory(number)) for number in range(RECORDS))
    write(("trl", "openai", "llamafactory", "llama3"), pairs, worlds.__getitem__, folder, ExportSettings())
    return folder


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    """One token per byte, and ChatML's markers as tokens of their own."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    bytewise = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab={char: place for place, char in enumerate(alphabet)}, merges=[])
    )
    bytewise.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bytewise.decoder = tokenizers.decoders.ByteLevel()
    result = transformers.PreTrainedTokenizerFast(
        tokenizer_object=bytewise, eos_token="<|im_end|>", pad_token="<|endoftext|>", clean_up_tokenization_spaces=False
    )
    result.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    return result


Segments = list[tuple[str, bool]]


@pytest.fixture(scope="session")
def expected_ids(tokenizer: Any) -> Callable[[Segments], tuple[list[int], list[int]]]:
    """Token ids and loss mask of texts that stand behind each other, each inside or outside the loss."""

    def make(segments: Segments) -> tuple[list[int], list[int]]:
        ids: list[int] = []
        mask: list[int] = []
        for text, in_loss in segments:
            tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
            ids += tokens
            mask += [int(in_loss)] * len(tokens)
        return ids, mask

    return make

"""A language model of 400,000 weights, made in a minute: for rehearsing a training run where there is no other model.

Its tokenizer is trained on the spot, its weights are drawn by chance and taught the form of conversations by
demonstrations that take the right arguments, but mostly the tool that is listed after the right one. So it begins as an
agent that speaks the language of its tools and understands what is wanted, but mixes up what does it, and reinforcement
learning has something to find. It is a double: nothing that it learns is of use elsewhere.
"""

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from simia.config import rng_for
from simia.environment.adapters.trl_tokens import ChatTokens
from simia.environment.tasks import world_tasks
from simia.types import (
    AssistantMessage,
    Message,
    SystemMessage,
    Task,
    ToolCall,
    ToolMessage,
    UserMessage,
    canonical_json,
)
from simia.worlds import World

_VOCABULARY = 640
_HIDDEN = 96
_LAYERS = 3
_HEADS = 4
_CONTEXT = 2048
_DEMONSTRATIONS = 600
_BATCH = 24
_RATE = 3e-3
_DEMONSTRATED = 2_000_003
_DONE = "It is done."
_SPECIAL = re.compile(r"<\|[a-z_]+\|>")
_TEMPLATE = """\
{%- for message in messages %}
{%- if message.role == "system" %}{{ "<|im_start|>system\\n" + message.content }}
{%- for tool in tools or [] %}{{ "\\n" }}{{ tool.function | tojson }}{% endfor %}{{ "<|im_end|>\\n" }}
{%- else %}{{ "<|im_start|>" + message.role + "\\n" + message.content }}
{%- for call in message.tool_calls or [] %}
{{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}{{ call.function.arguments | tojson }}
{{- "}\\n</tool_call>" }}
{%- endfor %}{{ "<|im_end|>\\n" }}
{%- endif %}{%- endfor %}
{%- if add_generation_prompt %}{{ "<|im_start|>assistant\\n" }}{% endif %}"""
_RESPONSE: dict[str, Any] = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "tool_calls": {
            "open": "<tool_call>",
            "close_pattern": "</tool_call>\\s*",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"<\|im_end\|>\s*", "repeats": True, "join": "\n", "content": "text"},
    },
}
"""How TRL reads a turn in the spelling of the template."""

Demonstration = tuple[Task, list[tuple[AssistantMessage, ToolMessage | None]]]


def make_tiny(world: World, folder: Path, *, seed: int = 0, right: float = 0.2, steps: int = 600) -> None:
    """Make a tiny model that can speak about ``world`` and save it, with its tokenizer, in ``folder``.

    Args:
        right: the share of calls for which a demonstration takes the right tool; for the others it takes the next one
            that has the same parameters. The mistake depends on what is wanted, and so the agent learns to look at
            that: where the tool was any one, it never did, and its learning ended with one tool for everything.
        steps: of supervised learning on the demonstrations.
    """
    demonstrations = list(_demonstrations(world, seed, right))
    tokenizer = _tokenizer(world, demonstrations)
    tokens = ChatTokens(tokenizer)
    rows = [_row(tokens, world, demonstration) for demonstration in demonstrations]
    model = _model(tokenizer, seed)
    _teach(model, rows, seed=seed, steps=steps, pad=tokenizer.pad_token_id)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def make_tokenizer(world: World, *, seed: int = 0) -> PreTrainedTokenizerFast:
    """The tokenizer of such a model alone."""
    return _tokenizer(world, list(_demonstrations(world, seed, 0.0)))


def _demonstrations(world: World, seed: int, right: float) -> Iterator[Demonstration]:
    tasks = list(world_tasks(world, _DEMONSTRATIONS, seed=seed + _DEMONSTRATED))
    shapes = {tool.name: canonical_json(tool.parameters) for tool in world.spec.tools}
    alike = {name: [other for other in shapes if shapes[other] == shapes[name]] for name in shapes}
    for number, task in enumerate(tasks):
        rng = rng_for(seed, f"demonstration/{number}")
        state = task.seed.initial_state or {}
        turns: list[tuple[AssistantMessage, ToolMessage | None]] = []
        for place, gold in enumerate(task.gold, start=1):
            name = gold.name if rng.random() < right else _next_to(gold.name, alike[gold.name])
            call = ToolCall(id=f"call_{place}", name=name, arguments=gold.arguments)
            transition, state = world.run(state, call)
            turns.append(
                (
                    AssistantMessage(tool_calls=(call,)),
                    ToolMessage(call_id=call.id, name=call.name, content=transition.observation),
                )
            )
        turns.append((AssistantMessage(content=_DONE), None))
        yield task, turns


def _next_to(name: str, names: Sequence[str]) -> str:
    """The one after ``name``, and the first after the last."""
    return names[(names.index(name) + 1) % len(names)]


def _tokenizer(world: World, demonstrations: Sequence[Demonstration]) -> PreTrainedTokenizerFast:
    """A byte-pair encoding whose tokens may span words but not lines, so that a tool's schema, which stands in every
    prompt, is a few tokens, and the head of a turn is always the same ones.
    """
    tokenizer = Tokenizer(models.BPE())
    lines = [pre_tokenizers.Split("\n", "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(lines)
    tokenizer.decoder = decoders.ByteLevel()
    spelling = ChatTokens(_fast(tokenizer))
    texts = (spelling.spell(_conversation(world, demonstration), world.spec.tools) for demonstration in demonstrations)
    tokenizer.train_from_iterator(
        (part for text in texts for part in _SPECIAL.split(text) if part),
        trainers.BpeTrainer(
            vocab_size=_VOCABULARY,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
            show_progress=False,
        ),
    )
    return _fast(tokenizer)


def _fast(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>", padding_side="left"
    )
    fast.chat_template = _TEMPLATE
    fast.response_template = _RESPONSE
    return fast


def _conversation(world: World, demonstration: Demonstration) -> list[Message]:
    task, turns = demonstration
    messages: list[Message] = [SystemMessage(content=world.spec.policy.strip()), UserMessage(content=task.seed.task)]
    for said, result in turns:
        messages += [said] if result is None else [said, result]
    return messages


def _model(tokenizer: PreTrainedTokenizerFast, seed: int) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=_HIDDEN,
            intermediate_size=3 * _HIDDEN,
            num_hidden_layers=_LAYERS,
            num_attention_heads=_HEADS,
            num_key_value_heads=_HEADS // 2,
            max_position_embeddings=_CONTEXT,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )


def _row(tokens: ChatTokens, world: World, demonstration: Demonstration) -> tuple[list[int], list[int]]:
    """Tokens of a whole demonstration, and labels: those of the agent's turns, -100 elsewhere."""
    task, turns = demonstration
    ids = tokens.prompt(_conversation(world, (task, [])), world.spec.tools)
    labels = [-100] * len(ids)
    for said, result in turns:
        turn = tokens.turn(said)
        ids, labels = ids + turn, labels + turn
        if result is not None:
            answer = tokens.answers([result])
            ids, labels = ids + answer, labels + [-100] * len(answer)
    return ids, labels


def _teach(
    model: LlamaForCausalLM, rows: Sequence[tuple[list[int], list[int]]], *, seed: int, steps: int, pad: int
) -> None:
    rng = random.Random(seed)
    optimiser = torch.optim.AdamW(model.parameters(), lr=_RATE, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=_RATE, total_steps=steps)
    model.train()
    for _ in range(steps):
        batch = _padded([rows[rng.randrange(len(rows))] for _ in range(_BATCH)], pad)
        loss: Any = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad()
    model.eval()


def _padded(rows: Sequence[tuple[list[int], list[int]]], pad: int) -> dict[str, torch.Tensor]:
    """A batch of shape (rows, longest)."""
    longest = max(len(ids) for ids, _ in rows)
    return {
        "input_ids": torch.tensor([ids + [pad] * (longest - len(ids)) for ids, _ in rows]),
        "attention_mask": torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids, _ in rows]),
        "labels": torch.tensor([labels + [-100] * (longest - len(labels)) for _, labels in rows]),
    }

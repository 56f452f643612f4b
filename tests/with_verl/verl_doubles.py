"""Doubles for verl's side of a rollout: a tokenizer made on the spot, and an engine that plays what a script says.

Ray's workers import this module, so it stands in a file of its own.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simia.worlds import load

TEMPLATE = """\
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
DONE = "It is done."
END = "<|im_end|>"
_WANTED = re.compile(r"Turn (on|off) the lamps? in the (\w+)(?: and in the (\w+))?\.")
_EPISODE = re.compile(r"\w+/(\d{6})/.*/(\d+)(?:\+\d+)?:")
_TURN = "<|im_start|>assistant\n"

Styles = tuple[str, ...]


def write_model(folder: Path) -> None:
    """A folder as of a model of Qwen's family, with a tokenizer and without weights."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen2Config

    tokenizer = Tokenizer(models.BPE())
    lines = [pre_tokenizers.Split("\n", "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(lines)
    tokenizer.decoder = decoders.ByteLevel()
    spec = load("lamps").spec
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|endoftext|>", "<|im_start|>", END],
        show_progress=False,
    )
    tokenizer.train_from_iterator([spec.policy, *(tool.model_dump_json() for tool in spec.tools), DONE], trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token="<|endoftext|>")
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 1}
    Qwen2Config(
        architectures=["Qwen2ForCausalLM"],
        vocab_size=len(fast),
        num_key_value_heads=1,
        eos_token_id=fast.eos_token_id,
        **sizes,
    ).save_pretrained(folder)


class ScriptedEngine:
    """verl's client of its engines, as far as an agent loop knows it. Each member of a group plays in its own style:

    "right" does what was asked, call by call; "parallel" all of it in one turn; "lazy" only says that it did; "garbled"
    writes a call that cannot be read, then as "right"; "nosy" looks around first, "shy" only where two lamps are asked
    for; "endless" never ends its turn; "aborted" is given up by the engine. ``later`` are the styles of single steps.
    """

    def __init__(self, folder: Path, styles: Styles, later: Mapping[int, Styles] | None = None) -> None:
        self._folder = folder
        self._styles = styles
        self._later = dict(later or {})
        self._tokenizer: Any = None
        self.requests: list[dict[str, Any]] = []

    @property
    def tokenizer(self) -> Any:
        """Loaded where it is used, which may be in another process."""
        if self._tokenizer is None:
            from transformers import AutoTokenizer

            self._tokenizer = AutoTokenizer.from_pretrained(self._folder)
        return self._tokenizer

    async def generate(
        self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any], **_: Any
    ) -> Any:
        """One turn; its log-probabilities are all of -0.5."""
        from verl.workers.rollout.replica import TokenOutput

        self.requests.append({"id": request_id, **sampling_params})
        found = _EPISODE.match(request_id)
        assert found is not None, request_id
        style = self._later.get(int(found[1]), self._styles)[int(found[2])]
        if style == "aborted":
            return TokenOutput(token_ids=[], stop_reason="aborted")
        ids = self._turn(style, self.tokenizer.decode(prompt_ids), sampling_params["max_tokens"])
        steps = {"global_steps": 3, "min_global_steps": 3, "max_global_steps": 3}
        return TokenOutput(token_ids=ids, log_probs=[-0.5] * len(ids), stop_reason="completed", extra_fields=steps)

    def _turn(self, style: str, text: str, most: int) -> list[int]:
        if style == "endless":
            return list(self.tokenizer.encode("on and on ", add_special_tokens=False) * most)[:most]
        said = spoken(style, text)
        return [*self.tokenizer.encode(said, add_special_tokens=False), self.tokenizer.eos_token_id][:most]


def spoken(style: str, text: str) -> str:
    """The next turn in a style, in the conversation so far."""
    turn = text.count(_TURN) - 1
    wanted = _WANTED.search(text)
    if wanted is None:
        raise AssertionError(f"nobody asked for anything: {text}")
    calls = [call(f"turn_{wanted[1]}", f'{{"room": "{room}"}}') for room in wanted.groups()[1:] if room is not None]
    turns = {
        "right": calls,
        "parallel": ["".join(calls)],
        "lazy": [],
        "garbled": ['<tool_call>\n{"name": "turn_on", \n</tool_call>', *calls],
        "nosy": [call("look_around", "{}")],
        "shy": calls if len(calls) == 1 else [call("look_around", "{}")],
    }[style]
    return turns[turn] if turn < len(turns) else DONE


def call(name: str, arguments: str) -> str:
    """A call as the template spells it."""
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'

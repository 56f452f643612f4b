"""A conversation as tokens: what an agent generated stays as it was generated, and only what others say is added.

Rendering the whole conversation anew after every turn may split its text into other tokens than were sampled, and then
probabilities are of something that nobody said. So the prompt is rendered once, and every answer of the environment is
cut out of a small rendering of its own (token in, token out).
"""

from collections.abc import Sequence
from typing import Any

from trl.chat_template_utils import (
    add_response_schema,
    get_training_chat_template,
    is_chat_template_prefix_preserving,
    parse_response,
    supports_tool_calling,
)

from simia.environment.adapters.spoken_turn import read_turn
from simia.errors import ConfigError
from simia.formats.calls import Call, foreign_call, split_calls
from simia.formats.chat_template import as_template
from simia.formats.markers import split_blocks
from simia.types import AssistantMessage, JsonObject, MalformedToolCall, Message, ToolMessage, ToolSpec


class ChatTokens:
    """The chat template of a tokenizer, as far as an episode needs it.

    Raises:
        ConfigError: the template cannot spell tools, or renders the past anew when the conversation goes on and TRL
            has no other form of it.
    """

    def __init__(self, tokenizer: Any, template_kwargs: JsonObject | None = None) -> None:
        if not supports_tool_calling(tokenizer):
            raise ConfigError(
                "the tokenizer's chat template cannot spell tool calls and their results: take a model that was "
                "trained with tools, or give its tokenizer a template that has them"
            )
        self.tokenizer = tokenizer
        self._kwargs: JsonObject = dict(template_kwargs or {})
        if not is_chat_template_prefix_preserving(tokenizer):
            template = get_training_chat_template(tokenizer)
            if template is None:
                raise ConfigError(
                    "the tokenizer's chat template renders earlier messages anew, so tokens cannot be kept"
                )
            self._kwargs["chat_template"] = template
        if getattr(tokenizer, "response_template", None) is None:
            try:
                add_response_schema(tokenizer)
            except ValueError as cause:
                raise ConfigError(
                    f"TRL cannot read tool calls in the spelling of this tokenizer's chat template ({cause}): set "
                    "tokenizer.response_template"
                ) from cause
        self._is_hermes = _spells_hermes(tokenizer.response_template)

    def prompt(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> list[int]:
        """The tokens that an agent is given before its first turn."""
        return self._render([as_template(message) for message in messages], list(tools), generates=True)

    def answers(self, messages: Sequence[Message]) -> list[int]:
        """The tokens that ``messages``, results of calls or words of the user, add after a turn of the agent that ended
        with its end token, up to where the agent begins again.
        """
        first = messages[0]
        turn: JsonObject = {"role": "assistant", "content": "x"}
        if isinstance(first, ToolMessage):
            call = {"type": "function", "function": {"name": first.name or "unknown", "arguments": {}}}
            turn = {"role": "assistant", "content": "", "tool_calls": [call]}
        past: list[JsonObject] = [{"role": "user", "content": "x"}, turn]
        before = self._render(past, [], generates=False)
        after = self._render([*past, *map(as_template, messages)], [], generates=True)
        ends = [place for place, token in enumerate(before) if token == self.tokenizer.eos_token_id]
        cut = ends[-1] + 1 if ends else len(before)
        if after[:cut] != before[:cut]:
            raise ConfigError("the tokenizer's chat template renders earlier messages anew, so tokens cannot be kept")
        return after[cut:]

    def turn(self, message: AssistantMessage) -> list[int]:
        """The tokens of one turn of the agent, its end token included: for demonstrations, not for what was sampled."""
        past: list[JsonObject] = [{"role": "user", "content": "x"}]
        before = self._render(past, [], generates=True)
        ids = self._render([*past, as_template(message)], [], generates=False)[len(before) :]
        ends = [place for place, token in enumerate(ids) if token == self.tokenizer.eos_token_id]
        return ids[: ends[-1] + 1] if ends else ids

    def read(
        self, ids: Sequence[int], prefix: Sequence[int], tools: Sequence[ToolSpec], first_call: int
    ) -> AssistantMessage:
        """What the agent said and called in ``ids``. Calls are numbered from ``first_call``. A block that is no call is
        a malformed one, verbatim. The spelling of Hermes is read by simia itself, any other by TRL.
        """
        if self._is_hermes:
            text = self.text(ids).rstrip().removesuffix(self.tokenizer.eos_token)
            return read_turn(text, first_call)
        schemas = [tool.as_openai() for tool in tools]
        try:
            parsed = parse_response(self.tokenizer, list(ids), prefix=list(prefix), tools=schemas)
        except RecursionError:  # JSON that is too deep for Python's reader
            parsed = {"content": str(self.tokenizer.decode(list(ids), skip_special_tokens=True))}
        said, blocks = split_blocks(parsed.get("content") or "")
        found: list[Call] = []
        for number, entry in enumerate(parsed.get("tool_calls") or (), start=first_call):
            function = entry.get("function", entry)
            found.append(foreign_call(f"call_{number}", function["name"], function["arguments"]))
        for number, block in enumerate(blocks, start=first_call + len(found)):
            reason = "a call was begun that cannot be read"
            found.append(MalformedToolCall(id=f"call_{number}", text=block, reason=reason))
        calls, malformed = split_calls(found)
        return AssistantMessage(
            content=said.strip(),
            reasoning=parsed.get("reasoning_content") or None,
            tool_calls=calls,
            malformed_calls=malformed,
        )

    def spell(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> str:
        """A whole conversation as text."""
        return str(
            self.tokenizer.apply_chat_template(
                [as_template(message) for message in messages],
                tools=[tool.as_openai() for tool in tools] or None,
                tokenize=False,
                **self._kwargs,
            )
        )

    def text(self, ids: Sequence[int]) -> str:
        """The text of ``ids``, special tokens included."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False))

    def _render(self, messages: list[JsonObject], tools: list[ToolSpec], *, generates: bool) -> list[int]:
        ids: list[int] = self.tokenizer.apply_chat_template(
            messages,
            tools=[tool.as_openai() for tool in tools] or None,
            add_generation_prompt=generates,
            tokenize=True,
            return_dict=False,
            **self._kwargs,
        )
        return ids


def _spells_hermes(response_template: JsonObject) -> bool:
    """Whether calls are JSON in ``<tool_call>`` blocks."""
    calls = response_template.get("fields", {}).get("tool_calls", {})
    return (calls.get("open"), calls.get("content")) == ("<tool_call>", "json")

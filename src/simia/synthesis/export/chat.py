"""Targets that take chat-completions messages beside their tools: TRL and OpenAI's fine-tuning."""

from pathlib import Path
from typing import Any

import orjson

from simia.errors import FormatError
from simia.formats import openai
from simia.formats.calls import dump_json
from simia.synthesis.export.files import ExportedFile, NewFile
from simia.synthesis.export.settings import ExportSettings
from simia.synthesis.export.target import WorldTexts, line, spoken
from simia.types import AssistantMessage, JsonObject, Trajectory, WorldSpec


def tools_text(world: WorldSpec) -> str:
    """The tools as the JSON text of a list."""
    return dump_json(openai.render_tools(world.tools))


def with_policy(world: WorldSpec, messages: list[JsonObject]) -> list[JsonObject]:
    """The messages behind a system message with the policy alone: the target's template spells the tools."""
    return [{"role": "system", "content": world.policy}, *messages] if world.policy else messages


def trl_messages(trajectory: Trajectory, world: WorldSpec, reasoning: bool) -> list[JsonObject]:
    """The messages as chat templates want them: arguments are objects, reasoning is ``reasoning_content``."""
    messages = spoken(trajectory, reasoning)
    rendered = openai.render_messages(messages)
    for message, spelled in zip(messages, rendered, strict=True):
        if isinstance(message, AssistantMessage) and message.tool_calls:
            for call, spelled_call in zip(message.tool_calls, spelled["tool_calls"], strict=True):
                spelled_call["function"]["arguments"] = call.arguments
    return with_policy(world, rendered)


class TrlWriter:
    """``trl/train.jsonl``: ``messages``, and ``tools`` as JSON text.

    As text because ``datasets`` infers one Arrow schema from the first ten megabytes: with tools as objects, a later
    tool that has another shape ends the loading with an error, and an earlier ``datasets`` fills the union of all
    shapes with nulls. TRL's SFTTrainer decodes the text itself.
    """

    def __init__(self, folder: Path, settings: ExportSettings) -> None:
        self._reasoning = settings.reasoning == "keep"
        self._tools = WorldTexts(lambda world: orjson.Fragment(orjson.dumps(tools_text(world))))
        self._file = NewFile(folder, "trl/train.jsonl", "trl")

    def add(self, trajectory: Trajectory, world: WorldSpec) -> None:
        """One record."""
        messages = trl_messages(trajectory, world, self._reasoning)
        self._file.write(line({"messages": messages, "tools": self._tools.of(world)}))

    def finish(self) -> tuple[ExportedFile, ...]:
        """The one file."""
        return (self._file.finish(),)

    def place(self) -> None:
        """Put it in place."""
        self._file.place()

    def abort(self) -> None:
        """Leave nothing behind that is not in place."""
        self._file.abort()


class PromptCompletionWriter:
    """``prompt-completion/train.jsonl`` for TRL: ``prompt`` is all up to the last message, ``completion`` that one, so
    that only it is learned. For conversations of one exchange, such as those of ``simia bench sft``.

    Raises:
        FormatError: a conversation does not end with the assistant.
    """

    def __init__(self, folder: Path, settings: ExportSettings) -> None:
        self._reasoning = settings.reasoning == "keep"
        self._tools = WorldTexts(lambda world: orjson.Fragment(orjson.dumps(tools_text(world))))
        self._file = NewFile(folder, "prompt-completion/train.jsonl", "prompt-completion")

    def add(self, trajectory: Trajectory, world: WorldSpec) -> None:
        """One record."""
        messages = trl_messages(trajectory, world, self._reasoning)
        if not messages or messages[-1]["role"] != "assistant":
            raise FormatError("a conversation that does not end with the assistant has no completion")
        record: dict[str, Any] = {"prompt": messages[:-1], "completion": messages[-1:]}
        if world.tools:
            record["tools"] = self._tools.of(world)
        self._file.write(line(record))

    def finish(self) -> tuple[ExportedFile, ...]:
        """The one file."""
        return (self._file.finish(),)

    def place(self) -> None:
        """Put it in place."""
        self._file.place()

    def abort(self) -> None:
        """Leave nothing behind that is not in place."""
        self._file.abort()


class OpenAIWriter:
    """``openai/train.jsonl`` for OpenAI's fine-tuning: ``messages``, ``tools``, ``parallel_tool_calls``.

    Only keys of the published schema: an observation has no name, an assistant that only calls has no content.
    """

    def __init__(self, folder: Path, settings: ExportSettings) -> None:
        self._tools = WorldTexts(lambda world: orjson.Fragment(tools_text(world).encode()))
        self._file = NewFile(folder, "openai/train.jsonl", "openai")

    def add(self, trajectory: Trajectory, world: WorldSpec) -> None:
        """One record."""
        messages = openai.render_messages(spoken(trajectory, reasoning=False))
        parallel = False
        for spelled in messages:
            if spelled["role"] == "tool":
                del spelled["name"]
            elif "tool_calls" in spelled:
                parallel = parallel or len(spelled["tool_calls"]) > 1
                if not spelled["content"]:
                    del spelled["content"]
        record: dict[str, Any] = {"messages": with_policy(world, messages)}
        if world.tools:
            record |= {"tools": self._tools.of(world), "parallel_tool_calls": parallel}
        self._file.write(line(record))

    def finish(self) -> tuple[ExportedFile, ...]:
        """The one file."""
        return (self._file.finish(),)

    def place(self) -> None:
        """Put it in place."""
        self._file.place()

    def abort(self) -> None:
        """Leave nothing behind that is not in place."""
        self._file.abort()

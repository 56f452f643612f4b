"""Seeds from Hermes function calling in ShareGPT: calls in ``<tool_call>``, tools in the system message's ``<tools>``.

Source of the format: github.com/NousResearch/Hermes-Function-Calling. Tools may stand under ``tools`` instead.
"""

import re
from collections.abc import Mapping
from typing import Any

from simia.errors import FormatError
from simia.formats import hermes
from simia.formats.calls import load_json
from simia.seeds.declared import Worlds
from simia.seeds.distinct import id_of
from simia.seeds.licence import licence_of
from simia.seeds.openai import split_policy, task_of
from simia.seeds.sharegpt import conversation_of, policy_of
from simia.types import Seed

NAME = "hermes"
LICENCE = "NOASSERTION"

# The published instructions name the tag before they use it: the last pair holds the tools.
_TOOLS = re.compile(r"<tools>(?!</tools>)\s*(.*?)\s*</tools>", re.DOTALL)
_INSTRUCTIONS = "You are a function calling AI model"
# A schema in braces, at most four deep; the card of Hermes-2-Pro has a closing brace too many.
_SCHEMA = r"\{(?:[^{}]++|\{(?:[^{}]++|\{(?:[^{}]++|\{[^{}]*+\})*+\})*+\})*+\}(?:\s*\})?"
_EXAMPLE = r"<tool_call>\s*\{[^{}]*(?:<function-name>|<args-|tool_call)[^{}]*\}\s*</tool_call>"
# The published instructions, sentence by sentence, as the repository, the card, the data set and the agents of
# NousResearch have them: what stands before, between or behind these is the policy. A space is any white space.
_PUBLISHED = re.compile(
    "|".join(
        (
            rf"{_INSTRUCTIONS}(?:\.|[^.\n]{{0,40}}<tools>\s*</tools> XML tags\.?)",
            r"You are provided with function signatures within <tools>\s*</tools> XML tags[.:]?",
            r"You may call one or more functions to assist with the user query\.",
            r"If available tools are not relevant in assisting with user query, just respond in natural conversational "
            r"language\.",
            r"Don['\"’]t make assumptions about what values to plug into functions?\.",
            r"After calling (?:&|and) executing the functions, you will be provided with function results within "
            r"<tool_response>\s*</tool_response> XML tags\.",
            r"Here are the available tools:?",
            rf"Use the following pydantic model json schema for each tool call you will make:\s*{_SCHEMA}",
            r"For each function call,? return a (?:json|JSON) object,? with (?:the following pydantic model json schema"
            rf"(?: for each)?:\s*{_SCHEMA}|function name and arguments within <tool_call>\s*</tool_call>(?: XML)? tags"
            r"(?: as follows| with the following schema)?[:.]?)",
            r"Each function call should be enclosed within <tool_call>\s*</tool_call> XML tags(?: as follows)?[:.]?",
            r"You must use <scratch_pad>\s*</scratch_pad> XML tags to record your reasoning and planning before you "
            r"call the functions as follows[:.]?",
            rf"Example:\s*(?:<scratch_pad>.*?</scratch_pad>\s*)?{_EXAMPLE}",
            _EXAMPLE,
        )
    ).replace(" ", r"\s+"),
    re.DOTALL,
)


def recognises(record: Any) -> bool:
    """Whether a record has conversations in which a call or the tools stand in Hermes tags."""
    items = conversation_of(record)
    return any(
        isinstance(text := item.get("value"), str) and ("<tool_call>" in text or "<tools>" in text)
        for item in items or ()
    )


class Reader:
    """Turns records into seeds."""

    def __init__(self, licence: str | None = None) -> None:
        self._licence = licence
        self._worlds = Worlds(NAME)

    def seed(self, record: Any, seed_id: str) -> Seed:
        """The seed of a record.

        Raises:
            FormatError: the record is not in this format.
            SchemaError: a schema of a tool is none.
        """
        items = conversation_of(record)
        if not items:
            raise FormatError("no list of messages under 'conversations'")
        leading, messages = split_policy(hermes.parse(items))
        system = policy_of(record, leading)
        declared = record.get("tools") or _declared_tools(system)
        licence = self._licence or licence_of(record) or LICENCE
        return Seed(
            id=id_of(record, seed_id),
            world=self._worlds.world(_policy(system), declared, licence),
            task=task_of(record.get("task"), messages),
            reference=messages,
            licence=licence,
            metadata={"source": NAME},
        )


def _policy(system: str) -> str:
    """The system message without the published instructions and the tools in them; whole where it has none."""
    before, start, rest = system.partition(_INSTRUCTIONS)
    if not start:
        return system.strip()
    rest = start + rest
    tools = [found.span() for found in _TOOLS.finditer(rest)]
    begin, end = tools[-1] if tools else (len(rest), len(rest))
    parts = (before, *_PUBLISHED.split(rest[:begin]), *_PUBLISHED.split(rest[end:]))
    return "\n\n".join(part.strip() for part in parts if any(map(str.isalnum, part)))


def _declared_tools(system: str) -> list[Mapping[str, Any]]:
    """The tools in the system message: a JSON list, or JSON objects one after another.

    Raises:
        FormatError: there are tags, but no JSON between them.
    """
    found = _TOOLS.findall(system)
    if not found:
        return []
    text = found[-1].strip()
    spelled = text if text.startswith("[") else "[" + ",".join(line for line in text.splitlines() if line.strip()) + "]"
    try:
        tools: list[Mapping[str, Any]] = load_json(spelled)
    except FormatError as cause:
        raise FormatError(f"the text between <tools> and </tools> cannot be read: {cause}") from cause
    return tools

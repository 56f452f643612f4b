"""Seeds from Hermes function calling in ShareGPT: calls in ``<tool_call>``, tools in the system message's ``<tools>``.

Source of the format: github.com/NousResearch/Hermes-Function-Calling. Tools may stand under ``tools`` instead.
"""

import re
from collections.abc import Mapping
from typing import Any

import orjson

from simia.errors import FormatError
from simia.formats import hermes
from simia.seeds.declared import Worlds
from simia.seeds.distinct import id_of
from simia.seeds.openai import split_policy, task_of
from simia.seeds.sharegpt import conversation_of
from simia.types import Seed

NAME = "hermes"
LICENCE = "NOASSERTION"

# The published instructions name the tag before they use it: the last pair holds the tools.
_TOOLS = re.compile(r"<tools>(?!</tools>)\s*(.*?)\s*</tools>", re.DOTALL)
_INSTRUCTIONS = "You are a function calling AI model"


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
        self._licence = licence or LICENCE
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
        system, messages = split_policy(hermes.parse(items))
        declared = record.get("tools") or _declared_tools(system)
        return Seed(
            id=id_of(record, seed_id),
            world=self._worlds.world(system.split(_INSTRUCTIONS)[0].strip(), declared, self._licence),
            task=task_of(record.get("task"), messages),
            reference=messages,
            licence=self._licence,
            metadata={"source": NAME},
        )


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
        tools: list[Mapping[str, Any]] = orjson.loads(spelled)
    except orjson.JSONDecodeError as cause:
        raise FormatError(f"the text between <tools> and </tools> is no JSON: {cause}") from cause
    return tools

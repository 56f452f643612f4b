"""Seeds from chat-completions messages and tools: ``{"messages": [...], "tools": [...]}``, one record each.

A leading system message is the policy. ``tools`` may be JSON text, as datasets with a fixed schema have it, or stand
under ``functions``, as it was called before. Optional keys: ``id``, ``task``, ``initial_state``, ``licence`` or
``license``, ``metadata``. Without ``task`` the first user message is it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from simia.errors import FormatError
from simia.formats import openai
from simia.seeds.declared import Worlds
from simia.seeds.distinct import id_of
from simia.seeds.licence import licence_of
from simia.types import JsonObject, Message, Seed, SystemMessage, UserMessage, WorldSpec

NAME = "openai"
LICENCE = "NOASSERTION"


def recognises(record: Any) -> bool:
    """Whether a record looks like this format."""
    return isinstance(record, Mapping) and isinstance(record.get("messages"), Sequence)


class Reader:
    """Turns records into seeds. With ``world`` given, records need no policy and no tools of their own."""

    def __init__(self, licence: str | None = None, world: WorldSpec | None = None) -> None:
        self._licence = licence
        self._world = world
        self._worlds = Worlds(NAME)

    def seed(self, record: Any, seed_id: str) -> Seed:
        """The seed of a record.

        Raises:
            FormatError: the record is not in this format.
            SchemaError: a schema of a tool is none.
        """
        if not recognises(record):
            raise FormatError(f"no list under 'messages' in {_shape(record)}: write chat-completions messages there")
        policy, messages = split_policy(openai.parse_messages(record["messages"]))
        licence = self._licence or licence_of(record)
        if self._world is not None:
            world, licence = self._world, licence or self._world.licence
        else:
            licence = licence or LICENCE
            world = self._worlds.world(policy, _declared_tools(record), licence)
        return Seed(
            id=id_of(record, seed_id),
            world=world,
            task=task_of(record.get("task"), messages),
            reference=messages,
            initial_state=_object(record, "initial_state"),
            licence=licence,
            metadata=_object(record, "metadata") or {},
        )


def split_policy(messages: Sequence[Message]) -> tuple[str, tuple[Message, ...]]:
    """The text of the leading system messages, and the messages behind them.

    Raises:
        FormatError: nothing is left, or a system message stands behind another message: it is neither the policy nor
            a turn of the conversation.
    """
    policy: list[str] = []
    for message in messages:
        if not isinstance(message, SystemMessage):
            break
        policy.append(message.content)
    rest = tuple(messages[len(policy) :])
    if not rest:
        raise FormatError("the conversation has no message beside the system's")
    for message in rest:
        if isinstance(message, SystemMessage):
            raise FormatError(
                f"a system message stands in the middle of the conversation: {message.content!r:.80}; only the leading "
                "ones are the policy: put it there, or take it out"
            )
    return "\n\n".join(policy), rest


def task_of(declared: Any, messages: Sequence[Message]) -> str:
    """The declared task, or else what the user says first.

    Raises:
        FormatError: there is neither.
    """
    if isinstance(declared, str) and declared.strip():
        return declared
    for message in messages:
        if isinstance(message, UserMessage) and message.content.strip():
            return message.content
    raise FormatError("the record has no task, and no user message that could be it")


def _declared_tools(record: Mapping[str, Any]) -> Any:
    tools, functions = record.get("tools"), record.get("functions")
    if tools and functions:
        raise FormatError("both 'tools' and 'functions' declare tools: keep one of the two")
    return tools or functions


def _object(record: Mapping[str, Any], key: str) -> JsonObject | None:
    value = record.get(key)
    if value is not None and not isinstance(value, dict):
        raise FormatError(f"{key!r} is no object: {value!r:.80}")
    return value


def _shape(record: Any) -> str:
    if isinstance(record, Mapping):
        return f"a record with the keys {', '.join(map(str, record)) or '(none)'}"
    return f"a record that is {type(record).__name__}, not an object"

"""Seeds from ShareGPT conversations with tool roles: APIGen-MT-5k, and the form that LLaMA-Factory reads.

APIGen-MT (Salesforce/APIGen-MT-5k): one JSON array; ``conversations`` of ``{from, value}`` with the roles human, gpt,
function_call and observation; ``system`` is the policy, ``tools`` is JSON text. Its licence forbids commercial use, so
where a file could be either, it is taken for APIGen-MT: name the format ``sharegpt`` for a file of your own.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from simia.errors import FormatError
from simia.formats import sharegpt
from simia.seeds.declared import Worlds
from simia.seeds.distinct import id_of
from simia.seeds.licence import licence_of
from simia.seeds.openai import split_policy, task_of
from simia.types import Seed

APIGEN_MT = "apigen_mt"
APIGEN_MT_LICENCE = "CC-BY-NC-4.0"
NAME = "sharegpt"
LICENCE = "NOASSERTION"

_TOOL_ROLES = ("function_call", "observation")


def conversation_of(record: Any) -> Sequence[Any] | None:
    """What stands under ``conversations``, if it is a list of objects."""
    items = record.get("conversations") if isinstance(record, Mapping) else None
    return items if isinstance(items, list) and all(isinstance(item, Mapping) for item in items) else None


def policy_of(record: Mapping[str, Any], leading: str) -> str:
    """What stands under ``system``, and then the text of the leading system messages.

    Raises:
        FormatError: ``system`` is no text.
    """
    system = record.get("system")
    if not isinstance(system, str | None):
        raise FormatError(f"'system' is no text: {system!r:.80}")
    return "\n\n".join(part for part in (system, leading) if part)


def recognises(record: Any) -> bool:
    """Whether a record looks like ShareGPT with tools."""
    items = conversation_of(record)
    return bool(items) and ("tools" in record or any(item.get("from") in _TOOL_ROLES for item in items or ()))


def recognises_apigen_mt(record: Any) -> bool:
    """Whether a record has everything that records of APIGen-MT have."""
    return recognises(record) and isinstance(record.get("system"), str) and "tools" in record


class Reader:
    """Turns records into seeds."""

    def __init__(self, licence: str | None = None, name: str = NAME, otherwise: str = LICENCE) -> None:
        self._name = name
        self._licence = licence
        self._otherwise = otherwise
        self._worlds = Worlds(name)

    def seed(self, record: Any, seed_id: str) -> Seed:
        """The seed of a record.

        Raises:
            FormatError: the record is not in this format.
            SchemaError: a schema of a tool is none.
        """
        items = conversation_of(record)
        if not items:
            raise FormatError("no list of messages under 'conversations'")
        leading, messages = split_policy(sharegpt.parse(items))
        licence = self._licence or licence_of(record) or self._otherwise
        return Seed(
            id=id_of(record, seed_id),
            world=self._worlds.world(policy_of(record, leading), record.get("tools"), licence),
            task=task_of(record.get("task"), messages),
            reference=messages,
            licence=licence,
            metadata={"source": self._name},
        )


def apigen_mt_reader(licence: str | None = None) -> Reader:
    """A reader whose seeds are under APIGen-MT's licence, unless a record states its own."""
    return Reader(licence, APIGEN_MT, APIGEN_MT_LICENCE)

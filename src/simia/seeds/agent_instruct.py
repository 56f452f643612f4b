"""Seeds from AgentInstruct (AgentTuning, arXiv 2310.12823): conversations of human and gpt with text actions.

The data set has neither a system message nor tools: the first human turn holds the instructions, actions are text such
as ``Act: bash``, and results come back as human turns. They stay as they are; a world of such seeds has no tools. The
acknowledged instructions (the answer to them is not trained on: ``loss`` is false) become the policy.
"""

from collections.abc import Mapping
from typing import Any

from simia.errors import FormatError
from simia.formats import sharegpt
from simia.seeds.declared import Worlds
from simia.seeds.distinct import id_of
from simia.seeds.licence import licence_of
from simia.seeds.openai import split_policy, task_of
from simia.seeds.sharegpt import conversation_of, policy_of
from simia.types import Seed

NAME = "agent_instruct"
LICENCE = "Apache-2.0"
"""As the redistributions of the data set state it; the original card names none, so check before you publish."""

_ROLES = {"human", "gpt"}


def recognises(record: Any) -> bool:
    """Whether a record has conversations of human and gpt only, with the key ``loss``."""
    items = conversation_of(record)
    return bool(items) and all(item.get("from") in _ROLES and "loss" in item for item in items or ())


class Reader:
    """Turns records into seeds. The split (os, db, alfworld, webshop, kg, mind2web) is the first part of the id."""

    def __init__(self, licence: str | None = None) -> None:
        self._licence = licence
        self._worlds = Worlds(NAME)

    def seed(self, record: Any, seed_id: str) -> Seed:
        """The seed of a record.

        Raises:
            FormatError: the record is not in this format.
        """
        items = conversation_of(record)
        if not items:
            raise FormatError("no list of messages under 'conversations'")
        name = id_of(record, seed_id)
        instructions = ""
        if len(items) > 2 and _is_acknowledged(items[0], items[1]):
            instructions, items = str(items[0].get("value", "")).strip(), items[2:]
        leading, messages = split_policy(sharegpt.parse(items))
        policy = policy_of(record, "\n\n".join(part for part in (instructions, leading) if part))
        licence = self._licence or licence_of(record) or LICENCE
        return Seed(
            id=name,
            world=self._worlds.world(policy, None, licence),
            task=task_of(None, messages),
            reference=messages,
            licence=licence,
            metadata={"source": NAME, "split": name.partition("_")[0]},
        )


def _is_acknowledged(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    return first.get("from") == "human" and second.get("from") == "gpt" and second.get("loss") is False

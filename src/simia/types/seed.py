"""A seed: one real trajectory with its task; and the plan drawn for a new one."""

from typing import Literal

from simia.types.message import Message
from simia.types.state import State
from simia.types.value import JsonObject, Value
from simia.types.world import WorldSpec

PlannedOutcome = Literal["success", "refusal", "recoverable_fault"]


class Seed(Value):
    """One example to start from.

    ``task`` is told to the user and the judge, never to the agent. ``reference`` is the trajectory without its
    system message. ``licence`` is an SPDX identifier and travels into everything made from the seed.
    """

    id: str
    world: WorldSpec
    task: str
    reference: tuple[Message, ...]
    initial_state: State | None = None
    licence: str
    metadata: JsonObject = {}


class Plan(Value):
    """What one new trajectory should be like, drawn deterministically per item. Each field is a sentence or a word
    that goes into the prompt; domain rules are not here but in the world's policy.
    """

    formulation: str
    persona: str
    reasoning: str
    difficulty: Literal["easy", "medium", "hard"]
    outcome: PlannedOutcome
    turns: int
    """About how many messages the trajectory should have."""

"""A trajectory: what happened, where it came from, and how it ended."""

from enum import StrEnum
from functools import cached_property

from simia.types.message import Message
from simia.types.seed import Plan
from simia.types.state import State, StateDelta
from simia.types.value import JsonObject, Value


class StopReason(StrEnum):
    """Why an episode ended. Truncated is not terminated; failed is never scored."""

    COMPLETED = "completed"
    MAX_TURNS = "max_turns"
    CONTEXT_OVERFLOW = "context_overflow"
    MALFORMED_CALL = "malformed_call"
    TIMEOUT = "timeout"
    SIMULATOR_FAILED = "simulator_failed"


class Reward(Value):
    """A judgement of an episode, with its reason and the parts it is made of. Absent is not zero."""

    value: float
    reason: str
    parts: dict[str, float] = {}


class Fault(Value):
    """A programmed fault that a call met. ``kind`` says which: timeout, rate_limit, server_error and so on."""

    call_id: str
    kind: str


class Provenance(Value):
    """What it takes to make the same again. ``prompts`` are content hashes by template name."""

    run: str
    seed: str
    attempt: int
    model: str
    prompts: dict[str, str]
    licence: str


class Trajectory(Value):
    """A conversation with tool calls, without a system message: the policy and the tools are the world's.

    ``world`` is the ``content_id`` of the WorldSpec; a run holds each world once instead of 20 KB per conversation
    (docs/adr/0001). ``deltas`` maps a call id to what that call changed, where state was tracked. ``repairs`` names
    every repair: ``json`` that of the reply as it was read, the others those of the postprocess passes.
    """

    world: str
    task: str
    messages: tuple[Message, ...]
    provenance: Provenance
    stop_reason: StopReason = StopReason.COMPLETED
    plan: Plan | None = None
    initial_state: State | None = None
    deltas: dict[str, StateDelta] = {}
    faults: tuple[Fault, ...] = ()
    repairs: tuple[str, ...] = ()
    reward: Reward | None = None
    metadata: JsonObject = {}

    @cached_property
    def spoken(self) -> str:
        """What user and agent say, in lower case, a line end between messages."""
        return "\n".join([m.content for m in self.messages if m.role == "user" or m.role == "assistant"]).lower()

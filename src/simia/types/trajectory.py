"""A trajectory: what happened, where it came from, and how it ended."""

from enum import StrEnum
from functools import cached_property

from simia.types.message import Message
from simia.types.seed import Plan
from simia.types.state import State, StateDelta
from simia.types.value import JsonObject, Value


class StopReason(StrEnum):
    """Why an episode ended. Truncated is not terminated; failed is never scored.

    Terminated: the user left (``completed``), or the agent's calls stayed unreadable (``malformed_call``). Truncated: a
    limit was met; what the agent would have done next is not known. Failed: somebody other than the agent could not go
    on (``timeout``: the environment took too long; ``unavailable``: a model behind it could not be reached).
    """

    COMPLETED = "completed"
    MALFORMED_CALL = "malformed_call"
    MAX_TURNS = "max_turns"
    MAX_TOKENS = "max_tokens"
    CONTEXT_OVERFLOW = "context_overflow"
    TIMEOUT = "timeout"
    SIMULATOR_FAILED = "simulator_failed"
    USER_FAILED = "user_failed"
    UNAVAILABLE = "unavailable"

    @property
    def is_truncation(self) -> bool:
        """Whether a limit cut the episode off."""
        return self in _TRUNCATIONS

    @property
    def is_failure(self) -> bool:
        """Whether the environment and not the agent ended the episode."""
        return self in _FAILURES


_TRUNCATIONS = frozenset({StopReason.MAX_TURNS, StopReason.MAX_TOKENS, StopReason.CONTEXT_OVERFLOW})
_FAILURES = frozenset({StopReason.TIMEOUT, StopReason.SIMULATOR_FAILED, StopReason.USER_FAILED, StopReason.UNAVAILABLE})


class Vote(Value):
    """One verdict of a judge. ``passes`` None: no verdict could be read from what it answered. ``rule`` is the line of
    the policy, or of the task, that the verdict rests on; ``order`` says what the judge was shown in which order.
    """

    passes: bool | None
    reason: str
    rule: str = ""
    order: str = ""
    temperature: float = 0.0


class Reward(Value):
    """A judgement of an episode, with its reason and the parts it is made of. Absent is not zero: who cannot judge
    gives no reward at all. ``votes`` are those of a judge; where they differ, ``agreement`` is below 1.
    """

    value: float
    reason: str
    parts: dict[str, float] = {}
    votes: tuple[Vote, ...] = ()

    @property
    def agreement(self) -> float | None:
        """The share of readable votes that agree with most of them, or None without votes."""
        read = [vote.passes for vote in self.votes if vote.passes is not None]
        return max(read.count(True), read.count(False)) / len(read) if read else None


class Fault(Value):
    """A programmed fault that a call met. ``kind`` says which: timeout, rate_limit, server_error, stale_read,
    partial_result, malformed_body or permission_denied.
    """

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

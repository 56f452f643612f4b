"""The words of simia: frozen values, no I/O."""

from simia.types.chat import ChatModel, ChatReply, ChatRequest, FinishReason, Sampling, Usage
from simia.types.episode import Environment, Episode, Party, Played, Policy, RewardFunction, Step, Task
from simia.types.message import (
    AssistantMessage,
    MalformedToolCall,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from simia.types.outcome import Dropped, Failed, Kept, Outcome
from simia.types.schema import Schema, schema_for
from simia.types.seed import Plan, PlannedOutcome, Seed
from simia.types.state import ABSENT, Change, Path, Put, Remove, State, StateDelta, differences, same
from simia.types.task import WorldTask
from simia.types.tool import ToolSpec
from simia.types.trajectory import Fault, Provenance, Reward, StopReason, Trajectory, Vote
from simia.types.value import JsonObject, Value, canonical_json, content_id
from simia.types.world import Dynamics, Invariant, Transition, TransitionQuery, WorldSpec

__all__ = [
    "ABSENT",
    "AssistantMessage",
    "Change",
    "ChatModel",
    "ChatReply",
    "ChatRequest",
    "Dropped",
    "Dynamics",
    "Environment",
    "Episode",
    "Failed",
    "Fault",
    "FinishReason",
    "Invariant",
    "JsonObject",
    "Kept",
    "MalformedToolCall",
    "Message",
    "Outcome",
    "Party",
    "Path",
    "Plan",
    "PlannedOutcome",
    "Played",
    "Policy",
    "Provenance",
    "Put",
    "Remove",
    "Reward",
    "RewardFunction",
    "Sampling",
    "Schema",
    "Seed",
    "State",
    "StateDelta",
    "Step",
    "StopReason",
    "SystemMessage",
    "Task",
    "ToolCall",
    "ToolMessage",
    "ToolSpec",
    "Trajectory",
    "Transition",
    "TransitionQuery",
    "Usage",
    "UserMessage",
    "Value",
    "Vote",
    "WorldSpec",
    "WorldTask",
    "canonical_json",
    "content_id",
    "differences",
    "same",
    "schema_for",
]

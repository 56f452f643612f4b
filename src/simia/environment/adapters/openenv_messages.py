"""What OpenEnv 0.10 is told of an episode: its first messages, the answers to calls, and how it ended."""

from typing import Any

from openenv.core.env_server.mcp_types import CallToolObservation, Tool, ToolError, ToolErrorType
from openenv.core.env_server.types import Observation, State
from pydantic import BaseModel

from simia.environment.serving import Answer, Seat
from simia.seeds.calls import call_problem
from simia.types import Episode, JsonObject, ToolCall, ToolMessage, ToolSpec


class Ending(BaseModel):
    """How an episode ended. ``attributed_to`` says whose doing it is; where ``is_masked``, there is no reward and the
    episode should count for nothing.
    """

    stop_reason: str
    detail: str
    attributed_to: str
    is_masked: bool
    is_truncated: bool
    reason: str
    parts: dict[str, float]


class SimiaStart(Observation):
    """What an episode begins with: ``messages`` are the policy and the user's first words, as chat messages.
    ``episode`` is its id in the records of the server.
    """

    task_id: str = ""
    episode: str = ""
    messages: list[JsonObject] = []
    error: ToolError | None = None
    ending: Ending | None = None


class SimiaObservation(CallToolObservation):
    """What one call comes to. ``result`` is the text of the tool, also where that tells an error (``is_error``); of
    ``respond_to_user`` what the user says, or None where the user has left. ``error`` is set where nobody was asked.
    """

    is_error: bool = False
    ending: Ending | None = None


class SimiaState(State):
    """Where a session stands."""

    task_id: str | None = None
    is_over: bool = False


def answered(seat: Seat, name: str, arguments: JsonObject, answer: Answer) -> SimiaObservation:
    """What one call of the agent came to."""
    told = next((message for message in answer.messages if isinstance(message, ToolMessage)), None)
    world = seat.session.task.seed.world
    error = None
    if told is not None and call_problem(world, ToolCall(id=told.call_id, name=name, arguments=arguments)) is not None:
        kind = ToolErrorType.INVALID_ARGS if name in world.tool else ToolErrorType.TOOL_NOT_FOUND
        error = error_of(kind, told.content)
    return SimiaObservation(
        tool_name=name,
        result=None if told is None else told.content,
        is_error=told is not None and told.is_error,
        error=error,
        **end_of(answer.episode),
    )


def end_of(episode: Episode | None) -> dict[str, Any]:
    """``done``, ``reward`` and ``ending`` of an observation."""
    if episode is None:
        return {"done": False}
    reward = episode.reward
    ending = Ending(
        stop_reason=episode.trajectory.stop_reason.value,
        detail=episode.detail,
        attributed_to=episode.attributed_to.value,
        is_masked=episode.is_masked,
        is_truncated=episode.is_truncated,
        reason="" if reward is None else reward.reason,
        parts={} if reward is None else reward.parts,
    )
    return {"done": True, "reward": None if reward is None else reward.value, "ending": ending}


def listed(tool: ToolSpec) -> Tool:
    """A tool as OpenEnv lists it, its schema as it is."""
    return Tool(name=tool.name, description=tool.description, input_schema=tool.parameters)


def error_of(kind: ToolErrorType, said: str) -> ToolError:
    """An error of the protocol."""
    return ToolError(error_type=kind, message=said)

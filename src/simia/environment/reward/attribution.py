"""Whose doing the end of an episode is, and its reward, if it is the agent's."""

from typing import NamedTuple

from simia.environment.environment import FATAL
from simia.errors import JudgeError, ModelError
from simia.types import AssistantMessage, Party, Played, Reward, RewardFunction, StopReason, Vote

_PARTIES = {
    StopReason.COMPLETED: Party.AGENT,
    StopReason.MALFORMED_CALL: Party.AGENT,
    StopReason.MAX_TURNS: Party.AGENT,
    StopReason.MAX_TOKENS: Party.AGENT,
    StopReason.CONTEXT_OVERFLOW: Party.AGENT,
    StopReason.TIMEOUT: Party.INFRASTRUCTURE,
    StopReason.UNAVAILABLE: Party.INFRASTRUCTURE,
    StopReason.SIMULATOR_FAILED: Party.SIMULATOR,
    StopReason.USER_FAILED: Party.USER,
}


class Judgement(NamedTuple):
    """The reward of an episode, None where it is masked; whose doing its end is; why in words; and the votes of a judge
    that came to no verdict.
    """

    reward: Reward | None
    party: Party
    detail: str
    undecided: tuple[Vote, ...] = ()


def attribute(stop: StopReason, *, has_acted: bool) -> Party:
    """Whose doing it is that an episode ended by ``stop``.

    A context that is full before the agent has acted once was filled by policy, tools and task: no agent could help it.
    """
    if stop is StopReason.CONTEXT_OVERFLOW and not has_acted:
        return Party.INFRASTRUCTURE
    return _PARTIES[stop]


async def judged(played: Played, reward_function: RewardFunction, detail: str = "") -> Judgement:
    """The judgement of an episode. An end that is not the agent's doing is masked without anybody being asked.

    Args:
        detail: why it ended, in the environment's words.

    Raises:
        ConfigError, AuthenticationFailed, ModelNotFound, CostCeilingReached: no other episode could be judged either.
    """
    trajectory = played.trajectory
    has_acted = any(isinstance(message, AssistantMessage) for message in trajectory.messages)
    party = attribute(trajectory.stop_reason, has_acted=has_acted)
    if party is not Party.AGENT:
        return Judgement(None, party, detail or f"the episode ended as {trajectory.stop_reason.value}")
    try:
        reward = await reward_function(played)
    except FATAL:
        raise
    except JudgeError as cause:
        return Judgement(None, Party.JUDGE, str(cause), cause.votes)
    except ModelError as cause:
        return Judgement(None, Party.INFRASTRUCTURE, f"while judging: {cause}")
    if reward is None:
        return Judgement(None, Party.JUDGE, "nobody could judge it")
    return Judgement(reward, Party.AGENT, detail)

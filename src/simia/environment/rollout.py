"""Episodes played by an agent, one or many at once, and groups of them about the same task."""

from collections.abc import Callable
from dataclasses import dataclass

from simia.environment.audit import on_behalf_of
from simia.environment.environment import FATAL
from simia.environment.session import Session
from simia.environment.together import together
from simia.errors import ContextOverflow, ModelError
from simia.types import AssistantMessage, Episode, Policy, StopReason


@dataclass(frozen=True, slots=True)
class Group:
    """The episodes of one group, in the order of its members. ``reruns`` counts episodes that were masked and played
    again. A group with fewer than ``floor`` scored members ``is_void``: there is nothing to compare them with.
    """

    episodes: tuple[Episode, ...]
    reruns: int
    floor: int

    @property
    def is_void(self) -> bool:
        """Whether too few members can be scored."""
        return sum(not episode.is_masked for episode in self.episodes) < self.floor

    @property
    def rewards(self) -> tuple[float | None, ...]:
        """The reward of each member; None for a masked one, and for all where the group is void."""
        if self.is_void:
            return (None,) * len(self.episodes)
        return tuple(None if episode.reward is None else episode.reward.value for episode in self.episodes)


async def run_episode(session: Session, policy: Policy) -> Episode:
    """Play one episode to its judged end. That something fails on the way is data, not an exception.

    Raises:
        ConfigError, AuthenticationFailed, ModelNotFound, CostCeilingReached: no other episode would fare better.
        StoreError: what was asked could not be recorded.
    """
    step = await session.start()
    messages = step.messages
    ids: set[str] = set()
    while not session.is_over:
        try:
            with on_behalf_of(session.id):
                message = await policy.act(messages, session.tools)
        except FATAL:
            raise
        except ContextOverflow as cause:
            session.cut(StopReason.CONTEXT_OVERFLOW, str(cause))
            break
        except ModelError as cause:
            session.cut(StopReason.UNAVAILABLE, f"the agent's model: {cause}")
            break
        message = _told_apart(message, ids)
        step = await session.step(message)
        messages = (*messages, message, *step.messages)
    return await session.finish()


async def run_group(
    make: Callable[[int, int], tuple[Session, Policy]], size: int, *, floor: int = 2, reruns: int = 1
) -> Group:
    """Play ``size`` episodes about the same task at once; those that are masked again, up to ``reruns`` times.

    Args:
        make: the session and the agent of a member (from 0) at an attempt (from 0); members of one group should share
            task, memory and draws of their simulator.
        floor: how many scored members make a group that says anything.

    Raises:
        SimiaError: as :func:`run_episode`; the other members are cancelled.
    """
    episodes: dict[int, Episode] = {}
    again = 0
    wanted = list(range(size))
    for attempt in range(reruns + 1):
        played = await together(run_episode(*make(member, attempt)) for member in wanted)
        episodes |= dict(zip(wanted, played, strict=True))
        wanted = [member for member, episode in episodes.items() if episode.is_masked]
        if not wanted or attempt == reruns:
            break
        again += len(wanted)
    return Group(tuple(episodes[member] for member in range(size)), again, floor)


def _told_apart(message: AssistantMessage, known: set[str]) -> AssistantMessage:
    """``message`` with every call under an id of its own: some endpoints count from 0 in each reply, and then what a
    call changed would be told of another. ``known`` are the ids so far, and takes the new ones.
    """

    def own(call_id: str) -> str:
        found, number = call_id, 1
        while found in known:
            number += 1
            found = f"{call_id}_{number}"
        known.add(found)
        return found

    if not message.tool_calls and not message.malformed_calls:
        return message
    calls = tuple(call.model_copy(update={"id": own(call.id)}) for call in message.tool_calls)
    malformed = tuple(call.model_copy(update={"id": own(call.id)}) for call in message.malformed_calls)
    return message.model_copy(update={"tool_calls": calls, "malformed_calls": malformed})

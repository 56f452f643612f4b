"""An episode: an agent acts in an environment until one of them, or a limit, ends it; and whose doing that end is."""

from enum import StrEnum
from typing import Protocol

from simia.types.message import AssistantMessage, Message, ToolCall
from simia.types.seed import Seed
from simia.types.state import State
from simia.types.tool import ToolSpec
from simia.types.trajectory import Reward, StopReason, Trajectory, Vote
from simia.types.value import Value
from simia.types.world import Invariant


class Party(StrEnum):
    """Whose doing the end of an episode is. Only what is the agent's doing is scored."""

    AGENT = "agent"
    SIMULATOR = "simulator"
    USER = "user"
    JUDGE = "judge"
    INFRASTRUCTURE = "infrastructure"


class Task(Value):
    """What one episode, or a group of them, is about: a seed, and what a program knows about when it is done.

    ``goal`` are laws of the final state, all of which hold where the task is done; empty where no program can tell.
    ``gold`` is one sequence of calls that does the task, or empty. Neither is shown to agent or user.
    """

    seed: Seed
    goal: tuple[Invariant, ...] = ()
    gold: tuple[ToolCall, ...] = ()

    @property
    def id(self) -> str:
        """The seed's."""
        return self.seed.id


class Step(Value):
    """What an environment answers: the results of the agent's calls in their order, or what the user says next; at the
    start the policy and the user's first message. With a ``stop`` the episode is over; ``detail`` says why in words.
    """

    messages: tuple[Message, ...] = ()
    stop: StopReason | None = None
    detail: str = ""


class Played(Value):
    """An episode that is over and not judged yet: what a reward function may look at.

    ``final_state`` is None where no state was tracked. ``trajectory`` has no system message and no reward.
    """

    task: Task
    trajectory: Trajectory
    final_state: State | None = None


class Episode(Value):
    """One episode from its start to its reward. ``trajectory.reward`` is None where it is masked: it is no fault of the
    agent that it cannot be scored, and ``attributed_to`` and ``detail`` say whose fault it is.

    ``id`` is unique in its run; the members of one ``group`` are about the same task and share their simulator's draws.
    ``seconds`` is how long the environment and the judge took, without the agent. ``undecided`` are the votes of a
    judge that came to no verdict; those of a verdict stand in the reward. ``remembered`` are the ids of the calls that
    were answered as another member of the group was, without a model being asked again.
    """

    id: str
    group: str
    trajectory: Trajectory
    attributed_to: Party = Party.AGENT
    detail: str = ""
    seconds: float = 0.0
    undecided: tuple[Vote, ...] = ()
    remembered: tuple[str, ...] = ()

    @property
    def votes(self) -> tuple[Vote, ...]:
        """What the judge said, whether it came to a verdict or not."""
        return self.undecided if self.reward is None else self.reward.votes

    @property
    def reward(self) -> Reward | None:
        """The judgement, or None where the episode is masked."""
        return self.trajectory.reward

    @property
    def is_masked(self) -> bool:
        """Whether the episode counts for nothing."""
        return self.trajectory.reward is None

    @property
    def is_truncated(self) -> bool:
        """Whether a limit cut it off."""
        return self.trajectory.stop_reason.is_truncation

    @property
    def turns(self) -> int:
        """How often the agent acted."""
        return sum(isinstance(message, AssistantMessage) for message in self.trajectory.messages)


class Environment(Protocol):
    """What an agent acts in, for one episode and no second one. It judges nothing."""

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """What the agent may call."""
        ...

    async def start(self) -> Step:
        """The first messages.

        Raises:
            EpisodeMisused: it was started before.
        """
        ...

    async def step(self, message: AssistantMessage) -> Step:
        """What comes of the agent's message. That the environment itself cannot go on is a step with a stop.

        Raises:
            EpisodeMisused: it was not started, or is over.
        """
        ...


class Policy(Protocol):
    """An agent."""

    async def act(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> AssistantMessage:
        """Its next message.

        Raises:
            ModelError: nobody answered.
        """
        ...


class RewardFunction(Protocol):
    """Judges an episode that is over."""

    async def __call__(self, played: Played) -> Reward | None:
        """The reward, or None where this function has nothing to say about such an episode.

        Raises:
            JudgeError: a judge should have had something to say and had not.
            ModelError: nobody answered.
        """
        ...

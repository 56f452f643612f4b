"""One episode from its start to its judged end, whoever drives the agent."""

from simia.environment.audit import on_behalf_of
from simia.environment.environment import ToolEnvironment
from simia.environment.reward.attribution import judged
from simia.types import (
    AssistantMessage,
    Episode,
    Played,
    Provenance,
    RewardFunction,
    Step,
    StopReason,
    Task,
    ToolSpec,
    Trajectory,
)


class Session:
    """An environment, and what becomes of it: a trainer, a protocol or :func:`run_episode` steps it and finishes it.

    Every call of a model on the way is recorded as of this episode.
    """

    def __init__(
        self,
        task: Task,
        environment: ToolEnvironment,
        reward: RewardFunction,
        provenance: Provenance,
        *,
        episode_id: str,
        group: str,
    ) -> None:
        self.task = task
        self.environment = environment
        self.id = episode_id
        self.group = group
        self._reward = reward
        self._provenance = provenance
        self._episode: Episode | None = None

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """What the agent may call."""
        return self.environment.tools

    @property
    def is_over(self) -> bool:
        """Whether there is nothing more to step."""
        return self.environment.stop is not None

    async def start(self) -> Step:
        """As :meth:`simia.types.Environment.start`."""
        with on_behalf_of(self.id):
            return await self.environment.start()

    async def step(self, message: AssistantMessage) -> Step:
        """As :meth:`simia.types.Environment.step`."""
        with on_behalf_of(self.id):
            return await self.environment.step(message)

    def cut(self, stop: StopReason, detail: str) -> None:
        """End the episode from outside; nothing happens to one that is over."""
        self.environment.cut(stop, detail)

    def played(self) -> Played:
        """The episode as far as it went, not judged."""
        environment = self.environment
        return Played(
            task=self.task,
            trajectory=Trajectory(
                world=environment.seed.world.content_id,
                task=environment.seed.task,
                messages=tuple(environment.messages),
                provenance=self._provenance,
                stop_reason=environment.stop or StopReason.UNAVAILABLE,
                initial_state=environment.seed.initial_state,
                deltas=dict(environment.deltas),
                faults=tuple(environment.faults),
            ),
            final_state=environment.state,
        )

    async def finish(self) -> Episode:
        """The episode, judged; the same one each time. An episode that is still open is cut off as unavailable."""
        if self._episode is None:
            self.cut(StopReason.UNAVAILABLE, "the episode was left before its end")
            played = self.played()
            with on_behalf_of(self.id):
                judgement = await judged(played, self._reward, self.environment.detail)
            self._episode = Episode(
                id=self.id,
                group=self.group,
                trajectory=played.trajectory.model_copy(update={"reward": judgement.reward}),
                attributed_to=judgement.party,
                detail=judgement.detail,
                undecided=judgement.undecided,
                remembered=tuple(self.environment.remembered),
                seconds=round(self.environment.seconds, 4),
            )
        return self._episode

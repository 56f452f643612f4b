"""Whether an agent brought its episode to an end, or a limit did."""

from simia.types import Played, Reward, StopReason


class Finished:
    """1.0 where the user left, 0.0 where a limit cut the episode off or calls stayed unreadable. As a gate it keeps an
    agent from acting on and on after the task is done, which the final state alone does not tell.
    """

    async def __call__(self, played: Played) -> Reward:
        """The verdict."""
        stop = played.trajectory.stop_reason
        return Reward(value=float(stop is StopReason.COMPLETED), reason=f"the episode ended as {stop.value}")

"""How many of the agent's calls a tool could take."""

from simia.formats.calls import Call, calls_of
from simia.seeds.calls import call_problem
from simia.types import AssistantMessage, MalformedToolCall, Played, Reward, WorldSpec


class WellFormedCalls:
    """The share of the agent's calls that can be read and fit their tool. Whether the tool refuses them is another
    matter. Without any call there is nothing to say.
    """

    async def __call__(self, played: Played) -> Reward | None:
        """The reward, from 0 to 1; its reason names the first call that does not fit."""
        world = played.task.seed.world
        calls = [
            call
            for message in played.trajectory.messages
            if isinstance(message, AssistantMessage)
            for call in calls_of(message)
        ]
        if not calls:
            return None
        problems = [problem for call in calls if (problem := _problem(world, call)) is not None]
        fitting = len(calls) - len(problems)
        reason = f"{fitting} of {len(calls)} calls can be read and fit their tools"
        return Reward(value=fitting / len(calls), reason=f"{reason}; {problems[0]}" if problems else reason)


def _problem(world: WorldSpec, call: Call) -> str | None:
    if isinstance(call, MalformedToolCall):
        return f"a call of {call.name or 'no tool'} could not be read: {call.reason}"
    return call_problem(world, call)

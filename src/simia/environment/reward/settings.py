"""What a user configures about the reward, and the reward that the settings mean."""

from pydantic import field_validator, model_validator

from simia.config import Settings
from simia.environment.reward.combine import Combined
from simia.environment.reward.finished import Finished
from simia.environment.reward.goal import StateGoal
from simia.environment.reward.judge import JudgeSettings, PolicyJudge
from simia.environment.reward.well_formed import WellFormedCalls
from simia.errors import ConfigError
from simia.types import ChatModel, RewardFunction
from simia.worlds import World

PARTS = ("state_goal", "judge", "well_formed", "finished")
"""The parts that a reward can have."""


class RewardSettings(Settings):
    """How an episode is rewarded: the mean of ``parts``, each with its weight, over those that have something to say.

    "state_goal" is 1 where the goal holds of the final state, else 0 (tasks from seeds have no goal, and a hidden
    state is not kept: it is refused there but beside a judge); "judge" is 1 where most votes of a language model pass
    the episode, else 0; "well_formed" is the share of calls that fit their tools; "finished" is 1 where the user left,
    and 0 where a limit cut the episode off or calls stayed unreadable. ``gates`` are parts without which nothing
    counts: below 1 the reward is 0, and where one has nothing to say the episode is masked. A gate may have the weight
    0. Gates are asked in their order, so the judge should stand last. ``judge`` is how it judges.
    """

    parts: dict[str, float] = {"state_goal": 1.0}
    gates: tuple[str, ...] = ()
    judge: JudgeSettings = JudgeSettings()

    @field_validator("parts")
    @classmethod
    def _known_parts(cls, parts: dict[str, float]) -> dict[str, float]:
        unknown = [name for name in parts if name not in PARTS]
        if unknown:
            raise ValueError(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
        wrong = [f"{name} {weight:g}" for name, weight in parts.items() if not 0 <= weight < float("inf")]
        if wrong:
            raise ValueError(f"a weight is a number of 0 or more, not {', '.join(wrong)}")
        if not any(parts.values()):
            raise ValueError("no part has a weight above 0, so there would be no reward")
        return parts

    @model_validator(mode="after")
    def _gates_are_parts(self) -> "RewardSettings":
        strange = [name for name in self.gates if name not in self.parts]
        if strange:
            known = ", ".join(self.parts)
            raise ValueError(
                f"gates: {', '.join(strange)} is no part of this reward ({known}): add it with the weight 0"
            )
        idle = [name for name, weight in self.parts.items() if not weight and name not in self.gates]
        if idle:
            raise ValueError(f"parts: {', '.join(idle)} has the weight 0 and is no gate: leave it out")
        return self

    @property
    def needs_goal(self) -> bool:
        """Whether nobody could say anything of what was done where a program cannot check the goal."""
        return "state_goal" in self.gates or ("state_goal" in self.parts and "judge" not in self.parts)


def build_reward(settings: RewardSettings, *, judge: ChatModel | None, world: World | None) -> RewardFunction:
    """The reward that ``settings`` mean.

    Args:
        judge: who plays the judge, where there is one.
        world: the executable world that answered the calls, None where a simulator did: what its calls would do in the
            world is not what they did.

    Raises:
        ConfigError: a judge is a part and no model plays it.
    """
    parts: dict[str, RewardFunction] = {
        "state_goal": StateGoal(world),
        "well_formed": WellFormedCalls(),
        "finished": Finished(),
    }
    if "judge" in settings.parts:
        if judge is None:
            raise ConfigError('the reward has the part "judge" and no model plays it: name one, or leave the part out')
        parts["judge"] = PolicyJudge(judge, settings.judge)
    return Combined(parts, settings.parts, settings.gates)

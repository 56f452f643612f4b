"""What a user configures about the environment of an agent."""

from typing import Literal

from pydantic import Field, model_validator

from simia.config import Settings
from simia.environment.limits import Limits
from simia.environment.reward.settings import RewardSettings
from simia.environment.task_user import UserSettings
from simia.simulate import FaultRule, FeedbackMode, SimulateSettings


class ToolSettings(SimulateSettings):
    """How the tools of an environment are played: the settings of ``simulate`` with other defaults, because an answer
    should be right rather than varied. What is about whole conversations, their agents and users has no effect here.
    """

    mode: Literal["trajectory", "turns"] = "turns"
    temperature: float = Field(default=0.0, ge=0)
    operations: bool = True


class EnvironmentSettings(Settings):
    """What an agent acts in.

    Tasks come from ``world``, an executable world (``simia world ls``), which draws ``tasks`` of them by ``task_seed``
    and knows for each when it is done; or from ``seeds``, anything that ``simia synth`` takes, of which ``tasks`` are
    read.

    ``dynamics`` says who answers calls: "tracked" a language model that is shown the state and proposes changes,
    "hidden" one that goes by policy, tools, an example and what happened before (Simia, arXiv 2511.01824), "executable"
    the world's own code. ``user`` says who speaks: "simulated" a language model that knows the task, "one_request" a
    program that says the task and no more.

    ``feedback`` is how a failed call is explained to the agent: "rich" in full, "terse" in a clause, "bare" not at all.
    ``faults`` are programmed faults of tools. ``limits`` end an episode, ``reward`` judges it. ``simulate`` is how the
    tools are played, ``talk`` how the user is.
    """

    world: str | None = None
    seeds: str | None = None
    tasks: int = Field(default=100, ge=1)
    task_seed: int = 0
    dynamics: Literal["tracked", "hidden", "executable"] = "tracked"
    user: Literal["simulated", "one_request"] = "simulated"
    feedback: FeedbackMode = "rich"
    faults: tuple[FaultRule, ...] = ()
    limits: Limits = Limits()
    simulate: ToolSettings = ToolSettings()
    talk: UserSettings = UserSettings()
    reward: RewardSettings = RewardSettings()

    @model_validator(mode="after")
    def _one_source(self) -> "EnvironmentSettings":
        if (self.world is None) == (self.seeds is None):
            raise ValueError("tasks come either from a world or from seeds: set one of world=NAME and seeds=SOURCE")
        if self.world is None and self.dynamics == "executable":
            raise ValueError('dynamics "executable" needs an executable world: set world=NAME instead of seeds')
        return self

    @model_validator(mode="after")
    def _somebody_can_judge(self) -> "EnvironmentSettings":
        whys = {
            "tasks from seeds have no goal": self.seeds is not None,
            'dynamics "hidden" keeps no state': self.dynamics == "hidden",
        }
        why = next((text for text, holds in whys.items() if holds), None)
        if why is not None and self.reward.needs_goal:
            raise ValueError(
                f"{why}, so the part state_goal of the reward has nothing to say: let a model judge instead, with "
                "reward.parts = { judge = 1.0 }"
            )
        return self

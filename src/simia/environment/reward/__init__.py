"""What an episode is worth, who says so, and how often who says so is right."""

from simia.environment.reward.attribution import Judgement, attribute, judged
from simia.environment.reward.combine import Combined
from simia.environment.reward.finished import Finished
from simia.environment.reward.goal import StateGoal
from simia.environment.reward.judge import JudgeSettings, PolicyJudge
from simia.environment.reward.settings import RewardSettings, build_reward
from simia.environment.reward.well_formed import WellFormedCalls

__all__ = [
    "Combined",
    "Finished",
    "JudgeSettings",
    "Judgement",
    "PolicyJudge",
    "RewardSettings",
    "StateGoal",
    "WellFormedCalls",
    "attribute",
    "build_reward",
    "judged",
]

"""Language models that play what an environment is made of: whole conversations, users, agents, tools."""

from simia.simulate.agent import SimulatedAgent
from simia.simulate.fault_plan import FaultKind, FaultRule, FaultyDynamics
from simia.simulate.feedback import FeedbackMode, reduced
from simia.simulate.memo import Memo
from simia.simulate.planned import Draws, PlannedSeed
from simia.simulate.settings import SimulateSettings
from simia.simulate.task import TaskWriter
from simia.simulate.tracked import TrackedDynamics
from simia.simulate.trajectory import TrajectorySimulator
from simia.simulate.turns import TurnSimulator
from simia.simulate.user import SimulatedUser, UserTurn

__all__ = [
    "Draws",
    "FaultKind",
    "FaultRule",
    "FaultyDynamics",
    "FeedbackMode",
    "Memo",
    "PlannedSeed",
    "SimulateSettings",
    "SimulatedAgent",
    "SimulatedUser",
    "TaskWriter",
    "TrackedDynamics",
    "TrajectorySimulator",
    "TurnSimulator",
    "UserTurn",
    "reduced",
]

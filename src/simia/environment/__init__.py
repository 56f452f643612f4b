"""Episodes for reinforcement learning: the environment, its reward, rollouts, and what was asked on the way."""

from simia.environment.environment import ToolEnvironment
from simia.environment.limits import Limits
from simia.environment.tasks import seed_tasks, task_of, world_tasks
from simia.environment.user import OneRequest, User

__all__ = ["Limits", "OneRequest", "ToolEnvironment", "User", "seed_tasks", "task_of", "world_tasks"]

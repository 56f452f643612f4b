"""Where episodes come from: tasks, whoever plays tools, user and judge, and the record of what they were asked."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy

from simia.config import bits_for
from simia.environment import task_user
from simia.environment.audit import AuditedModel, CallSink
from simia.environment.environment import ToolEnvironment
from simia.environment.reward import judge
from simia.environment.reward.settings import build_reward
from simia.environment.session import Session
from simia.environment.settings import EnvironmentSettings
from simia.environment.task_user import TaskUser
from simia.environment.tasks import seed_tasks, world_tasks
from simia.environment.user import OneRequest, User
from simia.errors import ConfigError
from simia.prompts import hashes
from simia.simulate import Draws, FaultyDynamics, Memo, TrackedDynamics, tracked
from simia.types import ChatModel, Dynamics, Provenance, RewardFunction, Task
from simia.worlds import World

_SEED_BITS = 31
_NAMED = 5
ROLES = ("tools", "user", "judge")


def roles_of(settings: EnvironmentSettings) -> tuple[str, ...]:
    """The roles that a language model plays in such an environment."""
    wanted = {
        "tools": settings.dynamics != "executable",
        "user": settings.user == "simulated",
        "judge": "judge" in settings.reward.parts,
    }
    return tuple(role for role in ROLES if wanted[role])


def prompts_of(settings: EnvironmentSettings) -> tuple[str, ...]:
    """The templates that such an environment asks models with, for a manifest."""
    wanted = {"tools": tracked.PROMPTS, "user": task_user.PROMPTS, "judge": judge.PROMPTS}
    return tuple(name for role in roles_of(settings) for name in wanted[role])


class Arena:
    """Makes episodes. Everything in it is shared by all of them and keeps nothing of any.

    Args:
        models: who plays each role of :func:`roles_of`.
        world: the executable world that the tasks come from, or None where they come from seeds.
        seed: moves every draw.
        sink: where each call of a model is recorded.

    Raises:
        ConfigError: a role has no model, there are no tasks, one has no text, or nobody could judge them.
    """

    def __init__(
        self,
        settings: EnvironmentSettings,
        models: Mapping[str, ChatModel],
        *,
        world: World | None = None,
        seed: int = 0,
        run_name: str = "",
        sink: CallSink | None = None,
    ) -> None:
        missing = [role for role in roles_of(settings) if role not in models]
        if missing:
            raise ConfigError(f"nobody plays {', '.join(missing)}: give a model for each, or change the environment")
        self.settings = settings
        self.seed = seed
        self._world = world
        self._run_name = run_name
        self._models = {
            role: model if sink is None else AuditedModel(model, role, sink) for role, model in models.items()
        }
        self.tasks = _by_id(self._read_tasks())
        if not self.tasks:
            raise ConfigError("there is no task to play: check environment.world, environment.seeds and tasks")
        self.reward = self._reward()
        self.prompts = hashes(prompts_of(settings))
        self._names = ", ".join(f"{role} {model.name}" for role, model in self._models.items())

    def task(self, task_id: str) -> Task:
        """The task with this id.

        Raises:
            ConfigError: there is none.
        """
        with suppress(KeyError):
            return self.tasks[task_id]
        some = ", ".join(list(self.tasks)[:_NAMED])
        raise ConfigError(f"no task {task_id!r}; there are {len(self.tasks):,}, for example {some}")

    def group(self, task: Task, key: str) -> "GroupMaker":
        """What makes the episodes of one group: they share the answers of the tools and the draws of the user.

        ``key`` is the group's name, and tells its user apart from that of another group about the same task. What tools
        draw follows from the task alone, so that nothing is paid for twice.
        """
        return GroupMaker(self, task, key)

    def session(self, task: Task, key: str) -> Session:
        """An episode that belongs to no group."""
        return self.group(task, key).session(0)

    def with_tasks(self, tasks: Sequence[Task]) -> "Arena":
        """The same environment about other tasks.

        Raises:
            ConfigError: a task has no text.
        """
        other = copy(self)
        other.tasks = _by_id(tasks)
        return other

    def executed(self, tasks: Sequence[Task]) -> "Arena":
        """The same environment with the world's own code in the place of its simulator, and without faults: what holds
        here holds in truth.

        Raises:
            ConfigError: the tasks come from no executable world, or one has no text.
        """
        if self._world is None:
            raise ConfigError("there is no executable world to compare with: set environment.world=NAME")
        other = self.with_tasks(tasks)
        other.settings = self.settings.model_copy(update={"dynamics": "executable", "faults": ()})
        other.reward = other._reward()
        return other

    def _read_tasks(self) -> list[Task]:
        settings = self.settings
        if settings.seeds is not None:
            return list(seed_tasks(settings.seeds, limit=settings.tasks))
        if self._world is None:
            raise ConfigError(f"the tasks of world {settings.world!r} need that world: open it first")
        return list(world_tasks(self._world, settings.tasks, settings.task_seed))

    def _reward(self) -> RewardFunction:
        """The reward. The world is asked only for what it answered itself."""
        settings = self.settings
        executed = settings.dynamics == "executable"
        if settings.reward.needs_goal and not executed and not any(task.goal for task in self.tasks.values()):
            raise ConfigError(
                f"no task has a goal that a program can check with dynamics {settings.dynamics!r}: set "
                'environment.dynamics=executable, or add the part "judge" to environment.reward.parts'
            )
        world = self._world if executed else None
        return build_reward(settings.reward, judge=self._models.get("judge"), world=world)

    def _dynamics(self, key: str) -> Dynamics:
        """Who answers the calls of one group, before any fault."""
        if self.settings.dynamics == "executable":
            if self._world is None:
                raise ConfigError('dynamics "executable" needs an executable world')
            return self._world
        seed = bits_for(self.seed, f"tools\x1f{key}", 0, _SEED_BITS)
        simulate, model = self.settings.simulate.model_copy(update={"seed": seed}), self._models["tools"]
        return Memo(
            TrackedDynamics(model, simulate), lambda failures: TrackedDynamics(model, simulate, attempt=failures)
        )


def _by_id(tasks: Iterable[Task]) -> dict[str, Task]:
    known = {task.id: task for task in tasks}
    silent = [task_id for task_id, task in known.items() if not task.seed.task.strip()]
    if silent:
        some = ", ".join(silent[:_NAMED]) + (" and others" if len(silent) > _NAMED else "")
        raise ConfigError(
            f"{len(silent):,} of {len(known):,} tasks have no text that a user could say, {some}: give them one, or "
            "leave them out"
        )
    return known


class GroupMaker:
    """Makes the episodes of one group."""

    def __init__(self, arena: Arena, task: Task, key: str) -> None:
        self.key = key
        self.task = task
        self._arena = arena
        self._dynamics = arena._dynamics(task.id)
        self._failures: dict[str, int] = {}
        hides = arena.settings.dynamics == "hidden"
        self._seed = task.seed.model_copy(update={"initial_state": None}) if hides else task.seed

    def session(self, member: int, attempt: int = 0) -> Session:
        """The episode of a member (from 0), which may be played again as another attempt."""
        arena, settings = self._arena, self._arena.settings
        episode_id = f"{self.key}/{member}" + (f"+{attempt}" if attempt else "")
        dynamics = self._dynamics
        if settings.faults:
            dynamics = FaultyDynamics(dynamics, settings.faults, Draws(arena.seed, episode_id))
        environment = ToolEnvironment(self._seed, dynamics, self._user(), settings.limits, feedback=settings.feedback)
        provenance = Provenance(
            run=arena._run_name,
            seed=self.task.id,
            attempt=attempt,
            model=arena._names or "programs",
            prompts=arena.prompts,
            licence=self.task.seed.licence,
        )
        return Session(self.task, environment, arena.reward, provenance, episode_id=episode_id, group=self.key)

    def _user(self) -> User:
        arena = self._arena
        if arena.settings.user == "one_request":
            return OneRequest(self.task)
        draws = Draws(arena.seed, self.key)
        return TaskUser(arena._models["user"], self.task, draws, arena.settings.talk, self._failures)

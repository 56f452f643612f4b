"""How an agent does on tasks that it never trains on: in the environment of its training, and executed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from simia.environment.arena import Arena
from simia.environment.audit import CallSink
from simia.environment.loop_thread import LoopThread
from simia.environment.tasks import world_tasks
from simia.errors import ConfigError
from simia.train.recipe import GrpoRecipe
from simia.types import Task, content_id
from simia.worlds import World

if TYPE_CHECKING:
    from simia.environment.adapters.trl import Watch

MODES = ("eval-trained", "eval-executed")
"""The first parts of the ids of an examination's episodes."""

_FARTHER = 1_000_003
"""How far the seed of held-out tasks lies from that of the training's."""
_DRAWN = 20
"""So many tasks are drawn for each that is wanted, since some are about what is trained on."""


class Examination:
    """The held-out tasks of a recipe, in every world where its agent is examined.

    Raises:
        ConfigError: the world has no task that is not trained on.
    """

    def __init__(self, recipe: GrpoRecipe, world: World | None, arena: Arena, loop: LoopThread, sink: CallSink) -> None:
        self._recipe = recipe
        self._loop = loop
        self._sink = sink
        self._tasks: list[Task] = []
        self._arenas: dict[str, Arena] = {}
        if recipe.evaluation.tasks and world is not None:
            self._tasks = held_out(world, recipe)
            self._arenas["trained"] = arena.with_tasks(self._tasks)
            if recipe.environment.dynamics != "executable":
                self._arenas["executed"] = arena.executed(self._tasks)

    def take(self, trainer: Any, watch: "Watch") -> dict[str, float]:
        """One episode for each task and world, played by the agent of ``trainer`` as it is now, as columns of the
        curves: by name of the world the share that succeeded of those that could be scored, and the share that could
        not. ``watch`` is told of every episode.
        """
        figures: dict[str, float] = {}
        for name, arena in self._arenas.items():
            rewards = self._rewards(trainer, name, arena, watch)
            scored = [reward for reward in rewards if reward is not None]
            figures[f"{name}_masked"] = 1 - len(scored) / len(rewards)
            if scored:
                figures[f"{name}_success"] = sum(reward >= 1 for reward in scored) / len(scored)
        return figures

    def _rewards(self, trainer: Any, name: str, arena: Arena, watch: "Watch") -> Sequence[float | None]:
        from simia.environment.adapters.trl import TrlSpec
        from simia.train.trl_trainer import answering

        learn = self._recipe.learn
        spec = TrlSpec(
            arena,
            self._loop,
            floor=1,
            reruns=learn.reruns,
            turn_tokens=learn.turn_tokens,
            sink=self._sink,
            watch=watch,
            mode=f"eval-{name}",
            agent_name=self._recipe.agent.model,
        )
        ids = [task.id for task in self._tasks]
        return answering(trainer, spec, ids, seed=self._recipe.seed, temperature=self._recipe.evaluation.temperature)


def held_out(world: World, recipe: GrpoRecipe) -> list[Task]:
    """Tasks of ``world`` for examinations: none of them is about what a task of the training is about.

    Raises:
        ConfigError: there is none.
    """
    environment = recipe.environment
    trained = {_matter(task) for task in world_tasks(world, environment.tasks, environment.task_seed)}
    wanted: list[Task] = []
    for task in world_tasks(world, _DRAWN * recipe.evaluation.tasks, environment.task_seed + _FARTHER):
        if _matter(task) not in trained:
            wanted.append(task)
            if len(wanted) == recipe.evaluation.tasks:
                break
    if not wanted:
        raise ConfigError(f"the world {world.spec.name} has no task that is not trained on: lower environment.tasks")
    return wanted


def _matter(task: Task) -> str:
    return content_id([task.seed.task, task.seed.initial_state])

"""Tasks for episodes: those of an executable world, with goals that a program can check; or seeds, with none."""

from collections.abc import Iterator
from itertools import islice

from simia.seeds import read
from simia.types import AssistantMessage, Message, Seed, Task, ToolMessage, UserMessage, WorldTask
from simia.worlds import World


def world_tasks(world: World, count: int | None = None, seed: int = 0) -> Iterator[Task]:
    """``count`` tasks that ``seed`` draws in ``world``, or those that it has, each with its goal and gold calls."""
    for task in islice(world.tasks(count, seed), count):
        yield task_of(world, task)


def task_of(world: World, task: WorldTask) -> Task:
    """A task of ``world`` as one of an episode. The reference is what the gold calls showed when executed."""
    seed = Seed(
        id=task.id,
        world=world.spec,
        task=task.instruction,
        reference=_executed(world, task),
        initial_state=task.initial_state,
        licence=world.spec.licence,
    )
    return Task(seed=seed, goal=task.goal, gold=task.gold)


def seed_tasks(source: str, *, limit: int | None = None) -> Iterator[Task]:
    """The seeds of ``source``, as for ``simia synth``, each as a task that only a judge can judge.

    Raises:
        SeedError: the source cannot be used.
        RecordError: a record of it is bad.
    """
    for seed in read(source, limit=limit):
        yield Task(seed=seed)


def _executed(world: World, task: WorldTask) -> tuple[Message, ...]:
    messages: list[Message] = [UserMessage(content=task.instruction)]
    state = task.initial_state
    for call in task.gold:
        transition, state = world.run(state, call)
        messages.append(AssistantMessage(tool_calls=(call,)))
        messages.append(
            ToolMessage(call_id=call.id, name=call.name, content=transition.observation, is_error=transition.is_error)
        )
    return tuple(messages)

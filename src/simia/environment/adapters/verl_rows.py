"""verl's data: Parquet files whose rows name a task of an arena, and hold nothing else that an agent is shown."""

from collections.abc import Sequence
from pathlib import Path

from simia.config import checked, read_toml
from simia.environment.arena import Arena
from simia.environment.recipe import ArenaRecipe, world_of
from simia.environment.tasks import seed_tasks, world_tasks
from simia.errors import ConfigError, ExtraMissing
from simia.store import disk
from simia.store.atomic import put_in_place
from simia.types import JsonObject, Task
from simia.worlds.door import open_world

AGENT = "simia_agent"
"""What the rows call the agent loop, and so must ``agent_loop.yaml``."""


def write_rows(arena: Arena, path: Path, *, split: str = "train", tasks: Sequence[Task] | None = None) -> int:
    """One row for each of ``tasks``, without them for each task of ``arena``; how many these are.

    ``split`` tells episodes of training from those of validation, also about the same task.

    Raises:
        ConfigError: there is no task.
        ExtraMissing: pyarrow is not installed.
        StoreError: the file cannot be written.
    """
    return _write(list(arena.tasks.values()) if tasks is None else list(tasks), path, split)


def write_recipe_rows(recipe_file: Path, train: Path, val: Path, *, held_out: int) -> tuple[int, int]:
    """The rows of a recipe without opening a model: its last ``held_out`` tasks go to ``val``, which verl cannot do
    without, the others to ``train``; how many these are.

    Raises:
        ConfigError: the recipe cannot be meant, or one of the two would have no task.
        ExtraMissing: pyarrow, or a package behind the world, is not installed.
        SeedError, RecordError: the seeds cannot be used.
        StoreError: a file cannot be written.
    """
    recipe = checked(ArenaRecipe, read_toml(recipe_file), str(recipe_file))
    settings = recipe.environment
    world = world_of(recipe, open_world)
    if world is not None:
        tasks = list(world_tasks(world, settings.tasks, settings.task_seed))
    else:
        tasks = list(seed_tasks(settings.seeds or "", limit=settings.tasks))
    if not 0 < held_out < len(tasks):
        raise ConfigError(f"{held_out} of {len(tasks)} tasks cannot be held out: at least one, and not all of them")
    return _write(tasks[:-held_out], train, "train"), _write(tasks[-held_out:], val, "val")


def _write(tasks: Sequence[Task], path: Path, split: str) -> int:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise ExtraMissing("verl", "verl's data") from None
    if not tasks:
        raise ConfigError(f"there is no task to write into {path}")
    table = pyarrow.Table.from_pylist([_row(number, task, split) for number, task in enumerate(tasks)])
    scratch = path.with_name(f"{path.name}.new")
    with disk(path, "write"):
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(table, scratch)
    put_in_place(scratch, path)
    return len(tasks)


def _row(number: int, task: Task, split: str) -> JsonObject:
    """What verl demands of a row, with the task's name. The real prompt is what the environment begins with."""
    return {
        "data_source": f"simia/{task.seed.world.name}",
        "agent_name": AGENT,
        "prompt": [{"role": "user", "content": ""}],
        "reward_model": {"style": "rule", "ground_truth": ""},
        "extra_info": {"index": number, "task_id": task.id, "split": split},
    }

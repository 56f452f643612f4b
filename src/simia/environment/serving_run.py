"""An arena opened to be served: with a run folder that keeps every episode and every call of a model, or without."""

import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from simia import __version__
from simia.environment.arena import Arena, prompts_of
from simia.environment.episodes import EPISODES
from simia.environment.recipe import FREE, ArenaRecipe, open_arena
from simia.environment.serving import Episodes
from simia.environment.tasks import seed_tasks, world_tasks
from simia.errors import TransientModelError
from simia.models.cast import Cast
from simia.models.meter import Meter
from simia.pipeline.metered import MeteredRun
from simia.prompts import hashes
from simia.store import Manifest, Run
from simia.store.replies import kept_replies
from simia.types import Task
from simia.worlds import World

GROWING = frozenset({"config.environment.tasks"})
"""Keys of a manifest whose number may be larger when its run is gone on with."""

OnWait = Callable[[TransientModelError, float], None]


@asynccontextmanager
async def open_episodes(
    recipe: ArenaRecipe,
    cast: Cast | None,
    world: World | None,
    folder: Path | None = None,
    *,
    on_wait: OnWait | None = None,
) -> AsyncIterator[Episodes]:
    """Episodes of ``recipe`` for the length of an ``async with`` block on one loop; at its end all are finished.

    With a ``folder`` they are kept in the run there, which is begun where there is none, and gone on with where there
    is: a server is started again and again. Without one, paid replies are kept in a file of the system for as long.

    Raises:
        ConfigError: there are no tasks, or a base URL holds a secret.
        ModelError: a model cannot be opened.
        StoreError: the folder holds another run, or cannot be written.
    """
    recipe.demand_no_secret()
    if folder is None:
        with (
            tempfile.TemporaryDirectory(prefix="simia-") as kept,
            kept_replies(Path(kept) / "replies.jsonl") as replies,
        ):
            opening = open_arena(recipe, cast, world, meter=Meter(), journal=replies, on_wait=on_wait)
            async with opening as arena, _settled(Episodes(arena)) as episodes:
                yield episodes
        return
    is_new = not (folder / "run.json").exists()
    manifest = manifest_of(recipe, cast, world)
    with Run.create(folder, manifest) if is_new else Run.resume(folder, manifest, free=FREE, growing=GROWING) as run:
        metered = MeteredRun(run, cast)
        try:
            async with (
                kept_arena(recipe, world, metered, on_wait) as arena,
                _settled(Episodes(arena, run, metered.note)) as episodes,
            ):
                yield episodes
        finally:
            if is_new and run.is_unpaid and not run.stream(EPISODES).counts().seen:
                run.discard()  # it was begun in vain
            else:
                metered.note()


def kept_arena(
    recipe: ArenaRecipe, world: World | None, metered: MeteredRun, on_wait: OnWait | None = None
) -> AbstractAsyncContextManager[Arena]:
    """The arena of ``recipe``, played by the cast of a run, whose folder keeps all that its models are asked."""
    run = metered.run
    return open_arena(
        recipe,
        metered.cast,
        world,
        meter=metered.meter,
        journal=run.replies,
        sink=run.calls,
        run_name=run.manifest.run,
        on_wait=on_wait,
        limit=metered.limit,
    )


@asynccontextmanager
async def _settled(episodes: Episodes) -> AsyncIterator[Episodes]:
    try:
        yield episodes
    finally:
        await episodes.settled()


def manifest_of(recipe: ArenaRecipe, cast: Cast | None, world: World | None) -> Manifest:
    """What served episodes are made from. World and seeds are told by their first task.

    Raises:
        SeedError: the seeds cannot be used.
    """
    settings = recipe.environment
    first = _first_task(recipe, world)
    return Manifest(
        run="served",
        version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        config=recipe.model_dump(mode="json"),
        prompts=hashes(prompts_of(settings)),
        seeds={} if first is None else {settings.world or settings.seeds or "": first.content_id},
        licences=() if first is None else (first.seed.licence,),
        model="" if cast is None else cast.names,
        model_reason="programs play every role" if cast is None else cast.reasons[0],
    )


def _first_task(recipe: ArenaRecipe, world: World | None) -> Task | None:
    settings = recipe.environment
    if settings.seeds is not None:
        return next(seed_tasks(settings.seeds, limit=1), None)
    return None if world is None else next(world_tasks(world, 1, settings.task_seed), None)

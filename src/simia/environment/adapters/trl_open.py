"""What TRL needs to train on the environment of a recipe, opened for a script of one's own."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from simia.environment.adapters.trl import TrlSpec
from simia.environment.loop_thread import LoopThread
from simia.environment.recipe import ArenaRecipe, choose_players, world_of
from simia.environment.serving_run import open_episodes
from simia.worlds.door import open_world


@contextmanager
def open_spec(recipe: ArenaRecipe, **options: Any) -> Iterator[TrlSpec]:
    """The environment of ``recipe`` for ``GRPOTrainer``, with its models open, for the length of a ``with`` block.

    Models are found as ``simia models check`` finds them. Paid replies are kept for as long and asked for once; to keep
    episodes and calls too, take ``simia train grpo``, or give ``watch`` and ``sink``.

    Args:
        options: as for :class:`simia.environment.adapters.trl.TrlSpec`.

    Raises:
        ConfigError: there is no such world, or there are no tasks.
        ModelError: a model cannot be had; the message says what to do.
    """
    world = world_of(recipe, open_world)
    cast = choose_players(recipe, os.environ, world)
    with LoopThread() as loop, loop.opened(open_episodes(recipe, cast, world)) as episodes:
        yield TrlSpec(episodes.arena, loop, **options)

"""Executable worlds: the truth about what a tool call shows and changes."""

from importlib import import_module

from simia.errors import ConfigError
from simia.worlds.executable import ExecutableWorld
from simia.worlds.world import World

__all__ = ["BENCHMARK", "REHEARSAL", "TRAINING", "ExecutableWorld", "World", "load", "names"]

BENCHMARK = ("airline", "bank", "files", "home", "hospital", "office", "sheet", "shop", "tickets", "webshop")
"""The worlds that simulators are measured on. None of them is ever made into training data of a simulator."""

TRAINING = ("campus", "library", "restaurant", "warehouse")
"""The worlds that a simulator may be trained on."""

REHEARSAL = ("lamps",)
"""Worlds so small that a model made in a minute can learn in them: for rehearsing a training run, not for measuring."""


def names() -> tuple[str, ...]:
    """The executable worlds of simia, sorted."""
    return tuple(sorted((*BENCHMARK, *TRAINING, *REHEARSAL)))


def load(name: str) -> ExecutableWorld:
    """The executable world called ``name``.

    Raises:
        ConfigError: there is none.
    """
    if name not in names():
        raise ConfigError(f"no executable world {name!r}; there are {', '.join(names())}")
    world: ExecutableWorld = import_module(f"simia.worlds.{name}").WORLD()
    return world

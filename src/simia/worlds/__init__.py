"""Executable worlds: the truth about what a tool call shows and changes."""

from collections.abc import Callable

from simia.errors import ConfigError
from simia.worlds.executable import ExecutableWorld
from simia.worlds.office import OfficeWorld
from simia.worlds.shop import ShopWorld

__all__ = ["ExecutableWorld", "OfficeWorld", "ShopWorld", "load", "names"]

_WORLDS: dict[str, Callable[[], ExecutableWorld]] = {"office": OfficeWorld, "shop": ShopWorld}


def names() -> tuple[str, ...]:
    """The executable worlds of simia."""
    return tuple(_WORLDS)


def load(name: str) -> ExecutableWorld:
    """The executable world called ``name``.

    Raises:
        ConfigError: there is none.
    """
    if name not in _WORLDS:
        raise ConfigError(f"no executable world {name!r}; there are {', '.join(_WORLDS)}")
    return _WORLDS[name]()

"""One door to every executable world: simia's own, those of other packages, and those in files."""

import importlib
from pathlib import Path

from simia import worlds
from simia.errors import ConfigError
from simia.seeds.tau2_domain import DOMAINS
from simia.worlds.agentdojo import SUITES, AgentDojoWorld
from simia.worlds.bfcl import BfclWorld
from simia.worlds.bfcl_package import APIS
from simia.worlds.tau2 import Tau2World
from simia.worlds.world import World

_ADAPTED = {"tau2": DOMAINS, "bfcl": tuple(APIS), "agentdojo": SUITES}
_SUFFIXES = (".py", ".json")


def known_names() -> tuple[str, ...]:
    """The names that :func:`open_world` takes, whether or not the extras that they need are installed."""
    return (*worlds.names(), *(f"{package}:{name}" for package, names in _ADAPTED.items() for name in names))


def open_world(name: str) -> World:
    """The world called ``name``, or the one in the file ``name``; of several in a file, the one after ``#``.

    ``tau2:airline`` has the tasks of the split train, ``tau2:airline:test`` and ``tau2:airline:base`` those of another.
    ``bfcl:TravelAPI+TwitterAPI`` lists the tools of two APIs, ``bfcl:TravelAPI:base`` has the tasks of one category.

    Raises:
        ConfigError: there is none.
        ExtraMissing: the world needs an extra that is not installed.
    """
    package, _, inside = name.partition(":")
    if package in _ADAPTED:
        return _adapted(package, inside)
    if name in worlds.names():
        return worlds.load(name)
    path, _, wanted = name.partition("#")
    if path.endswith(_SUFFIXES):
        return _from_file(Path(path).expanduser(), wanted)
    if Path(name).is_dir():
        raise ConfigError(f"{name} is a world folder, which has seeds and no code: it cannot be executed")
    raise ConfigError(f"no world {name!r}; there are {', '.join(known_names())}, and files that end in .py or .json")


def _adapted(package: str, inside: str) -> World:
    if package == "agentdojo":
        return AgentDojoWorld(inside)
    name, *tasks = inside.split(":", 1)
    return Tau2World(name, *tasks) if package == "tau2" else BfclWorld(name, *tasks)


def _from_file(path: Path, wanted: str) -> World:
    if not path.is_file():
        raise ConfigError(f"no file {path}")
    found: dict[str, World] = {
        world.spec.name: world for world in importlib.import_module("simia.worlds.envscaler").read_worlds(path)
    }
    if wanted in found:
        return found[wanted]
    if len(found) != 1 or wanted:
        raise ConfigError(
            f"{path} has {', '.join(found) or 'no world'}; name one as {path}#NAME, not {wanted or 'none'!r}"
        )
    return next(iter(found.values()))

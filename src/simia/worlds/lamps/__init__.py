"""The lamps of a house: the smallest world there is, for rehearsing a training run and for tests of one."""

import random

from simia.types import State
from simia.worlds.executable import ExecutableWorld, spec_of
from simia.worlds.lamps.state import INVARIANTS, LampsState, draw_state
from simia.worlds.lamps.tasks import KINDS
from simia.worlds.lamps.tools import TOOLS


class LampsWorld(ExecutableWorld):
    """Six rooms with a lamp each, and five tools. Its whole conversations fit into a few hundred tokens."""

    def __init__(self) -> None:
        spec = spec_of("lamps", __package__, LampsState, TOOLS, INVARIANTS)
        super().__init__(spec, {tool.__name__: tool for tool in TOOLS}, KINDS)

    def initial_state(self, rng: random.Random) -> State:
        """Some lamps are on."""
        return draw_state(rng)


WORLD = LampsWorld

"""A smart home: devices in rooms, scenes, schedules, an alarm and a clock that only a tool moves."""

import random

from simia.types import State
from simia.worlds.executable import ExecutableWorld, spec_of
from simia.worlds.home.state import INVARIANTS, HomeState, draw_state
from simia.worlds.home.tasks import KINDS
from simia.worlds.home.tools import TOOLS


class HomeWorld(ExecutableWorld):
    """Willow House, with fourteen tools; ``run_scene``, ``arm``, ``disarm`` and ``advance_clock`` change many devices
    at once.
    """

    def __init__(self) -> None:
        spec = spec_of("home", __package__, HomeState, TOOLS, INVARIANTS)
        super().__init__(spec, {tool.__name__: tool for tool in TOOLS}, KINDS)

    def initial_state(self, rng: random.Random) -> State:
        """Four rooms with twelve to fifteen devices at some time of a day of 2025."""
        return draw_state(rng)


WORLD = HomeWorld

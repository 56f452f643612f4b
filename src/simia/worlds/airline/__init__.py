"""An airline's reservations: parties of passengers on small aircraft, paid from travel credit in whole cents."""

import random

from simia.types import State
from simia.worlds.airline.state import INVARIANTS, AirlineState, draw_state
from simia.worlds.airline.tasks import KINDS
from simia.worlds.airline.tools import TOOLS
from simia.worlds.executable import ExecutableWorld, spec_of


class AirlineWorld(ExecutableWorld):
    """Heron Air, with fourteen tools; ``book``, ``check_in``, ``rebook_flight`` and ``end_day`` take many at once."""

    def __init__(self) -> None:
        spec = spec_of("airline", __package__, AirlineState, TOOLS, INVARIANTS)
        super().__init__(spec, {tool.__name__: tool for tool in TOOLS}, KINDS)

    def initial_state(self, rng: random.Random) -> State:
        """Four flights on two routes in the next days, and three parties that booked them."""
        return draw_state(rng)


WORLD = AirlineWorld

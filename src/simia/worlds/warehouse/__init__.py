"""A warehouse: stock in bins, orders to pick and ship, deliveries from suppliers."""

import random

from simia.types import State
from simia.worlds.executable import ExecutableWorld, spec_of
from simia.worlds.warehouse.state import INVARIANTS, WarehouseState, draw_state
from simia.worlds.warehouse.tasks import KINDS
from simia.worlds.warehouse.tools import TOOLS


class WarehouseWorld(ExecutableWorld):
    """Orders are reserved, picked and shipped, bins are counted and emptied, and what runs short is ordered again."""

    def __init__(self) -> None:
        spec = spec_of("warehouse", __package__, WarehouseState, TOOLS, INVARIANTS)
        super().__init__(spec, {tool.__name__: tool for tool in TOOLS}, KINDS)

    def initial_state(self, rng: random.Random) -> State:
        """Six items in five bins, four orders and a delivery on some day of 2025."""
        return draw_state(rng)


WORLD = WarehouseWorld

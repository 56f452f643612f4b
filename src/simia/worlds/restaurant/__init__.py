"""A restaurant on one evening: tables, reservations, orders, the kitchen, bills, in whole cents."""

import random

from simia.types import State
from simia.worlds.executable import ExecutableWorld, spec_of
from simia.worlds.restaurant.drawing import draw_state
from simia.worlds.restaurant.state import INVARIANTS, RestaurantState
from simia.worlds.restaurant.tasks import KINDS
from simia.worlds.restaurant.tools import TOOLS


class RestaurantWorld(ExecutableWorld):
    """The Copper Ladle, with fourteen tools; ``place_order``, ``pay_bills``, ``move_party`` and ``close_day`` change
    many things at once.
    """

    def __init__(self) -> None:
        spec = spec_of("restaurant", __package__, RestaurantState, TOOLS, INVARIANTS)
        super().__init__(spec, {tool.__name__: tool for tool in TOOLS}, KINDS)

    def initial_state(self, rng: random.Random) -> State:
        """Five tables, two or three of them with guests, on some day of 2025."""
        return draw_state(rng)


WORLD = RestaurantWorld

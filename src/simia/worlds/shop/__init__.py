"""A small online shop: orders, returns, addresses, store credit, under a customer service policy."""

import random
from importlib.resources import files

from simia.types import State, WorldSpec
from simia.worlds.executable import ExecutableWorld
from simia.worlds.shop.actions import ACTIONS
from simia.worlds.shop.schemas import INVARIANTS, STATE_SCHEMA, TOOLS
from simia.worlds.shop.states import draw_state
from simia.worlds.shop.tasks import KINDS


class ShopWorld(ExecutableWorld):
    """The online shop Northlight Supply, with ten tools, one of them a batch tool (``cancel_orders``)."""

    def __init__(self) -> None:
        spec = WorldSpec(
            name="shop",
            policy=files(__package__).joinpath("policy.md").read_text(encoding="utf-8").strip(),
            tools=TOOLS,
            state_schema=STATE_SCHEMA,
            invariants=INVARIANTS,
            licence="Apache-2.0",
        )
        super().__init__(spec, ACTIONS, KINDS)

    def initial_state(self, rng: random.Random) -> State:
        """Three customers with five orders on some day in 2025."""
        return draw_state(rng)


WORLD = ShopWorld

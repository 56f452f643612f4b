"""A web shop as an agent in a browser sees it: pages to search and click, a cart, vouchers and orders."""

import random

from simia.types import State
from simia.worlds.executable import ExecutableWorld, spec_of
from simia.worlds.webshop.state import INVARIANTS, WebshopState, draw_state
from simia.worlds.webshop.tasks import KINDS
from simia.worlds.webshop.tools import TOOLS


class WebshopWorld(ExecutableWorld):
    """The web shop Marigold Lane, with fourteen tools; ``checkout``, ``reorder`` and ``apply_voucher`` take the whole
    cart or order, ``remove_from_cart`` takes many lines at once.
    """

    def __init__(self) -> None:
        spec = spec_of("webshop", __package__, WebshopState, TOOLS, INVARIANTS)
        super().__init__(spec, {tool.__name__: tool for tool in TOOLS}, KINDS)

    def initial_state(self, rng: random.Random) -> State:
        """A browser somewhere in a shop of seven products, with some lines in the cart and two earlier orders."""
        return draw_state(rng)


WORLD = WebshopWorld

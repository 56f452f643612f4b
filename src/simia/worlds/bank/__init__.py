"""A bank's service desk: accounts, cards, payments, in whole cents."""

import random

from simia.types import State
from simia.worlds.bank.state import INVARIANTS, BankState, draw_state
from simia.worlds.bank.tasks import KINDS
from simia.worlds.bank.tools import TOOLS
from simia.worlds.executable import ExecutableWorld, spec_of


class BankWorld(ExecutableWorld):
    """Kestrel Bank, with fourteen tools; ``pay_many``, ``set_card_limits`` and ``month_end`` take many at once."""

    def __init__(self) -> None:
        spec = spec_of("bank", __package__, BankState, TOOLS, INVARIANTS)
        super().__init__(spec, {tool.__name__: tool for tool in TOOLS}, KINDS)

    def initial_state(self, rng: random.Random) -> State:
        """Three customers with five accounts on some day of 2025."""
        return draw_state(rng)


WORLD = BankWorld

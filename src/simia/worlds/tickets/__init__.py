"""An issue tracker of a help desk: tickets, agents with loads, milestones and links."""

import random

from simia.types import State
from simia.worlds.executable import ExecutableWorld, spec_of
from simia.worlds.tickets.state import INVARIANTS, TicketsState, draw_state
from simia.worlds.tickets.tasks import KINDS
from simia.worlds.tickets.tools import TOOLS


class TicketsWorld(ExecutableWorld):
    """The tracker of Harrier Software, with thirteen tools; ``merge_duplicates``, ``hand_over_work``,
    ``close_milestone`` and ``escalate_overdue`` take many tickets at once.
    """

    def __init__(self) -> None:
        spec = spec_of("tickets", __package__, TicketsState, TOOLS, INVARIANTS)
        super().__init__(spec, {tool.__name__: tool for tool in TOOLS}, KINDS)

    def initial_state(self, rng: random.Random) -> State:
        """Four agents, eight tickets and two milestones on some day of 2025."""
        return draw_state(rng)


WORLD = TicketsWorld

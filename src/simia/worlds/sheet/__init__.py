"""A spreadsheet workbook whose formulas are recalculated after every change."""

import random

from simia.types import State
from simia.worlds.executable import ExecutableWorld, spec_of
from simia.worlds.sheet.state import INVARIANTS, SheetState, draw_state
from simia.worlds.sheet.tasks import KINDS
from simia.worlds.sheet.tools import TOOLS


class SheetWorld(ExecutableWorld):
    """The workbook of a small firm; whole ranges are filled, copied and sorted, rows come and go."""

    def __init__(self) -> None:
        spec = spec_of("sheet", __package__, SheetState, TOOLS, INVARIANTS)
        super().__init__(spec, {tool.__name__: tool for tool in TOOLS}, KINDS)

    def initial_state(self, rng: random.Random) -> State:
        """A budget with sums, a team, a stock list without sums, and a locked archive."""
        return draw_state(rng)


WORLD = SheetWorld

"""A campus: courses with places and waiting lists, grades, rooms and a timetable."""

import random

from simia.types import State
from simia.worlds.campus.state import INVARIANTS, CampusState, draw_state
from simia.worlds.campus.tasks import KINDS
from simia.worlds.campus.tools import TOOLS
from simia.worlds.executable import ExecutableWorld, spec_of


class CampusWorld(ExecutableWorld):
    """Larkfield College, with thirteen tools; ``enrol`` and ``enter_grades`` take many at once, ``cancel_course``,
    ``promote_waiting`` and ``end_semester`` change whatever the state holds.
    """

    def __init__(self) -> None:
        spec = spec_of("campus", __package__, CampusState, TOOLS, INVARIANTS)
        super().__init__(spec, {tool.__name__: tool for tool in TOOLS}, KINDS)

    def initial_state(self, rng: random.Random) -> State:
        """Seven students and four courses in the middle of a semester."""
        return draw_state(rng)


WORLD = CampusWorld

"""A hospital's front office: appointments, referrals, the waiting list and beds."""

import random

from simia.types import State
from simia.worlds.executable import ExecutableWorld, spec_of
from simia.worlds.hospital.state import INVARIANTS, HospitalState, draw_state
from simia.worlds.hospital.tasks import KINDS
from simia.worlds.hospital.tools import TOOLS


class HospitalWorld(ExecutableWorld):
    """Linden Hospital, with fourteen tools; ``call_in_sick``, ``fill_free_slots`` and ``end_day`` take many at once."""

    def __init__(self) -> None:
        spec = spec_of("hospital", __package__, HospitalState, TOOLS, INVARIANTS)
        super().__init__(spec, {tool.__name__: tool for tool in TOOLS}, KINDS)

    def initial_state(self, rng: random.Random) -> State:
        """Three doctors of two departments, six patients and two wards."""
        return draw_state(rng)


WORLD = HospitalWorld

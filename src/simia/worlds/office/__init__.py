"""A small office: calendars, rooms, documents and mail, under an assistant's policy."""

import random
from importlib.resources import files

from simia.types import State, WorldSpec
from simia.worlds.executable import ExecutableWorld
from simia.worlds.office.actions import ACTIONS
from simia.worlds.office.schemas import INVARIANTS, STATE_SCHEMA, TOOLS
from simia.worlds.office.states import draw_state
from simia.worlds.office.tasks import KINDS


class OfficeWorld(ExecutableWorld):
    """The office of Brightwater Studio, with ten tools; three take several things at once (``move_meetings``,
    ``cancel_meetings``, ``share_documents``).
    """

    def __init__(self) -> None:
        spec = WorldSpec(
            name="office",
            policy=files(__package__).joinpath("policy.md").read_text(encoding="utf-8").strip(),
            tools=TOOLS,
            state_schema=STATE_SCHEMA,
            invariants=INVARIANTS,
            licence="Apache-2.0",
        )
        super().__init__(spec, ACTIONS, KINDS)

    def initial_state(self, rng: random.Random) -> State:
        """Somebody's working day in 2025, with meetings in that week and four documents."""
        return draw_state(rng)


WORLD = OfficeWorld

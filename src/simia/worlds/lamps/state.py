"""Which lamps are on."""

import random
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from simia.types import Invariant, State

Room = Annotated[str, Field(description="A room, for example 'hall'.")]
ROOMS = ("attic", "cellar", "garage", "hall", "kitchen", "study")


class LampsState(TypedDict):
    """The whole state: by room, whether its lamp is on."""

    lamps: dict[str, bool]


INVARIANTS = (Invariant(name="there are six lamps", expression="length(keys(lamps)) == `6`"),)


def draw_state(rng: random.Random) -> State:
    """Each lamp is on or off by chance, at least one of each."""
    while True:
        lamps = {room: rng.random() < 0.5 for room in ROOMS}
        if 0 < sum(lamps.values()) < len(ROOMS):
            return {"lamps": lamps}

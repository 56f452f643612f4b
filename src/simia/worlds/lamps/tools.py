"""The tools of the house, in the order an agent sees them."""

from collections.abc import Callable
from typing import Any

from typing_extensions import TypedDict

from simia.worlds.executable import Refused
from simia.worlds.lamps.state import LampsState, Room


class Lamp(TypedDict):
    room: str
    on: bool


def turn_on(state: LampsState, room: Room) -> Lamp:
    """Turn a lamp on."""
    if lamp_in(state, room):
        raise Refused(f"the lamp in the {room} is on already")
    state["lamps"][room] = True
    return {"room": room, "on": True}


def turn_off(state: LampsState, room: Room) -> Lamp:
    """Turn a lamp off."""
    if not lamp_in(state, room):
        raise Refused(f"the lamp in the {room} is off already")
    state["lamps"][room] = False
    return {"room": room, "on": False}


def turn_on_only(state: LampsState, room: Room) -> Lamp:
    """Turn a lamp on and all others off."""
    lamp_in(state, room)
    for other in state["lamps"]:
        state["lamps"][other] = other == room
    return {"room": room, "on": True}


def look_into(state: LampsState, room: Room) -> Lamp:
    """See whether a lamp is on."""
    return {"room": room, "on": lamp_in(state, room)}


def look_around(state: LampsState) -> dict[str, bool]:
    """See which lamps are on."""
    return dict(state["lamps"])


def lamp_in(state: LampsState, room: str) -> bool:
    """Whether the lamp in ``room`` is on.

    Raises:
        Refused: there is no such room.
    """
    if room not in state["lamps"]:
        raise Refused(f"there is no room {room!r}; there are {', '.join(state['lamps'])}")
    return state["lamps"][room]


TOOLS: tuple[Callable[..., Any], ...] = (turn_on, turn_off, turn_on_only, look_into, look_around)

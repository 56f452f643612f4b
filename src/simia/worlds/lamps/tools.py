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
    if room not in state["lamps"]:
        raise Refused(f"there is no room {room!r}; there are {', '.join(state['lamps'])}")
    if state["lamps"][room]:
        raise Refused(f"the lamp in the {room} is on already")
    state["lamps"][room] = True
    return {"room": room, "on": True}


def turn_off(state: LampsState, room: Room) -> Lamp:
    """Turn a lamp off."""
    if room not in state["lamps"]:
        raise Refused(f"there is no room {room!r}; there are {', '.join(state['lamps'])}")
    if not state["lamps"][room]:
        raise Refused(f"the lamp in the {room} is off already")
    state["lamps"][room] = False
    return {"room": room, "on": False}


def look_around(state: LampsState) -> dict[str, bool]:
    """See which lamps are on."""
    return dict(state["lamps"])


TOOLS: tuple[Callable[..., Any], ...] = (turn_on, turn_off, look_around)

"""The tools of the house that only read, and how all tools look things up and count the power."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.executable import Refused
from simia.worlds.home.state import (
    AlarmMode,
    Day,
    Device,
    Door,
    HomeState,
    Light,
    Plug,
    Room,
    Scene,
    Thermostat,
    Time,
    Window,
)

WATTS_PER_DEGREE = 50

RoomId = Annotated[str, Field(description="Name of a room, for example 'kitchen'.")]
SceneId = Annotated[str, Field(description="Scene, for example 'S-12'.")]


class HouseStatus(TypedDict):
    today: Day
    time: Time
    alarm: AlarmMode
    not_closed: Annotated[list[str], Field(description="Doors that are not locked and windows that are open.")]
    lights_on: list[str]
    outdoors: int
    schedules: Annotated[dict[str, Time], Field(description="When each schedule runs.")]


class RoomEnergy(TypedDict):
    watts: Annotated[int, Field(description="What the room draws now.")]
    watt_minutes: int


class EnergyReport(TypedDict):
    rooms: dict[str, RoomEnergy]
    watts: int
    watt_minutes: int


class RoomDetails(Room):
    room: str
    devices: dict[str, Device]


class SceneDetails(Scene):
    scene_id: str
    schedules: list[str]


def house_status(state: HomeState) -> HouseStatus:
    """Day, time, alarm and degrees outside, what is not closed, which lights are on, and when each schedule runs."""
    devices = sorted(state["devices"].items())
    return {
        "today": state["today"],
        "time": state["time"],
        "alarm": state["alarm"]["mode"],
        "not_closed": [
            key
            for key, row in devices
            if (row["kind"] == "window" and row["open"]) or (row["kind"] == "door" and not row["locked"])
        ],
        "lights_on": [key for key, row in devices if row["kind"] == "light" and row["brightness"] > 0],
        "outdoors": state["outdoors"],
        "schedules": {key: row["time"] for key, row in sorted(state["schedules"].items())},
    }


def energy_report(state: HomeState) -> EnergyReport:
    """What every room draws now and has used so far, and both for the whole house."""
    rooms: dict[str, RoomEnergy] = {
        name: {"watts": watts_in(state, name), "watt_minutes": room["watt_minutes"]}
        for name, room in sorted(state["rooms"].items())
    }
    return {
        "rooms": rooms,
        "watts": sum(row["watts"] for row in rooms.values()),
        "watt_minutes": sum(row["watt_minutes"] for row in rooms.values()),
    }


def look_into(state: HomeState, room: RoomId) -> RoomDetails:
    """A room with the settings of all devices in it."""
    details = room_of(state, room)
    devices = {key: row for key, row in sorted(state["devices"].items()) if row["room"] == room}
    return {"room": room, **details, "devices": devices}


def get_scene(state: HomeState, scene_id: SceneId) -> SceneDetails:
    """What a scene sets, and the schedules that run it."""
    schedules = sorted(key for key, schedule in state["schedules"].items() if schedule["scene"] == scene_id)
    return {"scene_id": scene_id, **scene_of(state, scene_id), "schedules": schedules}


def watts_in(state: HomeState, room: str) -> int:
    """What the devices of a room draw now; a light at full brightness draws 10 watts."""
    watts = 0
    for device in state["devices"].values():
        if device["room"] != room:
            continue
        if device["kind"] == "light":
            watts += device["brightness"] // 10
        elif device["kind"] == "plug" and device["on"]:
            watts += device["watts"]
        elif device["kind"] == "thermostat" and device["heating"]:
            watts += WATTS_PER_DEGREE * max(0, device["target"] - state["outdoors"])
    return watts


def room_of(state: HomeState, room: str) -> Room:
    if room not in state["rooms"]:
        raise Refused(f"room {room!r} not found")
    return state["rooms"][room]


def scene_of(state: HomeState, scene_id: str) -> Scene:
    if scene_id not in state["scenes"]:
        raise Refused(f"scene {scene_id!r} not found")
    return state["scenes"][scene_id]


def device_of(state: HomeState, device_id: str) -> Device:
    if device_id not in state["devices"]:
        raise Refused(f"device {device_id!r} not found")
    return state["devices"][device_id]


def light_of(state: HomeState, device_id: str) -> Light:
    device = device_of(state, device_id)
    if device["kind"] != "light":
        raise Refused(f"{device_id} is no light")
    return device


def plug_of(state: HomeState, device_id: str) -> Plug:
    device = device_of(state, device_id)
    if device["kind"] != "plug":
        raise Refused(f"{device_id} is no plug")
    return device


def thermostat_of(state: HomeState, device_id: str) -> Thermostat:
    device = device_of(state, device_id)
    if device["kind"] != "thermostat":
        raise Refused(f"{device_id} is no thermostat")
    return device


def opening_of(state: HomeState, device_id: str) -> Door | Window:
    device = device_of(state, device_id)
    if device["kind"] != "door" and device["kind"] != "window":
        raise Refused(f"{device_id} is no door or window")
    return device

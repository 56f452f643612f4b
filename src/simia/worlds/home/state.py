"""What Willow House keeps: rooms, devices, scenes, schedules, the alarm and the time."""

import random
from datetime import date, timedelta
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from simia.types import Invariant, State

Day = Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
Time = Annotated[str, Field(pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$", description="As in '07:30'.")]
Percent = Annotated[int, Field(ge=0, le=100)]
Degrees = Annotated[int, Field(ge=5, le=26, description="Whole degrees Celsius.")]
Tone = Literal["warm", "neutral", "cold"]
AlarmMode = Literal["disarmed", "night", "away"]


class Room(TypedDict):
    floor: Annotated[int, Field(description="0 is the ground floor.")]
    watt_minutes: Annotated[int, Field(ge=0, description="Energy used in this room so far.")]


class Light(TypedDict):
    kind: Literal["light"]
    room: str
    brightness: Annotated[int, Field(ge=0, le=100, description="0 is off.")]
    tone: Tone


class Plug(TypedDict):
    kind: Literal["plug"]
    room: str
    appliance: str
    on: bool
    watts: int
    essential: bool


class Thermostat(TypedDict):
    kind: Literal["thermostat"]
    room: str
    heating: bool
    comfort: Annotated[Degrees, Field(description="What the target goes back to when somebody is at home again.")]
    target: Degrees


class Door(TypedDict):
    kind: Literal["door"]
    room: str
    locked: bool
    armed: bool


class Window(TypedDict):
    kind: Literal["window"]
    room: str
    open: bool
    armed: bool


Device = Light | Plug | Thermostat | Door | Window


class Scene(TypedDict):
    name: str
    lights: Annotated[dict[str, Percent], Field(description="Brightness by light.")]
    targets: Annotated[dict[str, Degrees], Field(description="Degrees by thermostat.")]
    plugs: Annotated[dict[str, bool], Field(description="On or off by plug.")]


class Schedule(TypedDict):
    scene: str
    time: Time
    once: bool


class Alarm(TypedDict):
    mode: AlarmMode
    pin: str


class HomeState(TypedDict):
    """The whole state."""

    today: Day
    time: Time
    outdoors: Annotated[int, Field(description="Degrees outside.")]
    next_number: int
    alarm: Alarm
    rooms: dict[str, Room]
    devices: dict[str, Device]
    scenes: dict[str, Scene]
    schedules: dict[str, Schedule]


INVARIANTS = (
    Invariant(name="devices are in rooms", expression="values(devices)[].room", refers_to="keys(rooms)"),
    Invariant(name="schedules run scenes", expression="values(schedules)[].scene", refers_to="keys(scenes)"),
    Invariant(name="scenes set lights", expression="values(scenes)[].keys(lights)[]", refers_to="keys(devices)"),
    Invariant(name="scenes set thermostats", expression="values(scenes)[].keys(targets)[]", refers_to="keys(devices)"),
    Invariant(name="scenes switch plugs", expression="values(scenes)[].keys(plugs)[]", refers_to="keys(devices)"),
    Invariant(
        name="what is armed is closed",
        expression="length(values(devices)[?armed && (open || locked == `false`)]) == `0`",
    ),
    Invariant(
        name="nothing is armed while the alarm is off",
        expression="alarm.mode != 'disarmed' || length(values(devices)[?armed]) == `0`",
    ),
)

FLOORS = {"hall": 0, "kitchen": 0, "lounge": 0, "bedroom": 1, "study": 1, "bathroom": 1}
_APPLIANCES = (
    ("fridge", 90, True),
    ("router", 10, True),
    ("kettle", 2000, False),
    ("television", 120, False),
    ("heater fan", 1500, False),
    ("washer", 1800, False),
    ("printer", 60, False),
    ("dehumidifier", 300, False),
)
_SCENES = ("Reading", "Dinner", "Film night", "Early morning", "Party", "Nobody at home", "Work", "Cosy")


def draw_state(rng: random.Random) -> State:
    """Four rooms with twelve to fifteen devices, three scenes and some schedules; the alarm is on one time in three."""
    today = date(2025, 1, 5) + timedelta(days=rng.randrange(340))
    names = ["hall", "kitchen", *rng.sample(("lounge", "bedroom", "study", "bathroom"), 2)]
    rooms: dict[str, Room] = {name: {"floor": FLOORS[name], "watt_minutes": rng.randrange(400) * 100} for name in names}
    mode: AlarmMode = rng.choice(("disarmed", "disarmed", "disarmed", "disarmed", "night", "away"))
    devices = _devices(rng, names, mode)
    scenes = {
        f"S-{number}": _scene(rng, name, devices)
        for number, name in zip(_numbers(rng, 100, 3), rng.sample(_SCENES, 3), strict=True)
    }
    schedules = {f"P-{number}": _schedule(rng, sorted(scenes)) for number in _numbers(rng, 100, rng.randrange(1, 4))}
    return {
        "today": today.isoformat(),
        "time": _time(rng),
        "outdoors": rng.randrange(-4, 16),
        "next_number": rng.randrange(100, 400),
        "alarm": {"mode": mode, "pin": str(rng.randrange(1000, 10000))},
        "rooms": rooms,
        "devices": devices,
        "scenes": scenes,
        "schedules": schedules,
    }


def _numbers(rng: random.Random, end: int, count: int) -> list[int]:
    return sorted(rng.sample(range(10, end), count))


def _time(rng: random.Random) -> str:
    return f"{rng.randrange(24):02}:{rng.choice((0, 10, 15, 30, 40, 45)):02}"


def _devices(rng: random.Random, rooms: list[str], mode: AlarmMode) -> dict[str, Device]:
    appliances = [rng.choice(_APPLIANCES[:2]), *rng.sample(_APPLIANCES[2:], 2)]
    windows = [_window(rng, room, mode) for room in rng.sample(rooms, rng.randint(1, 3))]
    aired = [window["room"] for window in windows if window["open"]]
    drawn: list[Device] = [
        *(_light(rng, room) for room in (*rooms, rng.choice(rooms))),
        *(_plug(rng, rng.choice(rooms), *appliance) for appliance in appliances),
        *(_thermostat(rng, room, mode, room not in aired) for room in rng.sample(rooms, rng.randint(1, 2))),
        *(_door(rng, room, mode) for room in rooms[:2]),
        *windows,
    ]
    numbers = _numbers(rng, 100, len(drawn))
    return {f"{device['kind']}-{number}": device for number, device in zip(numbers, drawn, strict=True)}


def _light(rng: random.Random, room: str) -> Light:
    tone: Tone = rng.choice(("warm", "neutral", "cold"))
    return {"kind": "light", "room": room, "brightness": rng.choice((0, 0, 0, 40, 60, 80, 100)), "tone": tone}


def _plug(rng: random.Random, room: str, appliance: str, watts: int, essential: bool) -> Plug:
    on = essential or rng.random() < 0.4
    return {"kind": "plug", "room": room, "appliance": appliance, "on": on, "watts": watts, "essential": essential}


def _thermostat(rng: random.Random, room: str, mode: AlarmMode, can_heat: bool) -> Thermostat:
    comfort = rng.randrange(19, 23)
    return {
        "kind": "thermostat",
        "room": room,
        "heating": can_heat and rng.random() < 0.7,
        "comfort": comfort,
        "target": 16 if mode == "away" else comfort,
    }


def _door(rng: random.Random, room: str, mode: AlarmMode) -> Door:
    armed = mode != "disarmed"
    return {"kind": "door", "room": room, "locked": armed or rng.random() < 0.6, "armed": armed}


def _window(rng: random.Random, room: str, mode: AlarmMode) -> Window:
    armed = mode == "away" or (mode == "night" and FLOORS[room] == 0)
    return {"kind": "window", "room": room, "open": not armed and rng.random() < 0.3, "armed": armed}


def _scene(rng: random.Random, name: str, devices: dict[str, Device]) -> Scene:
    lights = [key for key, row in devices.items() if row["kind"] == "light"]
    thermostats = [key for key, row in devices.items() if row["kind"] == "thermostat"]
    plugs = [key for key, row in devices.items() if row["kind"] == "plug" and not row["essential"]]
    return {
        "name": name,
        "lights": {key: rng.choice((0, 10, 30, 50, 70, 90)) for key in sorted(rng.sample(lights, rng.randint(2, 5)))},
        "targets": {
            key: rng.randrange(17, 24) for key in sorted(rng.sample(thermostats, rng.randint(0, len(thermostats))))
        },
        "plugs": {key: rng.random() < 0.5 for key in sorted(rng.sample(plugs, rng.randint(0, 2)))},
    }


def _schedule(rng: random.Random, scenes: list[str]) -> Schedule:
    return {"scene": rng.choice(scenes), "time": _time(rng), "once": rng.random() < 0.4}

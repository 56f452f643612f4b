"""The tools of the house that write, and all tools in the order an agent sees them."""

from datetime import date, timedelta
from typing import Annotated, Any, Literal

from pydantic import Field

from simia.worlds.executable import Action, Refused
from simia.worlds.home.reads import (
    RoomId,
    SceneDetails,
    SceneId,
    energy_report,
    get_scene,
    house_status,
    light_of,
    look_into,
    opening_of,
    plug_of,
    room_of,
    scene_of,
    thermostat_of,
    watts_in,
)
from simia.worlds.home.results import (
    Advanced,
    Armed,
    Disarmed,
    HeatingSet,
    LightsSet,
    NewSchedule,
    OpeningsSet,
    PlugsSwitched,
)
from simia.worlds.home.state import Degrees, Device, HomeState, Percent, Scene, Schedule, Time, Tone

FUSE_WATTS = 4000
AWAY_DEGREES = 16
MINUTES_PER_DAY = 1440

DeviceIds = Annotated[list[str], Field(min_length=1, max_length=8, description="Devices, for example 'light-31'.")]


def set_lights(state: HomeState, light_ids: DeviceIds, brightness: Percent, tone: Tone | None = None) -> LightsSet:
    """Set the brightness of some lights, where 0 is off, and their tone unless it shall stay."""
    tones: dict[str, Tone] = {}
    for light_id in light_ids:
        light = light_of(state, light_id)
        light["brightness"] = brightness
        light["tone"] = tone or light["tone"]
        tones[light_id] = light["tone"]
    return {"lights": list(light_ids), "brightness": brightness, "tone": tones}


def switch_plugs(state: HomeState, plug_ids: DeviceIds, on: bool) -> PlugsSwitched:
    """Switch some plugs on or off."""
    for plug_id in plug_ids:
        plug = plug_of(state, plug_id)
        if plug["essential"] and not on:
            raise Refused(f"{plug_id} feeds the {plug['appliance']} and stays on")
        plug["on"] = on
    watts = sum(watts_in(state, room) for room in state["rooms"])
    if on and watts > FUSE_WATTS:
        raise Refused(f"the house would draw {watts} watts; the fuse bears {FUSE_WATTS}")
    return {"plugs": list(plug_ids), "on": on, "watts": watts}


def set_heating(state: HomeState, thermostat_ids: DeviceIds, target: Degrees) -> HeatingSet:
    """Turn some thermostats on and set their target, which is also what people find comfortable there from now on."""
    rooms: set[str] = set()
    for thermostat_id in thermostat_ids:
        thermostat = thermostat_of(state, thermostat_id)
        if _has_open_window(state, thermostat["room"]):
            raise Refused(f"a window is open in the {thermostat['room']}")
        thermostat["heating"] = True
        thermostat["target"] = thermostat["comfort"] = target
        rooms.add(thermostat["room"])
    watts = sum(watts_in(state, room) for room in rooms)
    return {"thermostats": list(thermostat_ids), "target": target, "watts": watts}


def set_openings(state: HomeState, device_ids: DeviceIds, closed: bool) -> OpeningsSet:
    """Close windows and lock doors, or open and unlock them. Heating stops where a window is opened."""
    stopped: list[str] = []
    for device_id in device_ids:
        opening = opening_of(state, device_id)
        if opening["armed"] and not closed:
            raise Refused(f"{device_id} is armed")
        if opening["kind"] == "door":
            opening["locked"] = closed
            continue
        opening["open"] = not closed
        if not closed:
            stopped += _stop_heating(state, opening["room"])
    return {"openings": list(device_ids), "heating_stopped": sorted(stopped)}


def run_scene(state: HomeState, scene_id: SceneId) -> SceneDetails:
    """Set everything that a scene says."""
    if state["alarm"]["mode"] == "away":
        raise Refused("nobody is at home: only schedules run scenes")
    _apply(state, scene_of(state, scene_id))
    return get_scene(state, scene_id)


def save_scene(
    state: HomeState,
    scene_name: Annotated[str, Field(min_length=1, max_length=30)],
    rooms: Annotated[list[RoomId], Field(min_length=1, max_length=4)],
) -> SceneDetails:
    """Save as a new scene how lights, thermostats and plugs are set now in some rooms."""
    if any(scene["name"] == scene_name for scene in state["scenes"].values()):
        raise Refused(f"there is a scene {scene_name!r} already")
    scene: Scene = {"name": scene_name, "lights": {}, "targets": {}, "plugs": {}}
    for room in rooms:
        room_of(state, room)
    for device_id, device in sorted(state["devices"].items()):
        if device["room"] not in rooms:
            continue
        if device["kind"] == "light":
            scene["lights"][device_id] = device["brightness"]
        elif device["kind"] == "thermostat":
            scene["targets"][device_id] = device["target"]
        elif device["kind"] == "plug" and not device["essential"]:
            scene["plugs"][device_id] = device["on"]
    scene_id = _next_id(state, "S")
    state["scenes"][scene_id] = scene
    return {"scene_id": scene_id, **scene, "schedules": []}


def add_schedule(
    state: HomeState,
    scene_id: SceneId,
    time: Time,
    once: Annotated[bool, Field(description="Run it the next time only, not every day.")],
) -> NewSchedule:
    """Have a scene run at a time of day."""
    scene_of(state, scene_id)
    for key, row in sorted(state["schedules"].items()):
        if (row["scene"], row["time"]) == (scene_id, time):
            raise Refused(f"schedule {key} runs {scene_id} at {time} already")
    schedule: Schedule = {"scene": scene_id, "time": time, "once": once}
    schedule_id = _next_id(state, "P")
    state["schedules"][schedule_id] = schedule
    return {"schedule_id": schedule_id, **schedule}


def arm(state: HomeState, mode: Literal["night", "away"]) -> Armed:
    """Lock the doors and arm doors and windows, at night those of the ground floor only. When away, also turn off
    lights and plugs that are not essential, and lower the heating.
    """
    if state["alarm"]["mode"] != "disarmed":
        raise Refused(f"the alarm is armed for {state['alarm']['mode']} already")
    armed: list[str] = []
    for device_id, device in sorted(state["devices"].items()):
        if mode == "night" and state["rooms"][device["room"]]["floor"] > 0:
            continue
        if device["kind"] == "window" and device["open"]:
            raise Refused(f"{device_id} is open")
        if device["kind"] == "door":
            device["locked"] = True
        if device["kind"] == "door" or device["kind"] == "window":
            device["armed"] = True
            armed.append(device_id)
        elif mode == "away":
            _save_energy(device)
    state["alarm"]["mode"] = mode
    return {"mode": mode, "armed": armed}


def disarm(state: HomeState, pin: Annotated[str, Field(pattern="^[0-9]{4}$")]) -> Disarmed:
    """Turn the alarm off. Doors stay locked; the heating goes back to what is comfortable."""
    was = state["alarm"]["mode"]
    if was == "disarmed":
        raise Refused("the alarm is off already")
    if pin != state["alarm"]["pin"]:
        raise Refused("the code is wrong")
    disarmed: list[str] = []
    for device_id, device in sorted(state["devices"].items()):
        if device["kind"] == "thermostat":
            device["target"] = device["comfort"]
        elif (device["kind"] == "door" or device["kind"] == "window") and device["armed"]:
            device["armed"] = False
            disarmed.append(device_id)
    state["alarm"]["mode"] = "disarmed"
    return {"was": was, "disarmed": disarmed}


def advance_clock(state: HomeState, minutes: Annotated[int, Field(ge=1, le=720)]) -> Advanced:
    """Let time pass. On the way the rooms use energy, and schedules run their scenes in order of time. What is due at
    the very minute of the start has run already.
    """
    start = _minutes_of(state["time"])
    waits = {
        key: (_minutes_of(schedule["time"]) - start - 1) % MINUTES_PER_DAY + 1
        for key, schedule in state["schedules"].items()
    }
    ran = sorted((key for key, wait in waits.items() if wait <= minutes), key=lambda key: (waits[key], key))
    passed = 0
    for schedule_id in ran:
        _use_energy(state, waits[schedule_id] - passed)
        passed = waits[schedule_id]
        _apply(state, state["scenes"][state["schedules"][schedule_id]["scene"]])
        if state["schedules"][schedule_id]["once"]:
            del state["schedules"][schedule_id]
    _use_energy(state, minutes - passed)
    days, end = divmod(start + minutes, MINUTES_PER_DAY)
    state["today"] = (date.fromisoformat(state["today"]) + timedelta(days=days)).isoformat()
    state["time"] = f"{end // 60:02}:{end % 60:02}"
    return {"today": state["today"], "time": state["time"], "ran": ran}


TOOLS: tuple[Action, ...] = (
    house_status,
    energy_report,
    look_into,
    get_scene,
    set_lights,
    switch_plugs,
    set_heating,
    set_openings,
    run_scene,
    save_scene,
    add_schedule,
    arm,
    disarm,
    advance_clock,
)


def _apply(state: HomeState, scene: Scene) -> None:
    devices: dict[str, Any] = state["devices"]
    for key, brightness in scene["lights"].items():
        devices[key]["brightness"] = brightness
    for key, target in scene["targets"].items():
        devices[key]["target"] = target
    for key, on in scene["plugs"].items():
        devices[key]["on"] = on


def _minutes_of(time: str) -> int:
    return int(time[:2]) * 60 + int(time[3:])


def _use_energy(state: HomeState, minutes: int) -> None:
    for name, room in state["rooms"].items():
        room["watt_minutes"] += watts_in(state, name) * minutes


def _has_open_window(state: HomeState, room: str) -> bool:
    return any(row["kind"] == "window" and row["room"] == room and row["open"] for row in state["devices"].values())


def _stop_heating(state: HomeState, room: str) -> list[str]:
    stopped = []
    for key, device in state["devices"].items():
        if device["kind"] == "thermostat" and device["room"] == room and device["heating"]:
            device["heating"] = False
            stopped.append(key)
    return stopped


def _save_energy(device: Device) -> None:
    if device["kind"] == "light":
        device["brightness"] = 0
    elif device["kind"] == "plug" and not device["essential"]:
        device["on"] = False
    elif device["kind"] == "thermostat" and device["heating"]:
        device["target"] = min(device["target"], AWAY_DEGREES)


def _next_id(state: HomeState, prefix: str) -> str:
    number = state["next_number"]
    state["next_number"] = number + 1
    return f"{prefix}-{number}"

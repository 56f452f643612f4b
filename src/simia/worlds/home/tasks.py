"""Kinds of tasks in the house, each with the calls that do it."""

import random
from typing import Any

from simia.worlds.drafting import Draft, TaskKind, pick, pick_some

_NEW_SCENES = ("Guests", "Sunday", "Homework", "Late supper", "Nap")


def set_the_light(rng: random.Random, draft: Draft) -> str:
    rooms = pick_some(rng, draft.state["rooms"], 1, 3)
    lights = []
    for room in rooms:
        lights += _of_kind(draft.do("look_into", room=room)["devices"], "light")
    brightness, tone = rng.choice((15, 35, 55, 75, 95)), rng.choice(("warm", "neutral", "cold"))
    draft.do("set_lights", light_ids=lights, brightness=brightness, tone=tone)
    return f"I would like {tone} light at {brightness} percent in the {_and(rooms)}, from every lamp there is."


def call_a_scene(rng: random.Random, draft: Draft) -> str:
    scene = pick(rng, draft.state["scenes"])
    name = draft.state["scenes"][scene]["name"]
    draft.do("get_scene", scene_id=scene)
    draft.do("run_scene", scene_id=scene)
    return f"What does {scene} do? That should be {name!r}; if it is, run it."


def leave_the_house(rng: random.Random, draft: Draft) -> str:
    windows = draft.do("house_status")["not_closed"]
    windows = [key for key in windows if draft.state["devices"][key]["kind"] == "window"]
    if windows:
        draft.do("set_openings", device_ids=windows, closed=True)
    draft.do("arm", mode="away")
    return "We are all off for the weekend. Shut the windows that are still open and set the alarm for that."


def go_to_bed(rng: random.Random, draft: Draft) -> str:
    draft.do("house_status")
    draft.do("arm", mode="night")
    light = pick(rng, draft.state["devices"], where=lambda row: row["kind"] == "light" and row["brightness"] > 0)
    draft.do("set_lights", light_ids=[light], brightness=0)
    return f"Good night! Have a look round the house, arm it for the night and put out {light}."


def come_home(rng: random.Random, draft: Draft) -> str:
    for device in draft.state["devices"].values():
        _prepare_absence(device)
    draft.state["alarm"]["mode"] = "away"
    pin = draft.state["alarm"]["pin"]
    draft.do("disarm", pin=pin)
    draft.do("house_status")
    draft.do("energy_report")
    return f"It's us, we are back, the code is {pin}. Alarm off, then tell us how things stand and what we have used."


def let_time_pass(rng: random.Random, draft: Draft) -> str:
    minutes = rng.choice((20, 45, 90, 150, 240, 360, 600))
    draft.do("house_status")
    draft.do("advance_clock", minutes=minutes)
    draft.do("energy_report")
    return f"What is due, and when? Move the clock on by {minutes} minutes and show me the meter after that."


def warm_up(rng: random.Random, draft: Draft) -> str:
    chosen = pick_some(rng, draft.state["devices"], 1, 2, where=lambda row: row["kind"] == "thermostat")
    rooms = [draft.state["devices"][key]["room"] for key in chosen]
    target = rng.randrange(18, 25)
    thermostats = []
    for room in rooms:
        thermostats += _of_kind(draft.do("look_into", room=room)["devices"], "thermostat")
    draft.do("set_heating", thermostat_ids=thermostats, target=target)
    return f"It is chilly. {target} degrees in the {_and(rooms)} from now on, please."


def watch_the_meter(rng: random.Random, draft: Draft) -> str:
    on = rng.random() < 0.5
    plugs = pick_some(
        rng,
        draft.state["devices"],
        1,
        3,
        where=lambda row: row["kind"] == "plug" and not row["essential"] and row["on"] != on,
    )
    draft.do("energy_report")
    draft.do("switch_plugs", plug_ids=plugs, on=on)
    appliances = [f"the {draft.state['devices'][key]['appliance']} ({key})" for key in plugs]
    if on:
        return f"How much do we draw? If the fuse allows it, switch on {_and(appliances)}."
    return f"Is the meter running fast? Then let us do without {_and(appliances)} for now."


def keep_a_scene(rng: random.Random, draft: Draft) -> str:
    room = pick(rng, draft.state["rooms"])
    name, time = rng.choice(_NEW_SCENES), f"{rng.randrange(6, 23):02}:{rng.choice((5, 20, 50)):02}"
    once = rng.random() < 0.5
    draft.do("look_into", room=room)
    scene = draft.do("save_scene", scene_name=name, rooms=[room])["scene_id"]
    draft.do("add_schedule", scene_id=scene, time=time, once=once)
    when = "just the next time it is" if once else "every day at"
    return f"The {room} is lovely right now. Remember it as {name!r} and make it so again {when} {time}."


def air_the_rooms(rng: random.Random, draft: Draft) -> str:
    windows = pick_some(
        rng, draft.state["devices"], 1, 2, where=lambda row: row["kind"] == "window" and not row["open"]
    )
    rooms = [draft.state["devices"][key]["room"] for key in windows]
    for room in rooms:
        draft.do("look_into", room=room)
    draft.do("set_openings", device_ids=windows, closed=False)
    return f"Open the window in the {_and(rooms)}, we need fresh air. I know what that does to the heating."


KINDS: tuple[TaskKind, ...] = (
    set_the_light,
    call_a_scene,
    leave_the_house,
    go_to_bed,
    come_home,
    let_time_pass,
    warm_up,
    watch_the_meter,
    keep_a_scene,
    air_the_rooms,
)


def _and(words: list[str]) -> str:
    return ", ".join(words[:-1]) + f" and {words[-1]}" if len(words) > 1 else words[0]


def _of_kind(devices: dict[str, Any], kind: str) -> list[str]:
    return sorted(key for key, row in devices.items() if row["kind"] == kind)


def _prepare_absence(device: Any) -> None:
    """Close, lock, arm or lower ``device``, before the task begins."""
    if device["kind"] == "window":
        device.update(open=False, armed=True)
    elif device["kind"] == "door":
        device.update(locked=True, armed=True)
    elif device["kind"] == "thermostat":
        device["target"] = 16

"""The rules of the smart home, each by one call."""

from typing import Any

import orjson
import pytest

from simia.types import JsonObject, State, ToolCall
from simia.worlds.home import HomeWorld

HOME = HomeWorld()


def light(room: str, brightness: int) -> JsonObject:
    return {"kind": "light", "room": room, "brightness": brightness, "tone": "warm"}


def plug(room: str, appliance: str, on: bool, watts: int, essential: bool = False) -> JsonObject:
    return {"kind": "plug", "room": room, "appliance": appliance, "on": on, "watts": watts, "essential": essential}


@pytest.fixture
def state() -> State:
    return {
        "today": "2025-03-30",
        "time": "22:00",
        "outdoors": 10,
        "next_number": 100,
        "alarm": {"mode": "disarmed", "pin": "4711"},
        "rooms": {
            "hall": {"floor": 0, "watt_minutes": 0},
            "kitchen": {"floor": 0, "watt_minutes": 0},
            "study": {"floor": 1, "watt_minutes": 0},
        },
        "devices": {
            "light-1": light("kitchen", 100),
            "light-2": light("study", 50),
            "plug-1": plug("kitchen", "fridge", True, 90, essential=True),
            "plug-2": plug("kitchen", "kettle", False, 6000),
            "plug-3": plug("study", "printer", True, 60),
            "thermostat-1": {"kind": "thermostat", "room": "study", "heating": True, "comfort": 20, "target": 20},
            "door-1": {"kind": "door", "room": "hall", "locked": False, "armed": False},
            "window-1": {"kind": "window", "room": "kitchen", "open": False, "armed": False},
            "window-2": {"kind": "window", "room": "study", "open": False, "armed": False},
        },
        "scenes": {
            "S-1": {"name": "Dark", "lights": {"light-1": 0, "light-2": 0}, "targets": {}, "plugs": {"plug-3": False}},
            "S-2": {"name": "Dawn", "lights": {"light-2": 20}, "targets": {"thermostat-1": 22}, "plugs": {}},
        },
        "schedules": {
            "P-1": {"scene": "S-1", "time": "23:00", "once": True},
            "P-2": {"scene": "S-2", "time": "01:00", "once": False},
            "P-3": {"scene": "S-2", "time": "22:00", "once": False},
        },
    }


def do(state: State, name: str, **arguments: Any) -> tuple[Any, State]:
    transition, after = HOME.run(state, ToolCall(id="call_1", name=name, arguments=arguments))
    return orjson.loads(transition.observation), after


def test_a_house_that_is_left_is_locked_dark_and_cool(state: State) -> None:
    result, after = do(state, "arm", mode="away")
    devices = after["devices"]
    assert result["armed"] == ["door-1", "window-1", "window-2"]
    assert devices["door-1"]["locked"]
    assert (devices["light-1"]["brightness"], devices["light-2"]["brightness"]) == (0, 0)
    assert devices["thermostat-1"]["target"] == 16


def test_the_fridge_stays_on_in_an_empty_house(state: State) -> None:
    _, after = do(state, "arm", mode="away")
    assert after["devices"]["plug-1"]["on"]
    assert not after["devices"]["plug-3"]["on"]


def test_at_night_only_the_ground_floor_is_armed_and_the_lights_stay(state: State) -> None:
    result, after = do(state, "arm", mode="night")
    assert result["armed"] == ["door-1", "window-1"]
    assert after["devices"]["light-1"] == state["devices"]["light-1"]


def test_an_open_window_upstairs_hinders_leaving_but_no_night(state: State) -> None:
    state["devices"]["window-2"]["open"] = True
    assert do(state, "arm", mode="away")[0]["error"] == "window-2 is open"
    assert do(state, "arm", mode="night")[0]["mode"] == "night"


def test_whoever_comes_home_finds_it_warm_and_the_doors_locked(state: State) -> None:
    _, away = do(state, "arm", mode="away")
    result, after = do(away, "disarm", pin="4711")
    assert result == {"was": "away", "disarmed": ["door-1", "window-1", "window-2"]}
    assert after["devices"]["thermostat-1"]["target"] == 20
    assert after["devices"]["door-1"]["locked"]


def test_a_wrong_code_does_not_disarm(state: State) -> None:
    _, armed = do(state, "arm", mode="night")
    result, after = do(armed, "disarm", pin="1234")
    assert result["error"] == "the code is wrong"
    assert after == armed


def test_what_is_armed_is_not_opened(state: State) -> None:
    _, armed = do(state, "arm", mode="night")
    assert do(armed, "set_openings", device_ids=["door-1"], closed=False)[0]["error"] == "door-1 is armed"


def test_heating_stops_where_a_window_is_opened_and_nowhere_else(state: State) -> None:
    result, after = do(state, "set_openings", device_ids=["window-1", "window-2"], closed=False)
    assert result["heating_stopped"] == ["thermostat-1"]
    assert not after["devices"]["thermostat-1"]["heating"]


def test_nothing_is_heated_beside_an_open_window(state: State) -> None:
    state["devices"]["window-2"]["open"] = True
    result, _ = do(state, "set_heating", thermostat_ids=["thermostat-1"], target=22)
    assert result["error"] == "a window is open in the study"


def test_nothing_is_switched_on_that_the_fuse_does_not_bear(state: State) -> None:
    result, _ = do(state, "switch_plugs", plug_ids=["plug-2"], on=True)
    assert result["error"] == "the house would draw 6665 watts; the fuse bears 4000"


def test_a_scene_sets_what_it_names_and_leaves_the_rest(state: State) -> None:
    _, after = do(state, "run_scene", scene_id="S-1")
    changed = {key for key, device in after["devices"].items() if device != state["devices"][key]}
    assert changed == {"light-1", "light-2", "plug-3"}


def test_no_scene_is_run_by_hand_in_an_empty_house(state: State) -> None:
    _, away = do(state, "arm", mode="away")
    assert "only schedules run scenes" in do(away, "run_scene", scene_id="S-1")[0]["error"]


def test_schedules_run_in_order_of_time_and_what_runs_once_is_gone(state: State) -> None:
    result, after = do(state, "advance_clock", minutes=240)
    assert result == {"today": "2025-03-31", "time": "02:00", "ran": ["P-1", "P-2"]}
    assert sorted(after["schedules"]) == ["P-2", "P-3"]
    assert after["devices"]["light-2"]["brightness"] == 20


def test_energy_is_counted_as_the_devices_were_set_on_the_way(state: State) -> None:
    _, after = do(state, "advance_clock", minutes=90)
    until_eleven = 60 * (5 + 60 + 50 * 10)
    assert after["rooms"]["study"]["watt_minutes"] == until_eleven + 30 * 50 * 10


def test_a_saved_scene_is_what_the_room_is_now_without_what_is_essential(state: State) -> None:
    result, after = do(state, "save_scene", scene_name="Tea", rooms=["kitchen"])
    tea = {"name": "Tea", "lights": {"light-1": 100}, "targets": {}, "plugs": {"plug-2": False}}
    assert after["scenes"][result["scene_id"]] == tea

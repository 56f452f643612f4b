"""What the tools of the house that write return."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.home.state import AlarmMode, Day, Degrees, Percent, Schedule, Time, Tone


class LightsSet(TypedDict):
    lights: list[str]
    brightness: Percent
    tone: dict[str, Tone]


class PlugsSwitched(TypedDict):
    plugs: list[str]
    on: bool
    watts: Annotated[int, Field(description="What the whole house draws then.")]


class HeatingSet(TypedDict):
    thermostats: list[str]
    target: Degrees
    watts: Annotated[int, Field(description="What the rooms of these thermostats draw then.")]


class OpeningsSet(TypedDict):
    openings: list[str]
    heating_stopped: list[str]


class NewSchedule(Schedule):
    schedule_id: str


class Armed(TypedDict):
    mode: AlarmMode
    armed: list[str]


class Disarmed(TypedDict):
    was: AlarmMode
    disarmed: list[str]


class Advanced(TypedDict):
    today: Day
    time: Time
    ran: Annotated[list[str], Field(description="The schedules that ran, in order.")]

"""What the front office of Linden Hospital keeps: patients, doctors, their slots, the waiting list and beds."""

import random
from datetime import date, timedelta
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from simia.types import Invariant, State

Day = Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
DayAndTime = Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}$")]
DepartmentName = Literal["eyes", "heart", "joints", "skin"]
WardName = Literal["north", "south"]
DoctorId = Annotated[str, Field(description="Doctor's number, for example 'D-31'.")]
PatientId = Annotated[str, Field(description="Patient number, for example 'P-204'.")]
SlotId = Annotated[str, Field(description="Number of a slot, for example 'S-117'.")]


class Patient(TypedDict):
    name: str
    email: str


class Doctor(TypedDict):
    name: str
    department: DepartmentName
    status: Literal["present", "sick"]


class Slot(TypedDict):
    """A time of a doctor; with a patient it is an appointment."""

    doctor_id: str
    at: DayAndTime
    patient_id: str | None
    arrived: bool


class Referral(TypedDict):
    """A patient who waits for an appointment."""

    patient_id: str
    department: DepartmentName
    urgent: bool
    since: Day


class Bed(TypedDict):
    ward: WardName
    patient_id: str | None
    since: Day | None


class HospitalState(TypedDict):
    """The whole state."""

    today: Day
    next_number: int
    patients: dict[str, Patient]
    doctors: dict[str, Doctor]
    slots: dict[str, Slot]
    waiting: dict[str, Referral]
    beds: dict[str, Bed]


INVARIANTS = (
    Invariant(name="slots belong to doctors", expression="values(slots)[].doctor_id", refers_to="keys(doctors)"),
    Invariant(
        name="appointments are of patients",
        expression="values(slots)[?patient_id != null][].patient_id",
        refers_to="keys(patients)",
    ),
    Invariant(name="only patients wait", expression="values(waiting)[].patient_id", refers_to="keys(patients)"),
    Invariant(
        name="only patients lie in beds",
        expression="values(beds)[?patient_id != null][].patient_id",
        refers_to="keys(patients)",
    ),
    Invariant(
        name="only who has an appointment has arrived",
        expression="length(values(slots)[?arrived && patient_id == null]) == `0`",
    ),
    Invariant(
        name="a bed is taken since some day, or free",
        expression="length(values(beds)[?(patient_id == null) != (since == null)]) == `0`",
    ),
)

DEPARTMENTS: tuple[DepartmentName, ...] = ("eyes", "heart", "joints", "skin")

_PATIENTS = ("Anna Lie", "Bilal Omar", "Chen Wu", "Dina Katz", "Ewan Ross", "Flora Dias", "Goran Ilic", "Hana Sato")
_DOCTORS = ("Dr. Acheampong", "Dr. Bauer", "Dr. Cisneros", "Dr. Dahl", "Dr. Erdem", "Dr. Fontaine")
_TIMES = ("09:00", "10:30", "13:00", "15:30")


def draw_state(rng: random.Random) -> State:
    """Two doctors of one department and one of another, six patients and two wards, on some day of 2025."""
    today = date(2025, 1, 8) + timedelta(days=rng.randrange(340))
    patients = {
        f"P-{number}": _patient(name)
        for number, name in zip(_numbers(rng, 6, 100), rng.sample(_PATIENTS, 6), strict=True)
    }
    departments = rng.sample(DEPARTMENTS, 2)
    doctors = {
        f"D-{number}": _doctor(name, departments[place // 2])
        for place, (number, name) in enumerate(zip(_numbers(rng, 3, 10), rng.sample(_DOCTORS, 3), strict=True))
    }
    shared, other = _slots(rng, sorted(doctors)[:2], today, 7), _slots(rng, sorted(doctors)[2:], today, 3)
    waiting: dict[str, Referral] = {}
    for department, slots in zip(departments, (shared, other), strict=True):
        _fill(rng, slots, sorted(patients), today)
        unseen = sorted(patients.keys() - {slot["patient_id"] for slot in slots.values()})
        for patient_id in rng.sample(unseen, min(len(unseen), rng.randrange(1, 3))):
            waiting[f"W-{rng.randrange(100, 500)}"] = _referral(rng, patient_id, department, today)
    return {
        "today": today.isoformat(),
        "next_number": rng.randrange(500, 900),
        "patients": patients,
        "doctors": doctors,
        "slots": dict(sorted((shared | other).items())),
        "waiting": waiting,
        "beds": _beds(rng, sorted(patients), today),
    }


def _numbers(rng: random.Random, count: int, least: int) -> list[int]:
    return sorted(rng.sample(range(least, 5 * least), count))


def _patient(name: str) -> Patient:
    return {"name": name, "email": f"{name.lower().replace(' ', '.')}@post.example"}


def _doctor(name: str, department: DepartmentName) -> Doctor:
    return {"name": name, "department": department, "status": "present"}


def _slots(rng: random.Random, doctor_ids: list[str], today: date, count: int) -> dict[str, Slot]:
    """Free slots of the doctors in the next days, no two of a doctor at one time."""
    days = [(today + timedelta(days=ahead)).isoformat() for ahead in range(3)]
    times = [(doctor_id, f"{day} {time}") for doctor_id in doctor_ids for day in days for time in _TIMES]
    first = 100 if count > 3 else 300
    chosen = zip(sorted(rng.sample(range(first, first + 200), count)), sorted(rng.sample(times, count)), strict=True)
    return {
        f"S-{number}": {"doctor_id": doctor_id, "at": at, "patient_id": None, "arrived": False}
        for number, (doctor_id, at) in chosen
    }


def _fill(rng: random.Random, slots: dict[str, Slot], patient_ids: list[str], today: date) -> None:
    """Make appointments of about half of the slots, each with another patient."""
    booked = rng.sample(sorted(slots), rng.randint(len(slots) // 3, len(slots) * 2 // 3))
    for slot_id, patient_id in zip(booked, rng.sample(patient_ids, len(booked)), strict=True):
        slot = slots[slot_id]
        slot["patient_id"] = patient_id
        slot["arrived"] = slot["at"].startswith(today.isoformat()) and rng.random() < 0.3


def _referral(rng: random.Random, patient_id: str, department: DepartmentName, today: date) -> Referral:
    since = today - timedelta(days=rng.randrange(1, 30))
    return {
        "patient_id": patient_id,
        "department": department,
        "urgent": rng.random() < 0.3,
        "since": since.isoformat(),
    }


def _beds(rng: random.Random, patient_ids: list[str], today: date) -> dict[str, Bed]:
    """Three beds in each ward, some with patients."""
    beds: dict[str, Bed] = {}
    wards: tuple[WardName, ...] = ("north", "south")
    for place, number in enumerate(_numbers(rng, 6, 10)):
        beds[f"B-{number}"] = {"ward": wards[place // 3], "patient_id": None, "since": None}
    taken = rng.sample(sorted(beds), rng.randrange(2, 5))
    for bed_id, patient_id in zip(taken, rng.sample(patient_ids, len(taken)), strict=True):
        beds[bed_id]["patient_id"] = patient_id
        beds[bed_id]["since"] = (today - timedelta(days=rng.randrange(1, 9))).isoformat()
    return beds

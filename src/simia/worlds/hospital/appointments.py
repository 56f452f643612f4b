"""The tools for appointments and the waiting list."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.executable import Refused
from simia.worlds.hospital.state import (
    DayAndTime,
    DepartmentName,
    DoctorId,
    HospitalState,
    PatientId,
    Referral,
    Slot,
    SlotId,
)


class SlotRow(Slot):
    slot_id: str
    doctor: str


class WaitingRow(Referral):
    referral_id: str


class Booking(TypedDict):
    slot_id: SlotId
    at: DayAndTime
    doctor_id: DoctorId
    patient_id: PatientId


class Reassigned(TypedDict):
    doctor_id: DoctorId
    moved: list[Booking]
    waiting_again: list[PatientId]


def department_schedule(state: HospitalState, department: DepartmentName) -> list[SlotRow]:
    """All slots of a department's doctors, earliest first."""
    rows: list[SlotRow] = []
    for slot_id, slot in state["slots"].items():
        doctor = state["doctors"][slot["doctor_id"]]
        if doctor["department"] == department:
            rows.append({"slot_id": slot_id, "doctor": doctor["name"], **slot})
    return sorted(rows, key=lambda row: (row["at"], row["slot_id"]))


def waiting_list(state: HospitalState) -> list[WaitingRow]:
    """Who waits for an appointment: urgent ones first, then by the day since when."""
    rows: list[WaitingRow] = [{"referral_id": key, **row} for key, row in state["waiting"].items()]
    return sorted(rows, key=lambda row: (not row["urgent"], row["since"], row["referral_id"]))


def refer(
    state: HospitalState,
    patient_id: PatientId,
    departments: Annotated[list[DepartmentName], Field(min_length=1, max_length=4)],
    urgent: bool,
) -> list[WaitingRow]:
    """Put a patient on the waiting list of one or several departments."""
    if patient_id not in state["patients"]:
        raise Refused(f"patient {patient_id!r} not found")
    rows: list[WaitingRow] = []
    for department in departments:
        if _appointment(state, patient_id, department) or _referral(state, patient_id, department):
            raise Refused(f"patient {patient_id} waits for {department}, or has an appointment there")
        referral_id = add_referral(state, patient_id, department, urgent=urgent)
        rows.append({"referral_id": referral_id, **state["waiting"][referral_id]})
    return rows


def book_appointment(state: HospitalState, patient_id: PatientId, slot_id: SlotId) -> Booking:
    """Book a free slot. It takes the place of the patient's appointment in the department, or uses up a referral."""
    if slot_id not in state["slots"]:
        raise Refused(f"slot {slot_id!r} not found")
    department = state["doctors"][state["slots"][slot_id]["doctor_id"]]["department"]
    if slot_id not in _free_slots(state, department):
        raise Refused(f"slot {slot_id} is taken, or its doctor is sick")
    earlier = _appointment(state, patient_id, department)
    referral_id = _referral(state, patient_id, department)
    if earlier is not None:
        _release(state, earlier)
    elif referral_id is not None:
        del state["waiting"][referral_id]
    else:
        raise Refused(f"patient {patient_id} has no referral to {department}")
    return _take(state, slot_id, patient_id)


def fill_free_slots(state: HospitalState, department: DepartmentName) -> list[Booking]:
    """Give the free slots of a department, earliest first, to those who wait for it, in the order of the list."""
    waits = [row for row in waiting_list(state) if row["department"] == department]
    bookings: list[Booking] = []
    for row, slot_id in zip(waits, _free_slots(state, department), strict=False):
        del state["waiting"][row["referral_id"]]
        bookings.append(_take(state, slot_id, row["patient_id"]))
    if not bookings:
        raise Refused(f"nobody waits for {department}, or no slot is free there")
    return bookings


def call_in_sick(state: HospitalState, doctor_id: DoctorId) -> Reassigned:
    """Note that a doctor is sick; colleagues of the department take the patients, who finds no slot waits again.

    The patients come in the order of their slots, and take the earliest free ones; who waits again is urgent.
    """
    doctor = state["doctors"].get(doctor_id)
    if doctor is None or doctor["status"] == "sick":
        raise Refused(f"no doctor {doctor_id!r} is present")
    doctor["status"] = "sick"
    free = _free_slots(state, doctor["department"])
    moved: list[Booking] = []
    waiting_again: list[str] = []
    for slot_id, slot in sorted(state["slots"].items()):
        patient_id = slot["patient_id"]
        if slot["doctor_id"] != doctor_id or patient_id is None:
            continue
        _release(state, slot_id)
        if free:
            moved.append(_take(state, free.pop(0), patient_id))
        else:
            waiting_again.append(patient_id)
            add_referral(state, patient_id, doctor["department"], urgent=True)
    return {"doctor_id": doctor_id, "moved": moved, "waiting_again": waiting_again}


def add_referral(state: HospitalState, patient_id: str, department: DepartmentName, *, urgent: bool) -> str:
    referral_id = f"W-{state['next_number']}"
    state["next_number"] += 1
    state["waiting"][referral_id] = {
        "patient_id": patient_id,
        "department": department,
        "urgent": urgent,
        "since": state["today"],
    }
    return referral_id


def _free_slots(state: HospitalState, department: DepartmentName) -> list[str]:
    """Those of present doctors, earliest first."""
    slots = state["slots"]
    wanted = (department, "present")
    doctors = [key for key, row in state["doctors"].items() if (row["department"], row["status"]) == wanted]
    free = [key for key, slot in slots.items() if slot["doctor_id"] in doctors and slot["patient_id"] is None]
    return sorted(free, key=lambda key: (slots[key]["at"], key))


def _appointment(state: HospitalState, patient_id: str, department: DepartmentName) -> str | None:
    doctors = [key for key, row in state["doctors"].items() if row["department"] == department]
    slots = state["slots"].items()
    return next((key for key, slot in slots if slot["patient_id"] == patient_id and slot["doctor_id"] in doctors), None)


def _referral(state: HospitalState, patient_id: str, department: DepartmentName) -> str | None:
    wanted = (patient_id, department)
    waiting = state["waiting"].items()
    return next((key for key, row in waiting if (row["patient_id"], row["department"]) == wanted), None)


def _release(state: HospitalState, slot_id: str) -> None:
    slot = state["slots"][slot_id]
    slot["patient_id"] = None
    slot["arrived"] = False


def _take(state: HospitalState, slot_id: str, patient_id: str) -> Booking:
    slot = state["slots"][slot_id]
    slot["patient_id"] = patient_id
    return {"slot_id": slot_id, "at": slot["at"], "doctor_id": slot["doctor_id"], "patient_id": patient_id}

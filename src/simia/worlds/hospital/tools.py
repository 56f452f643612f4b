"""The tools for patients and the day at the front desk, and all tools of the front office."""

from datetime import date, timedelta
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.executable import Action, Refused
from simia.worlds.hospital.appointments import (
    add_referral,
    book_appointment,
    call_in_sick,
    department_schedule,
    fill_free_slots,
    refer,
    waiting_list,
)
from simia.worlds.hospital.beds import admit, bed_overview, discharge, move_ward
from simia.worlds.hospital.state import (
    Day,
    DayAndTime,
    DepartmentName,
    HospitalState,
    Patient,
    PatientId,
    SlotId,
)


class FoundPatient(Patient):
    patient_id: str
    appointments: list[str]
    waits_for: list[DepartmentName]


class Visit(TypedDict):
    slot_id: str
    at: DayAndTime
    doctor: str
    patient_id: str
    patient: str
    arrived: bool


class EndOfDay(TypedDict):
    seen: list[PatientId]
    missed: list[PatientId]
    today: Day


def find_patient(state: HospitalState, email: Annotated[str, Field(description="E-mail address.")]) -> FoundPatient:
    """Look up a patient by e-mail address, with the slots of the appointments and the departments waited for."""
    for patient_id, patient in state["patients"].items():
        if patient["email"] == email.strip().lower():
            appointments = [key for key, slot in state["slots"].items() if slot["patient_id"] == patient_id]
            waits_for = [row["department"] for row in state["waiting"].values() if row["patient_id"] == patient_id]
            return {
                "patient_id": patient_id,
                **patient,
                "appointments": sorted(appointments),
                "waits_for": sorted(waits_for),
            }
    raise Refused(f"no patient with the e-mail address {email!r}")


def todays_appointments(state: HospitalState) -> list[Visit]:
    """The appointments of today by time."""
    rows: list[Visit] = []
    for slot_id, slot in state["slots"].items():
        if slot["patient_id"] is not None and slot["at"].startswith(state["today"]):
            rows.append(
                {
                    "slot_id": slot_id,
                    "at": slot["at"],
                    "doctor": state["doctors"][slot["doctor_id"]]["name"],
                    "patient_id": slot["patient_id"],
                    "patient": state["patients"][slot["patient_id"]]["name"],
                    "arrived": slot["arrived"],
                }
            )
    return sorted(rows, key=lambda row: (row["at"], row["slot_id"]))


def register_arrivals(
    state: HospitalState, patient_ids: Annotated[list[PatientId], Field(min_length=1, max_length=6)]
) -> list[SlotId]:
    """Note that patients have come to their appointments of today; gives the slots."""
    arrived: list[str] = []
    for patient_id in patient_ids:
        expected = [
            row["slot_id"]
            for row in todays_appointments(state)
            if row["patient_id"] == patient_id and not row["arrived"]
        ]
        if not expected:
            raise Refused(f"patient {patient_id} is not expected today, or has arrived")
        state["slots"][expected[0]]["arrived"] = True
        arrived.append(expected[0])
    return arrived


def end_day(state: HospitalState) -> EndOfDay:
    """Remove today's slots; who had an appointment and did not come waits again. Then the next day begins."""
    seen: list[str] = []
    missed: list[str] = []
    for slot_id, slot in sorted(state["slots"].items()):
        patient_id = slot["patient_id"]
        if not slot["at"].startswith(state["today"]):
            continue
        del state["slots"][slot_id]
        if slot["arrived"] and patient_id is not None:
            seen.append(patient_id)
        elif patient_id is not None:
            missed.append(patient_id)
            add_referral(state, patient_id, state["doctors"][slot["doctor_id"]]["department"], urgent=False)
    state["today"] = (date.fromisoformat(state["today"]) + timedelta(days=1)).isoformat()
    return {"seen": seen, "missed": missed, "today": state["today"]}


TOOLS: tuple[Action, ...] = (
    find_patient,
    department_schedule,
    todays_appointments,
    waiting_list,
    bed_overview,
    refer,
    book_appointment,
    fill_free_slots,
    call_in_sick,
    register_arrivals,
    admit,
    discharge,
    move_ward,
    end_day,
)

"""The tools for wards and beds."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.executable import Refused
from simia.worlds.hospital.state import Bed, HospitalState, PatientId, WardName


class BedRow(Bed):
    bed_id: str


class Admission(TypedDict):
    patient_id: str
    bed_id: str
    ward: WardName


class Discharge(TypedDict):
    patient_id: str
    bed_id: str


class Move(TypedDict):
    patient_id: str
    old_bed: str
    new_bed: str


def bed_overview(state: HospitalState) -> list[BedRow]:
    """All beds with their patients, by ward and number."""
    rows: list[BedRow] = [{"bed_id": key, **bed} for key, bed in state["beds"].items()]
    return sorted(rows, key=lambda row: (row["ward"], row["bed_id"]))


def admit(state: HospitalState, patient_id: PatientId, ward: WardName) -> Admission:
    """Give a patient the first free bed of a ward."""
    if patient_id not in state["patients"]:
        raise Refused(f"patient {patient_id!r} not found")
    for bed_id, bed in state["beds"].items():
        if bed["patient_id"] == patient_id:
            raise Refused(f"patient {patient_id} lies in bed {bed_id} already")
    free = _beds_of(state, ward, taken=False)
    if not free:
        raise Refused(f"no free bed in the ward {ward}")
    state["beds"][free[0]]["patient_id"] = patient_id
    state["beds"][free[0]]["since"] = state["today"]
    return {"patient_id": patient_id, "bed_id": free[0], "ward": ward}


def discharge(
    state: HospitalState, patient_ids: Annotated[list[PatientId], Field(min_length=1, max_length=6)]
) -> list[Discharge]:
    """Let patients go home; their beds become free."""
    discharged: list[Discharge] = []
    for patient_id in patient_ids:
        bed_id = next((key for key, bed in state["beds"].items() if bed["patient_id"] == patient_id), None)
        if bed_id is None:
            raise Refused(f"patient {patient_id!r} lies in no bed")
        state["beds"][bed_id]["patient_id"] = None
        state["beds"][bed_id]["since"] = None
        discharged.append({"patient_id": patient_id, "bed_id": bed_id})
    return discharged


def move_ward(state: HospitalState, from_ward: WardName, to_ward: WardName) -> list[Move]:
    """Move all patients of a ward to the free beds of another one, both in the order of the beds' numbers."""
    taken, free = _beds_of(state, from_ward, taken=True), _beds_of(state, to_ward, taken=False)
    if from_ward == to_ward or not taken:
        raise Refused(f"nobody can be moved from the ward {from_ward} to the ward {to_ward}")
    if len(free) < len(taken):
        raise Refused(f"the ward {to_ward} has {len(free)} free beds, not {len(taken)}")
    moves: list[Move] = []
    for old_id, new_id in zip(taken, free, strict=False):
        old, new = state["beds"][old_id], state["beds"][new_id]
        moves.append({"patient_id": str(old["patient_id"]), "old_bed": old_id, "new_bed": new_id})
        new["patient_id"], new["since"] = old["patient_id"], old["since"]
        old["patient_id"], old["since"] = None, None
    return moves


def _beds_of(state: HospitalState, ward: str, *, taken: bool) -> list[str]:
    beds = sorted(state["beds"].items())
    return [key for key, bed in beds if bed["ward"] == ward and (bed["patient_id"] is not None) == taken]

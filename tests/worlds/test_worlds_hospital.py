"""The rules of the hospital's front office, each by one call."""

from typing import Any

import orjson
import pytest

from simia.types import State, ToolCall
from simia.worlds.hospital import HospitalWorld

HOSPITAL = HospitalWorld()


def slot(doctor_id: str, at: str, patient_id: str | None = None, arrived: bool = False) -> dict[str, Any]:
    return {"doctor_id": doctor_id, "at": at, "patient_id": patient_id, "arrived": arrived}


def referral(patient_id: str, since: str, urgent: bool = False) -> dict[str, Any]:
    return {"patient_id": patient_id, "department": "skin", "urgent": urgent, "since": since}


def bed(ward: str, patient_id: str | None = None) -> dict[str, Any]:
    return {"ward": ward, "patient_id": patient_id, "since": "2025-05-20" if patient_id else None}


@pytest.fixture
def state() -> State:
    return {
        "today": "2025-05-31",
        "next_number": 500,
        "patients": {f"P-{one}": {"name": f"Patient {one}", "email": f"p{one}@post.example"} for one in "123456"},
        "doctors": {
            "D-1": {"name": "Dr. Bauer", "department": "skin", "status": "present"},
            "D-2": {"name": "Dr. Dahl", "department": "skin", "status": "present"},
            "D-3": {"name": "Dr. Erdem", "department": "eyes", "status": "present"},
        },
        "slots": {
            "S-1": slot("D-1", "2025-05-31 09:00", "P-1", arrived=True),
            "S-2": slot("D-1", "2025-05-31 10:30", "P-2"),
            "S-3": slot("D-1", "2025-06-01 09:00"),
            "S-4": slot("D-2", "2025-06-01 13:00"),
            "S-5": slot("D-3", "2025-06-02 09:00", "P-1"),
            "S-6": slot("D-3", "2025-06-02 13:00"),
        },
        "waiting": {
            "W-1": referral("P-3", "2025-05-01"),
            "W-2": referral("P-4", "2025-05-09", urgent=True),
            "W-3": referral("P-5", "2025-04-01"),
        },
        "beds": {
            "B-1": bed("north", "P-1"),
            "B-2": bed("north", "P-6"),
            "B-3": bed("south"),
            "B-4": bed("south", "P-2"),
            "B-5": bed("south"),
        },
    }


def do(state: State, name: str, **arguments: Any) -> tuple[Any, State]:
    transition, after = HOSPITAL.run(state, ToolCall(id="call_1", name=name, arguments=arguments))
    return orjson.loads(transition.observation), after


def test_a_booking_uses_up_the_referral(state: State) -> None:
    _, after = do(state, "book_appointment", patient_id="P-3", slot_id="S-3")
    assert after["slots"]["S-3"]["patient_id"] == "P-3"
    assert "W-1" not in after["waiting"]


def test_who_has_an_appointment_in_the_department_moves_it_without_a_referral(state: State) -> None:
    _, after = do(state, "book_appointment", patient_id="P-2", slot_id="S-4")
    assert (after["slots"]["S-2"]["patient_id"], after["slots"]["S-4"]["patient_id"]) == (None, "P-2")
    assert after["waiting"] == state["waiting"]


def test_nobody_books_without_a_referral_to_the_department(state: State) -> None:
    result, _ = do(state, "book_appointment", patient_id="P-3", slot_id="S-6")
    assert result["error"] == "patient P-3 has no referral to eyes"


def test_a_slot_of_a_sick_doctor_cannot_be_booked(state: State) -> None:
    state["doctors"]["D-2"]["status"] = "sick"
    result, _ = do(state, "book_appointment", patient_id="P-3", slot_id="S-4")
    assert result["error"] == "slot S-4 is taken, or its doctor is sick"


def test_nobody_is_referred_twice_to_a_department(state: State) -> None:
    waits, _ = do(state, "refer", patient_id="P-3", departments=["eyes", "skin"], urgent=True)
    booked, _ = do(state, "refer", patient_id="P-1", departments=["eyes"], urgent=True)
    assert waits["error"] == "patient P-3 waits for skin, or has an appointment there"
    assert booked["error"] == "patient P-1 waits for eyes, or has an appointment there"


def test_free_slots_go_to_the_urgent_first_and_then_to_those_who_have_waited_longest(state: State) -> None:
    result, after = do(state, "fill_free_slots", department="skin")
    assert [(row["slot_id"], row["patient_id"]) for row in result] == [("S-3", "P-4"), ("S-4", "P-5")]
    assert list(after["waiting"]) == ["W-1"]


def test_no_slot_is_filled_where_nobody_waits(state: State) -> None:
    result, _ = do(state, "fill_free_slots", department="eyes")
    assert result["error"] == "nobody waits for eyes, or no slot is free there"


def test_patients_of_a_sick_doctor_go_to_colleagues_and_who_finds_no_slot_waits_as_urgent(state: State) -> None:
    result, after = do(state, "call_in_sick", doctor_id="D-1")
    assert [(row["slot_id"], row["patient_id"]) for row in result["moved"]] == [("S-4", "P-1")]
    assert result["waiting_again"] == ["P-2"]
    assert after["waiting"]["W-500"]["urgent"]
    assert after["slots"]["S-6"] == state["slots"]["S-6"]


def test_an_arrival_is_registered_once_and_only_on_the_day(state: State) -> None:
    _, after = do(state, "register_arrivals", patient_ids=["P-2"])
    assert after["slots"]["S-2"]["arrived"]
    assert "not expected today, or has arrived" in do(after, "register_arrivals", patient_ids=["P-2"])[0]["error"]


def test_the_day_ends_without_its_slots_and_who_missed_an_appointment_waits_again(state: State) -> None:
    result, after = do(state, "end_day")
    assert result == {"seen": ["P-1"], "missed": ["P-2"], "today": "2025-06-01"}
    assert sorted(after["slots"]) == ["S-3", "S-4", "S-5", "S-6"]
    assert after["waiting"]["W-500"] == referral("P-2", "2025-05-31")


def test_a_patient_is_admitted_to_the_first_free_bed_but_only_once(state: State) -> None:
    result, after = do(state, "admit", patient_id="P-3", ward="south")
    assert result["bed_id"] == "B-3"
    assert do(after, "admit", patient_id="P-3", ward="south")[0]["error"] == "patient P-3 lies in bed B-3 already"


def test_a_ward_moves_bed_by_bed_and_keeps_since_when_its_patients_lie(state: State) -> None:
    result, after = do(state, "move_ward", from_ward="north", to_ward="south")
    assert [(move["patient_id"], move["new_bed"]) for move in result] == [("P-1", "B-3"), ("P-6", "B-5")]
    assert after["beds"]["B-1"] == bed("north")
    assert after["beds"]["B-3"] == bed("south", "P-1")


def test_a_ward_without_beds_for_everybody_takes_nobody(state: State) -> None:
    state["beds"]["B-5"] = bed("south", "P-5")
    result, _ = do(state, "move_ward", from_ward="north", to_ward="south")
    assert result["error"] == "the ward south has 1 free beds, not 2"


def test_nobody_is_discharged_if_one_of_them_lies_in_no_bed(state: State) -> None:
    result, after = do(state, "discharge", patient_ids=["P-1", "P-3"])
    assert result["error"] == "patient 'P-3' lies in no bed"
    assert after["beds"] == state["beds"]

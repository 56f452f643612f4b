"""Kinds of tasks at the front office, each with the calls that do it."""

import random
from collections.abc import Sequence
from typing import Any

from simia.worlds.drafting import Draft, NoTask, TaskKind, pick, pick_some
from simia.worlds.hospital.state import DEPARTMENTS


def use_a_referral(rng: random.Random, draft: Draft) -> str:
    referral = draft.state["waiting"][pick(rng, draft.state["waiting"])]
    email = _email_of(draft, referral["patient_id"])
    draft.do("find_patient", email=email)
    free = _free(draft.do("department_schedule", department=referral["department"]))
    draft.do("book_appointment", patient_id=referral["patient_id"], slot_id=free[0]["slot_id"])
    return f"""My doctor referred me to the {referral["department"]} department. Please book the earliest time that
        you have, whoever the doctor is; I can come any day. My e-mail is {email}."""


def come_another_time(rng: random.Random, draft: Draft) -> str:
    slot_id = pick(rng, draft.state["slots"], where=lambda row: row["patient_id"] is not None and not row["arrived"])
    slot = draft.state["slots"][slot_id]
    email = _email_of(draft, slot["patient_id"])
    department = draft.state["doctors"][slot["doctor_id"]]["department"]
    draft.do("find_patient", email=email)
    chosen = rng.choice(_free(draft.do("department_schedule", department=department)))
    draft.do("book_appointment", patient_id=slot["patient_id"], slot_id=chosen["slot_id"])
    return f"""I am {email} and cannot come on {slot["at"]}. I would rather see {chosen["doctor"]} on {chosen["at"]},
        if that is still free. Yes, move it."""


def let_patients_in(rng: random.Random, draft: Draft) -> str:
    _arrange_today(rng, draft, 0.6)
    visits = draft.do("todays_appointments")
    expected = {visit["patient_id"]: visit for visit in visits if not visit["arrived"]}
    patients = pick_some(rng, expected, 1, 4)
    draft.do("register_arrivals", patient_ids=patients)
    return f"From the door: {_listed([expected[key]['patient'] for key in patients])} just came in. Register that."


def see_specialists(rng: random.Random, draft: Draft) -> str:
    patient_id = pick(rng, draft.state["patients"])
    waits_for = [row["department"] for row in draft.state["waiting"].values() if row["patient_id"] == patient_id]
    departments = [department for department in DEPARTMENTS if department not in waits_for]
    departments = departments if rng.random() < 0.6 else rng.sample(departments, 1)
    urgent = rng.random() < 0.4
    email = _email_of(draft, patient_id)
    draft.do("find_patient", email=email)
    draft.do("refer", patient_id=patient_id, departments=departments, urgent=urgent)
    return f"""A general practitioner writes: please take {email} on your waiting list for {_listed(departments)},
        {"as urgent" if urgent else "not urgent"}."""


def shorten_the_list(rng: random.Random, draft: Draft) -> str:
    department = draft.state["waiting"][pick(rng, draft.state["waiting"])]["department"]
    for slot in draft.state["slots"].values():
        if rng.random() < 0.5:
            _put_back(rng, draft, slot, department)
    draft.do("waiting_list")
    draft.do("department_schedule", department=department)
    draft.do("fill_free_slots", department=department)
    return (
        f"The head of the {department} department asks you to look who waits, and to fill all its free times at once."
    )


def stand_in_for_a_doctor(rng: random.Random, draft: Draft) -> str:
    booked = pick(rng, draft.state["slots"], where=lambda row: row["patient_id"] is not None)
    doctor_id = draft.state["slots"][booked]["doctor_id"]
    doctor = draft.state["doctors"][doctor_id]
    draft.do("department_schedule", department=doctor["department"])
    draft.do("call_in_sick", doctor_id=doctor_id)
    return f"""{doctor["name"]} from the {doctor["department"]} department called and is ill for the
        week. See who is affected and make sure that colleagues take over."""


def take_in(rng: random.Random, draft: Draft) -> str:
    lying = [bed["patient_id"] for bed in draft.state["beds"].values()]
    patients = {key: row for key, row in draft.state["patients"].items() if key not in lying}
    patient_id = pick(rng, patients)
    ward = rng.choice(("north", "south"))
    email = _email_of(draft, patient_id)
    draft.do("find_patient", email=email)
    draft.do("bed_overview")
    draft.do("admit", patient_id=patient_id, ward=ward)
    return f"The patient {email} is to stay with us from today. Is there a bed in the {ward} ward? Admit them there."


def send_home(rng: random.Random, draft: Draft) -> str:
    rows = draft.do("bed_overview")
    lying = {row["patient_id"]: row for row in rows if row["patient_id"] is not None}
    patients = pick_some(rng, lying, 1, 4)
    draft.do("discharge", patient_ids=patients)
    beds = _listed([lying[key]["bed_id"] for key in patients])
    return f"The wards say that whoever lies in {beds} can go home now. Discharge them together."


def empty_a_ward(rng: random.Random, draft: Draft) -> str:
    wards = rng.sample(("north", "south"), 2)
    rows = draft.do("bed_overview")
    if not any(row["patient_id"] for row in rows if row["ward"] == wards[0]):
        raise NoTask("the ward is empty")
    draft.do("move_ward", from_ward=wards[0], to_ward=wards[1])
    return f"The {wards[0]} ward gets new floors. Check the beds and bring all its patients over to {wards[1]}."


def close_the_day(rng: random.Random, draft: Draft) -> str:
    _arrange_today(rng, draft, 0.4)
    draft.do("todays_appointments")
    draft.do("end_day")
    return (
        f"It is evening, the front desk is closing {draft.state['today']}. Read today's visits once more, then end it."
    )


KINDS: tuple[TaskKind, ...] = (
    use_a_referral,
    come_another_time,
    let_patients_in,
    see_specialists,
    shorten_the_list,
    stand_in_for_a_doctor,
    take_in,
    send_home,
    empty_a_ward,
    close_the_day,
)


def _email_of(draft: Draft, patient_id: str) -> str:
    return str(draft.state["patients"][patient_id]["email"])


def _free(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    free = [row for row in rows if row["patient_id"] is None]
    if not free:
        raise NoTask("no free slot")
    return free


def _arrange_today(rng: random.Random, draft: Draft, share: float) -> None:
    """Before the first call, bring some of the slots forward to today."""
    taken = {(slot["doctor_id"], slot["at"]) for slot in draft.state["slots"].values()}
    for slot in draft.state["slots"].values():
        at = f"{draft.state['today']}{slot['at'][10:]}"
        if (slot["doctor_id"], at) not in taken and rng.random() < share:
            taken.add((slot["doctor_id"], at))
            slot["at"] = at


def _put_back(rng: random.Random, draft: Draft, slot: dict[str, Any], department: str) -> None:
    """Before the first call, let a patient who has an appointment in the department wait for it again."""
    if slot["patient_id"] is None or draft.state["doctors"][slot["doctor_id"]]["department"] != department:
        return
    draft.state["waiting"][f"W-{rng.randrange(900, 1000)}"] = {
        "patient_id": slot["patient_id"],
        "department": department,
        "urgent": rng.random() < 0.2,
        "since": draft.state["today"],
    }
    slot["patient_id"] = None
    slot["arrived"] = False


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))

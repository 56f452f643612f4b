"""The rules of the campus, each by one call or two."""

from typing import Any

import orjson
import pytest

from simia.types import State, ToolCall
from simia.worlds.campus import CampusWorld

CAMPUS = CampusWorld()


def course(slot: str, room: str, capacity: int) -> dict[str, Any]:
    return {"title": "Logic", "credits": 5, "status": "open", "slot": slot, "room": room, "capacity": capacity}


def row(student_id: str, course_id: str, status: str = "enrolled", grade: int | None = None) -> dict[str, Any]:
    return {"student_id": student_id, "course_id": course_id, "status": status, "grade": grade}


@pytest.fixture
def state() -> State:
    """C-1 is full and two wait for it; one of these has C-2 at the same time. C-3 has one place left."""
    return {
        "semester": 20,
        "next_number": 500,
        "rooms": {"Elm": 2, "Oak": 4},
        "students": {
            f"U-{number}": {"name": f"Student {number}", "email": f"u{number}@larkfield.example", "credits": 0}
            for number in range(1, 7)
        },
        "courses": {
            "C-1": course("Mon-09", "Elm", 2),
            "C-2": course("Mon-09", "Oak", 4),
            "C-3": course("Tue-09", "Elm", 2),
        },
        "enrolments": {
            "E-1": row("U-1", "C-1"),
            "E-2": row("U-2", "C-1"),
            "E-3": row("U-3", "C-1", "waiting"),
            "E-4": row("U-4", "C-1", "waiting"),
            "E-5": row("U-3", "C-2"),
            "E-6": row("U-1", "C-3"),
        },
    }


def do(state: State, name: str, **arguments: Any) -> tuple[Any, State]:
    transition, after = CAMPUS.run(state, ToolCall(id="call_1", name=name, arguments=arguments))
    return orjson.loads(transition.observation), after


def test_a_group_gets_the_places_that_are_left_and_the_rest_of_it_waits(state: State) -> None:
    result, after = do(state, "enrol", course_id="C-3", student_ids=["U-5", "U-6"])
    assert result["students"] == {"U-5": "enrolled", "U-6": "waiting"}
    assert after["enrolments"]["E-501"] == row("U-6", "C-3", "waiting")


def test_nobody_of_a_group_is_enrolled_if_one_has_another_course_at_the_time(state: State) -> None:
    result, after = do(state, "enrol", course_id="C-2", student_ids=["U-5", "U-1"])
    assert result == {"error": "U-1 has C-1 at the time of C-2"}
    assert after == state


def test_who_waits_for_a_course_cannot_enrol_in_it_again(state: State) -> None:
    result, _ = do(state, "enrol", course_id="C-1", student_ids=["U-4"])
    assert result == {"error": "U-4 is in C-1 or waits for it already"}


def test_the_first_of_the_waiting_list_without_a_clash_moves_up_when_somebody_leaves(state: State) -> None:
    result, after = do(state, "withdraw", student_id="U-2", course_id="C-1")
    assert result == {"enrolment_id": "E-2", "promoted": ["E-4"]}
    assert after["enrolments"]["E-3"]["status"] == "waiting"


def test_leaving_a_waiting_list_promotes_nobody(state: State) -> None:
    assert do(state, "withdraw", student_id="U-3", course_id="C-1")[0]["promoted"] == []


def test_a_course_has_as_many_places_as_its_new_room_has_seats(state: State) -> None:
    _, after = do(state, "move_course", course_id="C-1", room="Oak", slot="Wed-09")
    assert (after["courses"]["C-1"]["room"], after["courses"]["C-1"]["capacity"]) == ("Oak", 4)


@pytest.mark.parametrize(
    ("course_id", "room", "slot", "reason"),
    [
        ("C-1", "Oak", "Mon-09", "Oak is taken by C-2 on Mon-09"),
        ("C-1", "Oak", "Tue-09", "C-3 on Tue-09 has the same students: U-1"),
        ("C-1", "Ash", "Tue-09", "room 'Ash' not found"),
    ],
)
def test_a_course_is_not_moved_where_room_or_students_are_busy(
    state: State, course_id: str, room: str, slot: str, reason: str
) -> None:
    result, _ = do(state, "move_course", course_id=course_id, room=room, slot=slot)
    assert result == {"error": reason}


def test_a_room_must_seat_everybody_enrolled(state: State) -> None:
    state["rooms"]["Elm"] = 1
    result, _ = do(state, "move_course", course_id="C-1", room="Elm", slot="Wed-09")
    assert result == {"error": "Elm has 1 seats, C-1 has 2 students"}


def test_free_places_of_all_courses_are_given_to_who_waits(state: State) -> None:
    state["courses"]["C-1"]["capacity"] = 4
    result, after = do(state, "promote_waiting")
    assert result == {"C-1": ["E-4"], "C-2": [], "C-3": []}
    assert after["enrolments"]["E-4"]["status"] == "enrolled"


def test_everybody_of_a_cancelled_course_moves_waits_or_is_dropped(state: State) -> None:
    state["enrolments"]["E-7"] = row("U-4", "C-3")
    result, after = do(state, "cancel_course", course_id="C-1", move_to="C-3")
    assert result == {"course_id": "C-3", "students": {"U-2": "waiting", "U-3": "waiting"}, "dropped": ["U-1", "U-4"]}
    assert {one["course_id"] for one in after["enrolments"].values()} == {"C-2", "C-3"}
    assert after["courses"]["C-1"]["status"] == "cancelled"


def test_a_course_cannot_be_moved_into_itself(state: State) -> None:
    result, after = do(state, "cancel_course", course_id="C-1", move_to="C-1")
    assert result == {"error": "course C-1 is cancelled"}
    assert after == state


def test_who_waits_gets_no_grade_and_then_nobody_does(state: State) -> None:
    grades = [{"student_id": "U-1", "points": 80}, {"student_id": "U-3", "points": 70}]
    result, after = do(state, "enter_grades", course_id="C-1", grades=grades)
    assert result == {"error": "U-3 is not enrolled in C-1"}
    assert after == state


def test_the_semester_ends_with_credits_for_whoever_has_fifty_points(state: State) -> None:
    for key, points in {"E-1": 50, "E-2": 49, "E-5": 90, "E-6": 60}.items():
        state["enrolments"][key]["grade"] = points
    result, after = do(state, "end_semester")
    assert result == {
        "passed": ["E-1", "E-5", "E-6"],
        "failed": ["E-2"],
        "waiting_dropped": ["E-3", "E-4"],
        "next_semester": 21,
    }
    assert [student["credits"] for student in after["students"].values()] == [10, 0, 5, 0, 0, 0]


def test_the_semester_does_not_end_before_the_last_grade(state: State) -> None:
    assert do(state, "end_semester")[0] == {"error": "E-1 has no grade yet"}


def test_the_overview_counts_who_is_enrolled_and_who_waits(state: State) -> None:
    result, _ = do(state, "overview")
    assert result == {"semester": 20, "enrolled": 4, "waiting": 2, "ungraded": ["E-1", "E-2", "E-5", "E-6"]}

"""The tools of the registrar's office, as code: those that change something, and the list of all."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.campus.records import (
    CourseId,
    StudentId,
    course_roster,
    courses_with_places,
    find_student,
    overview,
    timetable,
    transcript,
)
from simia.worlds.campus.state import CampusState, Course, Enrolment, EnrolmentStatus, Points, Slot
from simia.worlds.campus.teaching import clash, enrolment_in, free_places, open_course, promote, rows_of, student_of
from simia.worlds.executable import Action, Refused

PASSING_POINTS = 50


class Grade(TypedDict):
    student_id: StudentId
    points: Points


class Admitted(TypedDict):
    course_id: str
    students: dict[str, EnrolmentStatus]


class Withdrawn(TypedDict):
    enrolment_id: str
    promoted: list[str]


class CourseDetails(Course):
    course_id: str


class Moved(Admitted):
    dropped: list[str]


class Graded(TypedDict):
    course_id: str
    enrolments: list[str]


class Results(TypedDict):
    passed: list[str]
    failed: list[str]
    waiting_dropped: list[str]
    next_semester: int


def enrol(
    state: CampusState, course_id: CourseId, student_ids: Annotated[list[StudentId], Field(min_length=1)]
) -> Admitted:
    """Enrol students in a course, all or none; those for whom there is no place wait for one."""
    open_course(state, course_id)
    admitted: dict[str, EnrolmentStatus] = {}
    for student_id in student_ids:
        student_of(state, student_id)
        if enrolment_in(state, student_id, course_id) is not None:
            raise Refused(f"{student_id} is in {course_id} or waits for it already")
        other = clash(state, student_id, course_id)
        if other is not None:
            raise Refused(f"{student_id} has {other} at the time of {course_id}")
        status: EnrolmentStatus = "enrolled" if free_places(state, course_id) > 0 else "waiting"
        row: Enrolment = {"student_id": student_id, "course_id": course_id, "status": status, "grade": None}
        state["enrolments"][f"E-{state['next_number']}"] = row
        state["next_number"] += 1
        admitted[student_id] = status
    return {"course_id": course_id, "students": admitted}


def withdraw(state: CampusState, student_id: StudentId, course_id: CourseId) -> Withdrawn:
    """Take a student out of a course or off its waiting list; who waits moves up to a free place."""
    enrolment_id = enrolment_in(state, student_id, course_id)
    if enrolment_id is None:
        raise Refused(f"{student_id} is not in {course_id}")
    del state["enrolments"][enrolment_id]
    return {"enrolment_id": enrolment_id, "promoted": promote(state, course_id)}


def move_course(
    state: CampusState, course_id: CourseId, room: Annotated[str, Field(description="Name of a room.")], slot: Slot
) -> CourseDetails:
    """Move a course to a room and a time; it then has as many places as the room has seats."""
    course = open_course(state, course_id)
    students = _students_of(state, course_id)
    if room not in state["rooms"]:
        raise Refused(f"room {room!r} not found")
    if len(students) > state["rooms"][room]:
        raise Refused(f"{room} has {state['rooms'][room]} seats, {course_id} has {len(students)} students")
    for other_id, other in sorted(state["courses"].items()):
        if other_id == course_id or other["slot"] != slot or other["status"] != "open":
            continue
        if other["room"] == room:
            raise Refused(f"{room} is taken by {other_id} on {slot}")
        shared = sorted(students & _students_of(state, other_id))
        if shared:
            raise Refused(f"{other_id} on {slot} has the same students: {', '.join(shared)}")
    course.update({"room": room, "slot": slot, "capacity": state["rooms"][room]})
    return {"course_id": course_id, **course}


def cancel_course(state: CampusState, course_id: CourseId, move_to: CourseId) -> Moved:
    """Cancel a course and move its students, and who waits, to another one. Who cannot take part in that is dropped."""
    open_course(state, course_id)["status"] = "cancelled"
    open_course(state, move_to)
    moved: dict[str, EnrolmentStatus] = {}
    dropped: list[str] = []
    for key in [*rows_of(state, course_id, "enrolled"), *rows_of(state, course_id, "waiting")]:
        row = state["enrolments"].pop(key)
        student_id = row["student_id"]
        if enrolment_in(state, student_id, move_to) or clash(state, student_id, move_to):
            dropped.append(student_id)
            continue
        if row["status"] == "enrolled" and free_places(state, move_to) <= 0:
            row["status"] = "waiting"
        state["enrolments"][key] = {**row, "course_id": move_to, "grade": None}
        moved[student_id] = row["status"]
    return {"course_id": move_to, "students": moved, "dropped": dropped}


def promote_waiting(state: CampusState) -> dict[str, list[str]]:
    """Give the free places of all courses to those who wait; tells the enrolments that moved up, by course."""
    courses = sorted(key for key, course in state["courses"].items() if course["status"] == "open")
    return {course_id: promote(state, course_id) for course_id in courses}


def enter_grades(
    state: CampusState, course_id: CourseId, grades: Annotated[list[Grade], Field(min_length=1)]
) -> Graded:
    """Enter the points of students who are enrolled in a course, in place of those entered before."""
    open_course(state, course_id)
    enrolled = {state["enrolments"][key]["student_id"]: key for key in rows_of(state, course_id, "enrolled")}
    for grade in grades:
        if grade["student_id"] not in enrolled:
            raise Refused(f"{grade['student_id']} is not enrolled in {course_id}")
        state["enrolments"][enrolled[grade["student_id"]]]["grade"] = grade["points"]
    return {"course_id": course_id, "enrolments": [enrolled[grade["student_id"]] for grade in grades]}


def end_semester(state: CampusState) -> Results:
    """End the semester: whoever has 50 points passes and gets the credits, waiting lists are cleared."""
    rows = state["enrolments"]
    results: Results = {"passed": [], "failed": [], "waiting_dropped": [], "next_semester": state["semester"] + 1}
    for key, row in sorted(rows.items()):
        if row["status"] == "waiting":
            del rows[key]
            results["waiting_dropped"].append(key)
        elif row["status"] == "enrolled":
            if row["grade"] is None:
                raise Refused(f"{key} has no grade yet")
            passed = row["grade"] >= PASSING_POINTS
            row["status"] = "passed" if passed else "failed"
            results["passed" if passed else "failed"].append(key)
            if passed:
                state["students"][row["student_id"]]["credits"] += state["courses"][row["course_id"]]["credits"]
    state["semester"] += 1
    return results


TOOLS: tuple[Action, ...] = (
    find_student,
    transcript,
    course_roster,
    timetable,
    courses_with_places,
    overview,
    enrol,
    withdraw,
    move_course,
    cancel_course,
    promote_waiting,
    enter_grades,
    end_semester,
)


def _students_of(state: CampusState, course_id: str) -> set[str]:
    return {state["enrolments"][key]["student_id"] for key in rows_of(state, course_id, "enrolled")}

"""What the campus tools share: who is in a course, and who may be."""

from simia.worlds.campus.state import CampusState, Course, EnrolmentStatus, Student
from simia.worlds.executable import Refused


def student_of(state: CampusState, student_id: str) -> Student:
    if student_id not in state["students"]:
        raise Refused(f"student {student_id!r} not found")
    return state["students"][student_id]


def open_course(state: CampusState, course_id: str) -> Course:
    if course_id not in state["courses"]:
        raise Refused(f"course {course_id!r} not found")
    course = state["courses"][course_id]
    if course["status"] != "open":
        raise Refused(f"course {course_id} is cancelled")
    return course


def rows_of(state: CampusState, course_id: str, status: EnrolmentStatus) -> list[str]:
    """The enrolments of a course with this status, in order of their numbers."""
    table = state["enrolments"]
    return sorted(key for key, row in table.items() if row["course_id"] == course_id and row["status"] == status)


def enrolment_in(state: CampusState, student_id: str, course_id: str) -> str | None:
    """The enrolment by which the student is in the course or waits for it."""
    rows = [*rows_of(state, course_id, "enrolled"), *rows_of(state, course_id, "waiting")]
    return next((key for key in rows if state["enrolments"][key]["student_id"] == student_id), None)


def free_places(state: CampusState, course_id: str) -> int:
    return state["courses"][course_id]["capacity"] - len(rows_of(state, course_id, "enrolled"))


def clash(state: CampusState, student_id: str, course_id: str) -> str | None:
    """A course that the student takes at the time of ``course_id``."""
    slot = state["courses"][course_id]["slot"]
    for _, row in sorted(state["enrolments"].items()):
        taken = row["student_id"] == student_id and row["status"] == "enrolled"
        if taken and state["courses"][row["course_id"]]["slot"] == slot:
            return row["course_id"]
    return None


def promote(state: CampusState, course_id: str) -> list[str]:
    """Give free places to those who wait and can take part, first come first served."""
    promoted: list[str] = []
    for key in rows_of(state, course_id, "waiting"):
        row = state["enrolments"][key]
        if free_places(state, course_id) > 0 and clash(state, row["student_id"], course_id) is None:
            row["status"] = "enrolled"
            promoted.append(key)
    return promoted

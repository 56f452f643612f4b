"""The reading tools of the registrar's office, as code."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.campus.state import CampusState, Count, Slot, Student
from simia.worlds.campus.teaching import free_places, open_course, rows_of, student_of
from simia.worlds.executable import Refused

StudentId = Annotated[str, Field(description="Student number, for example 'U-231'.")]
CourseId = Annotated[str, Field(description="Course number, for example 'C-118'.")]


class FoundStudent(Student):
    student_id: str
    enrolments: list[str]


class Transcript(TypedDict):
    student_id: str
    credits: Count
    passed: dict[str, int | None]
    failed: dict[str, int | None]


class Roster(TypedDict):
    """``enrolled`` tells the points of each student, ``waiting`` the students in their order."""

    course_id: str
    free_places: int
    enrolled: dict[str, int | None]
    waiting: list[str]


class Lesson(TypedDict):
    slot: Slot
    room: str
    course_id: str
    title: str


class Offer(TypedDict):
    course_id: str
    title: str
    slot: Slot
    free_places: int


class Overview(TypedDict):
    semester: int
    enrolled: Count
    waiting: Count
    ungraded: list[str]


def find_student(state: CampusState, email: Annotated[str, Field(description="E-mail address.")]) -> FoundStudent:
    """Look up a student by e-mail address; also gives the numbers of the student's enrolments."""
    for student_id, student in state["students"].items():
        if student["email"] == email.strip().lower():
            rows = sorted(key for key, row in state["enrolments"].items() if row["student_id"] == student_id)
            return {"student_id": student_id, **student, "enrolments": rows}
    raise Refused(f"no student with the e-mail address {email!r}")


def transcript(state: CampusState, student_id: StudentId) -> Transcript:
    """The credits of a student, and the points in each course that was passed or failed."""
    own = [row for _, row in sorted(state["enrolments"].items()) if row["student_id"] == student_id]
    return {
        "student_id": student_id,
        "credits": student_of(state, student_id)["credits"],
        "passed": {row["course_id"]: row["grade"] for row in own if row["status"] == "passed"},
        "failed": {row["course_id"]: row["grade"] for row in own if row["status"] == "failed"},
    }


def course_roster(state: CampusState, course_id: CourseId) -> Roster:
    """Who is enrolled in an open course, with the points entered so far, and who waits for a place."""
    open_course(state, course_id)
    table = state["enrolments"]
    enrolled = [table[key] for key in rows_of(state, course_id, "enrolled")]
    return {
        "course_id": course_id,
        "free_places": free_places(state, course_id),
        "enrolled": {row["student_id"]: row["grade"] for row in enrolled},
        "waiting": [table[key]["student_id"] for key in rows_of(state, course_id, "waiting")],
    }


def timetable(state: CampusState) -> list[Lesson]:
    """When and where each open course takes place."""
    lessons: list[Lesson] = [
        {"slot": course["slot"], "room": course["room"], "course_id": course_id, "title": course["title"]}
        for course_id, course in state["courses"].items()
        if course["status"] == "open"
    ]
    return sorted(lessons, key=lambda lesson: (lesson["slot"], lesson["room"]))


def courses_with_places(state: CampusState) -> list[Offer]:
    """The open courses that have free places."""
    return [
        {
            "course_id": course_id,
            "title": course["title"],
            "slot": course["slot"],
            "free_places": free_places(state, course_id),
        }
        for course_id, course in sorted(state["courses"].items())
        if course["status"] == "open" and free_places(state, course_id) > 0
    ]


def overview(state: CampusState) -> Overview:
    """How many are enrolled and wait in this semester, and the enrolments that have no grade yet."""
    rows = state["enrolments"]
    enrolled = sorted(key for key, row in rows.items() if row["status"] == "enrolled")
    return {
        "semester": state["semester"],
        "enrolled": len(enrolled),
        "waiting": sum(row["status"] == "waiting" for row in rows.values()),
        "ungraded": [key for key in enrolled if rows[key]["grade"] is None],
    }

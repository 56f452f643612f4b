"""What Larkfield College keeps: students, courses, rooms and enrolments."""

import random
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from simia.types import Invariant, State

Count = Annotated[int, Field(ge=0)]
Points = Annotated[int, Field(ge=0, le=100)]
Slot = Literal["Mon-09", "Mon-14", "Tue-09", "Tue-14", "Wed-09", "Wed-14", "Thu-09", "Thu-14"]
EnrolmentStatus = Literal["enrolled", "waiting", "passed", "failed"]

SLOTS: tuple[Slot, ...] = ("Mon-09", "Mon-14", "Tue-09", "Tue-14", "Wed-09", "Wed-14", "Thu-09", "Thu-14")


class Student(TypedDict):
    name: str
    email: str
    credits: Count


class Course(TypedDict):
    """``capacity`` is the number of seats in the room, or less."""

    title: str
    credits: Count
    status: Literal["open", "cancelled"]
    slot: Slot
    room: str
    capacity: Count


class Enrolment(TypedDict):
    student_id: str
    course_id: str
    status: EnrolmentStatus
    grade: Points | None


class CampusState(TypedDict):
    """The whole state. ``rooms`` tells the seats of each room."""

    semester: int
    next_number: int
    rooms: dict[str, Count]
    students: dict[str, Student]
    courses: dict[str, Course]
    enrolments: dict[str, Enrolment]


INVARIANTS = (
    Invariant(
        name="enrolments belong to students", expression="values(enrolments)[].student_id", refers_to="keys(students)"
    ),
    Invariant(
        name="enrolments belong to courses", expression="values(enrolments)[].course_id", refers_to="keys(courses)"
    ),
    Invariant(name="courses are in rooms", expression="values(courses)[].room", refers_to="keys(rooms)"),
    Invariant(
        name="who waits has no grade",
        expression="length(values(enrolments)[?status == 'waiting' && grade != null]) == `0`",
    ),
    Invariant(
        name="who passed has 50 points or more",
        expression="length(values(enrolments)[?status == 'passed' && (grade == null || grade < `50`)]) == `0`",
    ),
    Invariant(
        name="who failed has fewer than 50 points",
        expression="length(values(enrolments)[?status == 'failed' && (grade == null || grade >= `50`)]) == `0`",
    ),
)

_NAMES = (
    "Abel Nkosi",
    "Bianca Rossi",
    "Chen Wu",
    "Dora Lind",
    "Elias Haddad",
    "Freya Berg",
    "Goran Ilic",
    "Hina Sato",
    "Ivo Marek",
    "Jamila Diop",
)
_COURSES = (
    ("Linear algebra", 6),
    ("Organic chemistry", 8),
    ("World history", 4),
    ("Microeconomics", 5),
    ("Spanish for beginners", 3),
    ("Databases", 6),
    ("Statistics", 5),
    ("Plant biology", 4),
)


def draw_state(rng: random.Random) -> State:
    """Seven students in four courses at different times, with some waiting lists and some courses of last semester."""
    rooms = {"Elm": rng.randrange(3, 5), "Fir": rng.randrange(5, 7), "Oak": rng.randrange(8, 11)}
    kinds, slots = rng.sample(_COURSES, 4), rng.sample(SLOTS, 4)
    courses: dict[str, Course] = {
        f"C-{number}": _course(rng, kind, slot, rooms)
        for number, kind, slot in zip(_numbers(rng, 4), kinds, slots, strict=True)
    }
    students: dict[str, Student] = {
        f"U-{number}": {"name": name, "email": f"{name.lower().replace(' ', '.')}@larkfield.example", "credits": 0}
        for number, name in zip(_numbers(rng, 7), rng.sample(_NAMES, 7), strict=True)
    }
    enrolments: dict[str, Enrolment] = {}
    numbers = iter(_numbers(rng, 14))
    for student_id, student in students.items():
        running, earlier = rng.sample(sorted(courses), 2)
        enrolments[f"E-{next(numbers)}"] = _enrolment(student_id, running, courses, enrolments)
        if rng.random() < 0.4:
            points = rng.randrange(50, 100)
            enrolments[f"E-{next(numbers)}"] = _row(student_id, earlier, "passed", points)
            student["credits"] = courses[earlier]["credits"]
    return {
        "semester": rng.randrange(10, 40),
        "next_number": rng.randrange(500, 900),
        "rooms": rooms,
        "students": students,
        "courses": courses,
        "enrolments": enrolments,
    }


def _numbers(rng: random.Random, count: int) -> list[int]:
    return sorted(rng.sample(range(100, 500), count))


def _course(rng: random.Random, kind: tuple[str, int], slot: Slot, rooms: dict[str, int]) -> Course:
    title, points = kind
    room = rng.choice(sorted(rooms))
    capacity = rng.randint(2, min(5, rooms[room]))
    return {"title": title, "credits": points, "status": "open", "slot": slot, "room": room, "capacity": capacity}


def _enrolment(
    student_id: str, course_id: str, courses: dict[str, Course], enrolments: dict[str, Enrolment]
) -> Enrolment:
    """An enrolment, on the waiting list if the course is full."""
    taken = sum(row["course_id"] == course_id and row["status"] == "enrolled" for row in enrolments.values())
    return _row(student_id, course_id, "enrolled" if taken < courses[course_id]["capacity"] else "waiting", None)


def _row(student_id: str, course_id: str, status: EnrolmentStatus, grade: int | None) -> Enrolment:
    return {"student_id": student_id, "course_id": course_id, "status": status, "grade": grade}

"""Kinds of tasks at the registrar's office, each with the calls that do it."""

import json
import random
from collections.abc import Iterable
from typing import Any

import jmespath

from simia.worlds.campus.state import SLOTS
from simia.worlds.drafting import Draft, NoTask, TaskKind, pick


def join_a_course(rng: random.Random, draft: Draft) -> str:
    student_id = pick(rng, draft.state["students"])
    email = _identify(draft, student_id)
    offers = {row["course_id"]: row for row in draft.do("courses_with_places")}
    passed = draft.do("transcript", student_id=student_id)["passed"]
    course_id = pick(rng, offers, where=lambda row: row["course_id"] not in passed)
    draft.do("enrol", course_id=course_id, student_ids=[student_id])
    return f"I am {email}. Is there a place left in {offers[course_id]['title']}? Then put me down for it, please."


def leave_a_course(rng: random.Random, draft: Draft) -> str:
    course_id = _pick_course(rng, draft)
    _fill(rng, draft, course_id, waiting=rng.randrange(3))
    student_id = rng.choice(_students_in(draft, course_id, "enrolled"))
    email = _identify(draft, student_id)
    draft.do("course_roster", course_id=course_id)
    draft.do("withdraw", student_id=student_id, course_id=course_id)
    return f"{email}: I cannot keep up with {course_id} any more and want to be taken out of it. Yes, for good."


def enrol_a_group(rng: random.Random, draft: Draft) -> str:
    course_id = _pick_course(rng, draft)
    _empty(draft, course_id, keep=rng.randrange(3))
    others = _strangers(draft, course_id)
    group = rng.sample(others, rng.randint(1, len(others)))
    draft.do("course_roster", course_id=course_id)
    draft.do("enrol", course_id=course_id, student_ids=group)
    expression = f"sort(values(enrolments)[?course_id == '{course_id}' && status != 'passed'].student_id)"
    _demand_as_it_is(draft, "the group is in the course", expression)
    return f"Teacher of {course_id} here. {', '.join(group)} come in from the other group: add them to my course."


def seat_who_waits(rng: random.Random, draft: Draft) -> str:
    course_id = pick(rng, draft.state["courses"], where=lambda row: row["room"] != "Oak")
    course = draft.state["courses"][course_id]
    _fill(rng, draft, course_id, waiting=rng.randrange(1, 6))
    draft.do("timetable")
    draft.do("move_course", course_id=course_id, room="Oak", slot=course["slot"])
    draft.do("promote_waiting")
    return f"The room of {course_id} is too small. Move it to Oak at its usual time, then let those who wait move up."


def call_in_who_waits(rng: random.Random, draft: Draft) -> str:
    for course_id in rng.sample(sorted(draft.state["courses"]), rng.randrange(1, 4)):
        waiting = _fill(rng, draft, course_id, waiting=rng.randrange(1, 4))
        _widen(draft, course_id, rng.randint(1, waiting))
    draft.do("overview")
    draft.do("promote_waiting")
    if rng.random() < 0.5:
        draft.do("courses_with_places")
        return "How many wait at the moment? Call in whoever can have a place, and name the courses with places left."
    return "Some courses have got more places over the weekend. Please hand those out along the waiting lists."


def grade_a_course(rng: random.Random, draft: Draft) -> str:
    course_id = _pick_course(rng, draft)
    _fill(rng, draft, course_id, waiting=0)
    enrolled = draft.do("course_roster", course_id=course_id)["enrolled"]
    chosen = rng.sample(sorted(enrolled), rng.randint(1, len(enrolled)))
    grades = [{"student_id": student_id, "points": rng.randrange(30, 100)} for student_id in chosen]
    draft.do("enter_grades", course_id=course_id, grades=grades)
    listed = ", ".join(f"{row['student_id']} {row['points']}" for row in grades)
    return f"I have marked the exams of {course_id}. The points are: {listed}. Enter them, please."


def merge_two_courses(rng: random.Random, draft: Draft) -> str:
    course_id, target = rng.sample(sorted(draft.state["courses"]), 2)
    _widen(draft, course_id, rng.randrange(3))
    _fill(rng, draft, course_id, waiting=rng.randrange(4))
    _widen(draft, target, rng.randrange(4))
    draft.do("course_roster", course_id=course_id)
    draft.do("course_roster", course_id=target)
    draft.do("cancel_course", course_id=course_id, move_to=target)
    draft.do("overview")
    return f"The teacher of {course_id} has left us. Cancel it and move everybody to {target}. This is decided."


def find_another_time(rng: random.Random, draft: Draft) -> str:
    course_id = _pick_course(rng, draft)
    course = draft.state["courses"][course_id]
    taken = {row["slot"] for row in draft.do("timetable")}
    slot = rng.choice([slot for slot in SLOTS if slot not in taken])
    room = rng.choice(sorted(draft.state["rooms"]))
    draft.do("move_course", course_id=course_id, room=room, slot=slot)
    if draft.state["rooms"][room] > course["capacity"]:
        draft.do("promote_waiting")
    return f"{course['title']} ({course_id}) clashes with our rehearsals. Have it on {slot} in {room} from now on."


def finish_the_semester(rng: random.Random, draft: Draft) -> str:
    enrolments = draft.state["enrolments"]
    ungraded = sorted(key for key, row in enrolments.items() if row["status"] == "enrolled")
    for key in ungraded[: rng.randrange(5)]:
        del enrolments[key]
    for row in enrolments.values():
        row["grade"] = rng.randrange(30, 100) if row["status"] == "enrolled" else row["grade"]
    left = [key for key in ungraded if key in enrolments]
    if not left:
        raise NoTask("nobody is enrolled")
    last = enrolments[rng.choice(left)]
    last["grade"] = None
    grade = {"student_id": last["student_id"], "points": rng.randrange(30, 100)}
    draft.do("overview")
    draft.do("enter_grades", course_id=last["course_id"], grades=[grade])
    draft.do("end_semester")
    missing = f"{grade['student_id']} has {grade['points']} points in {last['course_id']}"
    return f"The last grade has come: {missing}. Enter it and then end the semester; the dean has agreed."


KINDS: tuple[TaskKind, ...] = (
    join_a_course,
    leave_a_course,
    enrol_a_group,
    seat_who_waits,
    call_in_who_waits,
    grade_a_course,
    merge_two_courses,
    find_another_time,
    finish_the_semester,
)


def _identify(draft: Draft, student_id: str) -> str:
    email = str(draft.state["students"][student_id]["email"])
    draft.do("find_student", email=email)
    return email


def _pick_course(rng: random.Random, draft: Draft) -> str:
    return pick(rng, draft.state["courses"])


def _students_in(draft: Draft, course_id: str, status: str) -> list[str]:
    rows = draft.state["enrolments"].values()
    return sorted(row["student_id"] for row in rows if row["course_id"] == course_id and row["status"] == status)


def _strangers(draft: Draft, course_id: str) -> list[str]:
    """The students who have never had anything to do with the course."""
    known = {row["student_id"] for row in draft.state["enrolments"].values() if row["course_id"] == course_id}
    return sorted({*draft.state["students"]} - known)


def _widen(draft: Draft, course_id: str, places: int) -> None:
    """Before the task begins, let the course take place in the biggest room, with so many more places."""
    course = draft.state["courses"][course_id]
    course["room"] = "Oak"
    course["capacity"] = min(draft.state["rooms"]["Oak"], course["capacity"] + places)


def _fill(rng: random.Random, draft: Draft, course_id: str, *, waiting: int) -> int:
    """Before the task begins, enrol students until the course is full and up to so many wait; gives how many wait."""
    course = draft.state["courses"][course_id]
    others = _strangers(draft, course_id)
    rng.shuffle(others)
    free = course["capacity"] - len(_students_in(draft, course_id, "enrolled"))
    _add(draft, course_id, "enrolled", others[:free])
    missing = waiting - len(_students_in(draft, course_id, "waiting"))
    _add(draft, course_id, "waiting", others[free : free + max(0, missing)])
    found = len(_students_in(draft, course_id, "waiting"))
    if waiting and not found:
        raise NoTask("nobody is left to wait")
    return found


def _add(draft: Draft, course_id: str, status: str, student_ids: Iterable[str]) -> None:
    enrolments = draft.state["enrolments"]
    for student_id in student_ids:
        row: dict[str, Any] = {"student_id": student_id, "course_id": course_id, "status": status, "grade": None}
        enrolments[f"E-{draft.state['next_number']}"] = row
        draft.state["next_number"] += 1


def _empty(draft: Draft, course_id: str, *, keep: int) -> None:
    """Before the task begins, let all but ``keep`` of those enrolled leave the course, and all who wait."""
    rows = draft.state["enrolments"].items()
    here = sorted(key for key, row in rows if row["course_id"] == course_id and row["status"] != "passed")
    for key in here[keep:]:
        del draft.state["enrolments"][key]


def _demand_as_it_is(draft: Draft, name: str, expression: str) -> None:
    draft.demand(name, f"{expression} == `{json.dumps(jmespath.search(expression, draft.state))}`")

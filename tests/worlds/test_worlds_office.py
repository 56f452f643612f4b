"""The rules of the office, each by one call."""

from typing import Any

import orjson
import pytest

from simia.types import State, ToolCall
from simia.worlds import OfficeWorld
from simia.worlds.office.dialogues_meetings import scene
from simia.worlds.office.states import document, meeting

OFFICE = OfficeWorld()
DAY = "2025-06-03"


@pytest.fixture
def state() -> State:
    return scene(
        "test",
        "2025-06-02",
        "p-nolan",
        {
            "M-1": meeting("One", "p-nolan", DAY, "09:00", "10:00", ("p-weiss",), "Alder"),
            "M-2": meeting("Two", "p-nolan", DAY, "10:00", "11:00", ("p-ruiz",), "Alder"),
            "M-3": meeting("Three", "p-amari", DAY, "14:00", "15:00", ("p-nolan",), "Birch"),
        },
        {
            "D-1": document("Salary bands", "people", "p-nolan", "secret"),
            "D-2": document("Roadmap", "projects", "p-nolan", "plans"),
            "D-3": document("Budget", "finance", "p-weber", "numbers"),
        },
    )


def do(state: State, name: str, **arguments: Any) -> tuple[Any, State]:
    transition, after = OFFICE.run(state, ToolCall(id="call_1", name=name, arguments=arguments))
    return orjson.loads(transition.observation), after


def schedule(state: State, start: str, minutes: int, *others: str, date: str = DAY, room: str | None = None) -> Any:
    arguments = {"title": "New", "date": date, "start": start, "minutes": minutes, "attendees": list(others)}
    return do(state, "schedule_meeting", **arguments, **({} if room is None else {"room": room}))[0]


@pytest.mark.parametrize(("start", "minutes"), [("11:30", 60), ("12:15", 30), ("12:30", 60)])
def test_nothing_touches_the_lunch_break(state: State, start: str, minutes: int) -> None:
    assert "lunch break" in schedule(state, start, minutes, "p-weiss")["error"]


def test_a_meeting_may_end_when_lunch_begins_and_start_when_it_ends(state: State) -> None:
    assert schedule(state, "11:00", 60, "p-weiss")["end"] == "12:00"
    assert schedule(state, "13:00", 60, "p-weiss")["start"] == "13:00"


def test_a_weekend_is_refused_by_name(state: State) -> None:
    assert "is a Saturday" in schedule(state, "10:00", 30, "p-weiss", date="2025-06-07")["error"]


def test_a_day_that_does_not_exist_is_refused(state: State) -> None:
    assert schedule(state, "10:00", 30, "p-weiss", date="2025-02-30")["error"] == "2025-02-30 is no date"


def test_nobody_is_booked_twice(state: State) -> None:
    assert schedule(state, "10:30", 30, "p-ruiz")["error"] == "p-nolan, p-ruiz busy from 10:00 to 11:00 (Two)"


def test_a_room_is_booked_once(state: State) -> None:
    state["signed_in"] = "p-tanaka"
    assert "room Birch is taken" in schedule(state, "14:00", 30, "p-okafor", room="Birch")["error"]


def test_the_organiser_needs_a_seat_too(state: State) -> None:
    others = ("p-weiss", "p-ruiz", "p-tanaka")
    assert "3 seats, 4 people" in schedule(state, "16:00", 30, *others, room="Alder")["error"]


def test_free_slots_are_times_at_which_a_meeting_can_be_scheduled(state: State) -> None:
    people = ["p-nolan", "p-ruiz"]
    slots = do(state, "free_slots", person_ids=people, date=DAY, minutes=30)[0]["slots"]
    assert slots == [
        {"from": "11:00", "to": "12:00"},
        {"from": "13:00", "to": "14:00"},
        {"from": "15:00", "to": "17:30"},
    ]
    assert all("meeting_id" in schedule(state, slot["from"], 30, "p-ruiz") for slot in slots)


def test_two_meetings_swap_their_times_in_one_call(state: State) -> None:
    moves = [
        {"meeting_id": "M-1", "date": DAY, "start": "10:00"},
        {"meeting_id": "M-2", "date": DAY, "start": "09:00"},
    ]
    result, after = do(state, "move_meetings", moves=moves)
    assert result["not_moved"] == []
    assert (after["meetings"]["M-1"]["start"], after["meetings"]["M-2"]["end"]) == ("10:00", "10:00")


def test_a_meeting_of_somebody_else_is_named_while_the_others_are_cancelled(state: State) -> None:
    result, after = do(state, "cancel_meetings", meeting_ids=["M-1", "M-3"])
    assert result["not_cancelled"] == [
        {"meeting_id": "M-3", "why": "organised by p-amari; only the organiser may change it"}
    ]
    assert "M-1" not in after["meetings"]
    assert "M-3" in after["meetings"]


def test_a_confidential_document_stays_in_its_team_and_then_nothing_is_shared(state: State) -> None:
    result, after = do(state, "share_documents", document_ids=["D-2", "D-1"], person_ids=["p-amari"], access="read")
    assert "confidential" in result["error"]
    assert after == state


def test_edit_access_includes_reading(state: State) -> None:
    _, after = do(state, "share_documents", document_ids=["D-2"], person_ids=["p-ruiz"], access="edit")
    assert "p-ruiz" in after["documents"]["D-2"]["readers"]
    assert "p-ruiz" in after["documents"]["D-2"]["editors"]


def test_only_the_owner_shares(state: State) -> None:
    result, _ = do(state, "share_documents", document_ids=["D-3"], person_ids=["p-ruiz"], access="read")
    assert result["error"] == "document D-3 belongs to p-weber; only the owner may share it"


def test_a_document_that_one_may_not_read_is_neither_found_nor_opened(state: State) -> None:
    found, _ = do(state, "search_documents", words="budget")
    opened, _ = do(state, "read_document", document_id="D-3")
    assert found == {"documents": []}
    assert opened == {"error": "p-nolan may not read document D-3"}


def test_a_mail_comes_from_who_is_signed_in(state: State) -> None:
    result, after = do(state, "send_mail", to=["p-ruiz"], subject="Hi", body="Hello")
    assert after["mail"][result["mail_id"]]["sender"] == "p-nolan"

"""The rules of the office, each by one call."""

from itertools import combinations
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.types import State, ToolCall
from simia.worlds.office import OfficeWorld
from simia.worlds.office.dialogues_meetings import scene
from simia.worlds.office.states import document, empty_state, meeting

OFFICE = OfficeWorld()
DAY = "2025-06-03"
SATURDAY = "2025-06-07"


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


def move(state: State, *moves: tuple[str, str, str]) -> tuple[Any, State]:
    named = [{"meeting_id": meeting_id, "date": date, "start": start} for meeting_id, date, start in moves]
    return do(state, "move_meetings", moves=named)


def test_a_meeting_that_cannot_be_moved_away_stands_in_the_way_of_one_moved_to_its_place(state: State) -> None:
    result, after = move(state, ("M-1", DAY, "10:00"), ("M-2", SATURDAY, "10:00"))
    assert result["error"].startswith("nothing moved: M-1: p-nolan busy from 10:00 to 11:00 (Two); M-2: ")
    assert after == state


def test_the_others_of_a_call_are_moved_while_a_chain_to_an_impossible_place_is_not(state: State) -> None:
    state["meetings"]["M-4"] = meeting("Four", "p-nolan", DAY, "16:00", "17:00")
    result, after = move(state, ("M-4", DAY, "13:00"), ("M-1", DAY, "10:00"), ("M-2", SATURDAY, "10:00"))
    assert [row["meeting_id"] for row in result["moved"]] == ["M-4"]
    assert [row["meeting_id"] for row in result["not_moved"]] == ["M-1", "M-2"]
    assert after["meetings"]["M-4"]["start"] == "13:00"


def test_a_meeting_is_moved_where_another_was_to_go_that_has_to_stay(state: State) -> None:
    moves = (("M-1", DAY, "15:00"), ("M-2", DAY, "15:30"), ("M-4", SATURDAY, "15:00"))
    state["meetings"]["M-4"] = meeting("Four", "p-nolan", DAY, "15:00", "15:30")
    result, _ = move(state, *moves)
    assert [row["meeting_id"] for row in result["moved"]] == ["M-2"]
    assert result["not_moved"][0] == {"meeting_id": "M-1", "why": "p-nolan busy from 15:30 to 16:30 (Two)"}


def test_of_two_moves_of_one_meeting_the_last_holds(state: State) -> None:
    result, _ = move(state, ("M-1", DAY, "15:00"), ("M-1", DAY, "16:00"))
    assert [row["start"] for row in result["moved"]] == ["16:00"]


PLACES = st.tuples(
    st.sampled_from([DAY, "2025-06-04", SATURDAY]), st.sampled_from(["09:00", "09:30", "10:00", "14:00"])
)


@settings(max_examples=300, deadline=None)
@given(
    before=st.lists(PLACES, min_size=2, max_size=6),
    moves=st.lists(st.tuples(st.integers(0, 5), PLACES), min_size=1, max_size=6),
)
def test_whatever_is_moved_nobody_and_no_room_is_booked_twice(
    before: list[tuple[str, str]], moves: list[tuple[int, tuple[str, str]]]
) -> None:
    state = empty_state("2025-06-02", "p-nolan", 1)
    for number, (date, start) in enumerate(before):
        other = ("p-weiss", "p-ruiz")[number % 2]
        schedule = {"title": str(number), "date": date, "start": start, "minutes": 45, "attendees": [other]}
        state = do(state, "schedule_meeting", **schedule, room="Cedar")[1]
    result, after = move(state, *((f"M-{number + 1}", date, start) for number, (date, start) in moves))
    assert clashes(after) == []
    if "error" not in result:
        asked = {f"M-{number + 1}" for number, _ in moves}
        assert {row["meeting_id"] for row in (*result["moved"], *result["not_moved"])} == asked


def clashes(state: State) -> list[tuple[str, str]]:
    """Pairs of meetings at the same time that share people or a room."""
    return [
        (one, other)
        for one, other in combinations(state["meetings"], 2)
        if (a := state["meetings"][one])["date"] == (b := state["meetings"][other])["date"]
        and a["start"] < b["end"]
        and b["start"] < a["end"]
        and (set(a["attendees"]) & set(b["attendees"]) or (a["room"] is not None and a["room"] == b["room"]))
    ]


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

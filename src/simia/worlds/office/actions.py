"""The tools of the office, as code."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from simia.types import JsonObject, State
from simia.worlds.executable import Action, Refused, found

DAY_STARTS, LUNCH_STARTS, LUNCH_ENDS, DAY_ENDS = 9 * 60, 12 * 60, 13 * 60, 17 * 60 + 30


def find_people(state: State, words: str) -> JsonObject:
    wanted = words.lower().split()
    hits = []
    for person_id, person in sorted(state["people"].items()):
        team = _team(state, person_id)
        described = f"{person['name']} {person['title']} {team}".lower()
        if all(word in described for word in wanted):
            is_you = person_id == state["signed_in"]
            hits.append({"person_id": person_id, **person, "team": team, "is_you": is_you})
    return {"people": hits, "today": state["today"]}


def list_meetings(state: State, person_id: str, date: str) -> JsonObject:
    found(state["people"], person_id, "person")
    rows = [
        {"meeting_id": meeting_id, **meeting}
        for meeting_id, meeting in state["meetings"].items()
        if meeting["date"] == date and person_id in meeting["attendees"]
    ]
    return {"meetings": sorted(rows, key=lambda row: (row["start"], row["meeting_id"]))}


def free_slots(state: State, person_ids: list[str], date: str, minutes: int) -> JsonObject:
    for person_id in person_ids:
        found(state["people"], person_id, "person")
    _demand_working_day(date)
    busy = [(LUNCH_STARTS, LUNCH_ENDS), (DAY_ENDS, DAY_ENDS)]
    for meeting in state["meetings"].values():
        if meeting["date"] == date and set(person_ids) & set(meeting["attendees"]):
            busy.append((_minutes(meeting["start"]), _minutes(meeting["end"])))
    slots = []
    free_from = DAY_STARTS
    for start, end in sorted(busy):
        if start - free_from >= minutes:
            slots.append({"from": _clock(free_from), "to": _clock(start)})
        free_from = max(free_from, end)
    seats = len({*person_ids, state["signed_in"]})
    rooms = [
        {"room": name, "seats": room["seats"]}
        for name, room in sorted(state["rooms"].items())
        if room["seats"] >= seats
    ]
    return {"slots": slots, "rooms": rooms}


def schedule_meeting(
    state: State, title: str, date: str, start: str, minutes: int, attendees: list[str], room: str | None = None
) -> JsonObject:
    for person_id in attendees:
        found(state["people"], person_id, "person")
    you = state["signed_in"]
    everybody = [you, *(person_id for person_id in attendees if person_id != you)]
    if room is not None:
        seats = found(state["rooms"], room, "room")["seats"]
        if seats < len(everybody):
            raise Refused(f"room {room} has {seats} seats, {len(everybody)} people attend")
    meeting = {
        "title": title,
        "organizer": you,
        "date": date,
        "start": start,
        "end": _clock(_minutes(start) + minutes),
        "attendees": everybody,
        "room": room,
    }
    _demand_possible(state, meeting, ignoring=())
    meeting_id = _next_id(state, "M")
    state["meetings"][meeting_id] = meeting
    return {"meeting_id": meeting_id, **meeting}


def move_meetings(state: State, moves: list[JsonObject]) -> JsonObject:
    asked = {move["meeting_id"]: move for move in moves}  # of two for one meeting the last holds
    why: dict[str, str] = {}
    while True:
        trial = {**state, "meetings": dict(state["meetings"])}
        refused = _move(trial, [move for meeting_id, move in asked.items() if meeting_id not in why])
        if not refused:
            break
        why |= refused  # those stay where others may have been moved to: all begins anew, with them in the way
    waiting: list[str] = []
    while len(waiting) != len(why):  # what was in the way of a refused one may have moved, or stayed, itself
        waiting, why = [meeting_id for meeting_id in asked if meeting_id in why], {}
        for meeting_id in waiting:
            why |= _move(trial, [asked[meeting_id]])
    left = [{"meeting_id": meeting_id, "why": reason} for meeting_id, reason in why.items()]
    if len(left) == len(asked):
        raise Refused("nothing moved: " + "; ".join(f"{row['meeting_id']}: {row['why']}" for row in left))
    state["meetings"] = trial["meetings"]
    moved = [_placed(meeting_id, state["meetings"][meeting_id]) for meeting_id in asked if meeting_id not in why]
    return {"moved": moved, "not_moved": left}


def cancel_meetings(state: State, meeting_ids: list[str]) -> JsonObject:
    cancelled: list[JsonObject] = []
    left: list[JsonObject] = []
    for meeting_id in meeting_ids:
        try:
            cancelled.append(_placed(meeting_id, _own_meeting(state, meeting_id)))
            del state["meetings"][meeting_id]
        except Refused as refusal:
            left.append({"meeting_id": meeting_id, "why": str(refusal)})
    if not cancelled:
        raise Refused("nothing cancelled: " + "; ".join(f"{row['meeting_id']}: {row['why']}" for row in left))
    return {"cancelled": cancelled, "not_cancelled": left}


def search_documents(state: State, words: str, folder: str | None = None) -> JsonObject:
    wanted = words.lower().split()
    hits = [
        {"document_id": document_id, **{key: document[key] for key in ("title", "folder", "owner")}}
        for document_id, document in sorted(state["documents"].items())
        if _may_read(state, document)
        and folder in (None, document["folder"])
        and all(word in document["title"].lower() for word in wanted)
    ]
    return {"documents": hits}


def read_document(state: State, document_id: str) -> JsonObject:
    document = found(state["documents"], document_id, "document")
    if not _may_read(state, document):
        raise Refused(f"{state['signed_in']} may not read document {document_id}")
    return {"document_id": document_id, **document}


def share_documents(state: State, document_ids: list[str], person_ids: list[str], access: str) -> JsonObject:
    for person_id in person_ids:
        found(state["people"], person_id, "person")
    shared = []
    for document_id in document_ids:
        document = found(state["documents"], document_id, "document")
        if document["owner"] != state["signed_in"]:
            raise Refused(f"document {document_id} belongs to {document['owner']}; only the owner may share it")
        for person_id in person_ids:
            if document["folder"] == "people" and person_id not in state["teams"]["People"]:
                raise Refused(f"document {document_id} is confidential and {person_id} is not in the team People")
            lists = ("readers",) if access == "read" else ("readers", "editors")
            for name in lists:
                if person_id not in document[name]:
                    document[name].append(person_id)
        shared.append({"document_id": document_id, "title": document["title"], "with": list(person_ids)})
    return {"shared": shared, "access": access}


def send_mail(state: State, to: list[str], subject: str, body: str) -> JsonObject:
    for person_id in to:
        found(state["people"], person_id, "person")
    mail_id = _next_id(state, "E")
    state["mail"][mail_id] = {"sender": state["signed_in"], "to": list(to), "subject": subject, "body": body}
    return {"mail_id": mail_id, "to": list(to)}


ACTIONS: Mapping[str, Action] = {
    action.__name__: action
    for action in (
        find_people,
        list_meetings,
        free_slots,
        schedule_meeting,
        move_meetings,
        cancel_meetings,
        search_documents,
        read_document,
        share_documents,
        send_mail,
    )
}


def _move(state: State, moves: list[JsonObject]) -> dict[str, str]:
    """Make the moves that can be made; gives by meeting why another cannot. Meetings that have yet to be moved do not
    stand in the way: swapping two is one call.
    """
    why = {}
    for place, move in enumerate(moves):
        meeting_id = move["meeting_id"]
        try:
            meeting = _own_meeting(state, meeting_id)
            length = _minutes(meeting["end"]) - _minutes(meeting["start"])
            end = _clock(_minutes(move["start"]) + length)
            target = {**meeting, "date": move["date"], "start": move["start"], "end": end}
            _demand_possible(state, target, ignoring=[later["meeting_id"] for later in moves[place:]])
        except Refused as refusal:
            why[meeting_id] = str(refusal)
        else:
            state["meetings"][meeting_id] = target
    return why


def _own_meeting(state: State, meeting_id: str) -> Any:
    meeting = found(state["meetings"], meeting_id, "meeting")
    if meeting["organizer"] != state["signed_in"]:
        raise Refused(f"organised by {meeting['organizer']}; only the organiser may change it")
    return meeting


def _demand_possible(state: State, meeting: JsonObject, ignoring: Iterable[str]) -> None:
    _demand_working_day(meeting["date"])
    start, end = _minutes(meeting["start"]), _minutes(meeting["end"])
    span = f"{meeting['start']} to {meeting['end']}"
    if start < DAY_STARTS or end > DAY_ENDS or end <= start:
        raise Refused(f"{span} is outside working hours, 09:00 to 17:30")
    if start < LUNCH_ENDS and end > LUNCH_STARTS:
        raise Refused(f"{span} touches the lunch break, 12:00 to 13:00")
    for other_id, other in state["meetings"].items():
        if other_id in ignoring or other["date"] != meeting["date"]:
            continue
        if _minutes(other["end"]) <= start or _minutes(other["start"]) >= end:
            continue
        twice = [person_id for person_id in meeting["attendees"] if person_id in other["attendees"]]
        if twice:
            raise Refused(f"{', '.join(twice)} busy from {other['start']} to {other['end']} ({other['title']})")
        if meeting["room"] is not None and meeting["room"] == other["room"]:
            raise Refused(f"room {meeting['room']} is taken from {other['start']} to {other['end']}")


def _demand_working_day(day: str) -> None:
    try:
        weekday = date.fromisoformat(day).weekday()
    except ValueError:
        raise Refused(f"{day} is no date") from None
    if weekday >= 5:
        raise Refused(f"{day} is a {'Saturday' if weekday == 5 else 'Sunday'}; meetings are Monday to Friday")


def _may_read(state: State, document: JsonObject) -> bool:
    return state["signed_in"] in (document["owner"], *document["readers"], *document["editors"])


def _placed(meeting_id: str, meeting: JsonObject) -> JsonObject:
    return {"meeting_id": meeting_id, **{key: meeting[key] for key in ("title", "date", "start", "end")}}


def _team(state: State, person_id: str) -> str:
    return next((team for team, members in state["teams"].items() if person_id in members), "none")


def _minutes(clock: str) -> int:
    hours, _, minutes = clock.partition(":")
    return int(hours) * 60 + int(minutes)


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _next_id(state: State, prefix: str) -> str:
    number: int = state["next_number"]
    state["next_number"] = number + 1
    return f"{prefix}-{number}"

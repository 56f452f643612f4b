"""States of the office: the staff, and calendars and documents, drawn or written down."""

import random
from datetime import date, timedelta

from simia.types import JsonObject, State
from simia.worlds.executable import Refused
from simia.worlds.office.actions import schedule_meeting

STAFF: dict[str, tuple[str, str, str]] = {
    "p-amari": ("Nadia Amari", "Head of Sales", "Sales"),
    "p-boateng": ("Kofi Boateng", "Account Manager", "Sales"),
    "p-lindgren": ("Sofia Lindgren", "Lead Designer", "Design"),
    "p-okafor": ("Chidi Okafor", "Illustrator", "Design"),
    "p-petrova": ("Daria Petrova", "Engineering Manager", "Engineering"),
    "p-ruiz": ("Mateo Ruiz", "Backend Developer", "Engineering"),
    "p-tanaka": ("Yuki Tanaka", "Frontend Developer", "Engineering"),
    "p-weber": ("Jonas Weber", "Controller", "Finance"),
    "p-weiss": ("Jonas Weiss", "Recruiter", "People"),
    "p-nolan": ("Fiona Nolan", "Head of People", "People"),
}
ROOMS = {"Alder": 3, "Birch": 5, "Cedar": 8, "Hall": 20}

_TITLES = ("Sprint planning", "Budget review", "Design critique", "One to one", "Customer call", "Hiring sync", "Demo")
_TEXTS = {
    "Onboarding checklist": ("templates", "Laptop, badge, accounts, lunch with the team, first one to one in week 1."),
    "Invoice template": ("templates", "Number, date, customer, lines, VAT, total, due in 30 days."),
    "Website relaunch plan": ("projects", "Phase 1: content. Phase 2: design. Phase 3: build. Launch in autumn."),
    "Mobile app roadmap": ("projects", "Q3: offline mode. Q4: payments. Later: widgets."),
    "Travel budget": ("finance", "Sales 14000, Design 3000, Engineering 6000, People 2000."),
    "Quarterly forecast": ("finance", "Revenue 410000, cost 356000, margin 54000."),
    "Salary bands": ("people", "Band A to F; reviewed every January."),
}


def meeting(
    title: str, organizer: str, day: str, start: str, end: str, others: tuple[str, ...] = (), room: str | None = None
) -> JsonObject:
    return {
        "title": title,
        "organizer": organizer,
        "date": day,
        "start": start,
        "end": end,
        "attendees": [organizer, *others],
        "room": room,
    }


def document(title: str, folder: str, owner: str, body: str, readers: tuple[str, ...] = ()) -> JsonObject:
    return {
        "title": title,
        "folder": folder,
        "owner": owner,
        "text": body,
        "readers": [owner, *readers],
        "editors": [owner],
    }


def empty_state(today: str, signed_in: str, next_number: int) -> State:
    """The staff and the rooms, with nothing in the calendars and no documents."""
    teams: dict[str, list[str]] = {}
    for person_id, (_, _, team) in STAFF.items():
        teams.setdefault(team, []).append(person_id)
    people = {
        person_id: {
            "name": name,
            "email": f"{name.lower().replace(' ', '.')}@brightwater.example",
            "title": title,
        }
        for person_id, (name, title, _) in STAFF.items()
    }
    return {
        "today": today,
        "signed_in": signed_in,
        "next_number": next_number,
        "people": people,
        "teams": teams,
        "rooms": {name: {"seats": seats} for name, seats in ROOMS.items()},
        "meetings": {},
        "documents": {},
        "mail": {},
    }


def draw_state(rng: random.Random, meetings: int = 6) -> State:
    """A working day of somebody of the staff: up to ``meetings`` meetings in that week, and some documents."""
    monday = date(2025, 1, 6) + timedelta(weeks=rng.randrange(48))
    signed_in = rng.choice(sorted(STAFF))
    state = empty_state((monday + timedelta(days=rng.randrange(3))).isoformat(), signed_in, rng.randrange(300, 900))
    for _ in range(meetings):
        state["signed_in"] = rng.choice(sorted(STAFF))
        others = rng.sample(sorted(STAFF), rng.randrange(1, 4))
        try:
            schedule_meeting(
                state,
                rng.choice(_TITLES),
                (monday + timedelta(days=rng.randrange(5))).isoformat(),
                f"{rng.choice((9, 10, 11, 13, 14, 15, 16)):02d}:{rng.choice((0, 30)):02d}",
                rng.choice((30, 45, 60)),
                others,
                rng.choice((None, "Birch", "Cedar")),
            )
        except Refused:
            continue
    state["signed_in"] = signed_in
    for title in rng.sample(sorted(_TEXTS), 4):
        folder, body = _TEXTS[title]
        owners = state["teams"]["People"] if folder == "people" else sorted(STAFF)
        owner = rng.choice(owners)
        readers = () if folder == "people" else tuple({signed_in} - {owner})
        number = rng.randrange(200, 300)
        while f"D-{number}" in state["documents"]:
            number += 1
        state["documents"][f"D-{number}"] = document(title, folder, owner, body, readers)
    return state

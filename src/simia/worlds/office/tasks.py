"""Kinds of tasks in the office, each with the calls that do it."""

import json
import random
from datetime import date, timedelta
from typing import Any

import jmespath

from simia.worlds.drafting import Draft, NoTask, TaskKind
from simia.worlds.executable import Refused
from simia.worlds.office.actions import schedule_meeting
from simia.worlds.office.states import document

_STARTS = ("09:00", "10:00", "11:00", "13:00", "14:00", "15:00", "16:00")
_TITLES = (
    "Sprint planning",
    "Budget review",
    "Design critique",
    "Customer call",
    "Hiring sync",
    "Demo",
    "Retrospective",
)
_PAPERS = {
    "Website relaunch plan": "projects",
    "Mobile app roadmap": "projects",
    "Trade fair checklist": "projects",
    "Travel budget": "finance",
    "Quarterly forecast": "finance",
    "Invoice template": "templates",
    "Onboarding checklist": "templates",
    "House rules": "templates",
    "Client list": "projects",
}
_DICTATED = (
    ("Lunch on Friday", "The kitchen is ours from 12:00. Bring something to share."),
    ("Printer moved", "The printer stands beside the Hall now."),
    ("Please send numbers", "I need your numbers of last week by tomorrow noon."),
    ("Thank you", "Thank you for jumping in yesterday. It went well."),
)


def find_an_hour(rng: random.Random, draft: Draft) -> str:
    day, _ = _arrange_meetings(rng, draft, 4)
    others = _colleagues(rng, draft, 1, 3)
    minutes, title = rng.choice((30, 45, 60)), rng.choice(_TITLES)
    draft.do("find_people", words="")
    free = draft.do("free_slots", person_ids=[_me(draft), *others], date=day, minutes=minutes)
    if not free["slots"]:
        raise NoTask("nobody is free")
    start = free["slots"][0]["from"]
    draft.do("schedule_meeting", title=title, date=day, start=start, minutes=minutes, attendees=others)
    _demand_outcome(draft)
    who = _listed(draft, others)
    return f"Find the first {minutes} minutes on {day} at which {who} and I are free, and book a call '{title}' then."


def gather_a_team(rng: random.Random, draft: Draft) -> str:
    day, _ = _arrange_meetings(rng, draft, 1)
    team = rng.choice(sorted(name for name, people in draft.state["teams"].items() if people))
    subject, body = rng.choice(_DICTATED)
    found = [row["person_id"] for row in draft.do("find_people", words=team.lower())["people"]]
    others = sorted({*found} & {*draft.state["teams"][team]} - {_me(draft)})
    if not others:
        raise NoTask("the team is nobody but the user")
    start, room = rng.choice(_STARTS), rng.choice(("Birch", "Cedar", "Hall"))
    arguments = {"title": f"{team} round", "date": day, "start": start, "minutes": 30, "attendees": others}
    draft.do("schedule_meeting", **arguments, room=room)
    draft.do("send_mail", to=others, subject=subject, body=body)
    _demand_outcome(draft)
    return (
        f"Book '{team} round' for the team {team} and me, {day} at {start} for half an hour in {room}. "
        f"Then write to the team, subject '{subject}': \"{body}\""
    )


def move_to_another_day(rng: random.Random, draft: Draft) -> str:
    day, later = _arrange_meetings(rng, draft, rng.randrange(1, 6))
    mine = _own(draft, day)
    starts = rng.sample(_STARTS, len(mine))
    draft.do("list_meetings", person_id=_me(draft), date=day)
    _move(draft, [{"meeting_id": key, "date": later, "start": start} for key, start in zip(mine, starts, strict=True)])
    wanted = ", ".join(f"{key} to {start}" for key, start in zip(mine, starts, strict=True))
    return f"I am away on {day}. My own meetings of that day go to {later}: {wanted}. Yes, move them."


def start_later(rng: random.Random, draft: Draft) -> str:
    day, _ = _arrange_meetings(rng, draft, rng.randrange(1, 7))
    mine = _own(draft, day)
    table = draft.state["meetings"]
    draft.do("list_meetings", person_id=_me(draft), date=day)
    _move(draft, [{"meeting_id": key, "date": day, "start": f"{table[key]['start'][:3]}15"} for key in mine])
    return f"Let every meeting that I organise on {day} begin a quarter of an hour later. I confirm all of them."


def clear_the_day(rng: random.Random, draft: Draft) -> str:
    day, _ = _arrange_meetings(rng, draft, rng.randrange(1, 8))
    draft.do("list_meetings", person_id=_me(draft), date=day)
    draft.do("cancel_meetings", meeting_ids=_own(draft, day))
    excuse = rng.choice(("I am ill", "My train does not run", "The child is not well"))
    return f"{excuse}: cancel everything on {day} that I am the organiser of. No need to ask again."


def share_papers(rng: random.Random, draft: Draft) -> str:
    _arrange_papers(rng, draft)
    papers = {key: row for key, row in draft.state["documents"].items() if row["owner"] == _me(draft)}
    chosen = rng.sample(sorted(papers), rng.randint(1, len(papers)))
    others = _colleagues(rng, draft, 1, 2)
    access = rng.choice(("read", "edit"))
    draft.do("find_people", words="")
    draft.do("search_documents", words="")
    draft.do("share_documents", document_ids=chosen, person_ids=others, access=access)
    _demand_outcome(draft)
    titles = ", ".join(f"'{papers[key]['title']}'" for key in chosen)
    wish = "may edit" if access == "edit" else "may only read"
    return f"Share {titles} with {_listed(draft, others)}, who {wish}. All of these are my own documents."


def send_a_dictated_mail(rng: random.Random, draft: Draft) -> str:
    _narrow(rng, draft)
    others = _colleagues(rng, draft, 1, 3)
    subject, body = rng.choice(_DICTATED)
    name = draft.state["people"][others[0]]["name"]
    draft.do("find_people", words=name.lower() if len(others) == 1 else "")
    draft.do("send_mail", to=others, subject=subject, body=body)
    _demand_outcome(draft)
    return f"One mail to {_listed(draft, others)}, word for word. Subject: '{subject}'. Text: \"{body}\""


def pass_on_a_text(rng: random.Random, draft: Draft) -> str:
    _arrange_papers(rng, draft)
    title = rng.choice(sorted(row["title"] for row in draft.state["documents"].values() if row["owner"] == _me(draft)))
    (other,) = _colleagues(rng, draft, 1, 1)
    hits = draft.do("search_documents", words=title.lower(), folder=_PAPERS[title])["documents"]
    text = draft.do("read_document", document_id=hits[0]["document_id"])["text"]
    draft.do("find_people", words=draft.state["people"][other]["name"].lower())
    draft.do("send_mail", to=[other], subject=title, body=text)
    _demand_outcome(draft)
    return f"Mail the text of my '{title}' as it stands to {_listed(draft, [other])}, with the title as the subject."


KINDS: tuple[TaskKind, ...] = (
    find_an_hour,
    gather_a_team,
    move_to_another_day,
    start_later,
    clear_the_day,
    share_papers,
    send_a_dictated_mail,
    pass_on_a_text,
)


def _arrange_meetings(rng: random.Random, draft: Draft, own: int) -> tuple[str, str]:
    """Let the signed-in employee organise ``own`` meetings tomorrow; gives tomorrow and the day after."""
    state = draft.state
    _narrow(rng, draft)
    tomorrow = date.fromisoformat(state["today"]) + timedelta(days=1)
    for start in rng.sample(_STARTS, own):
        others = _colleagues(rng, draft, 1, 2)
        room = rng.choice((None, "Birch", "Cedar"))
        minutes = rng.choice((30, 45))
        try:
            schedule_meeting(state, rng.choice(_TITLES), tomorrow.isoformat(), start, minutes, others, room)
        except Refused as reason:
            raise NoTask(str(reason)) from None
    return tomorrow.isoformat(), (tomorrow + timedelta(days=1)).isoformat()


def _arrange_papers(rng: random.Random, draft: Draft) -> None:
    """Give the signed-in employee one to six documents besides those of others."""
    state = draft.state
    _narrow(rng, draft)
    state["meetings"] = {}
    titles = sorted({*_PAPERS} - {row["title"] for row in state["documents"].values()})
    for number, title in enumerate(rng.sample(titles, rng.randrange(1, 7)), rng.randrange(300, 400)):
        body = f"Draft {rng.randrange(2, 9)} of {state['today']}, {rng.randrange(3, 40)} open points."
        state["documents"][f"D-{number}"] = document(title, _PAPERS[title], _me(draft), body)


def _narrow(rng: random.Random, draft: Draft) -> None:
    """Keep two meetings, two documents of others, and seven people or those who appear in them."""
    state = draft.state
    me = state["signed_in"]
    meetings = sorted(key for key, row in state["meetings"].items() if row["organizer"] != me)[:2]
    documents = sorted(key for key, row in state["documents"].items() if row["owner"] != me)[:2]
    state["meetings"] = {key: state["meetings"][key] for key in meetings}
    state["documents"] = {key: state["documents"][key] for key in documents}
    keep = {me}.union(*(row["attendees"] for row in state["meetings"].values()))
    keep = keep.union(*(row["readers"] for row in state["documents"].values()))
    keep |= {*rng.sample(sorted({*state["people"]} - keep), max(0, 7 - len(keep)))}
    state["people"] = {key: row for key, row in state["people"].items() if key in keep}
    state["teams"] = {name: [key for key in people if key in keep] for name, people in state["teams"].items()}


def _move(draft: Draft, moves: list[dict[str, Any]]) -> None:
    if draft.do("move_meetings", moves=moves)["not_moved"]:
        raise NoTask("not all of the meetings can be moved")


def _me(draft: Draft) -> str:
    return str(draft.state["signed_in"])


def _own(draft: Draft, day: str) -> list[str]:
    """The meetings of the day that the signed-in employee organises, in order of time."""
    table = draft.state["meetings"]
    own = [key for key, row in table.items() if row["organizer"] == _me(draft) and row["date"] == day]
    return sorted(own, key=lambda key: (table[key]["start"], key))


def _colleagues(rng: random.Random, draft: Draft, least: int, most: int) -> list[str]:
    others = sorted({*draft.state["people"]} - {_me(draft)})
    return rng.sample(others, rng.randint(least, most))


def _listed(draft: Draft, person_ids: list[str]) -> str:
    return " and ".join(draft.state["people"][person_id]["name"] for person_id in person_ids)


def _demand_outcome(draft: Draft) -> None:
    """Demand meetings, documents and mail as the calls left them, in whatever sequence people are named."""
    for name, expression in (
        (
            "the meetings are as wanted",
            "sort_by(values(meetings), &join(' ', [date, start, title, organizer]))[]"
            ".[title, date, start, end, room, sort(attendees)]",
        ),
        ("the access is as wanted", "values(documents)[].[sort(readers), sort(editors)]"),
        ("the mail is as wanted", "sort_by(values(mail), &subject)[].[sender, sort(to), subject, body]"),
    ):
        draft.demand(name, f"{expression} == `{json.dumps(jmespath.search(expression, draft.state))}`")

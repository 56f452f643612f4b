"""Kinds of tasks at the library's desk, each with the calls that do it."""

import random
from collections.abc import Sequence
from datetime import date, timedelta
from itertools import product
from typing import cast

from simia.worlds.drafting import Draft, NoTask, TaskKind, pick, pick_some
from simia.worlds.library.state import LibraryState
from simia.worlds.library.tables import copies_in


def borrow_a_book(rng: random.Random, draft: Draft) -> str:
    member_id = pick(rng, draft.state["members"], where=lambda row: row["fines"] < 1000)
    title = draft.state["titles"][pick(rng, draft.state["titles"])]["name"]
    email = _email_of(draft, member_id)
    draft.do("find_member", email=email)
    copies = draft.do("search_titles", words=title)[0]["copies_in"]
    if not copies:
        raise NoTask("the title is out")
    draft.do("check_out", member_id=member_id, copy_ids=copies[:1])
    return f"Do you have '{title}' in? Then I take one with me. My address is {email}."


def collect_from_the_shelf(rng: random.Random, draft: Draft) -> str:
    holds = draft.state["holds"]
    member_id = holds[pick(rng, holds, where=lambda row: row["copy_id"] is not None)]["member_id"]
    for hold in holds.values():
        hold["member_id"] = member_id if hold["copy_id"] is not None and rng.random() < 0.7 else hold["member_id"]
    email = _email_of(draft, member_id)
    draft.do("find_member", email=email)
    ready = [row["copy_id"] for row in draft.do("hold_shelf") if row["member_id"] == member_id]
    draft.do("check_out", member_id=member_id, copy_ids=ready)
    return f"I got a message that books are ready for me. {email}, I take everything that you have set aside."


def empty_the_book_drop(rng: random.Random, draft: Draft) -> str:
    _arrange_waiting(rng, draft)
    copies = pick_some(rng, draft.state["loans"], 2, 6)
    draft.do("overdue_loans")
    draft.do("return_copies", copy_ids=copies)
    return f"""A colleague: note what is overdue, then check in the pile from the book drop. From the top it is
        {_listed(copies)}."""


def keep_everything_longer(rng: random.Random, draft: Draft) -> str:
    member_id = draft.state["loans"][pick(rng, draft.state["loans"])]["member_id"]
    others = [loan for loan in draft.state["loans"].values() if loan["member_id"] != member_id]
    for loan in rng.sample(others, min(len(others), rng.randrange(2))):
        loan["member_id"] = member_id
    email = _email_of(draft, member_id)
    draft.do("find_member", email=email)
    draft.do("renew_all", member_id=member_id)
    return f"I have not finished my books. Could you extend all that can be extended? Signed, {email}"


def wait_for_books(rng: random.Random, draft: Draft) -> str:
    member_id = pick(rng, draft.state["members"])
    titles = pick_some(rng, draft.state["titles"], 1, 3)
    names = [draft.state["titles"][title_id]["name"] for title_id in titles]
    email = _email_of(draft, member_id)
    draft.do("find_member", email=email)
    for name in names:
        draft.do("search_titles", words=name)
    draft.do("place_holds", member_id=member_id, title_ids=titles)
    quoted = _listed([f"'{name}'" for name in names])
    return f"{email} would like to read {quoted}. Reserve what I named, in that order; I come by next week."


def settle_and_renew(rng: random.Random, draft: Draft) -> str:
    member_id = draft.state["loans"][pick(rng, draft.state["loans"])]["member_id"]
    email = _email_of(draft, member_id)
    fines = draft.do("find_member", email=email)["fines"]
    if not fines:
        raise NoTask("no fines are open")
    draft.do("pay_fines", member_id=member_id, amount=fines)
    draft.do("renew_all", member_id=member_id)
    return f"I owe you {fines} cents, here they are. Now I want another two weeks for my loans. It's {email}."


def lose_interest(rng: random.Random, draft: Draft) -> str:
    _arrange_waiting(rng, draft)
    hold_id = pick(rng, draft.state["holds"])
    hold = draft.state["holds"][hold_id]
    email = _email_of(draft, hold["member_id"])
    draft.do("find_member", email=email)
    draft.do("hold_shelf")
    draft.do("cancel_hold", hold_id=hold_id)
    return f"""{email}: I no longer want '{draft.state["titles"][hold["title_id"]]["name"]}', whether it is on your
        shelf already or not. Drop {hold_id}, yes."""


def buy_more(rng: random.Random, draft: Draft) -> str:
    _arrange_waiting(rng, draft)
    title = draft.state["titles"][pick(rng, draft.state["titles"])]["name"]
    count = rng.randrange(1, 5)
    title_id = draft.do("search_titles", words=title)[0]["title_id"]
    draft.do("add_copies", title_id=title_id, count=count)
    return f"Acquisitions here: the bookseller delivered '{title}', {count} of it. Look it up and enter them."


def announce_a_closing(rng: random.Random, draft: Draft) -> str:
    day = (date.fromisoformat(draft.state["today"]) + timedelta(days=rng.randrange(1, 9))).isoformat()
    share = rng.random()
    for loan in draft.state["loans"].values():
        loan["due"] = day if rng.random() < share else loan["due"]
    for hold in draft.state["holds"].values():
        hold["pick_up_by"] = day if hold["copy_id"] is not None and rng.random() < share else hold["pick_up_by"]
    reason = rng.choice(("roof repair", "summer fair", "election day"))
    draft.do("loans_due_on", day=day)
    draft.do("close_on", day=day, reason=reason)
    return f"We stay closed on {day}; the reason to give is '{reason}'. See what is due then, and announce it."


def turn_off_the_lights(rng: random.Random, draft: Draft) -> str:
    yesterday = (date.fromisoformat(draft.state["today"]) - timedelta(days=1)).isoformat()
    members = sorted(draft.state["members"])
    for place, loan in enumerate(draft.state["loans"].values()):
        loan["member_id"] = members[place % len(members)]
        loan["due"] = yesterday if rng.random() < 0.5 else loan["due"]
    draft.do("overdue_loans")
    draft.do("hold_shelf")
    draft.do("end_day")
    return "The last reader has left. Tell me what is overdue and what lies on the hold shelf, and finish the day."


KINDS: tuple[TaskKind, ...] = (
    borrow_a_book,
    collect_from_the_shelf,
    empty_the_book_drop,
    keep_everything_longer,
    wait_for_books,
    settle_and_renew,
    lose_interest,
    buy_more,
    announce_a_closing,
    turn_off_the_lights,
)


def _email_of(draft: Draft, member_id: str) -> str:
    return str(draft.state["members"][member_id]["email"])


def _arrange_waiting(rng: random.Random, draft: Draft) -> None:
    """Before the first call, let more members wait for titles of which no copy is in."""
    state = cast(LibraryState, draft.state)
    concerned = {(hold["title_id"], hold["member_id"]) for hold in state["holds"].values()}
    concerned |= {(state["copies"][key]["title_id"], loan["member_id"]) for key, loan in state["loans"].items()}
    out = [title_id for title_id in sorted(state["titles"]) if not copies_in(state, title_id)]
    for number, pair in enumerate(product(out, sorted(state["members"])), 400):
        if pair not in concerned and len(state["holds"]) < 6 and rng.random() < 0.5:
            title_id, member_id = pair
            state["holds"][f"H-{number}"] = {
                "title_id": title_id,
                "member_id": member_id,
                "copy_id": None,
                "pick_up_by": None,
            }


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))

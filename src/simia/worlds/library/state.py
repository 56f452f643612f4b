"""What Alder Library keeps: titles and their copies, members, loans by copy, holds, and the days when it is closed."""

import random
from datetime import date, timedelta
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from simia.types import Invariant, State

Day = Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
Cents = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]
MemberId = Annotated[str, Field(description="Member number, for example 'M-131'.")]
TitleId = Annotated[str, Field(description="Title number, for example 'T-42'.")]
CopyId = Annotated[str, Field(description="Number of a copy, for example 'C-217'.")]
HoldId = Annotated[str, Field(description="Number of a hold, for example 'H-318'.")]


class Title(TypedDict):
    name: str
    author: str


class Copy(TypedDict):
    title_id: str


class Member(TypedDict):
    name: str
    email: str
    fines: Cents


class Loan(TypedDict):
    member_id: str
    due: Day
    renewals: Count


class Hold(TypedDict):
    """A member who waits for a title; with a copy it lies on the hold shelf."""

    title_id: str
    member_id: str
    copy_id: str | None
    pick_up_by: Day | None


class LibraryState(TypedDict):
    """The whole state. Loans are by copy."""

    today: Day
    next_number: int
    titles: dict[str, Title]
    copies: dict[str, Copy]
    members: dict[str, Member]
    loans: dict[str, Loan]
    holds: dict[str, Hold]
    closed_days: dict[Day, str]


INVARIANTS = (
    Invariant(name="copies are of titles", expression="values(copies)[].title_id", refers_to="keys(titles)"),
    Invariant(name="only copies are lent", expression="keys(loans)", refers_to="keys(copies)"),
    Invariant(name="only members borrow", expression="values(loans)[].member_id", refers_to="keys(members)"),
    Invariant(name="only members wait", expression="values(holds)[].member_id", refers_to="keys(members)"),
    Invariant(name="holds are of titles", expression="values(holds)[].title_id", refers_to="keys(titles)"),
    Invariant(
        name="only copies are set aside",
        expression="values(holds)[?copy_id != null][].copy_id",
        refers_to="keys(copies)",
    ),
    Invariant(
        name="a copy is set aside until some day, or not at all",
        expression="length(values(holds)[?(copy_id == null) != (pick_up_by == null)]) == `0`",
    ),
)

_TITLES = (
    ("The Glass Orchard", "M. Arvidsen"),
    ("Nine Salt Roads", "T. Okafor"),
    ("A Clock for Winter", "L. Ferrante-Roy"),
    ("Maps of Small Rooms", "J. Kowal"),
    ("The Last Ferryman", "S. Imai"),
    ("Under Copper Skies", "P. Delgado"),
    ("Letters to a Weaver", "R. Haas"),
    ("The Beekeeper's Atlas", "N. Obi"),
)
_NAMES = ("Amir Vance", "Birgit Olsen", "Celia Moreau", "Davor Kos", "Edith Nkemi", "Felix Baum", "Gloria Sanz")
_REASONS = ("staff training", "stocktaking", "public holiday")


def draw_state(rng: random.Random) -> State:
    """Five titles in ten copies of which about half are lent, and four members, on some day of 2025."""
    today = date(2025, 1, 20) + timedelta(days=rng.randrange(300))
    titles = {
        f"T-{number}": _title(name, author)
        for number, (name, author) in zip(_numbers(rng, 5, 10), rng.sample(_TITLES, 5), strict=True)
    }
    kinds = [*titles, *rng.choices(sorted(titles), k=5)]
    copies = {f"C-{number}": _copy(title_id) for number, title_id in zip(_numbers(rng, 10, 100), kinds, strict=True)}
    members = {
        f"M-{number}": _member(rng, name)
        for number, name in zip(_numbers(rng, 4, 100), rng.sample(_NAMES, 4), strict=True)
    }
    days = [(today + timedelta(days=ahead)).isoformat() for ahead in (-6, -2, 2, 2, 5, 8)]
    lent = sorted(rng.sample(sorted(copies), rng.randrange(4, 8)))
    readers = rng.sample(sorted(members), 2)
    return {
        "today": today.isoformat(),
        "next_number": rng.randrange(500, 900),
        "titles": titles,
        "copies": copies,
        "members": members,
        "loans": {copy_id: _loan(rng, readers[place % 2], days) for place, copy_id in enumerate(lent)},
        "holds": _holds(rng, copies, lent, sorted(members.keys() - set(readers)), today),
        "closed_days": {(today + timedelta(days=rng.choice((4, 9, 14)))).isoformat(): rng.choice(_REASONS)},
    }


def _numbers(rng: random.Random, count: int, least: int) -> list[int]:
    return sorted(rng.sample(range(least, 4 * least), count))


def _title(name: str, author: str) -> Title:
    return {"name": name, "author": author}


def _copy(title_id: str) -> Copy:
    return {"title_id": title_id}


def _member(rng: random.Random, name: str) -> Member:
    email = f"{name.lower().replace(' ', '.')}@post.example"
    return {"name": name, "email": email, "fines": rng.choice((0, 0, 40, 120, 360, 1100))}


def _loan(rng: random.Random, member_id: str, days: list[str]) -> Loan:
    return {"member_id": member_id, "due": rng.choice(days), "renewals": rng.choice((0, 0, 1, 2))}


def _holds(
    rng: random.Random, copies: dict[str, Copy], lent: list[str], member_ids: list[str], today: date
) -> dict[str, Hold]:
    """Holds of the members who have no loans: with a copy of a title that is in, without one where all are lent."""
    chosen: dict[str, str | None] = {}
    for title_id in sorted({copy["title_id"] for copy in copies.values()}):
        copies_in = [key for key, copy in sorted(copies.items()) if copy["title_id"] == title_id and key not in lent]
        if rng.random() < 0.6:
            chosen[title_id] = copies_in[0] if copies_in else None
    holds: dict[str, Hold] = {}
    for number, (title_id, copy_id) in zip(_numbers(rng, len(chosen), 100), chosen.items(), strict=True):
        until = (today + timedelta(days=rng.randrange(4))).isoformat()
        holds[f"H-{number}"] = {
            "title_id": title_id,
            "member_id": rng.choice(member_ids),
            "copy_id": copy_id,
            "pick_up_by": until if copy_id else None,
        }
    return holds

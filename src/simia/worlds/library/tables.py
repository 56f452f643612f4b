"""What several tools look up, and how copies go to those who wait."""

from datetime import date, timedelta

from simia.worlds.executable import Refused
from simia.worlds.library.state import LibraryState, Member

DAYS_ON_HOLD_SHELF = 5
MOST_FINES = 999


def member_of(state: LibraryState, member_id: str) -> Member:
    if member_id not in state["members"]:
        raise Refused(f"member {member_id!r} not found")
    return state["members"][member_id]


def check_may_borrow(state: LibraryState, member_id: str) -> None:
    """Refuse a member who owes too much."""
    fines = member_of(state, member_id)["fines"]
    if fines > MOST_FINES:
        raise Refused(f"member {member_id} owes {fines}, more than {MOST_FINES}")


def open_day(state: LibraryState, start: str, days: int) -> str:
    """The first day, so many days after the start or later, on which the library is open."""
    day = date.fromisoformat(start) + timedelta(days=days)
    while day.isoformat() in state["closed_days"]:
        day += timedelta(days=1)
    return day.isoformat()


def copies_in(state: LibraryState, title_id: str) -> list[str]:
    """The copies of a title that are neither lent nor set aside."""
    aside = [hold["copy_id"] for hold in state["holds"].values()]
    copies = [key for key, copy in state["copies"].items() if copy["title_id"] == title_id]
    return sorted(key for key in copies if key not in state["loans"] and key not in aside)


def set_aside(state: LibraryState, copy_id: str) -> str | None:
    """Give a copy to the oldest hold that waits for its title; gives that hold."""
    title_id = state["copies"][copy_id]["title_id"]
    for hold_id, hold in sorted(state["holds"].items()):
        if hold["title_id"] == title_id and hold["copy_id"] is None:
            hold["copy_id"] = copy_id
            hold["pick_up_by"] = open_day(state, state["today"], DAYS_ON_HOLD_SHELF)
            return hold_id
    return None

"""The tools for the collection and the calendar: new copies, closed days, the end of the day."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.executable import Refused
from simia.worlds.library.state import CopyId, Day, HoldId, LibraryState, Loan, MemberId, TitleId
from simia.worlds.library.tables import open_day, set_aside

FINE_PER_DAY = 20


class LoanRow(Loan):
    copy_id: CopyId


class NewCopies(TypedDict):
    copies: list[CopyId]
    set_aside_for: list[HoldId]


class Closed(TypedDict):
    day: Day
    next_open_day: Day
    loans_shifted: list[CopyId]
    holds_shifted: list[HoldId]


class EndOfDay(TypedDict):
    today: Day
    fined: list[MemberId]
    holds_dropped: list[HoldId]
    set_aside_for: list[HoldId]


def loans_due_on(state: LibraryState, day: Day) -> list[LoanRow]:
    """The loans that are due on a day, by copy."""
    return [{"copy_id": key, **loan} for key, loan in sorted(state["loans"].items()) if loan["due"] == day]


def overdue_loans(state: LibraryState) -> list[LoanRow]:
    """The loans that were due before today, by copy."""
    return [{"copy_id": key, **loan} for key, loan in sorted(state["loans"].items()) if loan["due"] < state["today"]]


def add_copies(
    state: LibraryState, title_id: TitleId, count: Annotated[int, Field(ge=1, le=6, description="How many.")]
) -> NewCopies:
    """Add new copies of a title; those who wait for it come first."""
    if title_id not in state["titles"]:
        raise Refused(f"title {title_id!r} not found")
    number = state["next_number"]
    state["next_number"] = number + count
    copies = [f"C-{number + place}" for place in range(count)]
    for copy_id in copies:
        state["copies"][copy_id] = {"title_id": title_id}
    served = [set_aside(state, copy_id) for copy_id in copies]
    return {"copies": copies, "set_aside_for": [hold_id for hold_id in served if hold_id is not None]}


def close_on(
    state: LibraryState, day: Day, reason: Annotated[str, Field(max_length=40, description="Told to the public.")]
) -> Closed:
    """Close the library on a future day; what is due or to be picked up then shifts to the next open day."""
    if day <= state["today"] or day in state["closed_days"]:
        raise Refused(f"{day} is not in the future, or a closed day already")
    state["closed_days"][day] = reason
    next_open_day = open_day(state, day, 1)
    loans = [copy_id for copy_id, loan in sorted(state["loans"].items()) if loan["due"] == day]
    holds = [hold_id for hold_id, hold in sorted(state["holds"].items()) if hold["pick_up_by"] == day]
    for copy_id in loans:
        state["loans"][copy_id]["due"] = next_open_day
    for hold_id in holds:
        state["holds"][hold_id]["pick_up_by"] = next_open_day
    return {"day": day, "next_open_day": next_open_day, "loans_shifted": loans, "holds_shifted": holds}


def end_day(state: LibraryState) -> EndOfDay:
    """Go on to the next open day: each loan overdue by then is fined, and each hold not picked up is dropped.

    The copies of dropped holds go to those who wait.
    """
    state["today"] = open_day(state, state["today"], 1)
    fined = [loan["member_id"] for loan in state["loans"].values() if loan["due"] < state["today"]]
    for member_id in fined:
        state["members"][member_id]["fines"] += FINE_PER_DAY
    dropped: list[str] = []
    copies: list[str] = []
    for hold_id, hold in sorted(state["holds"].items()):
        if hold["copy_id"] is not None and hold["pick_up_by"] is not None and hold["pick_up_by"] < state["today"]:
            del state["holds"][hold_id]
            dropped.append(hold_id)
            copies.append(hold["copy_id"])
    served = [set_aside(state, copy_id) for copy_id in copies]
    return {
        "today": state["today"],
        "fined": sorted(set(fined)),
        "holds_dropped": dropped,
        "set_aside_for": [hold_id for hold_id in served if hold_id is not None],
    }

"""The tools of the library's desk: lending, returning, renewing, holding."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.executable import Action, Refused
from simia.worlds.library.house import add_copies, close_on, end_day, loans_due_on, overdue_loans
from simia.worlds.library.state import (
    Cents,
    CopyId,
    Count,
    Day,
    Hold,
    HoldId,
    LibraryState,
    Member,
    MemberId,
    Title,
    TitleId,
)
from simia.worlds.library.tables import check_may_borrow, copies_in, member_of, open_day, set_aside

LOAN_DAYS = 14
MOST_LOANS = 5
MOST_RENEWALS = 2


class FoundMember(Member):
    member_id: str
    loans: dict[str, Day]
    holds: list[HoldId]


class TitleRow(Title):
    title_id: str
    copies_in: list[CopyId]
    waiting: Count


class HoldRow(Hold):
    hold_id: str


class Lent(TypedDict):
    due: Day
    copies: list[CopyId]
    holds_met: list[HoldId]


class Returned(TypedDict):
    copy_id: CopyId
    set_aside_for: HoldId | None


class Renewed(TypedDict):
    due: Day
    renewed: list[CopyId]
    not_renewed: list[CopyId]


class Cancelled(TypedDict):
    hold_id: HoldId
    copy_goes_to: HoldId | None


class Paid(TypedDict):
    member_id: MemberId
    fines: Cents


def find_member(state: LibraryState, email: Annotated[str, Field(description="E-mail address.")]) -> FoundMember:
    """Look up a member by e-mail address, with the loans and when they are due, and the holds."""
    for member_id, member in state["members"].items():
        if member["email"] == email.strip().lower():
            loans = {key: row["due"] for key, row in sorted(state["loans"].items()) if row["member_id"] == member_id}
            holds = [key for key, hold in sorted(state["holds"].items()) if hold["member_id"] == member_id]
            return {"member_id": member_id, **member, "loans": loans, "holds": holds}
    raise Refused(f"no member with the e-mail address {email!r}")


def search_titles(
    state: LibraryState, words: Annotated[str, Field(description="A part of the name or of the author.")]
) -> list[TitleRow]:
    """The titles that match, with the copies that can be lent at once and the number of members who wait."""
    rows: list[TitleRow] = []
    for title_id, title in sorted(state["titles"].items()):
        if words.lower() in f"{title['name']} {title['author']}".lower():
            waiting = [hold for hold in state["holds"].values() if hold["title_id"] == title_id and not hold["copy_id"]]
            rows.append(
                {
                    "title_id": title_id,
                    **title,
                    "copies_in": copies_in(state, title_id),
                    "waiting": len(waiting),
                }
            )
    return rows


def hold_shelf(state: LibraryState) -> list[HoldRow]:
    """The holds whose copy is ready to be picked up."""
    holds = sorted(state["holds"].items())
    return [{"hold_id": hold_id, **hold} for hold_id, hold in holds if hold["copy_id"] is not None]


def check_out(
    state: LibraryState, member_id: MemberId, copy_ids: Annotated[list[CopyId], Field(min_length=1, max_length=5)]
) -> Lent:
    """Lend copies that are in, or set aside for the member; the holds of the latter are met."""
    check_may_borrow(state, member_id)
    due = open_day(state, state["today"], LOAN_DAYS)
    met: list[str] = []
    for copy_id in copy_ids:
        if copy_id not in state["copies"] or copy_id in state["loans"]:
            raise Refused(f"copy {copy_id!r} is not in")
        for hold_id, hold in list(state["holds"].items()):
            if hold["copy_id"] == copy_id:
                if hold["member_id"] != member_id:
                    raise Refused(f"copy {copy_id} is set aside for member {hold['member_id']}")
                del state["holds"][hold_id]
                met.append(hold_id)
        state["loans"][copy_id] = {"member_id": member_id, "due": due, "renewals": 0}
    count = sum(loan["member_id"] == member_id for loan in state["loans"].values())
    if count > MOST_LOANS:
        raise Refused(f"member {member_id} would have {count} loans; at most {MOST_LOANS} are allowed")
    return {"due": due, "copies": list(copy_ids), "holds_met": met}


def return_copies(
    state: LibraryState, copy_ids: Annotated[list[CopyId], Field(min_length=1, max_length=8)]
) -> list[Returned]:
    """Take copies back, in this order; each is set aside for the oldest hold that waits for its title."""
    returned: list[Returned] = []
    for copy_id in copy_ids:
        if copy_id not in state["loans"]:
            raise Refused(f"copy {copy_id!r} is not on loan")
        del state["loans"][copy_id]
        returned.append({"copy_id": copy_id, "set_aside_for": set_aside(state, copy_id)})
    return returned


def renew_all(state: LibraryState, member_id: MemberId) -> Renewed:
    """Renew every loan of a member that was renewed less than twice and for whose title nobody waits."""
    check_may_borrow(state, member_id)
    due = open_day(state, state["today"], LOAN_DAYS)
    wanted = [hold["title_id"] for hold in state["holds"].values() if hold["copy_id"] is None]
    renewed: list[str] = []
    not_renewed: list[str] = []
    for copy_id, loan in sorted(state["loans"].items()):
        if loan["member_id"] != member_id:
            continue
        if loan["renewals"] >= MOST_RENEWALS or state["copies"][copy_id]["title_id"] in wanted:
            not_renewed.append(copy_id)
            continue
        loan["due"] = due
        loan["renewals"] += 1
        renewed.append(copy_id)
    if not renewed:
        raise Refused(f"no loan of member {member_id} can be renewed")
    return {"due": due, "renewed": renewed, "not_renewed": not_renewed}


def place_holds(
    state: LibraryState, member_id: MemberId, title_ids: Annotated[list[TitleId], Field(min_length=1, max_length=4)]
) -> list[HoldRow]:
    """Let a member wait for titles; of a title that is in, a copy is set aside at once."""
    member_of(state, member_id)
    taken = [hold["title_id"] for hold in state["holds"].values() if hold["member_id"] == member_id]
    lent = [key for key, loan in state["loans"].items() if loan["member_id"] == member_id]
    taken += [state["copies"][copy_id]["title_id"] for copy_id in lent]
    rows: list[HoldRow] = []
    for title_id in title_ids:
        if title_id not in state["titles"]:
            raise Refused(f"title {title_id!r} not found")
        if title_id in taken:
            raise Refused(f"member {member_id} has title {title_id} on hold or on loan")
        taken.append(title_id)
        hold_id = f"H-{state['next_number']}"
        state["next_number"] += 1
        hold: Hold = {"title_id": title_id, "member_id": member_id, "copy_id": None, "pick_up_by": None}
        state["holds"][hold_id] = hold
        for copy_id in copies_in(state, title_id)[:1]:
            set_aside(state, copy_id)
        rows.append({"hold_id": hold_id, **hold})
    return rows


def cancel_hold(state: LibraryState, hold_id: HoldId) -> Cancelled:
    """Cancel a hold; a copy that was set aside for it goes to the next one who waits."""
    if hold_id not in state["holds"]:
        raise Refused(f"hold {hold_id!r} not found")
    copy_id = state["holds"].pop(hold_id)["copy_id"]
    return {"hold_id": hold_id, "copy_goes_to": None if copy_id is None else set_aside(state, copy_id)}


def pay_fines(
    state: LibraryState, member_id: MemberId, amount: Annotated[int, Field(gt=0, description="Whole cents.")]
) -> Paid:
    """Take money for open fines."""
    member = member_of(state, member_id)
    if amount > member["fines"]:
        raise Refused(f"member {member_id} owes {member['fines']}, not {amount}")
    member["fines"] -= amount
    return {"member_id": member_id, "fines": member["fines"]}


TOOLS: tuple[Action, ...] = (
    find_member,
    search_titles,
    hold_shelf,
    loans_due_on,
    overdue_loans,
    check_out,
    return_copies,
    renew_all,
    place_holds,
    cancel_hold,
    pay_fines,
    add_copies,
    close_on,
    end_day,
)

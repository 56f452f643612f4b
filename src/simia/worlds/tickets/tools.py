"""The tools of the tracker that write, and all tools in the order an agent sees them."""

from datetime import date, timedelta
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.executable import Action, Refused
from simia.worlds.tickets.reads import (
    ACTIVE,
    AgentId,
    Label,
    MilestoneId,
    TicketDetails,
    TicketId,
    active_ticket,
    agent_of,
    blockers_of,
    get_ticket,
    milestone_progress,
    open_milestone,
    overdue_tickets,
    search_tickets,
    ticket_of,
    workload,
)
from simia.worlds.tickets.state import MAX_LOAD, Day, Link, LinkKind, Priority, Status, Ticket, TicketsState

PRIORITIES: tuple[Priority, ...] = ("low", "normal", "high", "urgent")
DAYS_TO_SOLVE = {"low": 14, "normal": 7, "high": 3, "urgent": 1}
NEXT_STATUSES: dict[str, tuple[str, ...]] = {
    "open": ("in_progress",),
    "in_progress": ("open", "resolved"),
    "resolved": ("open", "closed"),
    "closed": (),
}

TicketIds = Annotated[list[TicketId], Field(min_length=1, max_length=8)]


class Assigned(TypedDict):
    agent_id: str
    assigned: list[str]
    load: int


class Moved(TypedDict):
    status: Status
    tickets: list[str]


class NewLink(Link):
    link_id: str


class Merged(TypedDict):
    ticket_id: str
    closed: list[str]
    priority: Priority
    labels: list[str]


class HandedOver(TypedDict):
    agent_id: str
    new_assignees: dict[str, str]


class ClosedMilestone(TypedDict):
    milestone_id: str
    tickets_closed: list[str]
    tickets_moved: list[str]


class Escalation(TypedDict):
    ticket_id: str
    priority: Priority
    due: Day


class Escalations(TypedDict):
    escalated: list[Escalation]
    already_urgent: list[str]


def create_ticket(
    state: TicketsState,
    title: Annotated[str, Field(min_length=1, max_length=60)],
    priority: Priority,
    points: Annotated[int, Field(ge=1, le=8, description="Size of the work.")],
    labels: Annotated[list[Label], Field(max_length=4)],
    milestone_id: MilestoneId | None = None,
) -> TicketDetails:
    """File an open ticket that nobody has yet; its priority says when it is due."""
    if milestone_id is not None:
        open_milestone(state, milestone_id)
    ticket_id = _next_id(state, "T")
    ticket: Ticket = {
        "title": title,
        "status": "open",
        "priority": priority,
        "points": points,
        "assignee": None,
        "milestone": milestone_id,
        "labels": sorted(set(labels)),
        "due": _due(state, priority),
        "duplicate_of": None,
    }
    state["tickets"][ticket_id] = ticket
    return {"ticket_id": ticket_id, **ticket, "blocked_by": []}


def assign_tickets(state: TicketsState, ticket_ids: TicketIds, agent_id: AgentId) -> Assigned:
    """Give unfinished tickets to an agent who is present and can bear their points: all of them, or none."""
    for ticket_id in ticket_ids:
        ticket = active_ticket(state, ticket_id)
        if ticket["assignee"] == agent_id:
            raise Refused(f"ticket {ticket_id} is already assigned to {agent_id}")
        if ticket["assignee"] is not None:
            state["agents"][ticket["assignee"]]["load"] -= ticket["points"]
        _add_load(state, agent_id, ticket["points"])
        ticket["assignee"] = agent_id
    return {"agent_id": agent_id, "assigned": list(ticket_ids), "load": state["agents"][agent_id]["load"]}


def move_tickets(state: TicketsState, ticket_ids: TicketIds, status: Status) -> Moved:
    """Move tickets on: open to in_progress, then resolved, then closed. One that goes back to open is nobody's again.
    All of them move, or none.
    """
    for ticket_id in ticket_ids:
        ticket = ticket_of(state, ticket_id)
        if status not in NEXT_STATUSES[ticket["status"]]:
            raise Refused(f"ticket {ticket_id} is {ticket['status']} and cannot become {status}")
        assignee = ticket["assignee"]
        if status == "in_progress" and assignee is None:
            raise Refused(f"ticket {ticket_id} is not assigned")
        blockers = blockers_of(state, ticket_id)
        if status == "resolved" and blockers:
            raise Refused(f"ticket {ticket_id} is blocked by {', '.join(blockers)}")
        if assignee is not None and ticket["status"] == "in_progress":
            state["agents"][assignee]["load"] -= ticket["points"]
        if status == "open":
            ticket["assignee"] = None
        ticket["status"] = status
    return {"status": status, "tickets": list(ticket_ids)}


def link_tickets(state: TicketsState, source: TicketId, kind: LinkKind, target: TicketId) -> NewLink:
    """Say that one ticket blocks another one, or that they are related."""
    if source == target:
        raise Refused(f"ticket {source} cannot be linked to itself")
    active_ticket(state, source)
    active_ticket(state, target)
    if kind == "blocks" and target in blockers_of(state, source):
        raise Refused(f"ticket {target} already blocks {source}")
    link: Link = {"source": source, "kind": kind, "target": target}
    if link in state["links"].values():
        raise Refused(f"ticket {source} {kind} {target} already")
    link_id = _next_id(state, "L")
    state["links"][link_id] = link
    return {"link_id": link_id, **link}


def merge_duplicates(
    state: TicketsState,
    original: TicketId,
    duplicates: Annotated[list[TicketId], Field(min_length=1, max_length=5)],
) -> Merged:
    """Close unfinished duplicates; the original takes over their labels, links and highest priority."""
    kept = active_ticket(state, original)
    for ticket_id in duplicates:
        ticket = active_ticket(state, ticket_id)
        if ticket_id == original:
            raise Refused(f"ticket {original} cannot be a duplicate of itself")
        if ticket["assignee"] is not None:
            state["agents"][ticket["assignee"]]["load"] -= ticket["points"]
        ticket["status"] = "closed"
        ticket["duplicate_of"] = original
        kept["labels"] = sorted({*kept["labels"], *ticket["labels"]})
        kept["priority"] = max(kept["priority"], ticket["priority"], key=PRIORITIES.index)
        _move_links(state, ticket_id, original)
    return {
        "ticket_id": original,
        "closed": list(duplicates),
        "priority": kept["priority"],
        "labels": kept["labels"],
    }


def hand_over_work(state: TicketsState, agent_id: AgentId) -> HandedOver:
    """Mark an agent as absent; each unfinished ticket of the agent is open again and goes to whoever then has the least
    load among those present.
    """
    agent = agent_of(state, agent_id)
    if agent["presence"] == "absent":
        raise Refused(f"agent {agent_id} is already absent")
    agent["presence"] = "absent"
    agent["load"] = 0
    present = sorted(key for key, row in state["agents"].items() if row["presence"] == "present")
    if not present:
        raise Refused("nobody else is present")
    new_assignees: dict[str, str] = {}
    for ticket_id, ticket in sorted(state["tickets"].items()):
        if ticket["assignee"] == agent_id and ticket["status"] in ACTIVE:
            receiver = min(present, key=lambda key: (state["agents"][key]["load"], key))
            _add_load(state, receiver, ticket["points"])
            ticket["status"] = "open"
            ticket["assignee"] = receiver
            new_assignees[ticket_id] = receiver
    return {"agent_id": agent_id, "new_assignees": new_assignees}


def close_milestone(state: TicketsState, milestone_id: MilestoneId, move_to: MilestoneId) -> ClosedMilestone:
    """Close a milestone and its resolved tickets; its unfinished tickets move to another open milestone."""
    milestone = open_milestone(state, milestone_id)
    open_milestone(state, move_to)
    if move_to == milestone_id:
        raise Refused(f"milestone {milestone_id} cannot move its tickets to itself")
    milestone["status"] = "closed"
    closed: list[str] = []
    moved: list[str] = []
    for ticket_id, ticket in sorted(state["tickets"].items()):
        if ticket["milestone"] == milestone_id and ticket["status"] == "resolved":
            ticket["status"] = "closed"
            closed.append(ticket_id)
        elif ticket["milestone"] == milestone_id and ticket["status"] in ACTIVE:
            ticket["milestone"] = move_to
            moved.append(ticket_id)
    return {"milestone_id": milestone_id, "tickets_closed": closed, "tickets_moved": moved}


def escalate_overdue(state: TicketsState) -> Escalations:
    """Raise the priority of every overdue unfinished ticket by one step; it is then due anew, counted from today."""
    escalated: list[Escalation] = []
    already_urgent: list[str] = []
    for row in overdue_tickets(state):
        ticket = state["tickets"][row["ticket_id"]]
        if ticket["priority"] == "urgent":
            already_urgent.append(row["ticket_id"])
            continue
        ticket["priority"] = PRIORITIES[PRIORITIES.index(ticket["priority"]) + 1]
        ticket["due"] = _due(state, ticket["priority"])
        escalated.append({"ticket_id": row["ticket_id"], "priority": ticket["priority"], "due": ticket["due"]})
    if not escalated:
        raise Refused("no ticket can be escalated")
    return {"escalated": escalated, "already_urgent": already_urgent}


TOOLS: tuple[Action, ...] = (
    get_ticket,
    search_tickets,
    workload,
    overdue_tickets,
    milestone_progress,
    create_ticket,
    assign_tickets,
    move_tickets,
    link_tickets,
    merge_duplicates,
    hand_over_work,
    close_milestone,
    escalate_overdue,
)


def _add_load(state: TicketsState, agent_id: str, points: int) -> None:
    agent = agent_of(state, agent_id)
    if agent["presence"] == "absent":
        raise Refused(f"agent {agent_id} is absent")
    if agent["load"] + points > MAX_LOAD:
        raise Refused(f"agent {agent_id} has {agent['load']} points and cannot take {points} more")
    agent["load"] += points


def _move_links(state: TicketsState, ticket_id: str, original: str) -> None:
    """The links of ``ticket_id`` become links of ``original``; one between the two ends."""
    for link_id, link in sorted(state["links"].items()):
        if {link["source"], link["target"]} == {ticket_id, original}:
            del state["links"][link_id]
        elif link["source"] == ticket_id:
            link["source"] = original
        elif link["target"] == ticket_id:
            link["target"] = original


def _due(state: TicketsState, priority: Priority) -> str:
    return (date.fromisoformat(state["today"]) + timedelta(days=DAYS_TO_SOLVE[priority])).isoformat()


def _next_id(state: TicketsState, prefix: str) -> str:
    number = state["next_number"]
    state["next_number"] = number + 1
    return f"{prefix}-{number}"

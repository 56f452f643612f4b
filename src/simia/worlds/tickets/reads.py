"""The tools of the tracker that only read, and how all tools look things up."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.executable import Refused
from simia.worlds.tickets.state import Agent, Day, Milestone, Presence, Priority, Status, Ticket, TicketsState

ACTIVE = ("open", "in_progress")

TicketId = Annotated[str, Field(description="Ticket number, for example 'T-231'.")]
AgentId = Annotated[str, Field(description="Agent number, for example 'P-14'.")]
MilestoneId = Annotated[str, Field(description="Milestone number, for example 'M-7'.")]
Label = Annotated[str, Field(min_length=1, max_length=20)]


class TicketDetails(Ticket):
    ticket_id: str
    blocked_by: list[str]


class Row(TypedDict):
    ticket_id: str
    title: str
    status: Status
    assignee: str | None


class AgentLoad(TypedDict):
    agent_id: str
    name: str
    presence: Presence
    load: int


class Workload(TypedDict):
    agents: list[AgentLoad]
    unassigned: list[str]


class Overdue(TypedDict):
    ticket_id: str
    priority: Priority
    due: Day


class Progress(Milestone):
    milestone_id: str
    unfinished: list[str]
    resolved: list[str]
    points_left: int


def get_ticket(state: TicketsState, ticket_id: TicketId) -> TicketDetails:
    """Everything about one ticket, with the unfinished tickets that block it."""
    return {"ticket_id": ticket_id, **ticket_of(state, ticket_id), "blocked_by": blockers_of(state, ticket_id)}


def search_tickets(
    state: TicketsState,
    label: Annotated[Label | None, Field(description="Only tickets with this label.")] = None,
    status: Annotated[Status | None, Field(description="Only tickets in this status.")] = None,
) -> list[Row]:
    """The tickets with a label, in a status, or both, by number."""
    return [
        {"ticket_id": key, "title": row["title"], "status": row["status"], "assignee": row["assignee"]}
        for key, row in sorted(state["tickets"].items())
        if (label is None or label in row["labels"]) and (status is None or row["status"] == status)
    ]


def workload(state: TicketsState) -> Workload:
    """Every agent with the points of the agent's unfinished tickets, and the unfinished tickets that nobody has."""
    agents: list[AgentLoad] = [
        {"agent_id": key, "name": agent["name"], "presence": agent["presence"], "load": agent["load"]}
        for key, agent in sorted(state["agents"].items())
    ]
    tickets = state["tickets"].items()
    unassigned = sorted(key for key, row in tickets if row["status"] in ACTIVE and row["assignee"] is None)
    return {"agents": agents, "unassigned": unassigned}


def overdue_tickets(state: TicketsState) -> list[Overdue]:
    """The unfinished tickets that were due before today, the oldest first."""
    rows: list[Overdue] = [
        {"ticket_id": key, "priority": row["priority"], "due": row["due"]}
        for key, row in state["tickets"].items()
        if row["status"] in ACTIVE and row["due"] < state["today"]
    ]
    return sorted(rows, key=lambda row: (row["due"], row["ticket_id"]))


def milestone_progress(state: TicketsState, milestone_id: MilestoneId) -> Progress:
    """A milestone with its unfinished and its resolved tickets, and the points of the unfinished ones."""
    inside = {key: row for key, row in sorted(state["tickets"].items()) if row["milestone"] == milestone_id}
    return {
        "milestone_id": milestone_id,
        **milestone_of(state, milestone_id),
        "unfinished": [key for key, row in inside.items() if row["status"] in ACTIVE],
        "resolved": [key for key, row in inside.items() if row["status"] == "resolved"],
        "points_left": sum(row["points"] for row in inside.values() if row["status"] in ACTIVE),
    }


def ticket_of(state: TicketsState, ticket_id: str) -> Ticket:
    if ticket_id not in state["tickets"]:
        raise Refused(f"ticket {ticket_id!r} not found")
    return state["tickets"][ticket_id]


def active_ticket(state: TicketsState, ticket_id: str) -> Ticket:
    ticket = ticket_of(state, ticket_id)
    if ticket["status"] not in ACTIVE:
        raise Refused(f"ticket {ticket_id} is {ticket['status']}")
    return ticket


def agent_of(state: TicketsState, agent_id: str) -> Agent:
    if agent_id not in state["agents"]:
        raise Refused(f"agent {agent_id!r} not found")
    return state["agents"][agent_id]


def milestone_of(state: TicketsState, milestone_id: str) -> Milestone:
    if milestone_id not in state["milestones"]:
        raise Refused(f"milestone {milestone_id!r} not found")
    return state["milestones"][milestone_id]


def open_milestone(state: TicketsState, milestone_id: str) -> Milestone:
    milestone = milestone_of(state, milestone_id)
    if milestone["status"] != "open":
        raise Refused(f"milestone {milestone_id} is {milestone['status']}")
    return milestone


def blockers_of(state: TicketsState, ticket_id: str) -> list[str]:
    blocking = {
        link["source"] for link in state["links"].values() if link["target"] == ticket_id and link["kind"] == "blocks"
    }
    return sorted(key for key in blocking if state["tickets"][key]["status"] in ACTIVE)

"""What the tracker of Harrier Software keeps: agents, milestones, tickets and links between them."""

import random
from datetime import date, timedelta
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from simia.types import Invariant, State

MAX_LOAD = 12

Day = Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
Status = Literal["open", "in_progress", "resolved", "closed"]
Priority = Literal["low", "normal", "high", "urgent"]
Presence = Literal["present", "absent"]
LinkKind = Literal["blocks", "relates"]


class Agent(TypedDict):
    name: str
    presence: Presence
    load: Annotated[int, Field(ge=0, description="Points of the agent's open and in_progress tickets.")]


class Milestone(TypedDict):
    title: str
    due: Day
    status: Literal["open", "closed"]


class Ticket(TypedDict):
    title: str
    status: Status
    priority: Priority
    points: Annotated[int, Field(ge=1)]
    assignee: str | None
    milestone: str | None
    labels: list[str]
    due: Day
    duplicate_of: str | None


class Link(TypedDict):
    source: str
    kind: LinkKind
    target: str


class TicketsState(TypedDict):
    """The whole state."""

    today: Day
    next_number: int
    agents: dict[str, Agent]
    milestones: dict[str, Milestone]
    tickets: dict[str, Ticket]
    links: dict[str, Link]


INVARIANTS = (
    Invariant(name="assignees are agents", expression="values(tickets)[].assignee", refers_to="keys(agents)"),
    Invariant(name="tickets are in milestones", expression="values(tickets)[].milestone", refers_to="keys(milestones)"),
    Invariant(name="originals are tickets", expression="values(tickets)[].duplicate_of", refers_to="keys(tickets)"),
    Invariant(
        name="links run between tickets",
        expression="[values(links)[].source, values(links)[].target][]",
        refers_to="keys(tickets)",
    ),
    Invariant(
        name="loads add up",
        expression="sum(values(agents)[].load) == "
        "sum(values(tickets)[?assignee && (status == 'open' || status == 'in_progress')].points)",
    ),
    Invariant(name="no agent is overloaded", expression=f"length(values(agents)[?load > `{MAX_LOAD}`]) == `0`"),
    Invariant(
        name="an absent agent has no work",
        expression="length(values(agents)[?presence == 'absent' && load != `0`]) == `0`",
    ),
    Invariant(
        name="work in progress is assigned",
        expression="length(values(tickets)[?status == 'in_progress' && !assignee]) == `0`",
    ),
    Invariant(
        name="a duplicate is closed",
        expression="length(values(tickets)[?duplicate_of && status != 'closed']) == `0`",
    ),
)

LABELS = ("billing", "export", "login", "mobile", "search", "sync")
_NAMES = ("Amara Diallo", "Bruno Costa", "Chiara Lund", "Deniz Arslan", "Elif Novak", "Farid Haas", "Gita Moreau")
_MILESTONES = ("Spring release", "Accessibility", "Summer release", "Payments", "Autumn release", "Cleanup")
_TITLES = (
    "Login page stays blank",
    "Export drops a column",
    "Invoice shows wrong tax",
    "Search ignores accents",
    "App freezes on rotate",
    "Sync stops overnight",
    "Password mail is late",
    "Chart has no legend",
    "Upload fails at 2 GB",
    "Dark mode hides links",
    "Filter resets on reload",
    "Avatar is cut off",
)


def draw_state(rng: random.Random) -> State:
    """Four agents, one of them sometimes absent, with eight tickets on some day of 2025."""
    today = date(2025, 2, 1) + timedelta(days=rng.randrange(300))
    names = rng.sample(_NAMES, 4)
    agents = {f"P-{number}": _agent(name) for number, name in zip(_numbers(rng, 10, 60, 4), names, strict=True)}
    if rng.random() < 0.3:
        agents[rng.choice(sorted(agents))]["presence"] = "absent"
    due_days = (today + timedelta(days=20), today + timedelta(days=50))
    milestones: dict[str, Milestone] = {
        f"M-{number}": {"title": title, "due": due.isoformat(), "status": "open"}
        for number, title, due in zip(_numbers(rng, 1, 30, 2), rng.sample(_MILESTONES, 2), due_days, strict=True)
    }
    titles = rng.sample(_TITLES, 8)
    tickets = {
        f"T-{number}": draw_ticket(rng, today, title, agents, sorted(milestones))
        for number, title in zip(_numbers(rng, 100, 500, 8), titles, strict=True)
    }
    links = {f"L-{number}": _link(rng, sorted(tickets)) for number in _numbers(rng, 100, 500, rng.randrange(3))}
    return {
        "today": today.isoformat(),
        "next_number": rng.randrange(500, 900),
        "agents": agents,
        "milestones": milestones,
        "tickets": tickets,
        "links": links,
    }


def draw_ticket(rng: random.Random, today: date, title: str, agents: dict[str, Agent], milestones: list[str]) -> Ticket:
    """A ticket; if it is unfinished and assigned, its assignee bears its points."""
    status: Status = rng.choice(("open", "open", "open", "in_progress", "in_progress", "resolved", "closed"))
    points = rng.randrange(1, 4)
    assignee = None
    if status != "open" or rng.random() < 0.6:
        unfinished = status in ("open", "in_progress")
        free = [key for key, row in agents.items() if row["presence"] == "present" and row["load"] + points <= MAX_LOAD]
        assignee = rng.choice(free)
        agents[assignee]["load"] += points if unfinished else 0
    return {
        "title": title,
        "status": status,
        "priority": rng.choice(("low", "normal", "normal", "high", "urgent")),
        "points": points,
        "assignee": assignee,
        "milestone": rng.choice((None, *milestones)),
        "labels": sorted(rng.sample(LABELS, rng.randrange(3))),
        "due": (today + timedelta(days=rng.randrange(-6, 9))).isoformat(),
        "duplicate_of": None,
    }


def _numbers(rng: random.Random, first: int, end: int, count: int) -> list[int]:
    return sorted(rng.sample(range(first, end), count))


def _agent(name: str) -> Agent:
    return {"name": name, "presence": "present", "load": 0}


def _link(rng: random.Random, ids: list[str]) -> Link:
    source, target = rng.sample(ids, 2)
    return {"source": source, "kind": rng.choice(("blocks", "relates")), "target": target}

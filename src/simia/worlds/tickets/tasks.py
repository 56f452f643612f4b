"""Kinds of tasks at the help desk, each with the calls that do it."""

import random
from datetime import date, timedelta
from typing import Any

from simia.worlds.drafting import Draft, NoTask, TaskKind, pick, pick_some
from simia.worlds.tickets.reads import ACTIVE
from simia.worlds.tickets.state import LABELS, MAX_LOAD, draw_ticket

_REPORTS = ("Print view is empty", "Clock is one hour off", "Comments load twice", "Map tiles are grey")
_ARRANGED = ("Button has no label", "Import hangs at 99 %", "Table header jumps", "Draft is not saved")


def report_a_problem(rng: random.Random, draft: Draft) -> str:
    title, label = rng.choice(_REPORTS), rng.choice(LABELS)
    priority, points = rng.choice(("low", "normal", "high", "urgent")), rng.randrange(1, 6)
    draft.do("search_tickets", label=label)
    draft.do("create_ticket", title=title, priority=priority, points=points, labels=[label])
    return f"""Somebody told me this: {title!r}. If none of the {label} tickets says so already, file it under that
        label with priority {priority} and {points} points."""


def share_out_the_queue(rng: random.Random, draft: Draft) -> str:
    _arrange_tickets(rng, draft, most=3, status="open", assignee=None)
    agent = pick(rng, draft.state["agents"], where=lambda row: row["presence"] == "present")
    wanted = pick_some(rng, draft.state["tickets"], 1, 5, where=lambda row: _active(row) and row["assignee"] != agent)
    name = draft.state["agents"][agent]["name"]
    draft.do("workload")
    draft.do("assign_tickets", ticket_ids=wanted, agent_id=agent)
    return f"{name} has some room this week. Check the load, then give {_and(wanted)} to {name}."


def start_work(rng: random.Random, draft: Draft) -> str:
    wanted = pick_some(
        rng, draft.state["tickets"], 1, 4, where=lambda row: row["status"] == "open" and row["assignee"] is not None
    )
    draft.do("get_ticket", ticket_id=wanted[0])
    draft.do("move_tickets", ticket_ids=wanted, status="in_progress")
    return f"We begin with {_and(wanted)} now. Please show that in the tracker, and tell me what {wanted[0]} is about."


def finish_work(rng: random.Random, draft: Draft) -> str:
    wanted = pick_some(rng, draft.state["tickets"], 1, 4, where=lambda row: row["status"] == "in_progress")
    draft.do("search_tickets", status="in_progress")
    for ticket in wanted[:2]:
        draft.do("get_ticket", ticket_id=ticket)
    draft.do("move_tickets", ticket_ids=wanted, status="resolved")
    return f"The fixes for {_and(wanted)} are out. Mark as resolved what we have in progress there, nothing else."


def postpone_work(rng: random.Random, draft: Draft) -> str:
    wanted = pick_some(
        rng, draft.state["tickets"], 1, 3, where=lambda row: row["status"] in ("in_progress", "resolved")
    )
    draft.do("get_ticket", ticket_id=wanted[-1])
    draft.do("move_tickets", ticket_ids=wanted, status="open")
    draft.do("workload")
    return f"Put {_and(wanted)} back in the queue, whoever has time may take it. Who is free after that?"


def report_a_blocker(rng: random.Random, draft: Draft) -> str:
    source, target = pick_some(rng, draft.state["tickets"], 2, 2, where=_active)
    kind, words = rng.choice((("blocks", "has to be done before"), ("relates", "has to do with")))
    draft.do("get_ticket", ticket_id=target)
    draft.do("link_tickets", source=source, kind=kind, target=target)
    return f"{source} {words} {target}. Have a look at {target} and then link the two so that everybody sees it."


def merge_reports(rng: random.Random, draft: Draft) -> str:
    _arrange_tickets(rng, draft, most=3, status="open")
    original, *duplicates = pick_some(rng, draft.state["tickets"], 2, 4, where=_active)
    draft.do("get_ticket", ticket_id=original)
    draft.do("merge_duplicates", original=original, duplicates=duplicates)
    return f"{_and(duplicates)}: that is the same bug as {original}, I checked. Keep {original} only."


def cover_for_somebody(rng: random.Random, draft: Draft) -> str:
    agent = pick(rng, draft.state["agents"], where=lambda row: row["load"] > 0)
    _arrange_tickets(rng, draft, most=2, status="in_progress", assignee=agent)
    name = draft.state["agents"][agent]["name"]
    draft.do("workload")
    draft.do("hand_over_work", agent_id=agent)
    draft.do("workload")
    return f"{name} called in sick. Spread everything {name} has over the others, and show me who has how much then."


def end_a_milestone(rng: random.Random, draft: Draft) -> str:
    old, new = pick_some(rng, draft.state["milestones"], 2, 2, where=lambda row: row["status"] == "open")
    _arrange_tickets(rng, draft, most=4, milestone=old)
    titles = draft.state["milestones"]
    draft.do("milestone_progress", milestone_id=old)
    draft.do("close_milestone", milestone_id=old, move_to=new)
    draft.do("milestone_progress", milestone_id=new)
    return f"""We ship {titles[old]["title"]!r} ({old}) today: see what is in it, close it, move the rest to {new} and
        tell me how many points {new} has left then."""


def chase_late_tickets(rng: random.Random, draft: Draft) -> str:
    _arrange_tickets(rng, draft, most=4, status="open", assignee=None)
    yesterday = date.fromisoformat(draft.state["today"]) - timedelta(days=1)
    for row in draft.state["tickets"].values():
        if rng.random() < 0.4:
            row["due"] = yesterday.isoformat()
    draft.do("overdue_tickets")
    draft.do("escalate_overdue")
    return "I lead the desk. List what is late, and then push all of it up a step as the rules say."


KINDS: tuple[TaskKind, ...] = (
    report_a_problem,
    share_out_the_queue,
    start_work,
    finish_work,
    postpone_work,
    report_a_blocker,
    merge_reports,
    cover_for_somebody,
    end_a_milestone,
    chase_late_tickets,
)


def _active(row: Any) -> bool:
    return row["status"] in ACTIVE


def _and(ids: list[str]) -> str:
    return ", ".join(ids[:-1]) + f" and {ids[-1]}" if len(ids) > 1 else ids[0]


def _arrange_tickets(rng: random.Random, draft: Draft, *, most: int, **values: Any) -> None:
    """Up to ``most`` more tickets with ``values``, before the task begins."""
    state = draft.state
    today = date.fromisoformat(state["today"])
    for number, title in zip(range(91, 91 + rng.randint(0, most)), rng.sample(_ARRANGED, 4), strict=False):
        ticket: Any = draw_ticket(rng, today, title, state["agents"], sorted(state["milestones"]))
        _change_load(state["agents"], ticket, -1)
        ticket.update(values)
        _change_load(state["agents"], ticket, 1)
        state["tickets"][f"T-{number}"] = ticket


def _change_load(agents: Any, ticket: Any, sign: int) -> None:
    if ticket["assignee"] is None or not _active(ticket):
        return
    agent = agents[ticket["assignee"]]
    agent["load"] += sign * ticket["points"]
    if agent["load"] > MAX_LOAD:
        raise NoTask("the agent has work enough")

"""The rules of the help desk, each by one call."""

from typing import Any

import orjson
import pytest

from simia.types import JsonObject, State, ToolCall
from simia.worlds.tickets import TicketsWorld

TICKETS = TicketsWorld()


def ticket(status: str, assignee: str | None, points: int, **values: Any) -> JsonObject:
    row: JsonObject = {"title": "Chart has no legend", "status": status, "priority": "normal", "points": points}
    more: JsonObject = {
        "assignee": assignee,
        "milestone": "M-1",
        "labels": [],
        "due": "2025-06-30",
        "duplicate_of": None,
    }
    return {**row, **more, **values}


@pytest.fixture
def state() -> State:
    return {
        "today": "2025-06-20",
        "next_number": 500,
        "agents": {
            "P-1": {"name": "Amara Diallo", "presence": "present", "load": 5},
            "P-2": {"name": "Bruno Costa", "presence": "present", "load": 3},
            "P-3": {"name": "Chiara Lund", "presence": "present", "load": 4},
            "P-4": {"name": "Deniz Arslan", "presence": "absent", "load": 0},
        },
        "milestones": {
            "M-1": {"title": "Payments", "due": "2025-07-01", "status": "open"},
            "M-2": {"title": "Cleanup", "due": "2025-08-01", "status": "open"},
        },
        "tickets": {
            "T-1": ticket("in_progress", "P-1", 3, labels=["sync"]),
            "T-2": ticket("open", "P-1", 2, priority="urgent", labels=["export"]),
            "T-3": ticket("in_progress", "P-2", 3, due="2025-06-18"),
            "T-4": ticket("open", "P-3", 4, priority="urgent", due="2025-06-12"),
            "T-5": ticket("open", None, 8, milestone="M-2", priority="high", due="2025-06-19"),
            "T-6": ticket("resolved", "P-2", 1, due="2025-06-01"),
        },
        "links": {
            "L-1": {"source": "T-2", "kind": "blocks", "target": "T-3"},
            "L-2": {"source": "T-1", "kind": "relates", "target": "T-2"},
        },
    }


def do(state: State, name: str, **arguments: Any) -> tuple[Any, State]:
    transition, after = TICKETS.run(state, ToolCall(id="call_1", name=name, arguments=arguments))
    return orjson.loads(transition.observation), after


def test_whoever_is_absent_leaves_each_ticket_to_the_present_agent_with_the_least_load(state: State) -> None:
    result, after = do(state, "hand_over_work", agent_id="P-1")
    assert result["new_assignees"] == {"T-1": "P-2", "T-2": "P-3"}
    assert [agent["load"] for agent in after["agents"].values()] == [0, 6, 6, 0]


def test_work_that_is_handed_over_begins_again(state: State) -> None:
    _, after = do(state, "hand_over_work", agent_id="P-1")
    assert after["tickets"]["T-1"]["status"] == "open"


def test_work_is_not_handed_over_twice(state: State) -> None:
    assert do(state, "hand_over_work", agent_id="P-4")[0]["error"] == "agent P-4 is already absent"


def test_an_agent_bears_twelve_points_and_not_one_more(state: State) -> None:
    just_enough, _ = do(state, "assign_tickets", ticket_ids=["T-5"], agent_id="P-3")
    too_much, _ = do(state, "assign_tickets", ticket_ids=["T-5"], agent_id="P-1")
    assert just_enough["load"] == 12
    assert too_much["error"] == "agent P-1 has 5 points and cannot take 8 more"


def test_nothing_is_assigned_to_an_absent_agent(state: State) -> None:
    assert do(state, "assign_tickets", ticket_ids=["T-5"], agent_id="P-4")[0]["error"] == "agent P-4 is absent"


def test_a_reassigned_ticket_takes_its_points_along(state: State) -> None:
    _, after = do(state, "assign_tickets", ticket_ids=["T-1", "T-2"], agent_id="P-2")
    assert [agent["load"] for agent in after["agents"].values()] == [0, 8, 4, 0]


def test_a_ticket_is_not_resolved_while_an_unfinished_one_blocks_it(state: State) -> None:
    result, after = do(state, "move_tickets", ticket_ids=["T-1", "T-3"], status="resolved")
    assert result["error"] == "ticket T-3 is blocked by T-2"
    assert after == state


def test_an_unassigned_ticket_is_not_begun(state: State) -> None:
    result, _ = do(state, "move_tickets", ticket_ids=["T-5"], status="in_progress")
    assert result["error"] == "ticket T-5 is not assigned"


def test_a_ticket_that_goes_back_to_open_is_nobodys(state: State) -> None:
    _, after = do(state, "move_tickets", ticket_ids=["T-1"], status="open")
    assert after["tickets"]["T-1"]["assignee"] is None
    assert after["agents"]["P-1"]["load"] == 2


def test_the_original_takes_over_labels_priority_and_links_of_its_duplicates(state: State) -> None:
    result, after = do(state, "merge_duplicates", original="T-1", duplicates=["T-2"])
    assert (result["priority"], result["labels"]) == ("urgent", ["export", "sync"])
    assert after["links"] == {"L-1": {"source": "T-1", "kind": "blocks", "target": "T-3"}}
    assert after["tickets"]["T-2"]["duplicate_of"] == "T-1"


def test_a_milestone_that_closes_closes_what_is_resolved_and_moves_what_is_not(state: State) -> None:
    result, after = do(state, "close_milestone", milestone_id="M-1", move_to="M-2")
    assert result["tickets_closed"] == ["T-6"]
    assert result["tickets_moved"] == ["T-1", "T-2", "T-3", "T-4"]
    assert after["tickets"]["T-6"]["milestone"] == "M-1"


def test_escalation_raises_what_is_overdue_and_leaves_what_is_urgent_or_finished(state: State) -> None:
    result, after = do(state, "escalate_overdue")
    assert {row["ticket_id"]: row["priority"] for row in result["escalated"]} == {"T-3": "high", "T-5": "urgent"}
    assert result["already_urgent"] == ["T-4"]
    assert after["tickets"]["T-6"] == state["tickets"]["T-6"]


def test_an_escalated_ticket_is_due_anew_by_its_new_priority(state: State) -> None:
    _, after = do(state, "escalate_overdue")
    assert (after["tickets"]["T-3"]["due"], after["tickets"]["T-5"]["due"]) == ("2025-06-23", "2025-06-21")

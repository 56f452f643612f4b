"""The rules of the library, each by one call."""

from typing import Any

import orjson
import pytest

from simia.types import State, ToolCall
from simia.worlds.library import LibraryWorld

LIBRARY = LibraryWorld()


def member(name: str, fines: int = 0) -> dict[str, Any]:
    return {"name": name, "email": f"{name.lower()}@post.example", "fines": fines}


def loan(member_id: str, due: str, renewals: int = 0) -> dict[str, Any]:
    return {"member_id": member_id, "due": due, "renewals": renewals}


def hold(title_id: str, member_id: str, copy_id: str | None = None, pick_up_by: str | None = None) -> dict[str, Any]:
    return {"title_id": title_id, "member_id": member_id, "copy_id": copy_id, "pick_up_by": pick_up_by}


@pytest.fixture
def state() -> State:
    return {
        "today": "2025-06-10",
        "next_number": 500,
        "titles": {f"T-{one}": {"name": f"Book {one}", "author": "N. Obi"} for one in (1, 2, 3)},
        "copies": {
            "C-1": {"title_id": "T-1"},
            "C-2": {"title_id": "T-1"},
            "C-3": {"title_id": "T-2"},
            "C-4": {"title_id": "T-2"},
            "C-5": {"title_id": "T-3"},
        },
        "members": {"M-1": member("Amir"), "M-2": member("Celia", 1000), "M-3": member("Davor", 60)},
        "loans": {
            "C-1": loan("M-1", "2025-06-11"),
            "C-2": loan("M-1", "2025-06-08", renewals=1),
            "C-3": loan("M-1", "2025-06-11", renewals=2),
        },
        "holds": {
            "H-1": hold("T-1", "M-2"),
            "H-2": hold("T-1", "M-3"),
            "H-3": hold("T-2", "M-3", "C-4", "2025-06-10"),
            "H-4": hold("T-2", "M-2"),
        },
        "closed_days": {"2025-06-15": "stocktaking"},
    }


def do(state: State, name: str, **arguments: Any) -> tuple[Any, State]:
    transition, after = LIBRARY.run(state, ToolCall(id="call_1", name=name, arguments=arguments))
    return orjson.loads(transition.observation), after


def test_a_returned_copy_is_set_aside_for_the_oldest_hold_until_an_open_day(state: State) -> None:
    result, after = do(state, "return_copies", copy_ids=["C-1"])
    assert result == [{"copy_id": "C-1", "set_aside_for": "H-1"}]
    assert after["holds"]["H-1"] == hold("T-1", "M-2", "C-1", "2025-06-16")
    assert after["holds"]["H-2"] == state["holds"]["H-2"]


def test_a_pile_serves_one_hold_after_the_other(state: State) -> None:
    result, _ = do(state, "return_copies", copy_ids=["C-2", "C-1", "C-3"])
    assert [row["set_aside_for"] for row in result] == ["H-1", "H-2", "H-4"]


def test_a_copy_that_is_set_aside_is_lent_to_its_member_only(state: State) -> None:
    stranger, _ = do(state, "check_out", member_id="M-1", copy_ids=["C-4"])
    result, after = do(state, "check_out", member_id="M-3", copy_ids=["C-4"])
    assert stranger["error"] == "copy C-4 is set aside for member M-3"
    assert result == {"due": "2025-06-24", "copies": ["C-4"], "holds_met": ["H-3"]}
    assert "H-3" not in after["holds"]


@pytest.mark.parametrize(("name", "arguments"), [("check_out", {"copy_ids": ["C-5"]}), ("renew_all", {})])
def test_who_owes_1000_cents_borrows_and_renews_nothing(state: State, name: str, arguments: dict[str, Any]) -> None:
    result, _ = do(state, name, member_id="M-2", **arguments)
    assert result["error"] == "member M-2 owes 1000, more than 999"


def test_nobody_has_more_than_five_loans(state: State) -> None:
    state["copies"] |= {f"C-{number}": {"title_id": "T-3"} for number in (6, 7)}
    result, after = do(state, "check_out", member_id="M-1", copy_ids=["C-5", "C-6", "C-7"])
    assert result["error"] == "member M-1 would have 6 loans; at most 5 are allowed"
    assert after["loans"] == state["loans"]


def test_only_loans_that_nobody_waits_for_and_that_were_renewed_less_than_twice_are_renewed(state: State) -> None:
    del state["holds"]["H-4"], state["holds"]["H-1"]
    state["holds"]["H-2"] = hold("T-1", "M-3", "C-2", "2025-06-12")
    del state["loans"]["C-2"]
    result, after = do(state, "renew_all", member_id="M-1")
    assert (result["renewed"], result["not_renewed"]) == (["C-1"], ["C-3"])
    assert after["loans"]["C-1"] == loan("M-1", "2025-06-24", renewals=1)


def test_a_title_that_others_wait_for_is_not_renewed(state: State) -> None:
    result, _ = do(state, "renew_all", member_id="M-1")
    assert result["error"] == "no loan of member M-1 can be renewed"


def test_a_hold_of_a_title_that_is_in_gets_its_copy_at_once(state: State) -> None:
    result, _ = do(state, "place_holds", member_id="M-1", title_ids=["T-3"])
    assert result == [{"hold_id": "H-500", **hold("T-3", "M-1", "C-5", "2025-06-16")}]


def test_nobody_holds_a_title_twice_or_while_having_it(state: State) -> None:
    twice, _ = do(state, "place_holds", member_id="M-3", title_ids=["T-3", "T-3"])
    lent, _ = do(state, "place_holds", member_id="M-1", title_ids=["T-1"])
    assert twice["error"] == "member M-3 has title T-3 on hold or on loan"
    assert lent["error"] == "member M-1 has title T-1 on hold or on loan"


def test_the_copy_of_a_cancelled_hold_goes_to_the_next_who_waits(state: State) -> None:
    result, after = do(state, "cancel_hold", hold_id="H-3")
    assert result == {"hold_id": "H-3", "copy_goes_to": "H-4"}
    assert after["holds"]["H-4"]["copy_id"] == "C-4"


def test_nobody_pays_more_than_is_owed(state: State) -> None:
    result, _ = do(state, "pay_fines", member_id="M-3", amount=80)
    assert result["error"] == "member M-3 owes 60, not 80"


def test_new_copies_go_to_those_who_wait_and_the_rest_stays_in(state: State) -> None:
    result, after = do(state, "add_copies", title_id="T-1", count=3)
    assert result == {"copies": ["C-500", "C-501", "C-502"], "set_aside_for": ["H-1", "H-2"]}
    assert do(after, "search_titles", words="book 1")[0][0]["copies_in"] == ["C-502"]


def test_what_is_due_on_a_closed_day_shifts_to_the_next_open_one_and_nothing_else(state: State) -> None:
    _, twice_closed = do(state, "close_on", day="2025-06-12", reason="roof repair")
    result, after = do(twice_closed, "close_on", day="2025-06-11", reason="roof repair")
    assert (result["next_open_day"], result["loans_shifted"]) == ("2025-06-13", ["C-1", "C-3"])
    assert after["loans"]["C-2"] == state["loans"]["C-2"]


def test_the_library_does_not_close_in_the_past(state: State) -> None:
    result, _ = do(state, "close_on", day="2025-06-10", reason="roof repair")
    assert result["error"] == "2025-06-10 is not in the future, or a closed day already"


def test_at_the_end_of_the_day_overdue_loans_are_fined_and_late_holds_pass_their_copies_on(state: State) -> None:
    result, after = do(state, "end_day")
    assert result == {"today": "2025-06-11", "fined": ["M-1"], "holds_dropped": ["H-3"], "set_aside_for": ["H-4"]}
    assert after["members"]["M-1"]["fines"] == 20
    assert after["members"]["M-3"]["fines"] == 60

"""The rules of the bank, each by one call."""

from typing import Any

import orjson
import pytest

from simia.types import State, ToolCall
from simia.worlds.bank import BankWorld

BANK = BankWorld()


def account(
    owner: str, balance: int, kind: str = "current", overdraft: int = 0, status: str = "open"
) -> dict[str, Any]:
    return {"customer_id": owner, "kind": kind, "balance": balance, "overdraft": overdraft, "status": status}


def card(account_id: str, status: str = "active") -> dict[str, Any]:
    return {"account_id": account_id, "status": status, "daily_limit": 20000}


@pytest.fixture
def state() -> State:
    return {
        "today": "2025-05-02",
        "next_number": 700,
        "customers": {
            "K-1": {"name": "Ada Fjord", "email": "ada.fjord@kestrel.example"},
            "K-2": {"name": "Ben Okoye", "email": "ben.okoye@kestrel.example"},
        },
        "accounts": {
            "A-1": account("K-1", 10000, overdraft=5000),
            "A-2": account("K-1", 3000, kind="savings"),
            "A-3": account("K-2", 400),
            "A-4": account("K-2", 0, status="closed"),
            "A-5": account("K-2", 9000, status="frozen"),
        },
        "cards": {"C-1": card("A-1"), "C-2": card("A-1"), "C-3": card("A-1", "blocked"), "C-4": card("A-2")},
        "standing_orders": {
            "S-1": {"source": "A-1", "target": "A-3", "amount": 100},
            "S-2": {"source": "A-3", "target": "A-1", "amount": 200},
            "S-3": {"source": "A-3", "target": "A-2", "amount": 300},
        },
        "transfers": {
            "T-1": {"source": "A-1", "target": "A-3", "amount": 500, "day": "2025-05-02", "memo": "rent"},
            "T-2": {"source": "A-3", "target": "A-2", "amount": 700, "day": "2025-05-01", "memo": "gift"},
        },
    }


def do(state: State, name: str, **arguments: Any) -> tuple[Any, State]:
    transition, after = BANK.run(state, ToolCall(id="call_1", name=name, arguments=arguments))
    return orjson.loads(transition.observation), after


def payment(target: str, amount: int) -> dict[str, Any]:
    return {"target": target, "amount": amount, "memo": "invoice"}


def test_payments_move_money_and_lose_none(state: State) -> None:
    result, after = do(state, "pay_many", source="A-1", payments=[payment("A-3", 2000), payment("A-5", 1000)])
    balances = {key: row["balance"] for key, row in after["accounts"].items()}
    assert result == {"transfer_ids": ["T-700", "T-701"], "balance": 7000}
    assert balances == {"A-1": 7000, "A-2": 3000, "A-3": 2400, "A-4": 0, "A-5": 10000}


def test_an_account_may_be_overdrawn_up_to_its_limit_and_no_cent_further(state: State) -> None:
    _, after = do(state, "transfer", source="A-1", target="A-3", amount=15000, memo="rent")
    refused, _ = do(state, "transfer", source="A-1", target="A-3", amount=15001, memo="rent")
    assert after["accounts"]["A-1"]["balance"] == -5000
    assert refused == {"error": "account A-1 has 15000 available, not 15001"}


def test_one_impossible_payment_stops_all_of_them(state: State) -> None:
    result, after = do(state, "pay_many", source="A-1", payments=[payment("A-3", 100), payment("A-4", 100)])
    assert result == {"error": "account A-4 is closed"}
    assert after == state


def test_money_does_not_leave_a_frozen_account(state: State) -> None:
    result, _ = do(state, "transfer", source="A-5", target="A-1", amount=1, memo="gift")
    assert result == {"error": "account A-5 is frozen"}


def test_freezing_an_account_blocks_its_active_cards_and_no_others(state: State) -> None:
    result, after = do(state, "freeze_account", account_id="A-1")
    assert result["cards_blocked"] == ["C-1", "C-2"]
    assert after["cards"]["C-4"]["status"] == "active"


def test_the_cards_of_an_account_that_is_opened_again_stay_blocked(state: State) -> None:
    _, after = do(state, "freeze_account", account_id="A-1")
    _, after = do(after, "unfreeze_account", account_id="A-1")
    assert (after["accounts"]["A-1"]["status"], after["cards"]["C-1"]["status"]) == ("open", "blocked")


def test_one_blocked_card_keeps_the_limits_of_all_cards_as_they_are(state: State) -> None:
    result, after = do(state, "set_card_limits", card_ids=["C-1", "C-3"], daily_limit=5000)
    assert result == {"error": "card C-3 is blocked"}
    assert after == state


def test_a_daily_limit_has_a_limit_itself(state: State) -> None:
    result, _ = do(state, "set_card_limits", card_ids=["C-1"], daily_limit=200001)
    assert result == {"error": "a daily limit is at most 200000, not 200001"}


def test_closing_an_account_pays_out_ends_its_standing_orders_and_blocks_its_cards(state: State) -> None:
    result, after = do(state, "close_account", account_id="A-1", payout_to="A-2")
    assert result["standing_orders_ended"] == ["S-1", "S-2"]
    assert list(after["standing_orders"]) == ["S-3"]
    assert after["accounts"]["A-2"]["balance"] == 13000
    assert after["accounts"]["A-1"] == account("K-1", 0, overdraft=5000, status="closed")


def test_a_balance_is_paid_out_to_the_same_customer_only(state: State) -> None:
    result, _ = do(state, "close_account", account_id="A-1", payout_to="A-3")
    assert result == {"error": "the balance is paid out to another account of the same customer"}


def test_an_overdrawn_account_cannot_be_closed(state: State) -> None:
    state["accounts"]["A-1"]["balance"] = -1
    assert do(state, "close_account", account_id="A-1", payout_to="A-2")[0] == {
        "error": "account A-1 is overdrawn by 1"
    }


def test_the_month_ends_with_a_fee_for_open_current_accounts_that_can_bear_it(state: State) -> None:
    result, after = do(state, "month_end")
    assert result == {"charged": ["A-1"], "skipped": ["A-3"], "fee": 450}
    assert [row["balance"] for row in after["accounts"].values()] == [9550, 3000, 400, 0, 9000]


def test_the_journal_holds_what_was_booked_today(state: State) -> None:
    assert do(state, "todays_journal")[0] == {"day": "2025-05-02", "transfers": ["T-1"], "turnover": 500}


def test_the_transfers_of_an_account_come_oldest_first(state: State) -> None:
    result, _ = do(state, "list_transfers", account_id="A-3")
    assert [row["transfer_id"] for row in result] == ["T-2", "T-1"]

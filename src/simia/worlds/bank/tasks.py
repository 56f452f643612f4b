"""Kinds of tasks at the bank's service desk, each with the calls that do it."""

import random
from typing import Any

from simia.worlds.drafting import Draft, NoTask, TaskKind, pick, pick_some


def pay_somebody(rng: random.Random, draft: Draft) -> str:
    source, email = _payer(rng, draft)
    target = pick(rng, draft.state["accounts"], where=lambda row: row["status"] != "closed")
    amount = rng.randrange(1, 20) * 500
    _identify(draft, email)
    draft.do("get_account", account_id=source)
    draft.do("transfer", source=source, target=target, amount=amount, memo="rent share")
    return f"I am {email}. Send {amount} cents from {source} to {target}, memo 'rent share'. Yes, go ahead."


def pay_several(rng: random.Random, draft: Draft) -> str:
    source, email = _payer(rng, draft)
    targets = pick_some(rng, draft.state["accounts"], 2, 4, where=lambda row: row["status"] != "closed")
    payments = [
        {"target": target, "amount": rng.randrange(1, 12) * 250, "memo": f"invoice {rng.randrange(10, 99)}"}
        for target in (*targets, *rng.choices(targets, k=rng.randrange(2)))
    ]
    _identify(draft, email)
    draft.do("pay_many", source=source, payments=payments)
    draft.do("todays_journal")
    wanted = "; ".join(f"{row['amount']} to {row['target']} for '{row['memo']}'" for row in payments)
    return f"My address is {email}. Pay these from {source}, all at once: {wanted}. I confirm all of them."


def report_theft(rng: random.Random, draft: Draft) -> str:
    account = _mine(rng, draft, where=lambda row: row["status"] == "open")
    email = _email_of(draft, account)
    _identify(draft, email)
    draft.do("freeze_account", account_id=account)
    draft.do("frozen_accounts")
    return f"This is {email}. My wallet was stolen: freeze {account} and everything that hangs on it, at once."


def settle_fraud(rng: random.Random, draft: Draft) -> str:
    account = _mine(rng, draft, where=lambda row: row["status"] == "frozen")
    email = _email_of(draft, account)
    draft.do("frozen_accounts")
    _identify(draft, email)
    draft.do("unfreeze_account", account_id=account)
    draft.do("order_card", account_id=account)
    return f"{email} here. The fraud on {account} is settled. Open the account again and send me a new card for it."


def change_limits(rng: random.Random, draft: Draft) -> str:
    account = _mine(rng, draft, where=lambda row: row["status"] == "open")
    while rng.random() < 0.7:
        _arrange_card(rng, draft, account)
    mine = {key: row for key, row in draft.state["cards"].items() if row["account_id"] == account}
    cards = pick_some(rng, mine, 1, 6, where=lambda row: row["status"] == "active")
    limit = rng.choice((5000, 30000, 75000, 150000))
    email = _email_of(draft, account)
    _identify(draft, email)
    draft.do("get_account", account_id=account)
    draft.do("set_card_limits", card_ids=cards, daily_limit=limit)
    return f"I am {email}. Set the daily limit of {' and '.join(cards)} to {limit} cents, please."


def leave_an_account(rng: random.Random, draft: Draft) -> str:
    accounts = draft.state["accounts"]
    closing = _mine(rng, draft, where=lambda row: row["status"] == "open" and row["balance"] >= 0)
    owner = accounts[closing]["customer_id"]
    others = {key: row for key, row in accounts.items() if row["customer_id"] == owner and key != closing}
    payee = pick(rng, others, where=lambda row: row["status"] != "closed")
    email = _email_of(draft, closing)
    _identify(draft, email)
    draft.do("list_transfers", account_id=closing)
    draft.do("close_account", account_id=closing, payout_to=payee)
    return f"Please close {closing} and pay what is on it to {payee}. My address is {email}, and I am sure."


def pay_in_cash(rng: random.Random, draft: Draft) -> str:
    account = _mine(rng, draft, where=lambda row: row["status"] == "open")
    amount = rng.randrange(1, 90) * 1000
    draft.do("get_account", account_id=account)
    draft.do("deposit", account_id=account, amount=amount)
    return f"{_email_of(draft, account)}: I pay {amount} cents in cash into {account}."


def run_month_end(rng: random.Random, draft: Draft) -> str:
    draft.do("todays_journal")
    draft.do("month_end")
    return "Back office here: please look at today's journal and then run the month end."


KINDS: tuple[TaskKind, ...] = (
    pay_somebody,
    pay_several,
    report_theft,
    settle_fraud,
    change_limits,
    leave_an_account,
    pay_in_cash,
    run_month_end,
)


def _mine(rng: random.Random, draft: Draft, *, where: Any) -> str:
    return pick(rng, draft.state["accounts"], where=where)


def _payer(rng: random.Random, draft: Draft) -> tuple[str, str]:
    account = _mine(rng, draft, where=lambda row: row["status"] == "open" and row["balance"] > 20000)
    return account, _email_of(draft, account)


def _email_of(draft: Draft, account_id: str) -> str:
    owner = draft.state["accounts"][account_id]["customer_id"]
    return str(draft.state["customers"][owner]["email"])


def _identify(draft: Draft, email: str) -> None:
    draft.do("find_customer", email=email)


def _arrange_card(rng: random.Random, draft: Draft, account_id: str) -> None:
    """One more active card, before the task begins."""
    cards = draft.state["cards"]
    if len(cards) > 9:
        raise NoTask("cards enough")
    cards[f"C-{rng.randrange(900, 1000)}"] = {"account_id": account_id, "status": "active", "daily_limit": 20000}

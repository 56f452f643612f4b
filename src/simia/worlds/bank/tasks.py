"""Kinds of tasks at the bank's service desk, each with the calls that do it."""

import random
from collections.abc import Callable

from simia.types import JsonObject
from simia.worlds.drafting import Draft, TaskKind, pick, pick_some


def pay_somebody(rng: random.Random, draft: Draft) -> str:
    source = _pick_account(rng, draft, where=_can_pay)
    target = _pick_account(rng, draft, where=_can_receive)
    amount = rng.randrange(1, 20) * 500
    email = _identify(draft, source)
    draft.do("get_account", account_id=source)
    draft.do("transfer", source=source, target=target, amount=amount, memo="rent share")
    return f"I am {email}. Send {amount} cents from {source} to {target}, memo 'rent share'. Yes, go ahead."


def pay_several(rng: random.Random, draft: Draft) -> str:
    source = _pick_account(rng, draft, where=_can_pay)
    targets = pick_some(rng, draft.state["accounts"], 1, 4, where=_can_receive)
    payments = [
        {"target": target, "amount": rng.randrange(1, 12) * 250, "memo": f"invoice {rng.randrange(10, 99)}"}
        for target in (*targets, *rng.choices(targets, k=rng.randrange(1, 3)))
    ]
    email = _identify(draft, source)
    draft.do("pay_many", source=source, payments=payments)
    draft.do("todays_journal")
    wanted = "; ".join(f"{row['amount']} to {row['target']} for '{row['memo']}'" for row in payments)
    return f"My address is {email}. Pay these from {source}, all at once: {wanted}. I confirm all of them."


def report_theft(rng: random.Random, draft: Draft) -> str:
    account = _pick_account(rng, draft, where=_is_open)
    _add_cards(rng, draft, account, 6)
    email = _identify(draft, account)
    draft.do("freeze_account", account_id=account)
    draft.do("frozen_accounts")
    return f"This is {email}. My wallet was stolen: freeze {account} and everything that hangs on it, at once."


def settle_fraud(rng: random.Random, draft: Draft) -> str:
    account = _pick_account(rng, draft, where=lambda row: row["status"] == "frozen")
    draft.do("frozen_accounts")
    email = _identify(draft, account)
    draft.do("unfreeze_account", account_id=account)
    draft.do("order_card", account_id=account)
    return f"{email} here. The fraud on {account} is settled. Open the account again and send me a new card for it."


def change_limits(rng: random.Random, draft: Draft) -> str:
    account = _pick_account(rng, draft, where=_is_open)
    _add_cards(rng, draft, account, 6)
    mine = {key: row for key, row in draft.state["cards"].items() if row["account_id"] == account}
    cards = pick_some(rng, mine, 1, 6, where=lambda row: row["status"] == "active")
    limit = rng.choice((5000, 30000, 75000, 150000))
    email = _identify(draft, account)
    draft.do("get_account", account_id=account)
    draft.do("set_card_limits", card_ids=cards, daily_limit=limit)
    return f"I am {email}. Set the daily limit of {' and '.join(cards)} to {limit} cents, please."


def leave_an_account(rng: random.Random, draft: Draft) -> str:
    accounts = draft.state["accounts"]
    closing = _pick_account(rng, draft, where=_is_open)
    owner = accounts[closing]["customer_id"]
    others = {key: row for key, row in accounts.items() if row["customer_id"] == owner and key != closing}
    payee = pick(rng, others, where=_can_receive)
    _add_cards(rng, draft, closing, 4)
    email = _identify(draft, closing)
    draft.do("list_transfers", account_id=closing)
    draft.do("close_account", account_id=closing, payout_to=payee)
    return f"Please close {closing} and pay what is on it to {payee}. My address is {email}, and I am sure."


def pay_in_cash(rng: random.Random, draft: Draft) -> str:
    account = _pick_account(rng, draft, where=_is_open)
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


def _is_open(account: JsonObject) -> bool:
    return bool(account["status"] == "open")


def _can_pay(account: JsonObject) -> bool:
    return _is_open(account) and bool(account["balance"] > 20000)


def _can_receive(account: JsonObject) -> bool:
    return bool(account["status"] != "closed")


def _pick_account(rng: random.Random, draft: Draft, *, where: Callable[[JsonObject], bool]) -> str:
    return pick(rng, draft.state["accounts"], where=where)


def _email_of(draft: Draft, account_id: str) -> str:
    owner = draft.state["accounts"][account_id]["customer_id"]
    return str(draft.state["customers"][owner]["email"])


def _identify(draft: Draft, account_id: str) -> str:
    """Look the owner of the account up; gives the e-mail address."""
    email = _email_of(draft, account_id)
    draft.do("find_customer", email=email)
    return email


def _add_cards(rng: random.Random, draft: Draft, account_id: str, most: int) -> None:
    """Give the account up to so many more active cards, before the task begins."""
    for number in rng.sample(range(900, 1000), rng.randrange(most + 1)):
        draft.state["cards"][f"C-{number}"] = {"account_id": account_id, "status": "active", "daily_limit": 20000}

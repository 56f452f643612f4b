"""The tools of the bank's service desk, as code."""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.bank.state import Account, BankState, Card, Cents, Customer, Day, Transfer
from simia.worlds.executable import Action, Refused, found

ACCOUNT_FEE = 450
MAX_DAILY_LIMIT = 200000

AccountId = Annotated[str, Field(description="Account number, for example 'A-231'.")]
CardId = Annotated[str, Field(description="Card number, for example 'C-118'.")]
Amount = Annotated[int, Field(gt=0, description="Whole cents.")]
Memo = Annotated[str, Field(max_length=40, description="What the payment is for.")]


class Payment(TypedDict):
    target: AccountId
    amount: Amount
    memo: Memo


class FoundCustomer(Customer):
    customer_id: str
    accounts: list[str]


class AccountDetails(Account):
    account_id: str
    cards: list[str]


class Booked(TypedDict):
    transfer_ids: list[str]
    balance: int


class Row(Transfer):
    transfer_id: str


class Journal(TypedDict):
    day: Day
    transfers: list[str]
    turnover: Cents


class Frozen(TypedDict):
    account_id: str
    status: Literal["open", "frozen", "closed"]
    cards_blocked: list[str]


class Limits(TypedDict):
    changed: list[str]
    daily_limit: Cents


class Closed(TypedDict):
    account_id: str
    paid_out: Cents
    standing_orders_ended: list[str]
    cards_blocked: list[str]


class NewCard(Card):
    card_id: str


class Fees(TypedDict):
    charged: list[str]
    skipped: list[str]
    fee: Cents


def find_customer(state: BankState, email: Annotated[str, Field(description="E-mail address.")]) -> FoundCustomer:
    """Look up a customer by e-mail address; also gives the numbers of the customer's accounts."""
    for customer_id, customer in state["customers"].items():
        if customer["email"] == email.strip().lower():
            owned = [key for key, account in state["accounts"].items() if account["customer_id"] == customer_id]
            return {"customer_id": customer_id, **customer, "accounts": sorted(owned)}
    raise Refused(f"no customer with the e-mail address {email!r}")


def get_account(state: BankState, account_id: AccountId) -> AccountDetails:
    """Everything about one account, with the numbers of its cards."""
    return {"account_id": account_id, **_account(state, account_id), "cards": _cards_of(state, account_id)}


def list_transfers(
    state: BankState, account_id: AccountId, since: Annotated[Day | None, Field(description="First day.")] = None
) -> list[Row]:
    """The transfers from or to an account, oldest first."""
    _account(state, account_id)
    rows: list[Row] = [
        {"transfer_id": key, **transfer}
        for key, transfer in state["transfers"].items()
        if account_id in (transfer["source"], transfer["target"]) and (since is None or transfer["day"] >= since)
    ]
    return sorted(rows, key=lambda row: (row["day"], row["transfer_id"]))


def todays_journal(state: BankState) -> Journal:
    """The transfers booked today and their sum."""
    booked = {key: row["amount"] for key, row in state["transfers"].items() if row["day"] == state["today"]}
    return {"day": state["today"], "transfers": sorted(booked), "turnover": sum(booked.values())}


def frozen_accounts(state: BankState) -> list[str]:
    """The numbers of all accounts that are frozen."""
    return sorted(key for key, account in state["accounts"].items() if account["status"] == "frozen")


def deposit(state: BankState, account_id: AccountId, amount: Amount) -> AccountDetails:
    """Put cash on an account."""
    account = _open_account(state, account_id)
    account["balance"] += amount
    return {"account_id": account_id, **account, "cards": _cards_of(state, account_id)}


def transfer(state: BankState, source: AccountId, target: AccountId, amount: Amount, memo: Memo) -> Booked:
    """Move money from one account to another one of the bank."""
    return pay_many(state, source, [{"target": target, "amount": amount, "memo": memo}])


def pay_many(
    state: BankState, source: AccountId, payments: Annotated[list[Payment], Field(min_length=1, max_length=6)]
) -> Booked:
    """Make several payments from one account at once: all of them, or none if one cannot be made."""
    payer = _open_account(state, source)
    total = sum(payment["amount"] for payment in payments)
    if payer["balance"] + payer["overdraft"] < total:
        raise Refused(f"account {source} has {payer['balance'] + payer['overdraft']} available, not {total}")
    booked = []
    for payment in payments:
        if payment["target"] == source:
            raise Refused(f"account {source} cannot pay itself")
        _receiving_account(state, payment["target"])["balance"] += payment["amount"]
        payer["balance"] -= payment["amount"]
        transfer_id = _next_id(state, "T")
        state["transfers"][transfer_id] = {
            "source": source,
            "target": payment["target"],
            "amount": payment["amount"],
            "day": state["today"],
            "memo": payment["memo"],
        }
        booked.append(transfer_id)
    return {"transfer_ids": booked, "balance": payer["balance"]}


def freeze_account(state: BankState, account_id: AccountId) -> Frozen:
    """Freeze an open account and block all its active cards."""
    account = _open_account(state, account_id)
    account["status"] = "frozen"
    return {"account_id": account_id, "status": "frozen", "cards_blocked": _block_cards(state, account_id)}


def unfreeze_account(state: BankState, account_id: AccountId) -> Frozen:
    """Open a frozen account again. Its cards stay blocked."""
    account = _account(state, account_id)
    if account["status"] != "frozen":
        raise Refused(f"account {account_id} is {account['status']}, not frozen")
    account["status"] = "open"
    return {"account_id": account_id, "status": "open", "cards_blocked": []}


def set_card_limits(
    state: BankState,
    card_ids: Annotated[list[CardId], Field(min_length=1)],
    daily_limit: Annotated[int, Field(ge=0, description="Whole cents a day.")],
) -> Limits:
    """Set the daily limit of one or several cards."""
    if daily_limit > MAX_DAILY_LIMIT:
        raise Refused(f"a daily limit is at most {MAX_DAILY_LIMIT}, not {daily_limit}")
    for card_id in card_ids:
        card = found(state["cards"], card_id, "card")
        if card["status"] == "blocked":
            raise Refused(f"card {card_id} is blocked")
        card["daily_limit"] = daily_limit
    return {"changed": list(card_ids), "daily_limit": daily_limit}


def order_card(state: BankState, account_id: AccountId) -> NewCard:
    """Issue a new card for an open account, with a daily limit of 20000."""
    _open_account(state, account_id)
    card_id = _next_id(state, "C")
    card: Card = {"account_id": account_id, "status": "active", "daily_limit": 20000}
    state["cards"][card_id] = card
    return {"card_id": card_id, **card}


def close_account(state: BankState, account_id: AccountId, payout_to: AccountId) -> Closed:
    """Close an account: pay its balance out, end its standing orders, block its cards."""
    account = _open_account(state, account_id)
    payee = _receiving_account(state, payout_to)
    if account["balance"] < 0:
        raise Refused(f"account {account_id} is overdrawn by {-account['balance']}")
    if payout_to == account_id or payee["customer_id"] != account["customer_id"]:
        raise Refused("the balance is paid out to another account of the same customer")
    paid_out = account["balance"]
    payee["balance"] += paid_out
    account["balance"] = 0
    account["status"] = "closed"
    orders = state["standing_orders"]
    ended = sorted(key for key, order in orders.items() if account_id in (order["source"], order["target"]))
    for key in ended:
        del orders[key]
    return {
        "account_id": account_id,
        "paid_out": paid_out,
        "standing_orders_ended": ended,
        "cards_blocked": _block_cards(state, account_id),
    }


def month_end(state: BankState) -> Fees:
    """Charge the monthly fee to every open current account that can bear it."""
    charged: list[str] = []
    skipped: list[str] = []
    for account_id, account in sorted(state["accounts"].items()):
        if account["kind"] != "current" or account["status"] != "open":
            continue
        if account["balance"] + account["overdraft"] < ACCOUNT_FEE:
            skipped.append(account_id)
            continue
        account["balance"] -= ACCOUNT_FEE
        charged.append(account_id)
    if not charged:
        raise Refused("no account can be charged")
    return {"charged": charged, "skipped": skipped, "fee": ACCOUNT_FEE}


TOOLS: tuple[Action, ...] = (
    find_customer,
    get_account,
    list_transfers,
    todays_journal,
    frozen_accounts,
    deposit,
    transfer,
    pay_many,
    freeze_account,
    unfreeze_account,
    set_card_limits,
    order_card,
    close_account,
    month_end,
)


def _account(state: BankState, account_id: str) -> Account:
    if account_id not in state["accounts"]:
        raise Refused(f"account {account_id!r} not found")
    return state["accounts"][account_id]


def _open_account(state: BankState, account_id: str) -> Account:
    account = _account(state, account_id)
    if account["status"] != "open":
        raise Refused(f"account {account_id} is {account['status']}")
    return account


def _receiving_account(state: BankState, account_id: str) -> Account:
    account = _account(state, account_id)
    if account["status"] == "closed":
        raise Refused(f"account {account_id} is closed")
    return account


def _cards_of(state: BankState, account_id: str) -> list[str]:
    return sorted(key for key, card in state["cards"].items() if card["account_id"] == account_id)


def _block_cards(state: BankState, account_id: str) -> list[str]:
    blocked = [key for key in _cards_of(state, account_id) if state["cards"][key]["status"] == "active"]
    for card_id in blocked:
        state["cards"][card_id]["status"] = "blocked"
    return blocked


def _next_id(state: BankState, prefix: str) -> str:
    number = state["next_number"]
    state["next_number"] = number + 1
    return f"{prefix}-{number}"

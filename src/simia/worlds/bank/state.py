"""What Kestrel Bank keeps: customers, accounts, cards, standing orders and transfers. Amounts are whole cents."""

import random
from datetime import date, timedelta
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from simia.types import Invariant, State

Day = Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
Cents = Annotated[int, Field(ge=0)]
AccountKind = Literal["current", "savings"]
CardStatus = Literal["active", "blocked"]


class Customer(TypedDict):
    name: str
    email: str


class Account(TypedDict):
    customer_id: str
    kind: AccountKind
    balance: int
    overdraft: Cents
    status: Literal["open", "frozen", "closed"]


class Card(TypedDict):
    account_id: str
    status: CardStatus
    daily_limit: Cents


class StandingOrder(TypedDict):
    source: str
    target: str
    amount: Cents


class Transfer(TypedDict):
    source: str
    target: str
    amount: Cents
    day: Day
    memo: str


class BankState(TypedDict):
    """The whole state."""

    today: Day
    next_number: int
    customers: dict[str, Customer]
    accounts: dict[str, Account]
    cards: dict[str, Card]
    standing_orders: dict[str, StandingOrder]
    transfers: dict[str, Transfer]


INVARIANTS = (
    Invariant(
        name="accounts belong to customers", expression="values(accounts)[].customer_id", refers_to="keys(customers)"
    ),
    Invariant(name="cards belong to accounts", expression="values(cards)[].account_id", refers_to="keys(accounts)"),
    Invariant(
        name="standing orders run between accounts",
        expression="[values(standing_orders)[].source, values(standing_orders)[].target][]",
        refers_to="keys(accounts)",
    ),
    Invariant(
        name="transfers run between accounts",
        expression="[values(transfers)[].source, values(transfers)[].target][]",
        refers_to="keys(accounts)",
    ),
    Invariant(
        name="no account is below its overdraft",
        expression="length(values(accounts)[?sum([balance, overdraft]) < `0`]) == `0`",
    ),
    Invariant(
        name="a closed account is empty",
        expression="length(values(accounts)[?status == 'closed' && balance != `0`]) == `0`",
    ),
)

_NAMES = ("Ada Fjord", "Ben Okoye", "Carla Nunes", "Dan Petrov", "Esra Kaya", "Femi Ade", "Greta Holm", "Hugo Marin")
_MEMOS = ("rent", "electricity", "gift", "groceries", "tuition", "repair", "subscription")


def draw_state(rng: random.Random) -> State:
    """Three customers with five accounts, some cards and standing orders, on some day of 2025."""
    today = date(2025, 2, 1) + timedelta(days=rng.randrange(300))
    customers = {
        f"K-{number}": _customer(name) for number, name in zip(_numbers(rng, 3), rng.sample(_NAMES, 3), strict=True)
    }
    owners = [*customers, *rng.choices(sorted(customers), k=2)]
    accounts = {f"A-{number}": _account(rng, owner) for number, owner in zip(_numbers(rng, 5), owners, strict=True)}
    for account in rng.sample(sorted(accounts), 1) if rng.random() < 0.4 else ():
        accounts[account]["status"] = "frozen"
    ids = sorted(accounts)
    cards = {f"C-{number}": _card(rng, accounts, rng.choice(ids)) for number in _numbers(rng, 4)}
    orders = {f"S-{number}": _order(rng, ids) for number in _numbers(rng, rng.randrange(1, 4))}
    transfers = {f"T-{number}": _transfer(rng, ids, today) for number in _numbers(rng, 3)}
    return {
        "today": today.isoformat(),
        "next_number": rng.randrange(500, 900),
        "customers": customers,
        "accounts": accounts,
        "cards": cards,
        "standing_orders": orders,
        "transfers": transfers,
    }


def _numbers(rng: random.Random, count: int) -> list[int]:
    return sorted(rng.sample(range(100, 500), count))


def _customer(name: str) -> Customer:
    return {"name": name, "email": f"{name.lower().replace(' ', '.')}@kestrel.example"}


def _account(rng: random.Random, owner: str) -> Account:
    kind: AccountKind = rng.choice(("current", "current", "savings"))
    overdraft = rng.choice((0, 20000, 50000)) if kind == "current" else 0
    return {
        "customer_id": owner,
        "kind": kind,
        "balance": rng.randrange(2000, 900000),
        "overdraft": overdraft,
        "status": "open",
    }


def _card(rng: random.Random, accounts: dict[str, Account], account_id: str) -> Card:
    frozen = accounts[account_id]["status"] == "frozen"
    status: CardStatus = "blocked" if frozen or rng.random() < 0.2 else "active"
    return {"account_id": account_id, "status": status, "daily_limit": rng.choice((20000, 50000, 100000))}


def _order(rng: random.Random, ids: list[str]) -> StandingOrder:
    source, target = rng.sample(ids, 2)
    return {"source": source, "target": target, "amount": rng.randrange(10, 900) * 100}


def _transfer(rng: random.Random, ids: list[str], today: date) -> Transfer:
    source, target = rng.sample(ids, 2)
    day = today - timedelta(days=rng.randrange(6))
    return {
        "source": source,
        "target": target,
        "amount": rng.randrange(5, 2000) * 50,
        "day": day.isoformat(),
        "memo": rng.choice(_MEMOS),
    }

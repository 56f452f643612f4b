"""Evenings at the Copper Ladle to begin from."""

import random
from collections.abc import Iterator
from datetime import date, timedelta

from simia.types import State
from simia.worlds.restaurant.state import Bill, Dish, Line, Reservation, RestaurantState, Station, Table, Ticket

_GUESTS = (
    "Aino Berg",
    "Bilal Rahman",
    "Celia Duarte",
    "Dmitri Volk",
    "Ewa Lis",
    "Fola Sanni",
    "Goran Ilic",
    "Hana Mori",
)
_DISHES: tuple[tuple[str, int, Station, dict[str, int]], ...] = (
    ("Tomato soup", 720, "oven", {"tomato": 3, "cream": 1}),
    ("Grilled trout", 2150, "grill", {"fish": 1, "lemon": 1}),
    ("Bean salad", 890, "cold", {"beans": 2, "lemon": 1}),
    ("Cheese pie", 1280, "oven", {"flour": 2, "cheese": 2, "egg": 1}),
    ("Omelette", 980, "grill", {"egg": 3, "cheese": 1}),
    ("Lemon tart", 650, "cold", {"flour": 1, "lemon": 2, "egg": 1}),
    ("Fish cakes", 1640, "grill", {"fish": 1, "flour": 1, "egg": 1}),
    ("Baked beans", 1050, "oven", {"beans": 3, "tomato": 2}),
)


def draw_state(rng: random.Random) -> State:
    """Five tables, two or three of them with guests who have ordered, on some day of 2025."""
    tables = {f"T-{number}": _table(rng) for number in _numbers(rng, 1, 30, 5)}
    names = rng.sample(_GUESTS, 5)
    seated = rng.randint(2, 3)
    reservations = {}
    for number, name, table_id in zip(_numbers(rng, 100, 500, 5), names, rng.sample(sorted(tables), 5), strict=True):
        reservations[f"R-{number}"] = _reservation(rng, name, table_id, tables[table_id]["seats"])
    state: RestaurantState = {
        "today": (date(2025, 2, 1) + timedelta(days=rng.randrange(300))).isoformat(),
        "next_number": rng.randrange(500, 900),
        "tables": tables,
        "reservations": reservations,
        "dishes": _dishes(rng),
        "stock": {},
        "bills": {},
        "lines": {},
        "tickets": {},
        "till": {"card": 0, "cash": 0},
        "takings": {},
    }
    for dish in state["dishes"].values():
        state["stock"].update({ingredient: rng.randrange(5, 40) for ingredient in dish["recipe"]})
    numbers = iter(rng.sample(range(100, 500), 40))
    parties = rng.sample(sorted(reservations), seated + 1)
    for reservation_id in parties[:seated]:
        _seat(rng, state, reservation_id, numbers)
    if rng.random() < 0.5:
        _leave(rng, state, parties[-1], numbers)
    return dict(state)


def _numbers(rng: random.Random, first: int, end: int, count: int) -> list[int]:
    return sorted(rng.sample(range(first, end), count))


def _table(rng: random.Random) -> Table:
    return {"seats": rng.choice((2, 4, 4, 6, 8)), "area": rng.choice(("room", "room", "terrace")), "reservation": None}


def _reservation(rng: random.Random, guest: str, table_id: str, seats: int) -> Reservation:
    time = f"{rng.randrange(18, 21)}:{rng.choice((0, 15, 30)):02}"
    return {"guest": guest, "guests": rng.randint(1, seats), "time": time, "table": table_id, "status": "booked"}


def _dishes(rng: random.Random) -> dict[str, Dish]:
    drawn = rng.sample(_DISHES, 5)
    return {
        f"D-{number}": {"name": name, "price": price, "station": station, "recipe": dict(recipe)}
        for number, (name, price, station, recipe) in zip(_numbers(rng, 10, 60, 5), drawn, strict=True)
    }


def _seat(rng: random.Random, state: RestaurantState, reservation_id: str, numbers: Iterator[int]) -> None:
    """Guests who have one bill, with one to four lines, served or not."""
    reservation = state["reservations"][reservation_id]
    reservation["status"] = "seated"
    state["tables"][reservation["table"]]["reservation"] = reservation_id
    bill_id = f"B-{next(numbers)}"
    bill: Bill = {"table": reservation["table"], "status": "open", "total": 0}
    state["bills"][bill_id] = bill
    served = rng.random() < 0.5
    tickets: dict[Station, str] = {}
    for dish_id in rng.sample(sorted(state["dishes"]), rng.randint(1, 4)):
        dish = state["dishes"][dish_id]
        if not served and dish["station"] not in tickets:
            tickets[dish["station"]] = f"K-{next(numbers)}"
            ticket: Ticket = {"table": reservation["table"], "station": dish["station"]}
            state["tickets"][tickets[dish["station"]]] = ticket
        quantity = rng.randint(1, 3)
        line: Line = {
            "bill": bill_id,
            "dish": dish_id,
            "quantity": quantity,
            "amount": quantity * dish["price"],
            "ticket": tickets.get(dish["station"]),
        }
        state["lines"][f"L-{next(numbers)}"] = line
        bill["total"] += line["amount"]


def _leave(rng: random.Random, state: RestaurantState, reservation_id: str, numbers: Iterator[int]) -> None:
    """Guests who have paid and left."""
    reservation = state["reservations"][reservation_id]
    reservation["status"] = "left"
    total = rng.randrange(20, 150) * 60
    bill: Bill = {"table": reservation["table"], "status": "paid", "total": total}
    state["bills"][f"B-{next(numbers)}"] = bill
    state["till"]["card"] += total

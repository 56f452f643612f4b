"""Kinds of tasks on an evening in the restaurant, each with the calls that do it."""

import random
from typing import Any

from simia.worlds.drafting import Draft, NoTask, TaskKind, pick, pick_some

_CALLERS = ("Ivo Lambert", "Jun Sato", "Karin Olsen", "Luis Paredes")


def take_a_booking(rng: random.Random, draft: Draft) -> str:
    table = pick(rng, draft.state["tables"])
    guests = rng.randint(1, draft.state["tables"][table]["seats"])
    caller, time = rng.choice(_CALLERS), f"{rng.randrange(18, 23)}:{rng.choice((0, 30)):02}"
    draft.do("floor_plan")
    draft.do("reserve", guest=caller, guests=guests, time=time, table_id=table)
    return f"{caller} is on the phone for tonight at {time}, {guests} people. Put the name down for {table}."


def greet_the_booked(rng: random.Random, draft: Draft) -> str:
    reservation = pick(rng, draft.state["reservations"], where=lambda row: row["status"] == "booked")
    guest = draft.state["reservations"][reservation]["guest"]
    draft.do("floor_plan")
    bill = draft.do("seat_party", reservation_id=reservation)["bill_id"]
    items = _items(rng, draft, most=2)
    draft.do("place_order", bill_id=bill, items=items)
    return f"{guest} has arrived as booked. Show them in, and they would like {_wanted(draft, items)} straight away."


def take_an_order(rng: random.Random, draft: Draft) -> str:
    bill = pick(rng, draft.state["bills"], where=lambda row: row["status"] == "open")
    items = _items(rng, draft, most=3)
    for item in items[:3]:
        if item["quantity"] >= 3:
            draft.do("portions_left", dish_id=item["dish"])
    draft.do("place_order", bill_id=bill, items=items)
    return f"On {bill} please: {_wanted(draft, items)}. If it is three or more of one, check what we have first."


def stock_up(rng: random.Random, draft: Draft) -> str:
    dish = pick(rng, draft.state["dishes"])
    ingredients = pick_some(rng, draft.state["stock"], 1, rng.choice((1, 2, 3, 6)))
    deliveries = [{"ingredient": ingredient, "units": rng.randrange(5, 60)} for ingredient in ingredients]
    draft.do("receive_delivery", deliveries=deliveries)
    draft.do("portions_left", dish_id=dish)
    units = _and([f"{row['units']} {row['ingredient']}" for row in deliveries])
    return f"The van brought {units} (in our units). Book it in; how often can we make {dish} now?"


def bring_the_food(rng: random.Random, draft: Draft) -> str:
    tickets = pick_some(rng, draft.state["tickets"], 1, 4)
    draft.do("kitchen_queue")
    draft.do("serve_tickets", ticket_ids=tickets)
    return f"The kitchen calls {_and(tickets)}. Is that in the queue? Then out with it."


def pay_apart(rng: random.Random, draft: Draft) -> str:
    bill = pick(rng, draft.state["bills"], where=lambda row: row["status"] == "open")
    lines = draft.do("show_bill", bill_id=bill)["lines"]
    chosen = pick_some(rng, lines, 1, 4)
    draft.do("split_bill", bill_id=bill, line_ids=chosen)
    return f"Somebody on {bill} wants to pay {_and(chosen)} alone. Make a bill of its own for that."


def pay_together(rng: random.Random, draft: Draft) -> str:
    bill = _arrange_bills(rng, draft)
    table = draft.state["bills"][bill]["table"]
    others = [key for key in _open_bills(draft, table) if key != bill]
    draft.do("show_bill", bill_id=bill)
    draft.do("merge_bills", bill_id=bill, others=others)
    return f"At {table} they settled it, all on one: {_and(others)} go onto {bill}. What is on {bill} so far?"


def change_places(rng: random.Random, draft: Draft) -> str:
    source = pick(rng, draft.state["tables"], where=lambda row: row["reservation"] is not None)
    if rng.random() < 0.5:
        _arrange_bills(rng, draft, table=source)
    target = pick(rng, draft.state["tables"], where=lambda row: row["reservation"] is None)
    area = draft.state["tables"][target]["area"]
    draft.do("floor_plan")
    draft.do("move_party", source=source, target=target)
    return f"It is too loud for the guests at {source}. They would rather sit at {target} ({area}), if it is not taken."


def settle_up(rng: random.Random, draft: Draft) -> str:
    bill = pick(rng, draft.state["bills"], where=lambda row: row["status"] == "open")
    table = draft.state["bills"][bill]["table"]
    if rng.random() < 0.4:
        _arrange_bills(rng, draft, table=table)
    bills = _open_bills(draft, table)
    tickets = sorted(key for key, row in draft.state["tickets"].items() if row["table"] == table)
    method, words = rng.choice((("card", "by card"), ("cash", "in cash")))
    for key in bills[:2]:
        draft.do("show_bill", bill_id=key)
    if tickets:
        draft.do("serve_tickets", ticket_ids=tickets)
    draft.do("pay_bills", bill_ids=bills, method=method)
    if tickets:
        return f"{_and(tickets)} just went out to {table}, and they pay {words} at once: {_and(bills)}."
    return f"{table} would like to pay {words}. Show me {_and(bills)}, then take the money."


def end_the_day(rng: random.Random, draft: Draft) -> str:
    _arrange_empty_tables(draft)
    draft.do("floor_plan")
    draft.do("close_day")
    return "This is the manager. Make sure that everybody has left and close the day. Who did not turn up?"


KINDS: tuple[TaskKind, ...] = (
    take_a_booking,
    greet_the_booked,
    take_an_order,
    bring_the_food,
    stock_up,
    pay_apart,
    pay_together,
    change_places,
    settle_up,
    end_the_day,
)


def _and(words: list[str]) -> str:
    return ", ".join(words[:-1]) + f" and {words[-1]}" if len(words) > 1 else words[0]


def _open_bills(draft: Draft, table: str) -> list[str]:
    bills = draft.state["bills"].items()
    return sorted(key for key, row in bills if row["table"] == table and row["status"] == "open")


def _items(rng: random.Random, draft: Draft, *, most: int) -> list[dict[str, Any]]:
    return [{"dish": dish, "quantity": rng.randint(1, 4)} for dish in pick_some(rng, draft.state["dishes"], 1, most)]


def _wanted(draft: Draft, items: list[dict[str, Any]]) -> str:
    dishes = draft.state["dishes"]
    return _and([f"{item['quantity']} x {dishes[item['dish']]['name']} ({item['dish']})" for item in items])


def _arrange_bills(rng: random.Random, draft: Draft, table: str | None = None) -> str:
    """A bill of ``table``, or of any, with its lines put on one to three bills before the task begins."""
    bill = pick(rng, draft.state["bills"], where=lambda row: row["status"] == "open" and table in (None, row["table"]))
    mine = sorted(key for key, row in draft.state["lines"].items() if row["bill"] == bill)
    if len(mine) < 2:
        raise NoTask("one line cannot be split")
    for number, line in zip(range(91, 94), mine[1:], strict=False):
        row = draft.state["lines"][line]
        draft.state["bills"][f"B-{number}"] = {**draft.state["bills"][bill], "total": row["amount"]}
        draft.state["bills"][bill]["total"] -= row["amount"]
        row["bill"] = f"B-{number}"
    return bill


def _arrange_empty_tables(draft: Draft) -> None:
    """Everybody has paid in cash and left, before the task begins."""
    state = draft.state
    for table in state["tables"].values():
        table["reservation"] = None
    for reservation in state["reservations"].values():
        reservation["status"] = "left" if reservation["status"] == "seated" else reservation["status"]
    for bill in state["bills"].values():
        state["till"]["cash"] += bill["total"] if bill["status"] == "open" else 0
        bill["status"] = "paid"
    state["lines"].clear()
    state["tickets"].clear()

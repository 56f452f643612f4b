"""Kinds of tasks in the warehouse, each with the calls that do it."""

import random
from typing import Any

from simia.worlds.drafting import Draft, TaskKind, pick, pick_some


def promise_orders(rng: random.Random, draft: Draft) -> str:
    _arrange_orders(rng, draft, "open", most=2)
    orders = pick_some(rng, draft.state["orders"], 1, 4, where=lambda row: row["status"] == "open")
    draft.do("orders_to_do")
    draft.do("get_order", order_id=orders[0])
    draft.do("reserve_orders", order_ids=orders)
    return rng.choice(
        (
            f"Please reserve the goods for {' and '.join(orders)}, after a look at {orders[0]}.",
            f"The customers of {', '.join(orders)} want to be sure of their goods. Reserve them, all or none.",
        )
    )


def pick_next(rng: random.Random, draft: Draft) -> str:
    order = pick(rng, draft.state["orders"], where=lambda row: row["status"] == "reserved")
    item = rng.choice(sorted(draft.state["orders"][order]["lines"]))
    draft.do("get_order", order_id=order)
    draft.do("get_item", item_id=item)
    draft.do("pick_order", order_id=order)
    return rng.choice(
        (
            f"I am going to pick {order} now. Where does {item} lie? Then book the picking.",
            f"{order} is next for picking. I cannot find {item}, so tell me its bins first; then book it all.",
        )
    )


def send_the_truck(rng: random.Random, draft: Draft) -> str:
    _arrange_orders(rng, draft, "picked", most=5)
    orders = pick_some(rng, draft.state["orders"], 1, 6, where=lambda row: row["status"] == "picked")
    draft.do("orders_to_do")
    draft.do("ship_orders", order_ids=orders)
    return rng.choice(
        (
            f"The truck is here and takes {', '.join(orders)} with it, nothing else. Ship them in this order.",
            f"Carrier at gate 2. Hand over {' then '.join(orders)}, in that order.",
        )
    )


def rush_an_order(rng: random.Random, draft: Draft) -> str:
    order = pick(rng, draft.state["orders"], where=lambda row: row["status"] == "open" and len(row["lines"]) < 4)
    customer = draft.state["orders"][order]["customer"]
    draft.do("get_order", order_id=order)
    draft.do("reserve_orders", order_ids=[order])
    draft.do("pick_order", order_id=order)
    draft.do("ship_orders", order_ids=[order])
    return rng.choice(
        (
            f"{customer} waits at the door for {order}, which is still open. Do all it needs until it is shipped.",
            f"{order} is open and must leave for {customer} within the hour: take it through every step.",
        )
    )


def call_off(rng: random.Random, draft: Draft) -> str:
    order = pick(rng, draft.state["orders"], where=lambda row: row["status"] in ("open", "reserved"))
    customer = draft.state["orders"][order]["customer"]
    draft.do("get_order", order_id=order)
    draft.do("cancel_order", order_id=order)
    draft.do("list_stock")
    return rng.choice(
        (
            f"{customer} does not want {order} any more. Cancel it, yes, and tell me what is free then.",
            f"Call off {order}, I have it in writing from {customer}. Which stock do we have for others afterwards?",
        )
    )


def take_in_goods(rng: random.Random, draft: Draft) -> str:
    delivery = pick(rng, draft.state["deliveries"], where=lambda row: row["status"] == "expected")
    target = pick(rng, draft.state["bins"])
    draft.do("expected_deliveries")
    draft.do("get_bin", bin_id=target)
    draft.do("receive_delivery", delivery_id=delivery, bin_id=target)
    return rng.choice(
        (
            f"{delivery} stands at the gate, complete. Put it into {target} if it fits.",
            f"Which deliveries are under way? {delivery} has just come; all of it goes into {target}.",
        )
    )


def clear_a_bin(rng: random.Random, draft: Draft) -> str:
    source = pick(rng, draft.state["bins"], where=lambda row: len(row["stock"]) > 0)
    target = pick(rng, {key: row for key, row in draft.state["bins"].items() if key != source})
    draft.do("get_bin", bin_id=source)
    draft.do("get_bin", bin_id=target)
    draft.do("move_bin", source=source, target=target)
    return rng.choice(
        (
            f"The shelf of {source} has to be repaired: bring everything in it over to {target}.",
            f"{source} must be empty tonight. If {target} has the room, all of it goes there.",
        )
    )


def book_a_count(rng: random.Random, draft: Draft) -> str:
    place = pick(rng, draft.state["bins"], where=lambda row: 1 < len(row["stock"]) < 5)
    stock: dict[str, int] = draft.state["bins"][place]["stock"]
    strays = rng.sample(sorted(set(draft.state["items"]) - set(stock)), rng.randrange(1, 3))
    found = {item: _recounted(rng, pieces) for item, pieces in stock.items()} | dict.fromkeys(strays, 3)
    counts: list[dict[str, Any]] = [{"item_id": item, "pieces": pieces} for item, pieces in found.items() if pieces]
    draft.do("get_bin", bin_id=place)
    draft.do("count_bin", bin_id=place, counts=counts)
    words = ", ".join(f"{row['pieces']} of {row['item_id']}" for row in counts) or "nothing"
    return rng.choice(
        (
            f"I have counted {place} twice and found {words}; that is all. Book it, I confirm.",
            f"Cycle count of {place}, confirmed by two people: {words}, and nothing else. Please book it.",
        )
    )


def buy_what_is_short(rng: random.Random, draft: Draft) -> str:
    draft.do("list_stock")
    draft.do("expected_deliveries")
    draft.do("reorder")
    return rng.choice(
        (
            "Purchasing here. See what is in stock and what is under way, then order again what is short.",
            "This is the purchasing team: after a look at stock and expected deliveries, run today's reorder.",
        )
    )


KINDS: tuple[TaskKind, ...] = (
    promise_orders,
    pick_next,
    send_the_truck,
    rush_an_order,
    call_off,
    take_in_goods,
    clear_a_bin,
    book_a_count,
    buy_what_is_short,
)


def _recounted(rng: random.Random, pieces: int) -> int:
    """What a count finds: mostly a few pieces more or less, sometimes the same or nothing."""
    return rng.choice((0, pieces, pieces + rng.randrange(1, 5), pieces + 1, max(0, pieces - 2)))


def _arrange_orders(rng: random.Random, draft: Draft, status: str, *, most: int) -> None:
    """Some orders more with this status, before the task begins."""
    items = sorted(draft.state["items"])
    for number in rng.sample(range(500, 600), rng.randrange(most + 1)):
        lines = {item: rng.randrange(1, 6) for item in sorted(rng.sample(items, rng.randrange(1, 4)))}
        customer = rng.choice(("Kiosk Sol", "Cafe Tulip", "Studio Nine"))
        draft.state["orders"][f"O-{number}"] = {"customer": customer, "status": status, "lines": lines}

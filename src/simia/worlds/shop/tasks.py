"""Kinds of tasks in the shop, each with the calls that do it."""

import json
import random
from datetime import date, timedelta

import jmespath

from simia.types import JsonObject
from simia.worlds.drafting import Draft, NoTask, TaskKind, pick, pick_some
from simia.worlds.shop.schemas import MAX_PIECES
from simia.worlds.shop.states import address, order

_REASONS = {
    "changed_mind": "I changed my mind",
    "ordered_by_mistake": "I ordered by mistake",
    "found_cheaper": "I found it cheaper elsewhere",
    "too_slow": "it takes too long",
}
_HOMES = (
    address("12 Harbour Row", "Bristol", "BS1 4QA"),
    address("7 Chapel Street", "Leeds", "LS6 2AB"),
    address("88 Orchard Way", "Norwich", "NR2 1TF"),
)
_WISHES = (
    "my late brother's account closed and merged with mine",
    "an invoice in the name of my company",
    "the lamp repaired after the warranty has ended",
    "compensation for the banister that your driver broke",
)


def cancel_several(rng: random.Random, draft: Draft) -> str:
    customer_id = _pick_customer(rng, draft)
    order_ids = [_add_order(rng, draft, customer_id, "pending") for _ in range(rng.randrange(1, 4))]
    _narrow(rng, draft, customer_id)
    reason = rng.choice(sorted(_REASONS))
    email = _identify(draft, customer_id)
    draft.do("list_orders", customer_id=customer_id, status="pending")
    draft.do("cancel_orders", customer_id=customer_id, order_ids=order_ids, reason=reason)
    return f"My account is {email}. Cancel {', '.join(order_ids)}, all of it: {_REASONS[reason]}. I am sure."


def furnish(rng: random.Random, draft: Draft) -> str:
    customer_id = _pick_customer(rng, draft)
    _narrow(rng, draft, customer_id)
    pieces = _pieces(rng, draft, 2, 9)
    email = _identify(draft, customer_id)
    draft.do("search_products", words="")
    _place(draft, customer_id, pieces, "card_on_file")
    _demand_outcome(draft)
    return f"{email} here, just moved. Order for my new flat, on the card: {_listed(draft, pieces)}. Yes, do it."


def spend_credit(rng: random.Random, draft: Draft) -> str:
    customer_id = _pick_customer(rng, draft)
    draft.state["customers"][customer_id]["store_credit"] = rng.randrange(120, 300) * 1.0
    _narrow(rng, draft, customer_id)
    pieces = _pieces(rng, draft, 1, 3)
    sku = next(iter(pieces))
    email = _identify(draft, customer_id)
    draft.do("search_products", words=draft.state["products"][sku]["name"].split()[-1])
    _place(draft, customer_id, pieces, "store_credit")
    _demand_outcome(draft)
    return f"I would like to use up my store credit ({email}) on {_listed(draft, pieces)}. Place that order, please."


def redirect_a_parcel(rng: random.Random, draft: Draft) -> str:
    customer_id = _pick_customer(rng, draft)
    order_id = _add_order(rng, draft, customer_id, "pending")
    _narrow(rng, draft, customer_id)
    home = draft.state["customers"][customer_id]["address"]
    target = rng.choice((*_HOMES, {**home, "street": f"{rng.randrange(140, 190)} Station Road"}))
    email = _identify(draft, customer_id)
    draft.do("get_order", order_id=order_id)
    draft.do("change_shipping_address", order_id=order_id, address=target)
    place = f"{target['street']}, {target['city']} {target['postcode']}"
    return f"Send {order_id} to {place} instead, if it has not left yet. My account: {email}."


def send_things_back(rng: random.Random, draft: Draft) -> str:
    customer_id = _pick_customer(rng, draft)
    order_id = _add_order(rng, draft, customer_id, "delivered")
    _narrow(rng, draft, customer_id)
    email = _identify(draft, customer_id)
    skus = _some_skus(rng, draft, draft.do("get_order", order_id=order_id))
    refund_to = rng.choice(("original_payment", "store_credit"))
    draft.do("return_items", order_id=order_id, skus=skus, refund_to=refund_to)
    _demand_outcome(draft)
    where = "as store credit" if refund_to == "store_credit" else "the way I paid"
    return f"These do not fit my home: {_names(draft, skus)} of {order_id}. Take them back, refund {where}. ({email})"


def complain(rng: random.Random, draft: Draft) -> str:
    customer_id = _pick_customer(rng, draft)
    order_id = _add_order(rng, draft, customer_id, "delivered")
    _narrow(rng, draft, customer_id)
    amount = rng.randrange(2, 9) * 2.5
    reason, happened = rng.choice((("late", "came a week late"), ("damaged", "arrived with a broken corner")))
    email = _identify(draft, customer_id)
    draft.do("get_order", order_id=order_id)
    draft.do("give_store_credit", order_id=order_id, amount=amount, reason=reason)
    return f"{order_id} {happened}. I think {amount:.2f} of credit would be fair. My e-mail address is {email}."


def ask_for_a_human(rng: random.Random, draft: Draft) -> str:
    customer_id = _pick_customer(rng, draft)
    _narrow(rng, draft, customer_id)
    wish = rng.choice(_WISHES)
    email = _identify(draft, customer_id)
    draft.do("list_orders", customer_id=customer_id)
    draft.do("hand_over_to_human", customer_id=customer_id, summary=f"The customer wants {wish}.")
    draft.demand("one conversation is handed over", f'values(handovers)[].customer_id == `["{customer_id}"]`')
    return f"Hello, {email}. I want {wish}. If that is beyond you, get me a person."


def correct_an_order(rng: random.Random, draft: Draft) -> str:
    customer_id = _pick_customer(rng, draft)
    order_id = _add_order(rng, draft, customer_id, "pending")
    _narrow(rng, draft, customer_id)
    pieces = _pieces(rng, draft, 1, 4)
    email = _identify(draft, customer_id)
    draft.do("get_order", order_id=order_id)
    draft.do("cancel_orders", customer_id=customer_id, order_ids=[order_id], reason="ordered_by_mistake")
    _place(draft, customer_id, pieces, "card_on_file")
    _demand_outcome(draft)
    wanted = _listed(draft, pieces)
    return f"I got {order_id} wrong ({email}). Call it off and order {wanted} on my card instead. I am certain."


def exchange(rng: random.Random, draft: Draft) -> str:
    customer_id = _pick_customer(rng, draft)
    order_id = _add_order(rng, draft, customer_id, "delivered")
    _narrow(rng, draft, customer_id)
    pieces = _pieces(rng, draft, 1, 2)
    email = _identify(draft, customer_id)
    skus = _some_skus(rng, draft, draft.do("get_order", order_id=order_id))
    if set(skus) & set(pieces):
        raise NoTask("what is returned is ordered again")
    draft.do("search_products", words=draft.state["products"][next(iter(pieces))]["name"].lower())
    draft.do("return_items", order_id=order_id, skus=skus, refund_to="original_payment")
    _place(draft, customer_id, pieces, "card_on_file")
    _demand_outcome(draft)
    returned, wanted = _names(draft, skus), _listed(draft, pieces)
    return f"I, {email}, return {returned} from {order_id}, money back the way I paid; order {wanted} on my card then."


KINDS: tuple[TaskKind, ...] = (
    cancel_several,
    furnish,
    spend_credit,
    redirect_a_parcel,
    send_things_back,
    complain,
    ask_for_a_human,
    correct_an_order,
    exchange,
)


def _pick_customer(rng: random.Random, draft: Draft) -> str:
    """A customer, whose orders are forgotten."""
    customer_id = pick(rng, draft.state["customers"])
    orders = draft.state["orders"]
    draft.state["orders"] = {key: row for key, row in orders.items() if row["customer_id"] != customer_id}
    return customer_id


def _add_order(rng: random.Random, draft: Draft, customer_id: str, status: str) -> str:
    """Give the customer an order, placed so lately that it can still be cancelled or returned."""
    state = draft.state
    placed = date.fromisoformat(state["today"]) - timedelta(days=rng.randrange(5, 30))
    delivered = (placed + timedelta(days=4)).isoformat() if status == "delivered" else None
    skus = pick_some(rng, state["products"], 1, 3)
    pieces = {sku: rng.randrange(1, 4) for sku in sorted(skus)}
    home = state["customers"][customer_id]["address"]
    paid = rng.choice(("card_on_file", "card_on_file", "store_credit"))
    order_id = f"NL-{4900 + 7 * len(state['orders']) + rng.randrange(7)}"
    state["orders"][order_id] = order(customer_id, status, placed.isoformat(), pieces, home, delivered, paid)
    return order_id


def _narrow(rng: random.Random, draft: Draft, customer_id: str) -> None:
    """Keep one order of the other customers, the customers with orders, and ten products or those of the orders."""
    state = draft.state
    foreign = sorted(key for key, row in state["orders"].items() if row["customer_id"] != customer_id)
    for order_id in foreign[1:]:
        del state["orders"][order_id]
    keep = {customer_id, *(row["customer_id"] for row in state["orders"].values())}
    state["customers"] = {key: row for key, row in state["customers"].items() if key in keep}
    ordered = {item["sku"] for row in state["orders"].values() for item in row["items"]}
    spare = rng.sample(sorted(set(state["products"]) - ordered), max(0, 10 - len(ordered)))
    state["products"] = {key: row for key, row in state["products"].items() if key in ordered or key in spare}


def _identify(draft: Draft, customer_id: str) -> str:
    email = str(draft.state["customers"][customer_id]["email"])
    draft.do("find_customer", email=email)
    return email


def _pieces(rng: random.Random, draft: Draft, least: int, most: int) -> dict[str, int]:
    """How many of which products to order; there are enough of them."""
    table = draft.state["products"]
    skus = pick_some(rng, table, least, most, where=lambda row: row["stock"] > 0)
    return {sku: rng.randint(1, min(2, MAX_PIECES, table[sku]["stock"])) for sku in skus}


def _place(draft: Draft, customer_id: str, pieces: dict[str, int], payment_method: str) -> None:
    items = [{"sku": sku, "quantity": quantity} for sku, quantity in pieces.items()]
    draft.do("place_order", customer_id=customer_id, items=items, payment_method=payment_method)


def _listed(draft: Draft, pieces: dict[str, int]) -> str:
    names = {sku: draft.state["products"][sku]["name"] for sku in pieces}
    return ", ".join(f"{quantity} x {names[sku]} ({sku})" for sku, quantity in pieces.items())


def _names(draft: Draft, skus: list[str]) -> str:
    return ", ".join(f"{draft.state['products'][sku]['name']} ({sku})" for sku in skus)


def _some_skus(rng: random.Random, draft: Draft, bought: JsonObject) -> list[str]:
    """Items of the order that may be returned."""
    products = draft.state["products"]
    skus = [item["sku"] for item in bought["items"] if products[item["sku"]]["category"] != "clearance"]
    if not skus:
        raise NoTask("nothing of the order may be returned")
    return rng.sample(skus, rng.randint(1, len(skus)))


def _demand_outcome(draft: Draft) -> None:
    """Demand orders, stock and credit as the calls left them, in whatever sequence the items are named."""
    for name, expression in (
        ("the orders are as wanted", "sort_by(values(orders), &total)[].[status, total, refunded, payment_method]"),
        ("the items are as wanted", "sort_by(values(orders)[].items[], &sku)[].[sku, quantity, returned]"),
        ("the stock is as wanted", "values(products)[].stock"),
        ("the credit is as wanted", "values(customers)[].store_credit"),
    ):
        draft.demand(name, f"{expression} == `{json.dumps(jmespath.search(expression, draft.state))}`")

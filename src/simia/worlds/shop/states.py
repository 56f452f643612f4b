"""States of the shop: a catalogue, customers and orders, drawn or written down."""

import random
from datetime import date, timedelta

from simia.types import JsonObject, State

# Prices are multiples of 0.25, so that sums of them are exact in binary and invariants may compare with equality.
CATALOGUE: dict[str, tuple[str, str, float]] = {
    "KT-110": ("Cast iron skillet", "kitchen", 42.5),
    "KT-142": ("Ceramic teapot", "kitchen", 28.0),
    "KT-165": ("Bread knife", "kitchen", 24.5),
    "KT-190": ("Digital kitchen scale", "kitchen", 19.75),
    "LT-204": ("Clip-on reading lamp", "lighting", 17.5),
    "LT-231": ("Paper floor lamp", "lighting", 64.0),
    "LT-258": ("Solar garden lights, set of 6", "lighting", 31.25),
    "GD-301": ("Pruning shears", "garden", 22.75),
    "GD-327": ("Raised planter box", "garden", 79.5),
    "GD-344": ("Expandable garden hose", "garden", 36.0),
    "OD-402": ("Two-person hammock", "outdoor", 58.0),
    "OD-419": ("Insulated bottle", "outdoor", 21.5),
    "OD-433": ("Folding camp stool", "outdoor", 26.25),
    "OD-470": ("Waterproof picnic blanket", "outdoor", 33.0),
    "CL-508": ("Wicker basket, last season", "clearance", 12.5),
    "CL-533": ("Copper wind chime, last season", "clearance", 9.75),
}

_FIRST = ("Amara", "Bjorn", "Chiara", "Dmitri", "Elif", "Farah", "Gareth", "Hana", "Ines", "Jonas", "Keiko", "Leon")
_LAST = ("Adeyemi", "Bakker", "Castillo", "Dufour", "Eriksen", "Fontana", "Gallagher", "Haddad", "Ivanova", "Jensen")
_STREETS = ("Harbour Row", "Mill Lane", "Station Road", "Orchard Way", "Chapel Street", "Old Bridge Road")
_CITIES = (("Bristol", "BS1 4QA"), ("Leeds", "LS6 2AB"), ("Cardiff", "CF10 3NP"), ("Norwich", "NR2 1TF"))


def address(street: str, city: str, postcode: str) -> JsonObject:
    return {"street": street, "city": city, "postcode": postcode}


def customer(name: str, email: str, home: JsonObject, card_last4: str, store_credit: float = 0.0) -> JsonObject:
    return {"name": name, "email": email, "address": home, "card_last4": card_last4, "store_credit": store_credit}


def order(
    customer_id: str,
    status: str,
    placed_on: str,
    pieces: dict[str, int],
    home: JsonObject,
    delivered_on: str | None = None,
    payment_method: str = "card_on_file",
) -> JsonObject:
    """An order at catalogue prices; cancelled means refunded in full."""
    items: list[JsonObject] = []
    for sku, quantity in pieces.items():
        name, _, price = CATALOGUE[sku]
        items.append(
            {
                "sku": sku,
                "name": name,
                "quantity": quantity,
                "unit_price": price,
                "line_total": price * quantity,
                "returned": False,
            }
        )
    total = sum(item["line_total"] for item in items)
    return {
        "customer_id": customer_id,
        "status": status,
        "placed_on": placed_on,
        "delivered_on": delivered_on,
        "items": items,
        "total": total,
        "refunded": total if status == "cancelled" else 0.0,
        "payment_method": payment_method,
        "shipping_address": dict(home),
        "goodwill": 0.0,
    }


def draw_state(rng: random.Random, today: date | None = None, customers: int = 3, orders: int = 5) -> State:
    """A shop on some day: every product, ``customers`` accounts with ``orders`` orders between them."""
    day = today or date(2025, 3, 3) + timedelta(days=rng.randrange(200))
    products = {
        sku: {"name": name, "category": category, "price": price, "stock": rng.choice((0, 3, 7, 12, 24, 40))}
        for sku, (name, category, price) in CATALOGUE.items()
    }
    people = {}
    for number in sorted(rng.sample(range(200, 800), customers)):
        people[f"C-{number}"] = _draw_customer(rng)
    numbers = rng.sample(range(4100, 4900), orders)
    return {
        "today": day.isoformat(),
        "next_number": 5000 + rng.randrange(900),
        "customers": people,
        "products": products,
        "orders": {f"NL-{number}": _draw_order(rng, day, people) for number in sorted(numbers)},
        "returns": {},
        "handovers": {},
    }


def _draw_customer(rng: random.Random) -> JsonObject:
    first, last = rng.choice(_FIRST), rng.choice(_LAST)
    city, postcode = rng.choice(_CITIES)
    home = address(f"{rng.randrange(1, 140)} {rng.choice(_STREETS)}", city, postcode)
    email = f"{first}.{last}{rng.randrange(10, 99)}@example.com".lower()
    return customer(f"{first} {last}", email, home, f"{rng.randrange(1000, 9999)}", rng.choice((0.0, 0.0, 15.0, 40.0)))


def _draw_order(rng: random.Random, today: date, people: dict[str, JsonObject]) -> JsonObject:
    customer_id = rng.choice(sorted(people))
    status = rng.choice(("pending", "pending", "shipped", "delivered", "delivered", "cancelled"))
    placed = today - timedelta(days=rng.randrange(1, 4) if status == "pending" else rng.randrange(5, 60))
    late_days = rng.randrange(2, 5)
    delivered = (placed + timedelta(days=late_days)).isoformat() if status == "delivered" else None
    pieces = {sku: rng.randrange(1, 4) for sku in rng.sample(sorted(CATALOGUE), rng.randrange(1, 4))}
    home = people[customer_id]["address"]
    payment = rng.choice(("card_on_file", "card_on_file", "store_credit"))
    return order(customer_id, status, placed.isoformat(), pieces, home, delivered, payment)

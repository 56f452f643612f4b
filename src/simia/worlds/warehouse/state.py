"""What the warehouse keeps: items, bins with their stock, customers' orders, shipments, suppliers and deliveries."""

import random
from datetime import date, timedelta
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from simia.types import Invariant, State

Day = Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
Pieces = Annotated[int, Field(ge=0)]
OrderStatus = Literal["open", "reserved", "picked", "shipped", "cancelled"]


class Item(TypedDict):
    """``on_hand`` is what lies in all bins, ``reserved`` the part of it that orders wait for."""

    name: str
    supplier_id: str
    on_hand: Pieces
    reserved: Pieces
    minimum: Pieces
    on_order: Pieces


class Bin(TypedDict):
    capacity: Pieces
    stock: dict[str, Annotated[int, Field(gt=0)]]


class Order(TypedDict):
    customer: str
    status: OrderStatus
    lines: dict[str, Annotated[int, Field(gt=0)]]


class Shipment(TypedDict):
    order_id: str
    day: Day


class Supplier(TypedDict):
    name: str
    email: str


class Delivery(TypedDict):
    supplier_id: str
    status: Literal["expected", "received"]
    lines: dict[str, Annotated[int, Field(gt=0)]]


class WarehouseState(TypedDict):
    """The whole state."""

    today: Day
    next_number: int
    items: dict[str, Item]
    bins: dict[str, Bin]
    orders: dict[str, Order]
    shipments: dict[str, Shipment]
    suppliers: dict[str, Supplier]
    deliveries: dict[str, Delivery]


INVARIANTS = (
    Invariant(name="items come from suppliers", expression="values(items)[].supplier_id", refers_to="keys(suppliers)"),
    Invariant(
        name="deliveries come from suppliers",
        expression="values(deliveries)[].supplier_id",
        refers_to="keys(suppliers)",
    ),
    Invariant(
        name="only items are stored, ordered and delivered",
        expression="[values(bins)[].keys(stock), [values(orders), values(deliveries)][][].keys(lines)][][]",
        refers_to="keys(items)",
    ),
    Invariant(name="shipments carry orders", expression="values(shipments)[].order_id", refers_to="keys(orders)"),
    Invariant(
        name="what is on hand lies in the bins",
        expression="sum(values(items)[].on_hand) == sum(values(bins)[].values(stock)[])",
    ),
    Invariant(name="what is reserved is on hand", expression="length(values(items)[?reserved > on_hand]) == `0`"),
    Invariant(
        name="reservations are those of orders",
        expression="sum(values(items)[].reserved) == sum(values(orders)[?status == 'reserved'].values(lines)[])",
    ),
    Invariant(name="no bin is too full", expression="length(values(bins)[?sum(values(stock)) > capacity]) == `0`"),
)

_GOODS = ("desk lamp", "floor mat", "tea kettle", "wall hook", "wool blanket", "bread knife", "umbrella", "vase")
_CUSTOMERS = ("Bistro Linde", "Haru Studio", "Hotel Baobab", "Okafor & Sons", "Villa Norte", "Casa Mirim")
_SUPPLIERS = ("Alto Wares", "Brightwell", "Delta Goods", "Sorrel Trade")


def draw_state(rng: random.Random) -> State:
    """Six items in five bins, four orders, and one expected delivery."""
    suppliers: dict[str, Supplier] = {
        f"V-{number}": {"name": name, "email": f"orders@{name.lower().replace(' ', '-')}.example"}
        for number, name in zip(_numbers(rng, 2), rng.sample(_SUPPLIERS, 2), strict=True)
    }
    names = rng.sample(_GOODS, 6)
    items = {f"I-{number}": _item(rng, name, suppliers) for number, name in zip(_numbers(rng, 6), names, strict=True)}
    bins = {f"B-{number}": _bin(rng, items) for number in sorted(rng.sample(range(10, 60), 5))}
    bins[rng.choice(sorted(bins))]["stock"] = {}
    for row in bins.values():
        for item_id, pieces in row["stock"].items():
            items[item_id]["on_hand"] += pieces
    orders = {f"O-{number}": _order(rng, items) for number in _numbers(rng, 4)}
    for order in orders.values():
        _reserve(rng, items, order)
    today = date(2025, 2, 1) + timedelta(days=rng.randrange(300))
    return {
        "today": today.isoformat(),
        "next_number": rng.randrange(500, 900),
        "items": items,
        "bins": bins,
        "orders": orders,
        "shipments": {},
        "suppliers": suppliers,
        "deliveries": {f"D-{number}": _delivery(rng, items) for number in _numbers(rng, 1)},
    }


def _numbers(rng: random.Random, count: int) -> list[int]:
    return sorted(rng.sample(range(100, 500), count))


def _item(rng: random.Random, name: str, suppliers: dict[str, Supplier]) -> Item:
    return {
        "name": name,
        "supplier_id": rng.choice(sorted(suppliers)),
        "on_hand": 0,
        "reserved": 0,
        "minimum": rng.randrange(5, 60, 5),
        "on_order": 0,
    }


def _bin(rng: random.Random, items: dict[str, Item]) -> Bin:
    stored = sorted(rng.sample(sorted(items), rng.randrange(2, 6)))
    return {"capacity": rng.choice((120, 160, 200)), "stock": {item: rng.randrange(4, 24) for item in stored}}


def _order(rng: random.Random, items: dict[str, Item]) -> Order:
    wanted = sorted(rng.sample(sorted(items), rng.randrange(1, 5)))
    return {
        "customer": rng.choice(_CUSTOMERS),
        "status": "open",
        "lines": {key: rng.randrange(1, 12) for key in wanted},
    }


def _reserve(rng: random.Random, items: dict[str, Item], order: Order) -> None:
    """Bring an order that the stock covers some way on: reserved, or picked already."""
    covered = all(items[key]["on_hand"] - items[key]["reserved"] >= pieces for key, pieces in order["lines"].items())
    order["status"] = rng.choice(("open", "reserved", "reserved", "picked")) if covered else "open"
    if order["status"] == "reserved":
        for key, pieces in order["lines"].items():
            items[key]["reserved"] += pieces


def _delivery(rng: random.Random, items: dict[str, Item]) -> Delivery:
    """An expected delivery of the items of one supplier."""
    supplier = items[rng.choice(sorted(items))]["supplier_id"]
    own = [key for key in sorted(items) if items[key]["supplier_id"] == supplier]
    lines = {key: rng.randrange(5, 25) for key in own[:3]}
    for key, pieces in lines.items():
        items[key]["on_order"] += pieces
    return {"supplier_id": supplier, "status": "expected", "lines": lines}

"""The tools that look and change nothing, and how a record is found."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.executable import Refused
from simia.worlds.warehouse.state import Bin, Delivery, Item, Order, OrderStatus, Pieces, WarehouseState

ItemId = Annotated[str, Field(description="Item number, for example 'I-231'.")]
BinId = Annotated[str, Field(description="Bin number, for example 'B-17'.")]
OrderId = Annotated[str, Field(description="Order number, for example 'O-311'.")]


class StockRow(TypedDict):
    item_id: str
    name: str
    free: Pieces
    short: bool


class ItemDetails(Item):
    item_id: str
    bins: dict[str, int]


class BinDetails(Bin):
    bin_id: str
    space_left: Pieces


class OrderDetails(Order):
    order_id: str


class DeliveryDetails(Delivery):
    delivery_id: str
    supplier: str


def list_stock(state: WarehouseState) -> list[StockRow]:
    """Every item with the pieces that no order waits for, and whether it is short.

    An item is short if what is free and on order is less than its minimum.
    """
    return [
        {"item_id": item_id, "name": item["name"], "free": item["on_hand"] - item["reserved"], "short": is_short(item)}
        for item_id, item in sorted(state["items"].items())
    ]


def orders_to_do(state: WarehouseState) -> dict[str, OrderStatus]:
    """The orders that are neither shipped nor cancelled, with their status."""
    orders = {key: order["status"] for key, order in sorted(state["orders"].items())}
    return {key: status for key, status in orders.items() if status not in ("shipped", "cancelled")}


def expected_deliveries(state: WarehouseState) -> list[DeliveryDetails]:
    """The deliveries that have not arrived yet."""
    return [
        {"delivery_id": key, "supplier": state["suppliers"][delivery["supplier_id"]]["name"], **delivery}
        for key, delivery in sorted(state["deliveries"].items())
        if delivery["status"] == "expected"
    ]


def get_item(state: WarehouseState, item_id: ItemId) -> ItemDetails:
    """Everything about one item, with the pieces in each bin that has it."""
    item = item_of(state, item_id)
    bins = {key: row["stock"][item_id] for key, row in sorted(state["bins"].items()) if item_id in row["stock"]}
    return {"item_id": item_id, **item, "bins": bins}


def get_bin(state: WarehouseState, bin_id: BinId) -> BinDetails:
    """What lies in a bin, and how many pieces more it can hold."""
    row = bin_of(state, bin_id)
    return {"bin_id": bin_id, **row, "space_left": row["capacity"] - sum(row["stock"].values())}


def get_order(state: WarehouseState, order_id: OrderId) -> OrderDetails:
    """Everything about one order."""
    return {"order_id": order_id, **order_of(state, order_id)}


def item_of(state: WarehouseState, item_id: str) -> Item:
    if item_id not in state["items"]:
        raise Refused(f"item {item_id!r} not found")
    return state["items"][item_id]


def bin_of(state: WarehouseState, bin_id: str) -> Bin:
    if bin_id not in state["bins"]:
        raise Refused(f"bin {bin_id!r} not found")
    return state["bins"][bin_id]


def order_of(state: WarehouseState, order_id: str) -> Order:
    if order_id not in state["orders"]:
        raise Refused(f"order {order_id!r} not found")
    return state["orders"][order_id]


def is_short(item: Item) -> bool:
    return item["on_hand"] - item["reserved"] + item["on_order"] < item["minimum"]

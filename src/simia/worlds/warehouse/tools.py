"""The tools of the warehouse, as code: those that change something, and the list of all."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.executable import Action, Refused
from simia.worlds.warehouse.reads import (
    BinDetails,
    BinId,
    DeliveryDetails,
    ItemId,
    OrderDetails,
    OrderId,
    bin_of,
    expected_deliveries,
    get_bin,
    get_item,
    get_order,
    is_short,
    item_of,
    list_stock,
    order_of,
    orders_to_do,
)
from simia.worlds.warehouse.state import Bin, Delivery, Order, OrderStatus, Pieces, WarehouseState

DeliveryId = Annotated[str, Field(description="Delivery number, for example 'D-204'.")]
OrderIds = Annotated[list[OrderId], Field(min_length=1, max_length=6)]


class Count(TypedDict):
    item_id: ItemId
    pieces: Annotated[int, Field(ge=0, le=500)]


Counts = Annotated[list[Count], Field(max_length=8)]


class Reserved(TypedDict):
    order_ids: list[str]
    pieces: Pieces


class Picked(TypedDict):
    order_id: str
    taken: dict[str, dict[str, int]]


class Shipped(TypedDict):
    shipments: dict[str, str]


class Counted(TypedDict):
    bin_id: str
    corrections: dict[str, int]


class Ordered(TypedDict):
    deliveries: list[DeliveryDetails]


def reserve_orders(state: WarehouseState, order_ids: OrderIds) -> Reserved:
    """Reserve the pieces for open orders: for all of them, or for none if pieces are lacking."""
    reserved = 0
    for order_id in order_ids:
        order = order_of(state, order_id)
        _demand_status(order_id, order, "open")
        for item_id, pieces in order["lines"].items():
            item = state["items"][item_id]
            if item["on_hand"] - item["reserved"] < pieces:
                raise Refused(f"{order_id} needs {pieces} of {item_id}, {item['on_hand'] - item['reserved']} are free")
            item["reserved"] += pieces
            reserved += pieces
        order["status"] = "reserved"
    return {"order_ids": order_ids, "pieces": reserved}


def pick_order(state: WarehouseState, order_id: OrderId) -> Picked:
    """Take the pieces of a reserved order from the bins, in the order of the bin numbers."""
    order = order_of(state, order_id)
    _demand_status(order_id, order, "reserved")
    taken: dict[str, dict[str, int]] = {}
    for item_id, pieces in order["lines"].items():
        missing = pieces
        for bin_id, row in sorted(state["bins"].items()):
            part = min(missing, row["stock"].get(item_id, 0))
            if part:
                _add(row, item_id, -part)
                taken.setdefault(bin_id, {})[item_id] = part
                missing -= part
        state["items"][item_id]["on_hand"] -= pieces
        state["items"][item_id]["reserved"] -= pieces
    order["status"] = "picked"
    return {"order_id": order_id, "taken": taken}


def ship_orders(state: WarehouseState, order_ids: OrderIds) -> Shipped:
    """Hand picked orders to the carrier, each as a shipment of its own."""
    shipments: dict[str, str] = {}
    for order_id in order_ids:
        order = order_of(state, order_id)
        _demand_status(order_id, order, "picked")
        order["status"] = "shipped"
        shipment_id = _next_id(state, "H")
        state["shipments"][shipment_id] = {"order_id": order_id, "day": state["today"]}
        shipments[order_id] = shipment_id
    return {"shipments": shipments}


def cancel_order(state: WarehouseState, order_id: OrderId) -> OrderDetails:
    """Cancel an order that is not picked yet, and free what is reserved for it."""
    order = order_of(state, order_id)
    if order["status"] not in ("open", "reserved"):
        raise Refused(f"order {order_id} is {order['status']}")
    if order["status"] == "reserved":
        for item_id, pieces in order["lines"].items():
            state["items"][item_id]["reserved"] -= pieces
    order["status"] = "cancelled"
    return {"order_id": order_id, **order}


def receive_delivery(state: WarehouseState, delivery_id: DeliveryId, bin_id: BinId) -> BinDetails:
    """Put everything of an expected delivery into one bin."""
    if delivery_id not in state["deliveries"]:
        raise Refused(f"delivery {delivery_id!r} not found")
    delivery = state["deliveries"][delivery_id]
    if delivery["status"] != "expected":
        raise Refused(f"delivery {delivery_id} is {delivery['status']}")
    row = bin_of(state, bin_id)
    for item_id, pieces in delivery["lines"].items():
        _add(row, item_id, pieces)
        state["items"][item_id]["on_hand"] += pieces
        state["items"][item_id]["on_order"] -= pieces
    delivery["status"] = "received"
    _demand_space(bin_id, row)
    return get_bin(state, bin_id)


def move_bin(state: WarehouseState, source: BinId, target: BinId) -> BinDetails:
    """Move all that lies in a bin into another one."""
    emptied, filled = bin_of(state, source), bin_of(state, target)
    if source == target or not emptied["stock"]:
        raise Refused(f"there is nothing to move from {source} to {target}")
    for item_id, pieces in emptied["stock"].items():
        _add(filled, item_id, pieces)
    emptied["stock"] = {}
    _demand_space(target, filled)
    return get_bin(state, target)


def count_bin(state: WarehouseState, bin_id: BinId, counts: Counts) -> Counted:
    """Book what a count found in a bin. An item that is not among the counts is not there any more."""
    row = bin_of(state, bin_id)
    found = {count["item_id"]: count["pieces"] for count in counts}
    corrections: dict[str, int] = {}
    for item_id in sorted({*row["stock"], *found}):
        item = item_of(state, item_id)
        difference = found.get(item_id, 0) - row["stock"].get(item_id, 0)
        if difference:
            _add(row, item_id, difference)
            item["on_hand"] += difference
            corrections[item_id] = difference
        if item["on_hand"] < item["reserved"]:
            raise Refused(f"{item['reserved']} of {item_id} are reserved, the count leaves {item['on_hand']}")
    _demand_space(bin_id, row)
    return {"bin_id": bin_id, "corrections": corrections}


def reorder(state: WarehouseState) -> Ordered:
    """Order twice the minimum of every item that is short: one delivery from each supplier."""
    made: list[DeliveryDetails] = []
    for supplier_id, supplier in sorted(state["suppliers"].items()):
        short = {
            item_id: 2 * item["minimum"]
            for item_id, item in sorted(state["items"].items())
            if item["supplier_id"] == supplier_id and is_short(item)
        }
        if short:
            delivery_id = _next_id(state, "D")
            delivery: Delivery = {"supplier_id": supplier_id, "status": "expected", "lines": short}
            state["deliveries"][delivery_id] = delivery
            made.append({"delivery_id": delivery_id, "supplier": supplier["name"], **delivery})
        for item_id, pieces in short.items():
            state["items"][item_id]["on_order"] += pieces
    if not made:
        raise Refused("no item is short")
    return {"deliveries": made}


TOOLS: tuple[Action, ...] = (
    list_stock,
    orders_to_do,
    expected_deliveries,
    get_item,
    get_bin,
    get_order,
    reserve_orders,
    pick_order,
    ship_orders,
    cancel_order,
    receive_delivery,
    move_bin,
    count_bin,
    reorder,
)


def _add(row: Bin, item_id: str, pieces: int) -> None:
    """Put pieces into a bin, or take them if there are less than none; an item with none is not listed."""
    left = row["stock"].pop(item_id, 0) + pieces
    if left:
        row["stock"][item_id] = left


def _demand_status(order_id: str, order: Order, status: OrderStatus) -> None:
    if order["status"] != status:
        raise Refused(f"order {order_id} is {order['status']}, not {status}")


def _demand_space(bin_id: str, row: Bin) -> None:
    pieces = sum(row["stock"].values())
    if pieces > row["capacity"]:
        raise Refused(f"bin {bin_id} holds {row['capacity']}, not {pieces}")


def _next_id(state: WarehouseState, prefix: str) -> str:
    number = state["next_number"]
    state["next_number"] = number + 1
    return f"{prefix}-{number}"

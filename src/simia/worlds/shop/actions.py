"""The tools of the shop, as code."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from simia.types import JsonObject, State
from simia.worlds.executable import Action, Refused, found
from simia.worlds.shop.schemas import MAX_GOODWILL, MAX_PIECES, RETURN_DAYS


def find_customer(state: State, email: str) -> JsonObject:
    for customer_id, customer in state["customers"].items():
        if customer["email"].lower() == email.strip().lower():
            return {"customer_id": customer_id, **customer}
    raise Refused(f"no customer account with the e-mail address {email!r}")


def get_order(state: State, order_id: str) -> JsonObject:
    return {"order_id": order_id, **_order(state, order_id), "today": state["today"]}


def list_orders(state: State, customer_id: str, status: str | None = None) -> JsonObject:
    found(state["customers"], customer_id, "customer")
    rows = []
    for order_id, order in sorted(state["orders"].items(), key=lambda pair: (pair[1]["placed_on"], pair[0])):
        if order["customer_id"] != customer_id or status not in (None, order["status"]):
            continue
        items = [f"{item['quantity']} x {item['name']}" for item in order["items"]]
        facts = {key: order[key] for key in ("status", "placed_on", "total")}
        rows.append({"order_id": order_id, **facts, "items": items})
    return {"orders": rows, "today": state["today"]}


def search_products(
    state: State, words: str, category: str | None = None, max_price: float | None = None
) -> JsonObject:
    wanted = words.lower().split()
    hits = []
    for sku, product in state["products"].items():
        if not all(word in product["name"].lower() for word in wanted):
            continue
        if category not in (None, product["category"]) or (max_price is not None and product["price"] > max_price):
            continue
        hits.append({"sku": sku, **product})
    return {"products": sorted(hits, key=lambda hit: (hit["price"], hit["sku"]))}


def place_order(state: State, customer_id: str, items: list[JsonObject], payment_method: str) -> JsonObject:
    customer = found(state["customers"], customer_id, "customer")
    pieces: dict[str, int] = {}
    for item in items:
        pieces[item["sku"]] = pieces.get(item["sku"], 0) + int(item["quantity"])
    lines = [_line(state, sku, quantity) for sku, quantity in pieces.items()]
    total = sum(line["line_total"] for line in lines)
    if payment_method == "store_credit":
        if customer["store_credit"] < total:
            raise Refused(f"the order costs {total:.2f} but the store credit is {customer['store_credit']:.2f}")
        customer["store_credit"] -= total
    for sku, quantity in pieces.items():
        state["products"][sku]["stock"] -= quantity
    order_id = _next_id(state, "NL")
    state["orders"][order_id] = {
        "customer_id": customer_id,
        "status": "pending",
        "placed_on": state["today"],
        "delivered_on": None,
        "items": lines,
        "total": total,
        "refunded": 0.0,
        "payment_method": payment_method,
        "shipping_address": dict(customer["address"]),
        "goodwill": 0.0,
    }
    return {
        "order_id": order_id,
        "total": total,
        "payment_method": payment_method,
        "store_credit_left": customer["store_credit"],
    }


def cancel_orders(state: State, customer_id: str, order_ids: list[str], reason: str) -> JsonObject:
    customer = found(state["customers"], customer_id, "customer")
    done: list[JsonObject] = []
    left: list[JsonObject] = []
    for order_id in order_ids:
        order = state["orders"].get(order_id)
        if order is None or order["customer_id"] != customer_id:
            left.append({"order_id": order_id, "why": "not an order of this customer"})
            continue
        if order["status"] != "pending":
            left.append({"order_id": order_id, "why": f"status is {order['status']}, only pending can be cancelled"})
            continue
        order["status"] = "cancelled"
        order["refunded"] = order["total"]
        for item in order["items"]:
            state["products"][item["sku"]]["stock"] += item["quantity"]
        if order["payment_method"] == "store_credit":
            customer["store_credit"] += order["total"]
        done.append({"order_id": order_id, "refund": order["total"], "refunded_to": order["payment_method"]})
    if not done:
        raise Refused("nothing cancelled: " + "; ".join(f"{row['order_id']}: {row['why']}" for row in left))
    return {"cancelled": done, "not_cancelled": left, "total_refund": sum(row["refund"] for row in done)}


def change_shipping_address(state: State, order_id: str, address: JsonObject) -> JsonObject:
    order = _order(state, order_id)
    if order["status"] != "pending":
        raise Refused(f"order {order_id} is {order['status']}; only the address of a pending order can be changed")
    order["shipping_address"] = dict(address)
    return {"order_id": order_id, "shipping_address": order["shipping_address"]}


def return_items(state: State, order_id: str, skus: list[str], refund_to: str) -> JsonObject:
    order = _order(state, order_id)
    if order["status"] != "delivered":
        raise Refused(f"order {order_id} is {order['status']}; only delivered items can be returned")
    days = (date.fromisoformat(state["today"]) - date.fromisoformat(order["delivered_on"])).days
    if days > RETURN_DAYS:
        raise Refused(f"order {order_id} was delivered {days} days ago; the return window is {RETURN_DAYS} days")
    by_sku = {item["sku"]: item for item in order["items"]}
    for sku in skus:
        if sku not in by_sku:
            raise Refused(f"order {order_id} has no item {sku!r}; its items are {', '.join(sorted(by_sku))}")
        item = by_sku[sku]
        if item["returned"]:
            raise Refused(f"{item['name']} of order {order_id} has already been returned")
        if state["products"][sku]["category"] == "clearance":
            raise Refused(f"{item['name']} is a clearance item: final sale, it cannot be returned")
    refund = sum(by_sku[sku]["line_total"] for sku in skus)
    for sku in skus:
        by_sku[sku]["returned"] = True
    order["refunded"] += refund
    if all(item["returned"] for item in order["items"]):
        order["status"] = "returned"
    refunded_to = order["payment_method"] if refund_to == "original_payment" else "store_credit"
    if refunded_to == "store_credit":
        state["customers"][order["customer_id"]]["store_credit"] += refund
    return_id = _next_id(state, "RT")
    state["returns"][return_id] = {
        "order_id": order_id,
        "skus": list(skus),
        "refund": refund,
        "refunded_to": refunded_to,
    }
    return {
        "return_id": return_id,
        "order_id": order_id,
        "returned": list(skus),
        "refund": refund,
        "refunded_to": refunded_to,
        "order_status": order["status"],
    }


def give_store_credit(state: State, order_id: str, amount: float, reason: str) -> JsonObject:
    order = _order(state, order_id)
    if order["status"] != "delivered":
        raise Refused(f"order {order_id} is {order['status']}; goodwill is for delivered orders")
    if order["goodwill"] > 0:
        raise Refused(f"order {order_id} already got goodwill of {order['goodwill']:.2f}; it is given once per order")
    if amount > MAX_GOODWILL:
        raise Refused(f"goodwill is at most {MAX_GOODWILL:.2f} per order, not {amount:.2f}")
    order["goodwill"] = float(amount)
    customer = state["customers"][order["customer_id"]]
    customer["store_credit"] += amount
    return {"order_id": order_id, "credited": float(amount), "store_credit": customer["store_credit"]}


def hand_over_to_human(state: State, customer_id: str, summary: str) -> JsonObject:
    found(state["customers"], customer_id, "customer")
    handover_id = _next_id(state, "HO")
    waiting = 4 * len(state["handovers"]) + 3
    state["handovers"][handover_id] = {"customer_id": customer_id, "summary": summary}
    return {"handover_id": handover_id, "waiting_minutes": waiting}


ACTIONS: Mapping[str, Action] = {
    action.__name__: action
    for action in (
        find_customer,
        get_order,
        list_orders,
        search_products,
        place_order,
        cancel_orders,
        change_shipping_address,
        return_items,
        give_store_credit,
        hand_over_to_human,
    )
}


def _order(state: State, order_id: str) -> Any:
    return found(state["orders"], order_id, "order")


def _line(state: State, sku: str, quantity: int) -> JsonObject:
    product = found(state["products"], sku, "product")
    if quantity > MAX_PIECES:
        raise Refused(f"at most {MAX_PIECES} pieces of one product per order, not {quantity} x {product['name']}")
    if product["stock"] < quantity:
        raise Refused(f"only {product['stock']} x {product['name']} in stock, not {quantity}")
    return {
        "sku": sku,
        "name": product["name"],
        "quantity": quantity,
        "unit_price": product["price"],
        "line_total": product["price"] * quantity,
        "returned": False,
    }


def _next_id(state: State, prefix: str) -> str:
    number = state["next_number"]
    state["next_number"] = number + 1
    return f"{prefix}-{number}"

"""What the cart, the vouchers and the orders of the web shop do, as code."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.executable import Refused
from simia.worlds.webshop.state import Cents, Line, Order, OrderStatus, Voucher, WebshopState, shipping_for

LineId = Annotated[str, Field(description="Line of the cart as view_cart names it, for example 'L-412'.")]
OrderId = Annotated[str, Field(description="Order number, for example 'O-231'.")]


class CartLine(Line):
    line_id: str


class Cart(TypedDict):
    lines: list[CartLine]
    voucher: str | None
    goods: Cents


class OwnVoucher(Voucher):
    code: str


class Receipt(TypedDict):
    order_id: str
    goods: Cents
    shipping: Cents
    total: Cents


class OrderSummary(TypedDict):
    order_id: str
    status: OrderStatus
    total: Cents


class OrderDetails(Order):
    order_id: str


class Cancelled(TypedDict):
    order_id: str
    refund: Cents


def view_cart(state: WebshopState) -> Cart:
    """The lines of the cart, the voucher applied to it, and what the goods cost."""
    lines: list[CartLine] = [{"line_id": key, **line} for key, line in sorted(state["cart"].items())]
    return {"lines": lines, "voucher": state["voucher"], "goods": _cost(list(state["cart"].values()))}


def set_quantity(
    state: WebshopState,
    line_id: LineId,
    quantity: Annotated[int, Field(ge=1, le=9, description="Pieces.")],
) -> Cart:
    """Change how many pieces a line of the cart has."""
    line = _line(state, line_id)
    stock = state["products"][line["product_id"]]["stock"]
    if stock < quantity:
        raise Refused(f"only {stock} of {line['product_id']} in stock, not {quantity}")
    line["quantity"] = quantity
    return view_cart(state)


def remove_from_cart(state: WebshopState, line_ids: Annotated[list[LineId], Field(min_length=1)]) -> Cart:
    """Take one or several lines out of the cart."""
    for line_id in line_ids:
        _line(state, line_id)
        del state["cart"][line_id]
    return view_cart(state)


def my_vouchers(state: WebshopState) -> list[OwnVoucher]:
    """The customer's vouchers that are not spent yet."""
    return [{"code": code, **voucher} for code, voucher in sorted(state["vouchers"].items()) if not voucher["spent"]]


def apply_voucher(
    state: WebshopState, code: Annotated[str, Field(description="Code of a voucher, for example 'SPRING10'.")]
) -> Cart:
    """Lower the price of everything in the cart by the voucher's percentage; the voucher is spent with it."""
    voucher = state["vouchers"].get(code)
    if voucher is None or voucher["spent"]:
        raise Refused(f"voucher {code!r} is {'unknown' if voucher is None else 'spent'}")
    if state["voucher"] is not None:
        raise Refused(f"the cart already has the voucher {state['voucher']}")
    goods = _cost(list(state["cart"].values()))
    if not goods or goods < voucher["minimum"]:
        raise Refused(f"voucher {code} needs goods for {voucher['minimum']}, the cart has {goods}")
    for line in state["cart"].values():
        line["unit_price"] -= line["unit_price"] * voucher["percent"] // 100
    voucher["spent"] = True
    state["voucher"] = code
    return view_cart(state)


def checkout(state: WebshopState) -> Receipt:
    """Order everything in the cart, and show the receipt."""
    if not state["cart"]:
        raise Refused("the cart is empty")
    lines = [line for _, line in sorted(state["cart"].items())]
    for line in lines:
        product = state["products"][line["product_id"]]
        if product["stock"] < line["quantity"]:
            raise Refused(f"only {product['stock']} of {line['product_id']} in stock, not {line['quantity']}")
        product["stock"] -= line["quantity"]
    goods = _cost(lines)
    shipping = shipping_for(goods)
    order_id = _next_id(state, "O")
    state["orders"][order_id] = {"status": "placed", "lines": lines, "shipping": shipping, "total": goods + shipping}
    state["cart"] = {}
    state["voucher"] = None
    state["session"].update({"page": "receipt", "product_id": None, "chosen": {}})
    return {"order_id": order_id, "goods": goods, "shipping": shipping, "total": goods + shipping}


def order_history(state: WebshopState) -> list[OrderSummary]:
    """All orders, with their status and total."""
    return [
        {"order_id": key, "status": order["status"], "total": order["total"]}
        for key, order in sorted(state["orders"].items())
    ]


def order_details(state: WebshopState, order_id: OrderId) -> OrderDetails:
    """Everything about one order."""
    return {"order_id": order_id, **_order(state, order_id)}


def reorder(state: WebshopState, order_id: OrderId) -> Cart:
    """Put everything from an earlier order into the cart again, at today's prices."""
    for line in _order(state, order_id)["lines"]:
        add_to_cart(state, line["product_id"], line["chosen"], line["quantity"])
    return view_cart(state)


def cancel_order(state: WebshopState, order_id: OrderId) -> Cancelled:
    """Cancel an order that is not sent yet; its goods go back into stock."""
    order = _order(state, order_id)
    if order["status"] != "placed":
        raise Refused(f"order {order_id} is {order['status']}, not placed")
    order["status"] = "cancelled"
    for line in order["lines"]:
        state["products"][line["product_id"]]["stock"] += line["quantity"]
    return {"order_id": order_id, "refund": order["total"]}


def add_to_cart(state: WebshopState, product_id: str, chosen: dict[str, str], quantity: int) -> None:
    """Add a line to the cart, at today's price."""
    product = state["products"][product_id]
    if set(chosen) != set(product["options"]):
        raise Refused(f"choose {' and '.join(sorted(product['options']))} of {product_id} first")
    state["cart"][_next_id(state, "L")] = {
        "product_id": product_id,
        "chosen": dict(chosen),
        "quantity": quantity,
        "unit_price": product["price"],
    }


def _line(state: WebshopState, line_id: str) -> Line:
    if line_id not in state["cart"]:
        raise Refused(f"the cart has no line {line_id!r}")
    return state["cart"][line_id]


def _order(state: WebshopState, order_id: str) -> Order:
    if order_id not in state["orders"]:
        raise Refused(f"order {order_id!r} not found")
    return state["orders"][order_id]


def _cost(lines: list[Line]) -> int:
    return sum(line["quantity"] * line["unit_price"] for line in lines)


def _next_id(state: WebshopState, prefix: str) -> str:
    number = state["next_number"]
    state["next_number"] = number + 1
    return f"{prefix}-{number}"

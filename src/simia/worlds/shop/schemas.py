"""The shop as a spec: tools, shape of the state, invariants."""

from typing import Any

from simia.types import Invariant, JsonObject, ToolSpec

CANCEL_REASONS = ["changed_mind", "ordered_by_mistake", "found_cheaper", "too_slow"]
CATEGORIES = ["kitchen", "lighting", "garden", "outdoor", "clearance"]
ORDER_STATUSES = ["pending", "shipped", "delivered", "cancelled", "returned"]
PAYMENTS = ["card_on_file", "store_credit"]
REFUNDS = ["original_payment", "store_credit"]

MAX_PIECES = 5
MAX_GOODWILL = 20.0
RETURN_DAYS = 30


def _object(properties: JsonObject, required: list[str] | None = None) -> JsonObject:
    names = list(properties) if required is None else required
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


def _list(items: JsonObject, **limits: Any) -> JsonObject:
    return {"type": "array", "items": items, **limits}


def _table(of: JsonObject) -> JsonObject:
    return {"type": "object", "additionalProperties": of}


def _text(description: str) -> JsonObject:
    return {"type": "string", "description": description}


_DATE = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
_DATE_OR_NONE = {"type": ["string", "null"], "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
_MONEY = {"type": "number", "minimum": 0}
_COUNT = {"type": "integer", "minimum": 0}
_STRING = {"type": "string"}
_STATUS = {"type": "string", "enum": ORDER_STATUSES}
_ADDRESS = _object({"street": _STRING, "city": _STRING, "postcode": _STRING})
_ITEM = _object(
    {
        "sku": _STRING,
        "name": _STRING,
        "quantity": {"type": "integer", "minimum": 1},
        "unit_price": _MONEY,
        "line_total": _MONEY,
        "returned": {"type": "boolean"},
    }
)
_CUSTOMER_FIELDS: JsonObject = {
    "name": _STRING,
    "email": _STRING,
    "address": _ADDRESS,
    "card_last4": _STRING,
    "store_credit": _MONEY,
}
_PRODUCT_FIELDS: JsonObject = {
    "name": _STRING,
    "category": {"type": "string", "enum": CATEGORIES},
    "price": _MONEY,
    "stock": _COUNT,
}
_ORDER_FIELDS: JsonObject = {
    "customer_id": _STRING,
    "status": _STATUS,
    "placed_on": _DATE,
    "delivered_on": _DATE_OR_NONE,
    "items": _list(_ITEM, minItems=1),
    "total": _MONEY,
    "refunded": _MONEY,
    "payment_method": {"type": "string", "enum": PAYMENTS},
    "shipping_address": _ADDRESS,
    "goodwill": _MONEY,
}
_ORDER = _object({"order_id": _STRING, **_ORDER_FIELDS, "today": _DATE})
_ORDER_ID = _text("Order number, for example 'NL-4821'.")
_CUSTOMER_ID = _text("Customer number as given by find_customer, for example 'C-318'.")
_NEW_ADDRESS = _object(
    {
        "street": _text("Street and house number."),
        "city": _text("City."),
        "postcode": _text("Postcode."),
    }
)

STATE_SCHEMA: JsonObject = _object(
    {
        "today": _DATE,
        "next_number": _COUNT,
        "customers": _table(_object(_CUSTOMER_FIELDS)),
        "products": _table(_object(_PRODUCT_FIELDS)),
        "orders": _table(_object(_ORDER_FIELDS)),
        "returns": _table(
            _object({"order_id": _STRING, "skus": _list(_STRING), "refund": _MONEY, "refunded_to": _STRING})
        ),
        "handovers": _table(_object({"customer_id": _STRING, "summary": _STRING})),
    }
)

INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        name="orders belong to customers",
        expression="values(orders)[].customer_id",
        refers_to="keys(customers)",
    ),
    Invariant(name="items are products", expression="values(orders)[].items[].sku", refers_to="keys(products)"),
    Invariant(name="returns belong to orders", expression="values(returns)[].order_id", refers_to="keys(orders)"),
    Invariant(
        name="a total is the sum of its lines",
        expression="length(values(orders)[?total != sum(items[].line_total)]) == `0`",
    ),
    Invariant(
        name="never more refunded than paid",
        expression="length(values(orders)[?refunded > total]) == `0`",
    ),
    Invariant(
        name="a cancelled order is refunded in full",
        expression="length(values(orders)[?status == 'cancelled' && refunded != total]) == `0`",
    ),
    Invariant(
        name="a delivered order has its date",
        expression="length(values(orders)[?status == 'delivered' && delivered_on == null]) == `0`",
    ),
    Invariant(
        name="goodwill is at most 20.00 an order",
        expression="length(values(orders)[?goodwill > `20`]) == `0`",
    ),
)

TOOLS: tuple[ToolSpec, ...] = (
    ToolSpec(
        name="find_customer",
        description="Look up a customer account by its e-mail address.",
        parameters=_object({"email": _text("E-mail address of the account.")}),
        returns=_object({"customer_id": _STRING, **_CUSTOMER_FIELDS}),
    ),
    ToolSpec(
        name="get_order",
        description="All details of one order, and today's date.",
        parameters=_object({"order_id": _ORDER_ID}),
        returns=_ORDER,
    ),
    ToolSpec(
        name="list_orders",
        description="The orders of a customer, oldest first, optionally only those with one status.",
        parameters=_object(
            {"customer_id": _CUSTOMER_ID, "status": {**_STATUS, "description": "Only orders with this status."}},
            required=["customer_id"],
        ),
        returns=_object(
            {
                "orders": _list(
                    _object(
                        {
                            "order_id": _STRING,
                            "status": _STATUS,
                            "placed_on": _DATE,
                            "total": _MONEY,
                            "items": _list(_STRING),
                        }
                    )
                ),
                "today": _DATE,
            }
        ),
    ),
    ToolSpec(
        name="search_products",
        description="Products whose name contains the words, cheapest first.",
        parameters=_object(
            {
                "words": _text("Words that the name must contain; empty for all products."),
                "category": {"type": "string", "enum": CATEGORIES, "description": "Only this category."},
                "max_price": {"type": "number", "minimum": 0, "description": "Only products up to this price."},
            },
            required=["words"],
        ),
        returns=_object({"products": _list(_object({"sku": _STRING, **_PRODUCT_FIELDS}))}),
    ),
    ToolSpec(
        name="place_order",
        description="Place a new order to the customer's address.",
        parameters=_object(
            {
                "customer_id": _CUSTOMER_ID,
                "items": _list(
                    _object(
                        {
                            "sku": _text("Stock number of the product."),
                            "quantity": {"type": "integer", "minimum": 1, "description": "Pieces."},
                        }
                    ),
                    minItems=1,
                ),
                "payment_method": {"type": "string", "enum": PAYMENTS, "description": "How the order is paid."},
            }
        ),
        returns=_object({"order_id": _STRING, "total": _MONEY, "payment_method": _STRING, "store_credit_left": _MONEY}),
    ),
    ToolSpec(
        name="cancel_orders",
        description="Cancel one or several pending orders of a customer and refund them. "
        "Orders that cannot be cancelled are named with the reason; the others are cancelled.",
        parameters=_object(
            {
                "customer_id": _CUSTOMER_ID,
                "order_ids": _list(_ORDER_ID, minItems=1, uniqueItems=True),
                "reason": {"type": "string", "enum": CANCEL_REASONS, "description": "Why the customer cancels."},
            }
        ),
        returns=_object(
            {
                "cancelled": _list(_object({"order_id": _STRING, "refund": _MONEY, "refunded_to": _STRING})),
                "not_cancelled": _list(_object({"order_id": _STRING, "why": _STRING})),
                "total_refund": _MONEY,
            }
        ),
    ),
    ToolSpec(
        name="change_shipping_address",
        description="Change the shipping address of a pending order.",
        parameters=_object({"order_id": _ORDER_ID, "address": _NEW_ADDRESS}),
        returns=_object({"order_id": _STRING, "shipping_address": _ADDRESS}),
    ),
    ToolSpec(
        name="return_items",
        description="Register the return of delivered items of one order and refund them.",
        parameters=_object(
            {
                "order_id": _ORDER_ID,
                "skus": _list(_text("Stock number of an item of the order."), minItems=1, uniqueItems=True),
                "refund_to": {"type": "string", "enum": REFUNDS, "description": "Where the refund goes."},
            }
        ),
        returns=_object(
            {
                "return_id": _STRING,
                "order_id": _STRING,
                "returned": _list(_STRING),
                "refund": _MONEY,
                "refunded_to": _STRING,
                "order_status": _STATUS,
            }
        ),
    ),
    ToolSpec(
        name="give_store_credit",
        description="Give goodwill store credit for a delivered order that arrived late or damaged.",
        parameters=_object(
            {
                "order_id": _ORDER_ID,
                "amount": {"type": "number", "exclusiveMinimum": 0, "description": "Amount of credit."},
                "reason": {"type": "string", "enum": ["late", "damaged"], "description": "What went wrong."},
            }
        ),
        returns=_object({"order_id": _STRING, "credited": _MONEY, "store_credit": _MONEY}),
    ),
    ToolSpec(
        name="hand_over_to_human",
        description="Hand the conversation over to a human colleague.",
        parameters=_object(
            {"customer_id": _CUSTOMER_ID, "summary": _text("What the customer needs, in one or two sentences.")}
        ),
        returns=_object({"handover_id": _STRING, "waiting_minutes": _COUNT}),
    ),
)

"""The shop as a spec: tools, shape of the state, invariants."""

from simia.types import Invariant, JsonObject, ToolSpec
from simia.worlds.schema_parts import COUNT, DATE, STRING, closed, list_of, table_of, text

CANCEL_REASONS = ["changed_mind", "ordered_by_mistake", "found_cheaper", "too_slow"]
CATEGORIES = ["kitchen", "lighting", "garden", "outdoor", "clearance"]
ORDER_STATUSES = ["pending", "shipped", "delivered", "cancelled", "returned"]
PAYMENTS = ["card_on_file", "store_credit"]
REFUNDS = ["original_payment", "store_credit"]

MAX_PIECES = 5
MAX_GOODWILL = 20.0
RETURN_DAYS = 30


_DATE_OR_NONE: JsonObject = {"type": ["string", "null"], "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
_MONEY: JsonObject = {"type": "number", "minimum": 0}
_STATUS: JsonObject = {"type": "string", "enum": ORDER_STATUSES}
_ADDRESS = closed({"street": STRING, "city": STRING, "postcode": STRING})
_ITEM = closed(
    {
        "sku": STRING,
        "name": STRING,
        "quantity": {"type": "integer", "minimum": 1},
        "unit_price": _MONEY,
        "line_total": _MONEY,
        "returned": {"type": "boolean"},
    }
)
_CUSTOMER_FIELDS: JsonObject = {
    "name": STRING,
    "email": STRING,
    "address": _ADDRESS,
    "card_last4": STRING,
    "store_credit": _MONEY,
}
_PRODUCT_FIELDS: JsonObject = {
    "name": STRING,
    "category": {"type": "string", "enum": CATEGORIES},
    "price": _MONEY,
    "stock": COUNT,
}
_ORDER_FIELDS: JsonObject = {
    "customer_id": STRING,
    "status": _STATUS,
    "placed_on": DATE,
    "delivered_on": _DATE_OR_NONE,
    "items": list_of(_ITEM, minItems=1),
    "total": _MONEY,
    "refunded": _MONEY,
    "payment_method": {"type": "string", "enum": PAYMENTS},
    "shipping_address": _ADDRESS,
    "goodwill": _MONEY,
}
_ORDER = closed({"order_id": STRING, **_ORDER_FIELDS, "today": DATE})
_ORDER_ID = text("Order number, for example 'NL-4821'.")
_CUSTOMER_ID = text("Customer number as given by find_customer, for example 'C-318'.")
_NEW_ADDRESS = closed(
    {
        "street": text("Street and house number."),
        "city": text("City."),
        "postcode": text("Postcode."),
    }
)

STATE_SCHEMA: JsonObject = closed(
    {
        "today": DATE,
        "next_number": COUNT,
        "customers": table_of(closed(_CUSTOMER_FIELDS)),
        "products": table_of(closed(_PRODUCT_FIELDS)),
        "orders": table_of(closed(_ORDER_FIELDS)),
        "returns": table_of(
            closed({"order_id": STRING, "skus": list_of(STRING), "refund": _MONEY, "refunded_to": STRING})
        ),
        "handovers": table_of(closed({"customer_id": STRING, "summary": STRING})),
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
        parameters=closed({"email": text("E-mail address of the account.")}),
        returns=closed({"customer_id": STRING, **_CUSTOMER_FIELDS}),
    ),
    ToolSpec(
        name="get_order",
        description="All details of one order, and today's date.",
        parameters=closed({"order_id": _ORDER_ID}),
        returns=_ORDER,
    ),
    ToolSpec(
        name="list_orders",
        description="The orders of a customer, oldest first, optionally only those with one status.",
        parameters=closed(
            {"customer_id": _CUSTOMER_ID, "status": {**_STATUS, "description": "Only orders with this status."}},
            required=["customer_id"],
        ),
        returns=closed(
            {
                "orders": list_of(
                    closed(
                        {
                            "order_id": STRING,
                            "status": _STATUS,
                            "placed_on": DATE,
                            "total": _MONEY,
                            "items": list_of(STRING),
                        }
                    )
                ),
                "today": DATE,
            }
        ),
    ),
    ToolSpec(
        name="search_products",
        description="Products whose name contains the words, cheapest first.",
        parameters=closed(
            {
                "words": text("Words that the name must contain; empty for all products."),
                "category": {"type": "string", "enum": CATEGORIES, "description": "Only this category."},
                "max_price": {"type": "number", "minimum": 0, "description": "Only products up to this price."},
            },
            required=["words"],
        ),
        returns=closed({"products": list_of(closed({"sku": STRING, **_PRODUCT_FIELDS}))}),
    ),
    ToolSpec(
        name="place_order",
        description="Place a new order to the customer's address.",
        parameters=closed(
            {
                "customer_id": _CUSTOMER_ID,
                "items": list_of(
                    closed(
                        {
                            "sku": text("Stock number of the product."),
                            "quantity": {"type": "integer", "minimum": 1, "description": "Pieces."},
                        }
                    ),
                    minItems=1,
                ),
                "payment_method": {"type": "string", "enum": PAYMENTS, "description": "How the order is paid."},
            }
        ),
        returns=closed({"order_id": STRING, "total": _MONEY, "payment_method": STRING, "store_credit_left": _MONEY}),
    ),
    ToolSpec(
        name="cancel_orders",
        description="Cancel one or several pending orders of a customer and refund them. "
        "Orders that cannot be cancelled are named with the reason; the others are cancelled.",
        parameters=closed(
            {
                "customer_id": _CUSTOMER_ID,
                "order_ids": list_of(_ORDER_ID, minItems=1, uniqueItems=True),
                "reason": {"type": "string", "enum": CANCEL_REASONS, "description": "Why the customer cancels."},
            }
        ),
        returns=closed(
            {
                "cancelled": list_of(closed({"order_id": STRING, "refund": _MONEY, "refunded_to": STRING})),
                "not_cancelled": list_of(closed({"order_id": STRING, "why": STRING})),
                "total_refund": _MONEY,
            }
        ),
    ),
    ToolSpec(
        name="change_shipping_address",
        description="Change the shipping address of a pending order.",
        parameters=closed({"order_id": _ORDER_ID, "address": _NEW_ADDRESS}),
        returns=closed({"order_id": STRING, "shipping_address": _ADDRESS}),
    ),
    ToolSpec(
        name="return_items",
        description="Register the return of delivered items of one order and refund them.",
        parameters=closed(
            {
                "order_id": _ORDER_ID,
                "skus": list_of(text("Stock number of an item of the order."), minItems=1, uniqueItems=True),
                "refund_to": {"type": "string", "enum": REFUNDS, "description": "Where the refund goes."},
            }
        ),
        returns=closed(
            {
                "return_id": STRING,
                "order_id": STRING,
                "returned": list_of(STRING),
                "refund": _MONEY,
                "refunded_to": STRING,
                "order_status": _STATUS,
            }
        ),
    ),
    ToolSpec(
        name="give_store_credit",
        description="Give goodwill store credit for a delivered order that arrived late or damaged.",
        parameters=closed(
            {
                "order_id": _ORDER_ID,
                "amount": {"type": "number", "exclusiveMinimum": 0, "description": "Amount of credit."},
                "reason": {"type": "string", "enum": ["late", "damaged"], "description": "What went wrong."},
            }
        ),
        returns=closed({"order_id": STRING, "credited": _MONEY, "store_credit": _MONEY}),
    ),
    ToolSpec(
        name="hand_over_to_human",
        description="Hand the conversation over to a human colleague.",
        parameters=closed(
            {"customer_id": _CUSTOMER_ID, "summary": text("What the customer needs, in one or two sentences.")}
        ),
        returns=closed({"handover_id": STRING, "waiting_minutes": COUNT}),
    ),
)

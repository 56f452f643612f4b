"""What Marigold Lane keeps: a browser session, products, a cart, vouchers and orders. Prices are whole cents."""

import random
from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from simia.types import Invariant, State

SHIPPING = 490
FREE_SHIPPING_FROM = 5000

Cents = Annotated[int, Field(ge=0)]
Pieces = Annotated[int, Field(ge=1)]
PageKind = Literal["home", "results", "product", "cart", "receipt"]
OrderStatus = Literal["placed", "sent", "cancelled"]


class Session(TypedDict):
    """What the browser shows. ``results`` are product ids, best first."""

    page: PageKind
    query: str
    results: list[str]
    results_page: Pieces
    product_id: str | None
    chosen: dict[str, str]


class Product(TypedDict):
    title: str
    attributes: list[str]
    price: Cents
    options: dict[str, list[str]]
    stock: Cents


class Line(TypedDict):
    product_id: str
    chosen: dict[str, str]
    quantity: Pieces
    unit_price: Cents


class Voucher(TypedDict):
    percent: Annotated[int, Field(ge=1, le=100)]
    minimum: Cents
    spent: bool


class Order(TypedDict):
    status: OrderStatus
    lines: list[Line]
    shipping: Cents
    total: Cents


class WebshopState(TypedDict):
    """The whole state. ``voucher`` is the one applied to the cart."""

    next_number: int
    session: Session
    products: dict[str, Product]
    cart: dict[str, Line]
    voucher: str | None
    vouchers: dict[str, Voucher]
    orders: dict[str, Order]


INVARIANTS = (
    Invariant(name="results are products", expression="session.results", refers_to="keys(products)"),
    Invariant(name="the open product exists", expression="session.product_id", refers_to="keys(products)"),
    Invariant(
        name="a product is open on a product page only",
        expression="(session.page == 'product') == (session.product_id != null)",
    ),
    Invariant(
        name="options are chosen on a product page only",
        expression="session.page == 'product' || length(session.chosen) == `0`",
    ),
    Invariant(name="the cart holds products", expression="values(cart)[].product_id", refers_to="keys(products)"),
    Invariant(
        name="orders are for products", expression="values(orders)[].lines[].product_id", refers_to="keys(products)"
    ),
    Invariant(name="the voucher of the cart exists", expression="voucher", refers_to="keys(vouchers)"),
)

_Offer = tuple[str, int, tuple[str, ...], dict[str, tuple[str, ...]]]

_OFFERS: tuple[_Offer, ...] = (
    ("Wool blanket", 4900, ("warm", "washable"), {"colour": ("grey", "rust", "navy")}),
    ("Linen shirt", 3900, ("light", "washable"), {"size": ("S", "M", "L"), "colour": ("white", "sky")}),
    ("Rain jacket", 7900, ("waterproof", "light"), {"size": ("S", "M", "L")}),
    ("Running shoes", 8900, ("light", "breathable"), {"size": ("40", "42", "44")}),
    ("Desk lamp", 3400, ("dimmable", "quiet"), {"plug": ("two-pin", "three-pin")}),
    ("Ceramic mug", 1200, ("handmade",), {"colour": ("white", "green")}),
    ("Green tea", 850, ("organic", "light"), {"weight": ("100 g", "250 g")}),
    ("Coffee beans", 1400, ("organic", "strong"), {"weight": ("250 g", "1 kg")}),
    ("Steel bottle", 2100, ("insulated", "light"), {"volume": ("500 ml", "750 ml")}),
    ("Yoga mat", 2900, ("washable", "light"), {"colour": ("plum", "teal")}),
    ("Notebook", 700, ("recycled", "light"), {"ruling": ("plain", "dotted")}),
    ("Travel backpack", 5900, ("waterproof", "light"), {"volume": ("20 l", "30 l")}),
    ("Bamboo toothbrush", 450, ("organic", "light"), {}),
    ("Table clock", 3100, ("quiet", "handmade"), {}),
    ("Cork board", 1900, ("recycled", "light"), {}),
    ("Beeswax candle", 950, ("organic", "handmade"), {}),
)


def draw_state(rng: random.Random) -> State:
    """A browser on some page, seven products, up to three lines in the cart, two vouchers and two orders."""
    offers = rng.sample(_OFFERS, 7)
    products = {f"P-{number}": _product(rng, offer) for number, offer in zip(_numbers(rng, 7), offers, strict=True)}
    in_cart = rng.sample(sorted(products), rng.randrange(4))
    lines = {f"L-{number}": _line(rng, products, key) for number, key in zip(_numbers(rng, 3), in_cart, strict=False)}
    orders = {f"O-{number}": _order(rng, products) for number in _numbers(rng, 2)}
    return {
        "next_number": rng.randrange(500, 900),
        "session": _draw_session(rng, products),
        "products": products,
        "cart": lines,
        "voucher": None,
        "vouchers": {f"{word}{percent}": _voucher(rng, percent) for word, percent in (("SPRING", 10), ("HELLO", 25))},
        "orders": orders,
    }


def _draw_session(rng: random.Random, products: dict[str, Any]) -> Session:
    """The browser at home, on a page of results, or on a product found there."""
    word = rng.choice(sorted({word for row in products.values() for word in row["attributes"]}))
    hits = sorted((row["price"], key) for key, row in products.items() if word in row["attributes"])
    results = [key for _, key in hits]
    page: PageKind = rng.choice(("home", "results", "product"))
    return {
        "page": page,
        "query": "" if page == "home" else word,
        "results": [] if page == "home" else results,
        "results_page": 1,
        "product_id": rng.choice(results) if page == "product" else None,
        "chosen": {},
    }


def draw_choice(rng: random.Random, options: dict[str, list[str]]) -> dict[str, str]:
    """A value for each option."""
    return {option: rng.choice(values) for option, values in sorted(options.items())}


def shipping_for(goods: int) -> int:
    """What it costs to send goods of this worth."""
    return SHIPPING if goods < FREE_SHIPPING_FROM else 0


def _numbers(rng: random.Random, count: int) -> list[int]:
    return sorted(rng.sample(range(100, 500), count))


def _product(rng: random.Random, offer: _Offer) -> Product:
    title, price, attributes, options = offer
    return {
        "title": title,
        "attributes": list(attributes),
        "price": price + rng.randrange(-4, 9) * 25,
        "options": {option: list(values) for option, values in options.items()},
        "stock": rng.choice((0, 2, 5, 8, 14, 30)),
    }


def _line(rng: random.Random, products: dict[str, Product], product_id: str) -> Line:
    product = products[product_id]
    chosen = draw_choice(rng, product["options"])
    return {
        "product_id": product_id,
        "chosen": chosen,
        "quantity": rng.randrange(1, 3),
        "unit_price": product["price"],
    }


def _voucher(rng: random.Random, percent: int) -> Voucher:
    return {"percent": percent, "minimum": rng.choice((0, 2000, 6000)), "spent": rng.random() < 0.2}


def _order(rng: random.Random, products: dict[str, Product]) -> Order:
    lines = [_line(rng, products, key) for key in rng.sample(sorted(products), rng.randrange(1, 3))]
    goods = sum(line["quantity"] * line["unit_price"] for line in lines)
    shipping = shipping_for(goods)
    status: OrderStatus = rng.choice(("placed", "placed", "sent", "cancelled"))
    return {"status": status, "lines": lines, "shipping": shipping, "total": goods + shipping}

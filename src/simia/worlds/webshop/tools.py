"""The tools of the web shop, as code: those of the browser, and the list of all."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.executable import Action, Refused
from simia.worlds.webshop.cart import (
    add_to_cart,
    apply_voucher,
    cancel_order,
    checkout,
    my_vouchers,
    order_details,
    order_history,
    remove_from_cart,
    reorder,
    set_quantity,
    view_cart,
)
from simia.worlds.webshop.state import Cents, PageKind, Product, WebshopState

PAGE_SIZE = 3


class Page(TypedDict):
    page: PageKind
    elements: list[str]


class Offer(TypedDict):
    product_id: str
    title: str
    price: Cents


class OpenPage(Page):
    """``offers`` are the results shown, or the open product."""

    query: str
    offers: list[Offer]
    chosen: dict[str, str]


class ProductDetails(Product):
    product_id: str


def search(state: WebshopState, query: Annotated[str, Field(description="Words to look for.")]) -> Page:
    """Look for products by words of their titles and attributes, and open the first page of results.

    Products with more of the words come first, then cheaper ones, then by id.
    """
    words = set(query.lower().split())
    hits = []
    for product_id, product in state["products"].items():
        matched = words.intersection(" ".join([product["title"], *product["attributes"]]).lower().split())
        if matched:
            hits.append((-len(matched), product["price"], product_id))
    if not hits:
        raise Refused(f"nothing found for {query!r}")
    results = [product_id for _, _, product_id in sorted(hits)]
    state["session"].update({"page": "results", "query": query, "results": results, "results_page": 1})
    state["session"].update({"product_id": None, "chosen": {}})
    return _page(state)


def click(state: WebshopState, element: Annotated[str, Field(description="An element of the open page.")]) -> Page:
    """Click on an element of the open page: a product, the value of an option, or a button."""
    session = state["session"]
    product_id = session["product_id"]
    if element not in _elements(state):
        raise Refused(f"the page {session['page']!r} has no element {element!r}")
    if element in ("next page", "previous page"):
        session["results_page"] += 1 if element == "next page" else -1
    elif element == "back to results":
        session.update({"page": "results", "product_id": None, "chosen": {}})
    elif product_id is None:
        session.update({"page": "product", "product_id": element})
    elif element in ("add to cart", "buy now"):
        add_to_cart(state, product_id, session["chosen"], 1)
        if element == "buy now":
            session.update({"page": "cart", "product_id": None, "chosen": {}})
    else:
        options = state["products"][product_id]["options"]
        session["chosen"].update({option: element for option, values in options.items() if element in values})
    return _page(state)


def current_page(state: WebshopState) -> OpenPage:
    """What the open page shows and what can be clicked on it."""
    session = state["session"]
    page = _page(state)
    offers: list[Offer] = [
        {"product_id": key, "title": product["title"], "price": product["price"]}
        for key, product in sorted(state["products"].items())
        if key == session["product_id"] or key in page["elements"]
    ]
    return {**page, "query": session["query"], "offers": offers, "chosen": dict(session["chosen"])}


def product_details(
    state: WebshopState, product_id: Annotated[str, Field(description="Id of a product, for example 'P-231'.")]
) -> ProductDetails:
    """Everything about one product."""
    if product_id not in state["products"]:
        raise Refused(f"product {product_id!r} not found")
    return {"product_id": product_id, **state["products"][product_id]}


TOOLS: tuple[Action, ...] = (
    search,
    click,
    current_page,
    product_details,
    view_cart,
    set_quantity,
    remove_from_cart,
    my_vouchers,
    apply_voucher,
    checkout,
    order_history,
    order_details,
    reorder,
    cancel_order,
)


def _page(state: WebshopState) -> Page:
    return {"page": state["session"]["page"], "elements": _elements(state)}


def _elements(state: WebshopState) -> list[str]:
    """What can be clicked on the open page."""
    session = state["session"]
    if session["page"] == "results":
        last = session["results_page"] * PAGE_SIZE
        before = ["previous page"] if last > PAGE_SIZE else []
        after = ["next page"] if last < len(session["results"]) else []
        return [*session["results"][last - PAGE_SIZE : last], *before, *after]
    back = ["back to results"] if session["results"] else []
    if session["product_id"] is None:
        return back
    options = state["products"][session["product_id"]]["options"]
    values = [value for option in sorted(options) for value in options[option]]
    return [*values, "add to cart", "buy now", *back]

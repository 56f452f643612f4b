"""Kinds of tasks in the web shop, each with the calls that do it."""

import json
import random

import jmespath

from simia.types import JsonObject
from simia.worlds.drafting import Draft, NoTask, TaskKind, pick, pick_some
from simia.worlds.webshop.state import draw_choice, shipping_for


def put_in_cart(rng: random.Random, draft: Draft) -> str:
    product_id = pick(rng, draft.state["products"], where=_in_stock)
    product = draft.state["products"][product_id]
    draft.do("search", query=product["title"].lower())
    draft.do("click", element=product_id)
    chosen = _choose(rng, draft, product)
    draft.do("click", element="add to cart")
    _demand_outcome(draft)
    opening = rng.choice(("Put a", "Find me a", "I would like a"))
    return f"{opening} {product['title'].lower()}{chosen}, please, one piece. It goes into my cart; do not order yet."


def buy_what_is_open(rng: random.Random, draft: Draft) -> str:
    product_id = pick(rng, draft.state["products"], where=lambda row: _in_stock(row) and len(row["options"]) < 2)
    draft.state["session"] = _session("product", [product_id], product_id)
    draft.state["cart"] = {}
    product = draft.do("current_page")["offers"][0]
    chosen = _choose(rng, draft, draft.state["products"][product_id])
    draft.do("click", element="buy now")
    draft.do("checkout")
    _demand_outcome(draft)
    return f"I am looking at the {product['title'].lower()}. Order it{chosen}; {product['price']} cents is fine."


def turn_the_page(rng: random.Random, draft: Draft) -> str:
    words = {word for row in draft.state["products"].values() for word in row["attributes"]}
    query = " ".join(rng.sample(sorted(words), min(3, len(words))))
    draft.do("search", query=query)
    draft.do("click", element="next page")
    shown = draft.do("current_page")["offers"]
    product = max(shown, key=lambda row: (row["price"], row["product_id"]))
    draft.do("click", element=product["product_id"])
    if rng.random() < 0.3:
        draft.do("click", element="back to results")
        return f"Look for '{query}', show me the dearest product of the second page, and go back to the results then."
    return f"Search for '{query}', turn to the second page, and open the dearest product there."


def open_the_better_stocked(rng: random.Random, draft: Draft) -> str:
    table = draft.state["products"]
    results = sorted(pick_some(rng, table, 3, 3), key=lambda key: (table[key]["price"], key))
    draft.state["session"] = _session("results", results, None)
    draft.do("current_page")
    one, other = rng.sample(results, 2)
    stocks = {key: draft.do("product_details", product_id=key)["stock"] for key in (one, other)}
    if stocks[one] == stocks[other]:
        raise NoTask("the stocks are equal")
    draft.do("click", element=max(stocks, key=lambda key: stocks[key]))
    return f"Of {one} and {other} on this page, open the one of which more pieces are in stock."


def order_the_cart(rng: random.Random, draft: Draft) -> str:
    _arrange_cart(rng, draft, 1, 4)
    goods = draft.do("view_cart")["goods"]
    receipt = draft.do("checkout")
    if rng.random() < 0.5:
        draft.do("order_details", order_id=receipt["order_id"])
    _demand_outcome(draft)
    return f"My cart should come to {goods} cents before shipping. If so, order all of it. Yes, I am sure."


def use_a_voucher(rng: random.Random, draft: Draft) -> str:
    _arrange_cart(rng, draft, 1, 4)
    code = pick(rng, draft.state["vouchers"], where=lambda row: not row["spent"])
    draft.do("my_vouchers")
    draft.do("apply_voucher", code=code)
    wish = "and leave the rest to me"
    if rng.random() < 0.7:
        draft.do("checkout")
        wish = "and order everything that is in it"
    _demand_outcome(draft)
    return f"Is my voucher {code} still good? Then use it on the cart {wish}."


def tidy_the_cart(rng: random.Random, draft: Draft) -> str:
    _arrange_cart(rng, draft, 3, 6)
    titles = {row["line_id"]: _described(draft, row) for row in draft.do("view_cart")["lines"]}
    *unwanted, kept = pick_some(rng, draft.state["cart"], 2, 6)
    draft.do("remove_from_cart", line_ids=unwanted)
    wish = ""
    if rng.random() < 0.6:
        quantity = rng.randrange(2, 6)
        draft.do("set_quantity", line_id=kept, quantity=quantity)
        wish = f" Of {titles[kept]} I want {quantity}."
    _demand_outcome(draft)
    return f"Take {', '.join(titles[line_id] for line_id in unwanted)} out of my cart.{wish}"


def order_again(rng: random.Random, draft: Draft) -> str:
    order_id = _arrange_order(rng, draft, "sent", 1, 5)
    draft.state["cart"] = {}
    draft.do("order_history")
    if rng.random() < 0.5:
        draft.do("order_details", order_id=order_id)
    draft.do("reorder", order_id=order_id)
    wish = "into my cart again; I shall check out myself."
    if rng.random() < 0.5:
        draft.do("checkout")
        wish = "into my cart again and order it."
    _demand_outcome(draft)
    return f"I liked what came with {order_id}. Put the same {wish}"


def take_it_back(rng: random.Random, draft: Draft) -> str:
    order_id = _arrange_order(rng, draft, "placed", 1, 6)
    draft.do("order_history")
    draft.do("cancel_order", order_id=order_id)
    if rng.random() < 0.5:
        draft.do("order_details", order_id=order_id)
    _demand_outcome(draft)
    return f"{order_id} was a mistake. {rng.choice(('Cancel it', 'Call it off'))} while that is possible."


KINDS: tuple[TaskKind, ...] = (
    put_in_cart,
    buy_what_is_open,
    turn_the_page,
    open_the_better_stocked,
    order_the_cart,
    use_a_voucher,
    tidy_the_cart,
    order_again,
    take_it_back,
)


def _demand_outcome(draft: Draft) -> None:
    """Demand cart, vouchers, orders and stock as the calls left them, wherever the browser stands then."""
    for name, expression in (
        ("the cart is as wanted", "sort_by(values(cart), &product_id)[].[product_id, chosen, quantity, unit_price]"),
        ("the voucher is as wanted", "voucher"),
        ("the orders are as wanted", "sort_by(values(orders), &total)[].[status, total]"),
        ("the stock is as wanted", "values(products)[].stock"),
    ):
        draft.demand(name, f"{expression} == `{json.dumps(jmespath.search(expression, draft.state))}`")


def _in_stock(product: JsonObject) -> bool:
    return bool(product["stock"] > 1)


def _session(page: str, results: list[str], product_id: str | None) -> JsonObject:
    facts = {"page": page, "query": "gift ideas", "results": results, "results_page": 1}
    return {**facts, "product_id": product_id, "chosen": {}}


def _choose(rng: random.Random, draft: Draft, product: JsonObject) -> str:
    """Click a value of each option, and say so."""
    chosen = draw_choice(rng, product["options"])
    for value in chosen.values():
        draft.do("click", element=value)
    return "".join(f", {option} {value}" for option, value in chosen.items())


def _described(draft: Draft, line: JsonObject) -> str:
    title = draft.state["products"][line["product_id"]]["title"].lower()
    return f"the {title} ({', '.join([*line['chosen'].values(), line['line_id']])})"


def _lines(rng: random.Random, draft: Draft, least: int, most: int) -> list[JsonObject]:
    """Lines that can be ordered: of different products, but now and then two of one."""
    table = draft.state["products"]
    chosen = pick_some(rng, table, least, most, where=_in_stock)
    if len(chosen) > 1 and rng.random() < 0.25:
        chosen[-1] = chosen[0]
    return [
        {
            "product_id": key,
            "chosen": draw_choice(rng, table[key]["options"]),
            "quantity": 1,
            "unit_price": table[key]["price"],
        }
        for key in chosen
    ]


def _arrange_cart(rng: random.Random, draft: Draft, least: int, most: int) -> None:
    lines = _lines(rng, draft, least, most)
    draft.state["cart"] = {f"L-{number}": line for number, line in enumerate(lines, rng.randrange(100, 490))}


def _arrange_order(rng: random.Random, draft: Draft, status: str, least: int, most: int) -> str:
    """Make one of the earlier orders a bigger one with this status."""
    lines = _lines(rng, draft, least, most)
    goods = sum(line["unit_price"] for line in lines)
    order_id = pick(rng, draft.state["orders"])
    shipping = shipping_for(goods)
    draft.state["orders"][order_id] = {
        "status": status,
        "lines": lines,
        "shipping": shipping,
        "total": goods + shipping,
    }
    return order_id

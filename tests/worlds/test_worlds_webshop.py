"""The rules of the web shop, each by one call or two."""

from typing import Any

import orjson
import pytest

from simia.types import State, ToolCall
from simia.worlds.webshop import WebshopWorld

WEBSHOP = WebshopWorld()


def product(title: str, price: int, stock: int, *attributes: str, **options: list[str]) -> dict[str, Any]:
    return {"title": title, "attributes": list(attributes), "price": price, "options": options, "stock": stock}


def line(product_id: str, quantity: int, unit_price: int, **chosen: str) -> dict[str, Any]:
    return {"product_id": product_id, "chosen": chosen, "quantity": quantity, "unit_price": unit_price}


@pytest.fixture
def state() -> State:
    return {
        "next_number": 500,
        "session": {
            "page": "product",
            "query": "mug",
            "results": ["P-1"],
            "results_page": 1,
            "product_id": "P-1",
            "chosen": {},
        },
        "products": {
            "P-1": product("Blue mug", 1200, 3, "light", colour=["sky", "navy"]),
            "P-2": product("Light blanket", 3000, 5, "warm"),
            "P-3": product("Lamp", 2500, 1, "warm"),
            "P-4": product("Tea", 850, 9, "light"),
            "P-5": product("Warm hat", 850, 9, "light"),
        },
        "cart": {"L-1": line("P-1", 2, 1200, colour="sky"), "L-2": line("P-2", 1, 3000)},
        "voucher": None,
        "vouchers": {
            "SPRING10": {"percent": 10, "minimum": 5000, "spent": False},
            "HELLO25": {"percent": 25, "minimum": 9000, "spent": False},
        },
        "orders": {
            "O-1": {"status": "placed", "lines": [line("P-3", 1, 2000)], "shipping": 490, "total": 2490},
            "O-2": {"status": "sent", "lines": [line("P-4", 2, 800)], "shipping": 490, "total": 2090},
        },
    }


def do(state: State, name: str, **arguments: Any) -> tuple[Any, State]:
    transition, after = WEBSHOP.run(state, ToolCall(id="call_1", name=name, arguments=arguments))
    return orjson.loads(transition.observation), after


def click(state: State, *elements: str) -> tuple[Any, State]:
    result = None
    for element in elements:
        result, state = do(state, "click", element=element)
    return result, state


def test_results_have_more_of_the_words_first_then_the_cheaper_one_then_the_smaller_id(state: State) -> None:
    _, after = do(state, "search", query="warm LIGHT")
    assert after["session"]["results"] == ["P-5", "P-2", "P-4", "P-1", "P-3"]


def test_three_results_stand_on_a_page_and_the_rest_on_the_next(state: State) -> None:
    first, after = do(state, "search", query="warm light")
    second, _ = click(after, "next page")
    assert first["elements"] == ["P-5", "P-2", "P-4", "next page"]
    assert second["elements"] == ["P-1", "P-3", "previous page"]


def test_what_the_page_does_not_show_cannot_be_clicked(state: State) -> None:
    result, _ = click(state, "P-2")
    assert result == {"error": "the page 'product' has no element 'P-2'"}


def test_the_last_value_clicked_of_an_option_holds(state: State) -> None:
    _, after = click(state, "sky", "navy")
    assert after["session"]["chosen"] == {"colour": "navy"}


def test_a_product_with_options_is_not_put_into_the_cart_before_they_are_chosen(state: State) -> None:
    result, after = click(state, "add to cart")
    assert result == {"error": "choose colour of P-1 first"}
    assert after == state


def test_buy_now_puts_one_piece_into_the_cart_and_opens_it_without_ordering(state: State) -> None:
    result, after = click(state, "navy", "buy now")
    assert result["page"] == "cart"
    assert after["cart"]["L-500"] == line("P-1", 1, 1200, colour="navy")
    assert after["orders"] == state["orders"]


def test_going_back_to_the_results_forgets_what_was_chosen(state: State) -> None:
    _, after = click(state, "navy", "back to results")
    assert (after["session"]["page"], after["session"]["chosen"]) == ("results", {})


def test_checking_out_takes_the_goods_from_the_stock_and_empties_the_cart(state: State) -> None:
    receipt, after = do(state, "checkout")
    assert receipt == {"order_id": "O-500", "goods": 5400, "shipping": 0, "total": 5400}
    assert [row["stock"] for row in after["products"].values()] == [1, 4, 1, 9, 9]
    assert after["cart"] == {}


def test_goods_below_5000_cents_cost_shipping(state: State) -> None:
    _, after = do(state, "remove_from_cart", line_ids=["L-1"])
    assert do(after, "checkout")[0]["total"] == 3000 + 490


def test_nothing_is_sold_beyond_its_stock_even_over_two_lines(state: State) -> None:
    state["cart"]["L-3"] = line("P-1", 2, 1200, colour="navy")
    result, after = do(state, "checkout")
    assert result == {"error": "only 1 of P-1 in stock, not 2"}
    assert after == state


def test_a_voucher_lowers_every_price_of_the_cart_and_is_spent(state: State) -> None:
    cart, after = do(state, "apply_voucher", code="SPRING10")
    assert [row["unit_price"] for row in cart["lines"]] == [1080, 2700]
    assert [row["code"] for row in do(after, "my_vouchers")[0]] == ["HELLO25"]


def test_a_cart_takes_one_voucher_and_only_above_its_minimum(state: State) -> None:
    too_little, _ = do(state, "apply_voucher", code="HELLO25")
    _, after = do(state, "apply_voucher", code="SPRING10")
    second, _ = do(after, "apply_voucher", code="HELLO25")
    assert too_little == {"error": "voucher HELLO25 needs goods for 9000, the cart has 5400"}
    assert second == {"error": "the cart already has the voucher SPRING10"}


def test_an_order_is_put_into_the_cart_again_at_todays_prices(state: State) -> None:
    _, after = do(state, "reorder", order_id="O-2")
    assert after["cart"]["L-500"] == line("P-4", 2, 850)


def test_a_cancelled_order_gives_its_goods_back_and_a_sent_one_cannot_be_cancelled(state: State) -> None:
    result, after = do(state, "cancel_order", order_id="O-1")
    sent, _ = do(state, "cancel_order", order_id="O-2")
    assert result == {"order_id": "O-1", "refund": 2490}
    assert after["products"]["P-3"]["stock"] == 2
    assert sent == {"error": "order O-2 is sent, not placed"}


def test_the_open_page_is_described_without_any_argument(state: State) -> None:
    page, after = do(state, "current_page")
    assert page["offers"] == [{"product_id": "P-1", "title": "Blue mug", "price": 1200}]
    assert page["elements"] == ["sky", "navy", "add to cart", "buy now", "back to results"]
    assert after == state

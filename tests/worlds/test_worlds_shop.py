"""The rules of the shop, each by one call."""

from typing import Any

import orjson
import pytest

from simia.types import State, ToolCall
from simia.worlds.shop import ShopWorld
from simia.worlds.shop.dialogues_orders import scene
from simia.worlds.shop.states import address, customer, order

HOME = address("1 Mill Lane", "Leeds", "LS1 1AA")
SHOP = ShopWorld()


@pytest.fixture
def state() -> State:
    return scene(
        "test",
        "2025-06-30",
        {"C-900": customer("Ada Byron", "ada@example.com", HOME, "1111", 50.0)},
        {
            "NL-1": order("C-900", "pending", "2025-06-29", {"KT-110": 1, "LT-204": 2}, HOME),
            "NL-2": order("C-900", "pending", "2025-06-29", {"KT-142": 1}, HOME, payment_method="store_credit"),
            "NL-3": order("C-900", "shipped", "2025-06-20", {"KT-142": 1}, HOME),
            "NL-4": order("C-900", "delivered", "2025-05-20", {"KT-165": 1, "CL-508": 1}, HOME, "2025-05-31"),
            "NL-5": order("C-900", "delivered", "2025-05-20", {"KT-165": 1}, HOME, "2025-05-30"),
        },
        {"OD-402": 3},
    )


def do(state: State, name: str, **arguments: Any) -> tuple[Any, State]:
    transition, after = SHOP.run(state, ToolCall(id="call_1", name=name, arguments=arguments))
    return orjson.loads(transition.observation), after


def test_an_email_address_is_found_whatever_its_case(state: State) -> None:
    assert do(state, "find_customer", email="ADA@example.com")[0]["customer_id"] == "C-900"


def test_cancelling_several_orders_refunds_each_to_its_payment_and_restores_the_stock(state: State) -> None:
    result, after = do(state, "cancel_orders", customer_id="C-900", order_ids=["NL-1", "NL-2"], reason="changed_mind")
    assert result["total_refund"] == 42.5 + 2 * 17.5 + 28
    assert after["customers"]["C-900"]["store_credit"] == 78
    assert after["products"]["LT-204"]["stock"] == state["products"]["LT-204"]["stock"] + 2


def test_an_order_that_is_not_pending_is_left_and_named_while_the_others_are_cancelled(state: State) -> None:
    result, after = do(state, "cancel_orders", customer_id="C-900", order_ids=["NL-1", "NL-3"], reason="changed_mind")
    assert [row["order_id"] for row in result["not_cancelled"]] == ["NL-3"]
    assert after["orders"]["NL-3"]["status"] == "shipped"


def test_an_order_of_another_customer_cannot_be_cancelled(state: State) -> None:
    stranger = next(one for one in state["customers"] if one != "C-900")
    result, _ = do(state, "cancel_orders", customer_id=stranger, order_ids=["NL-1"], reason="changed_mind")
    assert "not an order of this customer" in result["error"]


def test_an_item_can_be_returned_on_the_thirtieth_day_after_delivery(state: State) -> None:
    result, _ = do(state, "return_items", order_id="NL-4", skus=["KT-165"], refund_to="store_credit")
    assert result["refund"] == 24.5


def test_an_item_cannot_be_returned_on_the_thirty_first_day(state: State) -> None:
    result, _ = do(state, "return_items", order_id="NL-5", skus=["KT-165"], refund_to="store_credit")
    assert result["error"] == "order NL-5 was delivered 31 days ago; the return window is 30 days"


def test_a_clearance_item_is_final_sale(state: State) -> None:
    result, _ = do(state, "return_items", order_id="NL-4", skus=["CL-508"], refund_to="store_credit")
    assert "final sale" in result["error"]


def test_an_item_is_returned_once(state: State) -> None:
    _, after = do(state, "return_items", order_id="NL-4", skus=["KT-165"], refund_to="original_payment")
    result, _ = do(after, "return_items", order_id="NL-4", skus=["KT-165"], refund_to="original_payment")
    assert "already been returned" in result["error"]


def test_more_than_five_pieces_of_a_product_are_refused_even_over_two_lines(state: State) -> None:
    items = [{"sku": "KT-110", "quantity": 3}, {"sku": "KT-110", "quantity": 3}]
    result, _ = do(state, "place_order", customer_id="C-900", items=items, payment_method="card_on_file")
    assert result["error"] == "at most 5 pieces of one product per order, not 6 x Cast iron skillet"


def test_more_than_the_stock_is_refused(state: State) -> None:
    items = [{"sku": "OD-402", "quantity": 4}]
    result, _ = do(state, "place_order", customer_id="C-900", items=items, payment_method="card_on_file")
    assert result["error"] == "only 3 x Two-person hammock in stock, not 4"


def test_an_order_on_store_credit_takes_it_and_the_stock(state: State) -> None:
    items = [{"sku": "KT-110", "quantity": 1}]
    result, after = do(state, "place_order", customer_id="C-900", items=items, payment_method="store_credit")
    assert result["store_credit_left"] == 7.5
    assert after["products"]["KT-110"]["stock"] == 11
    assert after["orders"][result["order_id"]]["status"] == "pending"


def test_two_orders_get_two_numbers(state: State) -> None:
    items = [{"sku": "KT-110", "quantity": 1}]
    first, after = do(state, "place_order", customer_id="C-900", items=items, payment_method="card_on_file")
    second, _ = do(after, "place_order", customer_id="C-900", items=items, payment_method="card_on_file")
    assert first["order_id"] != second["order_id"]


def test_goodwill_is_given_once_and_not_above_the_limit(state: State) -> None:
    too_much, _ = do(state, "give_store_credit", order_id="NL-4", amount=20.25, reason="late")
    _, after = do(state, "give_store_credit", order_id="NL-4", amount=20, reason="late")
    again, _ = do(after, "give_store_credit", order_id="NL-4", amount=1, reason="late")
    assert "at most 20.00" in too_much["error"]
    assert "once per order" in again["error"]


def test_the_address_of_a_shipped_order_stays(state: State) -> None:
    result, _ = do(state, "change_shipping_address", order_id="NL-3", address=HOME)
    assert "only the address of a pending order" in result["error"]

"""The tasks of the shop: what reaches their goals and what does not."""

from collections.abc import Sequence
from typing import Any

import pytest

from simia.config import rng_for
from simia.types import ToolCall, WorldTask
from simia.worlds.drafting import TaskKind, draw_task
from simia.worlds.shop import ShopWorld, tasks

SHOP = ShopWorld()


def drawn(kind: TaskKind, least_arguments: int = 1) -> tuple[WorldTask, ToolCall]:
    """A task of this kind whose last call has a list of at least so many entries, and that call."""
    for seed in range(100):
        task = draw_task(SHOP, [kind], SHOP.initial_state, rng_for(seed, "shop"), "task")
        lists = [value for value in task.gold[-1].arguments.values() if isinstance(value, list)]
        if all(len(value) >= least_arguments for value in lists):
            return task, task.gold[-1]
    raise AssertionError("no such task")


def with_arguments(call: ToolCall, **arguments: Any) -> ToolCall:
    return ToolCall(id=call.id, name=call.name, arguments={**call.arguments, **arguments})


def reached(task: WorldTask, *last: ToolCall) -> bool:
    """Whether the gold calls with others in place of the last one reach the goal."""
    calls: Sequence[ToolCall] = (*task.gold[:-1], *last)
    return SHOP.reached(task, calls)


def test_the_items_of_an_order_may_be_named_in_any_sequence() -> None:
    task, call = drawn(tasks.furnish, 3)
    assert reached(task, with_arguments(call, items=call.arguments["items"][::-1]))


def test_an_order_without_one_of_the_items_does_not_do() -> None:
    task, call = drawn(tasks.furnish, 3)
    assert not reached(task, with_arguments(call, items=call.arguments["items"][1:]))


def test_whoever_orders_more_than_was_asked_for_fails() -> None:
    task, call = drawn(tasks.furnish)
    one_more = {"sku": call.arguments["items"][0]["sku"], "quantity": 1}
    assert not reached(task, call, with_arguments(call, items=[one_more]))


def test_an_order_on_the_card_does_not_spend_the_credit() -> None:
    task, call = drawn(tasks.spend_credit)
    assert not reached(task, with_arguments(call, payment_method="card_on_file"))


def test_orders_may_be_cancelled_one_by_one() -> None:
    task, call = drawn(tasks.cancel_several, 3)
    assert reached(task, *(with_arguments(call, order_ids=[key]) for key in call.arguments["order_ids"]))


def test_cancelling_all_orders_but_one_does_not_do() -> None:
    task, call = drawn(tasks.cancel_several, 3)
    assert not reached(task, with_arguments(call, order_ids=call.arguments["order_ids"][1:]))


def test_who_exchanges_may_order_before_returning() -> None:
    task, _ = drawn(tasks.exchange)
    *reads, returning, ordering = task.gold
    assert SHOP.reached(task, [*reads, ordering, returning])


def test_a_refund_to_the_wrong_place_does_not_do() -> None:
    task, call = drawn(tasks.send_things_back)
    other = {"store_credit": "original_payment", "original_payment": "store_credit"}
    paid = task.initial_state["orders"][call.arguments["order_id"]]["payment_method"]
    wrong = with_arguments(call, refund_to=other[call.arguments["refund_to"]])
    assert reached(task, wrong) == (paid == "store_credit")


def test_a_conversation_is_handed_over_in_whatever_words() -> None:
    task, call = drawn(tasks.ask_for_a_human)
    assert reached(task, with_arguments(call, summary="Wants a colleague."))


@pytest.mark.parametrize("kind", tasks.KINDS)
def test_whoever_speaks_names_the_account_and_every_order_and_product_that_is_changed(kind: TaskKind) -> None:
    task, _ = drawn(kind)
    arguments = [call.arguments for call in task.gold]
    named = [one["email"] for one in arguments if "email" in one]
    named += [one["order_id"] for one in arguments if "order_id" in one]
    named += [key for one in arguments for key in (*one.get("order_ids", ()), *one.get("skus", ()))]
    named += [item["sku"] for one in arguments for item in one.get("items", ())]
    assert [name for name in named if name not in task.instruction] == []

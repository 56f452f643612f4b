"""The rules of the warehouse, each by one call."""

from typing import Any

import orjson
import pytest

from simia.types import State, ToolCall
from simia.worlds.warehouse import WarehouseWorld

WAREHOUSE = WarehouseWorld()


def item(name: str, on_hand: int, reserved: int = 0, minimum: int = 5, supplier_id: str = "V-1") -> State:
    return {
        "name": name,
        "supplier_id": supplier_id,
        "on_hand": on_hand,
        "reserved": reserved,
        "minimum": minimum,
        "on_order": 0,
    }


@pytest.fixture
def state() -> State:
    return {
        "today": "2025-06-30",
        "next_number": 700,
        "items": {
            "I-1": item("lamp", 14, reserved=12),
            "I-2": item("mat", 6, reserved=1, minimum=10),
            "I-3": item("vase", 0, minimum=4, supplier_id="V-2"),
        },
        "bins": {
            "B-10": {"capacity": 40, "stock": {"I-1": 10, "I-2": 6}},
            "B-20": {"capacity": 20, "stock": {"I-1": 4}},
            "B-30": {"capacity": 15, "stock": {}},
        },
        "orders": {
            "O-1": {"customer": "Haru Studio", "status": "reserved", "lines": {"I-1": 12, "I-2": 1}},
            "O-2": {"customer": "Casa Mirim", "status": "open", "lines": {"I-1": 2, "I-2": 5}},
            "O-3": {"customer": "Villa Norte", "status": "open", "lines": {"I-2": 1}},
            "O-4": {"customer": "Villa Norte", "status": "picked", "lines": {"I-2": 1}},
        },
        "shipments": {},
        "suppliers": {
            "V-1": {"name": "Alto Wares", "email": "orders@alto-wares.example"},
            "V-2": {"name": "Brightwell", "email": "orders@brightwell.example"},
        },
        "deliveries": {"D-1": {"supplier_id": "V-1", "status": "expected", "lines": {}}},
    }


@pytest.fixture
def delivered(state: State) -> State:
    """Ten lamps and six mats stand at the gate."""
    state["deliveries"]["D-1"]["lines"] = {"I-1": 10, "I-2": 6}
    state["items"]["I-1"]["on_order"] = 10
    state["items"]["I-2"]["on_order"] = 6
    return state


def do(state: State, name: str, **arguments: Any) -> tuple[Any, State]:
    transition, after = WAREHOUSE.run(state, ToolCall(id="call_1", name=name, arguments=arguments))
    return orjson.loads(transition.observation), after


def test_picking_empties_the_bins_in_the_order_of_their_numbers(state: State) -> None:
    result, after = do(state, "pick_order", order_id="O-1")
    assert result["taken"] == {"B-10": {"I-1": 10, "I-2": 1}, "B-20": {"I-1": 2}}
    assert after["bins"]["B-10"]["stock"] == {"I-2": 5}
    assert (after["items"]["I-1"]["on_hand"], after["items"]["I-1"]["reserved"]) == (2, 0)


def test_an_order_is_picked_only_when_it_is_reserved(state: State) -> None:
    result, _ = do(state, "pick_order", order_id="O-2")
    assert result["error"] == "order O-2 is open, not reserved"


def test_reserving_takes_what_no_other_order_waits_for(state: State) -> None:
    result, after = do(state, "reserve_orders", order_ids=["O-2"])
    assert result["pieces"] == 7
    assert after["items"]["I-1"]["reserved"] == 14
    assert after["bins"] == state["bins"]


def test_if_one_order_lacks_pieces_none_is_reserved(state: State) -> None:
    result, after = do(state, "reserve_orders", order_ids=["O-2", "O-3"])
    assert result["error"] == "O-3 needs 1 of I-2, 0 are free"
    assert after == state


def test_cancelling_frees_the_reservations(state: State) -> None:
    _, after = do(state, "cancel_order", order_id="O-1")
    assert after["items"]["I-1"]["reserved"] == 0
    assert after["orders"]["O-1"]["status"] == "cancelled"


def test_a_picked_order_is_not_cancelled(state: State) -> None:
    assert do(state, "cancel_order", order_id="O-4")[0]["error"] == "order O-4 is picked"


def test_each_order_is_a_shipment_of_its_own(state: State) -> None:
    _, picked = do(state, "pick_order", order_id="O-1")
    result, after = do(picked, "ship_orders", order_ids=["O-4", "O-1"])
    assert result["shipments"] == {"O-4": "H-700", "O-1": "H-701"}
    assert after["shipments"]["H-701"] == {"order_id": "O-1", "day": "2025-06-30"}
    assert after["next_number"] == 702


def test_a_delivery_fills_the_bin_and_is_no_longer_on_order(delivered: State) -> None:
    result, after = do(delivered, "receive_delivery", delivery_id="D-1", bin_id="B-20")
    assert result["stock"] == {"I-1": 14, "I-2": 6}
    assert (after["items"]["I-1"]["on_hand"], after["items"]["I-1"]["on_order"]) == (24, 0)


def test_a_delivery_does_not_go_into_a_bin_that_is_too_small(delivered: State) -> None:
    result, after = do(delivered, "receive_delivery", delivery_id="D-1", bin_id="B-30")
    assert result["error"] == "bin B-30 holds 15, not 16"
    assert after == delivered


def test_a_delivery_is_received_once(delivered: State) -> None:
    _, after = do(delivered, "receive_delivery", delivery_id="D-1", bin_id="B-10")
    again, _ = do(after, "receive_delivery", delivery_id="D-1", bin_id="B-10")
    assert again["error"] == "delivery D-1 is received"


def test_moving_a_bin_adds_to_what_the_other_has_and_keeps_what_is_on_hand(state: State) -> None:
    _, after = do(state, "move_bin", source="B-20", target="B-10")
    assert after["bins"]["B-10"]["stock"] == {"I-1": 14, "I-2": 6}
    assert after["bins"]["B-20"]["stock"] == {}
    assert after["items"] == state["items"]


def test_an_item_that_the_count_does_not_name_is_gone(state: State) -> None:
    _, state = do(state, "cancel_order", order_id="O-1")
    result, after = do(state, "count_bin", bin_id="B-10", counts=[{"item_id": "I-1", "pieces": 11}])
    assert result["corrections"] == {"I-1": 1, "I-2": -6}
    assert after["bins"]["B-10"]["stock"] == {"I-1": 11}
    assert after["items"]["I-2"]["on_hand"] == 0


def test_a_count_does_not_take_what_is_reserved(state: State) -> None:
    result, _ = do(state, "count_bin", bin_id="B-20", counts=[])
    assert result["error"] == "12 of I-1 are reserved, the count leaves 10"


def test_what_is_short_is_ordered_once_from_each_supplier(state: State) -> None:
    result, after = do(state, "reorder")
    assert [(row["supplier"], row["lines"]) for row in result["deliveries"]] == [
        ("Alto Wares", {"I-1": 10, "I-2": 20}),
        ("Brightwell", {"I-3": 8}),
    ]
    assert after["items"]["I-2"]["on_order"] == 20
    assert do(after, "reorder")[0]["error"] == "no item is short"

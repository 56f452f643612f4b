"""The rules of the restaurant, each by one call."""

from typing import Any

import orjson
import pytest

from simia.types import JsonObject, State, ToolCall
from simia.worlds.restaurant import RestaurantWorld

RESTAURANT = RestaurantWorld()


def reservation(guest: str, guests: int, time: str, table: str, status: str) -> JsonObject:
    return {"guest": guest, "guests": guests, "time": time, "table": table, "status": status}


def line(bill: str, dish: str, quantity: int, amount: int, ticket: str | None) -> JsonObject:
    return {"bill": bill, "dish": dish, "quantity": quantity, "amount": amount, "ticket": ticket}


@pytest.fixture
def state() -> State:
    return {
        "today": "2025-10-31",
        "next_number": 500,
        "tables": {
            "T-1": {"seats": 4, "area": "room", "reservation": "R-1"},
            "T-2": {"seats": 2, "area": "terrace", "reservation": None},
            "T-3": {"seats": 6, "area": "room", "reservation": None},
            "T-4": {"seats": 2, "area": "room", "reservation": "R-3"},
        },
        "reservations": {
            "R-1": reservation("Aino Berg", 3, "18:30", "T-1", "seated"),
            "R-2": reservation("Celia Duarte", 5, "20:00", "T-3", "booked"),
            "R-3": reservation("Goran Ilic", 2, "18:00", "T-4", "seated"),
        },
        "dishes": {
            "D-1": {"name": "Fish cakes", "price": 1600, "station": "grill", "recipe": {"fish": 1, "flour": 2}},
            "D-2": {"name": "Lemon tart", "price": 650, "station": "cold", "recipe": {"flour": 1, "lemon": 2}},
            "D-3": {"name": "Trout", "price": 2100, "station": "grill", "recipe": {"fish": 1, "lemon": 1}},
        },
        "stock": {"fish": 6, "flour": 9, "lemon": 20},
        "bills": {
            "B-1": {"table": "T-1", "status": "open", "total": 4500},
            "B-2": {"table": "T-1", "status": "open", "total": 2100},
            "B-3": {"table": "T-4", "status": "open", "total": 3200},
            "B-4": {"table": "T-2", "status": "paid", "total": 5000},
        },
        "lines": {
            "L-1": line("B-1", "D-1", 2, 3200, "K-1"),
            "L-2": line("B-1", "D-2", 2, 1300, None),
            "L-3": line("B-2", "D-3", 1, 2100, "K-1"),
            "L-4": line("B-3", "D-1", 2, 3200, None),
        },
        "tickets": {"K-1": {"table": "T-1", "station": "grill"}},
        "till": {"card": 5000, "cash": 0},
        "takings": {},
    }


def do(state: State, name: str, **arguments: Any) -> tuple[Any, State]:
    transition, after = RESTAURANT.run(state, ToolCall(id="call_1", name=name, arguments=arguments))
    return orjson.loads(transition.observation), after


def test_an_order_uses_the_stock_and_gives_each_station_one_ticket(state: State) -> None:
    items = [{"dish": "D-1", "quantity": 2}, {"dish": "D-2", "quantity": 1}, {"dish": "D-3", "quantity": 1}]
    result, after = do(state, "place_order", bill_id="B-3", items=items)
    assert after["stock"] == {"fish": 3, "flour": 4, "lemon": 17}
    assert sorted(result["tickets"]) == ["cold", "grill"]
    assert result["total"] == 3200 + 3200 + 650 + 2100


def test_an_order_that_the_stock_does_not_allow_leaves_the_stock_as_it_is(state: State) -> None:
    items = [{"dish": "D-1", "quantity": 4}, {"dish": "D-2", "quantity": 2}]
    result, after = do(state, "place_order", bill_id="B-3", items=items)
    assert result["error"] == "D-2 needs 2 flour, and 1 are left"
    assert after == state


def test_the_scarcest_ingredient_says_how_many_portions_are_left(state: State) -> None:
    assert do(state, "portions_left", dish_id="D-1")[0]["portions_left"] == 4


def test_a_served_ticket_leaves_the_kitchen_and_serves_the_lines_of_all_bills(state: State) -> None:
    result, after = do(state, "serve_tickets", ticket_ids=["K-1"])
    assert result == {"lines": ["L-1", "L-3"], "still_waiting": 0}
    assert after["tickets"] == {}


def test_a_split_bill_adds_up_to_what_it_was(state: State) -> None:
    result, after = do(state, "split_bill", bill_id="B-1", line_ids=["L-2"])
    assert (result["total"], result["new_total"]) == (3200, 1300)
    assert after["lines"]["L-2"]["bill"] == result["new_bill"]


def test_a_bill_is_not_split_into_nothing_and_all(state: State) -> None:
    result, _ = do(state, "split_bill", bill_id="B-1", line_ids=["L-1", "L-2"])
    assert result["error"] == "nothing would stay on bill B-1"


def test_merged_bills_are_one_with_all_lines(state: State) -> None:
    result, after = do(state, "merge_bills", bill_id="B-1", others=["B-2"])
    assert (result["total"], sorted(result["lines"])) == (6600, ["L-1", "L-2", "L-3"])
    assert "B-2" not in after["bills"]


def test_bills_of_two_tables_are_not_merged(state: State) -> None:
    result, _ = do(state, "merge_bills", bill_id="B-1", others=["B-3"])
    assert result["error"] == "bill B-3 is not another bill of table T-1"


def test_a_bill_is_not_paid_while_the_kitchen_cooks_for_it(state: State) -> None:
    result, _ = do(state, "pay_bills", bill_ids=["B-1"], method="card")
    assert result["error"] == "the kitchen still cooks for bill B-1"


def test_a_table_is_free_when_its_last_bill_is_paid(state: State) -> None:
    _, served = do(state, "serve_tickets", ticket_ids=["K-1"])
    first, halfway = do(served, "pay_bills", bill_ids=["B-1"], method="cash")
    second, after = do(halfway, "pay_bills", bill_ids=["B-2", "B-3"], method="card")
    assert (first["tables_free"], second["tables_free"]) == ([], ["T-1", "T-4"])
    assert after["till"] == {"card": 5000 + 2100 + 3200, "cash": 4500}
    assert after["lines"] == {}


def test_a_party_moves_with_its_bills_and_its_food(state: State) -> None:
    result, after = do(state, "move_party", source="T-1", target="T-3")
    assert result == {"reservation_id": "R-1", "bills": ["B-1", "B-2"], "tickets": ["K-1"]}
    assert after["tickets"]["K-1"]["table"] == "T-3"
    assert after["bills"]["B-3"]["table"] == "T-4"


@pytest.mark.parametrize(
    ("target", "reason"), [("T-2", "table T-2 has 2 seats, not 3"), ("T-4", "table T-4 is taken by R-3")]
)
def test_a_party_moves_only_to_a_free_table_with_seats_for_all(state: State, target: str, reason: str) -> None:
    assert do(state, "move_party", source="T-1", target=target)[0]["error"] == reason


def test_two_parties_have_a_table_two_hours_apart(state: State) -> None:
    near, _ = do(state, "reserve", guest="Jun Sato", guests=4, time="18:01", table_id="T-3")
    apart, _ = do(state, "reserve", guest="Jun Sato", guests=4, time="18:00", table_id="T-3")
    assert near["error"] == "table T-3 is booked at 20:00 by R-2"
    assert apart["status"] == "booked"


def test_the_day_is_not_closed_while_guests_sit(state: State) -> None:
    assert do(state, "close_day")[0]["error"] == "guests still sit at table T-1"


def test_a_closed_day_books_the_takings_and_names_who_did_not_come(state: State) -> None:
    _, served = do(state, "serve_tickets", ticket_ids=["K-1"])
    _, paid = do(served, "pay_bills", bill_ids=["B-1", "B-2", "B-3"], method="cash")
    result, after = do(paid, "close_day")
    assert result == {"day": "2025-10-31", "takings": 14800, "not_shown_up": ["R-2"]}
    assert (after["today"], after["takings"]) == ("2025-11-01", {"2025-10-31": 14800})
    assert (after["bills"], after["reservations"], after["till"]) == ({}, {}, {"card": 0, "cash": 0})

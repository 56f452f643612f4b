"""The rules of the airline, each by one call."""

from typing import Any

import orjson
import pytest

from simia.types import State, ToolCall
from simia.worlds.airline import AirlineWorld

AIRLINE = AirlineWorld()


def flight(route: str, day: str, fare: int, seats_left: int, status: str = "scheduled") -> dict[str, Any]:
    return {
        "route": route,
        "day": day,
        "time": "09:15",
        "fare": fare,
        "seats": 8,
        "seats_left": seats_left,
        "status": status,
    }


def ticket(reservation_id: str, seat: str | None, bags: int = 0, status: str = "open") -> dict[str, Any]:
    return {"reservation_id": reservation_id, "passenger": "Pia Lindt", "seat": seat, "bags": bags, "status": status}


def reservation(flight_id: str, fare_class: str, paid: int) -> dict[str, Any]:
    return {
        "customer_id": "C-1",
        "flight_id": flight_id,
        "fare_class": fare_class,
        "paid": paid,
        "status": "booked",
    }


@pytest.fixture
def state() -> State:
    return {
        "today": "2025-03-31",
        "next_number": 500,
        "customers": {"C-1": {"name": "Alma Reyes", "email": "alma@post.example", "credit": 50000}},
        "flights": {
            "H-1": flight("Arden-Belmora", "2025-03-31", 6000, 6),
            "H-2": flight("Arden-Belmora", "2025-04-01", 7000, 7),
            "H-3": flight("Arden-Belmora", "2025-03-31", 5000, 6, "cancelled"),
            "H-4": flight("Arden-Castria", "2025-03-31", 5000, 7),
        },
        "reservations": {
            "R-1": reservation("H-1", "saver", 12001),
            "R-2": reservation("H-2", "flex", 11000),
            "R-3": reservation("H-3", "saver", 10000),
            "R-4": reservation("H-4", "saver", 5000),
        },
        "tickets": {
            "T-10": ticket("R-1", "1B"),
            "T-11": ticket("R-1", None),
            "T-20": ticket("R-2", "1A", bags=2),
            "T-30": ticket("R-3", "1A"),
            "T-31": ticket("R-3", "1B"),
            "T-40": ticket("R-4", "2D", status="checked_in"),
        },
    }


def do(state: State, name: str, **arguments: Any) -> tuple[Any, State]:
    transition, after = AIRLINE.run(state, ToolCall(id="call_1", name=name, arguments=arguments))
    return orjson.loads(transition.observation), after


def test_a_booking_takes_seats_and_credit_and_gives_each_passenger_a_ticket(state: State) -> None:
    party = ["Emil Novak", "Gita Rao"]
    result, after = do(state, "book", customer_id="C-1", flight_id="H-2", fare_class="flex", passengers=party)
    assert result["ticket_ids"] == ["T-5000", "T-5001"]
    assert after["flights"]["H-2"]["seats_left"] == 5
    assert after["customers"]["C-1"]["credit"] == 50000 - 2 * (7000 + 4000)


def test_nobody_books_beyond_the_credit(state: State) -> None:
    state["customers"]["C-1"]["credit"] = 6999
    result, _ = do(state, "book", customer_id="C-1", flight_id="H-2", fare_class="saver", passengers=["Gita Rao"])
    assert result["error"] == "customer C-1 has 6999 credit, not 7000"


def test_check_in_keeps_chosen_seats_and_gives_the_others_the_first_free_one(state: State) -> None:
    result, _ = do(state, "check_in", reservation_id="R-1")
    assert result == [{"ticket_id": "T-10", "seat": "1B"}, {"ticket_id": "T-11", "seat": "1A"}]


def test_nobody_checks_in_before_the_day_of_the_flight(state: State) -> None:
    result, _ = do(state, "check_in", reservation_id="R-2")
    assert result["error"] == "flight H-2 leaves on 2025-04-01, not today"


def test_a_change_to_a_dearer_flight_costs_the_difference_and_the_saver_fee_for_each_passenger(state: State) -> None:
    result, after = do(state, "change_flight", reservation_id="R-1", flight_id="H-2")
    assert result["charged"] == 2 * (1000 + 3000)
    assert after["tickets"]["T-10"]["seat"] is None
    assert (after["flights"]["H-1"]["seats_left"], after["flights"]["H-2"]["seats_left"]) == (8, 5)


def test_a_change_to_a_cheaper_flight_with_a_flex_fare_costs_and_returns_nothing(state: State) -> None:
    result, _ = do(state, "change_flight", reservation_id="R-2", flight_id="H-1")
    assert result == {"charged": 0, "credit": 50000}


def test_a_change_stays_on_the_route(state: State) -> None:
    result, _ = do(state, "change_flight", reservation_id="R-1", flight_id="H-4")
    assert "no other flight of the route Arden-Belmora" in result["error"]


@pytest.mark.parametrize(("reservation_id", "refund"), [("R-1", 6000), ("R-2", 11000), ("R-3", 10000)])
def test_cancelling_refunds_half_a_saver_fare_but_all_of_a_flex_fare_or_a_cancelled_flight(
    state: State, reservation_id: str, refund: int
) -> None:
    _, after = do(state, "cancel_reservation", reservation_id=reservation_id)
    assert after["customers"]["C-1"]["credit"] == 50000 + refund
    assert all(row["reservation_id"] != reservation_id for row in after["tickets"].values())


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("cancel_reservation", {}), ("add_bags", {"bags": 1}), ("change_flight", {"flight_id": "H-2"}), ("check_in", {})],
)
def test_once_checked_in_nothing_about_a_reservation_changes(
    state: State, name: str, arguments: dict[str, Any]
) -> None:
    result, _ = do(state, name, reservation_id="R-4", **arguments)
    assert result["error"] == "reservation 'R-4' has no open tickets"


def test_a_passenger_has_at_most_three_bags(state: State) -> None:
    result, _ = do(state, "add_bags", reservation_id="R-2", bags=2)
    assert result["error"] == "ticket T-20 would have 4 bags; at most 3 are allowed"


def test_a_taken_seat_cannot_be_chosen(state: State) -> None:
    choices = [{"ticket_id": "T-11", "seat": "1B"}]
    result, _ = do(state, "choose_seats", reservation_id="R-1", choices=choices)
    assert result["error"] == "seat 1B of flight H-1 is not free"


def test_everybody_on_a_cancelled_flight_is_moved_without_seats_and_free_of_charge(state: State) -> None:
    result, after = do(state, "rebook_flight", flight_id="H-3", to_flight_id="H-2")
    assert result["moved"] == ["R-3"]
    assert [after["tickets"][key]["seat"] for key in ("T-30", "T-31")] == [None, None]
    assert after["customers"] == state["customers"]


def test_the_day_does_not_end_while_somebody_is_stranded(state: State) -> None:
    result, _ = do(state, "end_day")
    assert result["error"] == "flight H-3 is cancelled and 2 passengers are not rebooked"


def test_at_the_end_of_the_day_only_those_checked_in_have_flown_and_tomorrow_is_left_alone(state: State) -> None:
    _, moved = do(state, "rebook_flight", flight_id="H-3", to_flight_id="H-2")
    result, after = do(moved, "end_day")
    assert result == {
        "departed": ["H-1", "H-4"],
        "flown": ["T-40"],
        "no_shows": ["T-10", "T-11"],
        "today": "2025-04-01",
    }
    assert after["flights"]["H-2"] == moved["flights"]["H-2"]


def test_the_stranded_are_listed_until_they_are_rebooked(state: State) -> None:
    before, _ = do(state, "disrupted_flights")
    _, after = do(state, "rebook_flight", flight_id="H-3", to_flight_id="H-1")
    assert before == [{"flight_id": "H-3", "reservation_ids": ["R-3"], "passengers": 2}]
    assert do(after, "disrupted_flights")[0] == []

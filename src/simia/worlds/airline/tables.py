"""What several tools look up, move and charge."""

from typing_extensions import TypedDict

from simia.worlds.airline.state import AirlineState, Cents, Flight, Ticket
from simia.worlds.executable import Refused


class Receipt(TypedDict):
    charged: int
    credit: Cents


def scheduled_flight(state: AirlineState, flight_id: str) -> Flight:
    flight = state["flights"].get(flight_id)
    if flight is None or flight["status"] != "scheduled":
        raise Refused(f"flight {flight_id!r} is not scheduled")
    return flight


def tickets_on(state: AirlineState, flight_id: str) -> dict[str, Ticket]:
    booked = [key for key, row in state["reservations"].items() if row["flight_id"] == flight_id]
    return {key: row for key, row in sorted(state["tickets"].items()) if row["reservation_id"] in booked}


def open_tickets(state: AirlineState, reservation_id: str) -> dict[str, Ticket]:
    tickets = {key: row for key, row in sorted(state["tickets"].items()) if row["reservation_id"] == reservation_id}
    if any(row["status"] != "open" for row in tickets.values()) or not tickets:
        raise Refused(f"reservation {reservation_id!r} has no open tickets")
    return tickets


def move(state: AirlineState, tickets: dict[str, Ticket], flight_id: str, to_flight_id: str) -> None:
    """Give up seats on one flight for places, without seats yet, on another one of the route."""
    old, new = state["flights"][flight_id], scheduled_flight(state, to_flight_id)
    if old is new or old["route"] != new["route"]:
        raise Refused(f"flight {to_flight_id} is no other flight of the route {old['route']}")
    if new["seats_left"] < len(tickets):
        raise Refused(f"flight {to_flight_id} has {new['seats_left']} seats left, not {len(tickets)}")
    old["seats_left"] += len(tickets)
    new["seats_left"] -= len(tickets)
    for ticket in tickets.values():
        ticket["seat"] = None


def charge(state: AirlineState, reservation_id: str, cents: int) -> Receipt:
    """Take a price from the customer's credit; a negative one is a refund."""
    reservation = state["reservations"][reservation_id]
    customer = state["customers"][reservation["customer_id"]]
    if customer["credit"] < cents:
        raise Refused(f"customer {reservation['customer_id']} has {customer['credit']} credit, not {cents}")
    customer["credit"] -= cents
    reservation["paid"] += cents
    return {"charged": cents, "credit": customer["credit"]}

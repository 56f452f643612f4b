"""The tools of the reservations desk: what customers ask for."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.airline.operations import disrupted_flights, end_day, rebook_flight, todays_departures
from simia.worlds.airline.state import (
    AirlineState,
    Customer,
    FareClass,
    Flight,
    FlightId,
    Reservation,
    ReservationId,
    Ticket,
    TicketId,
    price_of,
    seats_of,
)
from simia.worlds.airline.tables import (
    Receipt,
    charge,
    move,
    open_tickets,
    scheduled_flight,
    tickets_on,
)
from simia.worlds.executable import Action, Refused

BAG_FEE = 2500
CHANGE_FEE = 3000
MOST_BAGS = 3

CustomerId = Annotated[str, Field(description="Customer number, for example 'C-131'.")]
Passengers = Annotated[list[str], Field(min_length=1, max_length=5, description="Full names.")]
Seat = Annotated[str, Field(pattern="^[1-9][A-D]$", description="For example '2C'.")]
Route = Annotated[str, Field(description="From and to, for example 'Arden-Belmora'.")]


class FoundCustomer(Customer):
    customer_id: str
    reservations: list[str]


class ReservationDetails(Reservation):
    reservation_id: str
    tickets: dict[str, Ticket]


class FlightRow(Flight):
    flight_id: str


class Booked(Receipt):
    reservation_id: ReservationId
    ticket_ids: list[TicketId]


class SeatOfTicket(TypedDict):
    ticket_id: TicketId
    seat: Seat


def find_customer(state: AirlineState, email: Annotated[str, Field(description="E-mail address.")]) -> FoundCustomer:
    """Look up a customer by e-mail address; also gives the numbers of the customer's reservations."""
    for customer_id, customer in state["customers"].items():
        if customer["email"] == email.strip().lower():
            mine = [key for key, row in state["reservations"].items() if row["customer_id"] == customer_id]
            return {"customer_id": customer_id, **customer, "reservations": sorted(mine)}
    raise Refused(f"no customer with the e-mail address {email!r}")


def get_reservation(state: AirlineState, reservation_id: ReservationId) -> ReservationDetails:
    """A reservation with its tickets."""
    if reservation_id not in state["reservations"]:
        raise Refused(f"reservation {reservation_id!r} not found")
    tickets = {key: row for key, row in sorted(state["tickets"].items()) if row["reservation_id"] == reservation_id}
    return {"reservation_id": reservation_id, **state["reservations"][reservation_id], "tickets": tickets}


def search_flights(state: AirlineState, route: Route) -> list[FlightRow]:
    """The flights of a route that still leave, earliest first."""
    rows: list[FlightRow] = [
        {"flight_id": key, **flight}
        for key, flight in state["flights"].items()
        if flight["route"] == route and flight["status"] == "scheduled"
    ]
    return sorted(rows, key=lambda row: (row["day"], row["time"], row["flight_id"]))


def free_seats(state: AirlineState, flight_id: FlightId) -> list[str]:
    """The seats of a scheduled flight that nobody has, from the front."""
    taken = [ticket["seat"] for ticket in tickets_on(state, flight_id).values()]
    return [seat for seat in seats_of(scheduled_flight(state, flight_id)) if seat not in taken]


def book(
    state: AirlineState, customer_id: CustomerId, flight_id: FlightId, fare_class: FareClass, passengers: Passengers
) -> Booked:
    """Book a flight for a party, without bags and seats, and pay from the customer's credit."""
    if customer_id not in state["customers"]:
        raise Refused(f"customer {customer_id!r} not found")
    flight = scheduled_flight(state, flight_id)
    if flight["seats_left"] < len(passengers):
        raise Refused(f"flight {flight_id} has {flight['seats_left']} seats left, not {len(passengers)}")
    number = state["next_number"]
    reservation_id = f"R-{number}"
    tickets: dict[str, Ticket] = {
        f"T-{number}{place}": {
            "reservation_id": reservation_id,
            "passenger": passenger,
            "seat": None,
            "bags": 0,
            "status": "open",
        }
        for place, passenger in enumerate(passengers)
    }
    state["next_number"] = number + 1
    flight["seats_left"] -= len(passengers)
    state["tickets"].update(tickets)
    state["reservations"][reservation_id] = {
        "customer_id": customer_id,
        "flight_id": flight_id,
        "fare_class": fare_class,
        "paid": 0,
        "status": "booked",
    }
    receipt = charge(state, reservation_id, len(passengers) * price_of(flight, fare_class))
    return {"reservation_id": reservation_id, **receipt, "ticket_ids": list(tickets)}


def choose_seats(
    state: AirlineState,
    reservation_id: ReservationId,
    choices: Annotated[list[SeatOfTicket], Field(min_length=1, max_length=5)],
) -> list[SeatOfTicket]:
    """Give free seats to passengers of a reservation who are not checked in."""
    tickets = open_tickets(state, reservation_id)
    flight_id = state["reservations"][reservation_id]["flight_id"]
    for choice in choices:
        ticket_id, seat = choice["ticket_id"], choice["seat"]
        if ticket_id not in tickets:
            raise Refused(f"ticket {ticket_id} is not of reservation {reservation_id}")
        if seat not in free_seats(state, flight_id):
            raise Refused(f"seat {seat} of flight {flight_id} is not free")
        tickets[ticket_id]["seat"] = seat
    return list(choices)


def add_bags(
    state: AirlineState, reservation_id: ReservationId, bags: Annotated[int, Field(ge=1, le=3, description="Each.")]
) -> Receipt:
    """Add the same number of bags for each passenger of a reservation, and pay for them."""
    tickets = open_tickets(state, reservation_id)
    for ticket_id, ticket in tickets.items():
        ticket["bags"] += bags
        if ticket["bags"] > MOST_BAGS:
            raise Refused(f"ticket {ticket_id} would have {ticket['bags']} bags; at most {MOST_BAGS} are allowed")
    return charge(state, reservation_id, len(tickets) * bags * BAG_FEE)


def change_flight(state: AirlineState, reservation_id: ReservationId, flight_id: FlightId) -> Receipt:
    """Move a party to another flight of the same route; seats are given up, a dearer fare is paid."""
    tickets = open_tickets(state, reservation_id)
    reservation = state["reservations"][reservation_id]
    old_id = reservation["flight_id"]
    move(state, tickets, old_id, flight_id)
    reservation["flight_id"] = flight_id
    dearer = max(state["flights"][flight_id]["fare"] - state["flights"][old_id]["fare"], 0)
    fee = CHANGE_FEE if reservation["fare_class"] == "saver" else 0
    return charge(state, reservation_id, len(tickets) * (dearer + fee))


def cancel_reservation(state: AirlineState, reservation_id: ReservationId) -> Receipt:
    """Cancel a reservation before check-in: its tickets and seats are given up, the refund goes to the credit."""
    tickets = open_tickets(state, reservation_id)
    reservation = state["reservations"][reservation_id]
    flight = state["flights"][reservation["flight_id"]]
    half = reservation["fare_class"] == "saver" and flight["status"] != "cancelled"
    reservation["status"] = "cancelled"
    flight["seats_left"] += len(tickets)
    for ticket_id in tickets:
        del state["tickets"][ticket_id]
    return charge(state, reservation_id, -(reservation["paid"] // 2 if half else reservation["paid"]))


def check_in(state: AirlineState, reservation_id: ReservationId) -> list[SeatOfTicket]:
    """Check a whole party in on the day of the flight; who has no seat gets the first free one."""
    tickets = open_tickets(state, reservation_id)
    flight_id = state["reservations"][reservation_id]["flight_id"]
    day = scheduled_flight(state, flight_id)["day"]
    if day != state["today"]:
        raise Refused(f"flight {flight_id} leaves on {day}, not today")
    passes: list[SeatOfTicket] = []
    for ticket_id, ticket in tickets.items():
        seat = ticket["seat"] or free_seats(state, flight_id)[0]
        ticket["seat"] = seat
        ticket["status"] = "checked_in"
        passes.append({"ticket_id": ticket_id, "seat": seat})
    return passes


TOOLS: tuple[Action, ...] = (
    find_customer,
    get_reservation,
    search_flights,
    free_seats,
    todays_departures,
    disrupted_flights,
    book,
    choose_seats,
    add_bags,
    change_flight,
    cancel_reservation,
    check_in,
    rebook_flight,
    end_day,
)

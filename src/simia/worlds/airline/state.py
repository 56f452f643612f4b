"""What Heron Air keeps: flights, customers with travel credit, reservations and tickets. Amounts are whole cents."""

import random
from datetime import date, timedelta
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from simia.types import Invariant, State

Day = Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
Cents = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]
FlightId = Annotated[str, Field(description="Flight number, for example 'H-204'.")]
ReservationId = Annotated[str, Field(description="Reservation number, for example 'R-318'.")]
TicketId = Annotated[str, Field(description="Ticket number, for example 'T-3180'.")]
FareClass = Literal["saver", "flex"]
FlightStatus = Literal["scheduled", "cancelled", "departed"]
TicketStatus = Literal["open", "checked_in", "flown", "no_show"]

FLEX_SURCHARGE = 4000


class Customer(TypedDict):
    name: str
    email: str
    credit: Cents


class Flight(TypedDict):
    route: str
    day: Day
    time: str
    fare: Cents
    seats: Count
    seats_left: Count
    status: FlightStatus


class Reservation(TypedDict):
    customer_id: str
    flight_id: str
    fare_class: FareClass
    paid: Cents
    status: Literal["booked", "cancelled"]


class Ticket(TypedDict):
    reservation_id: str
    passenger: str
    seat: str | None
    bags: Count
    status: TicketStatus


class AirlineState(TypedDict):
    """The whole state."""

    today: Day
    next_number: int
    customers: dict[str, Customer]
    flights: dict[str, Flight]
    reservations: dict[str, Reservation]
    tickets: dict[str, Ticket]


INVARIANTS = (
    Invariant(
        name="reservations belong to customers",
        expression="values(reservations)[].customer_id",
        refers_to="keys(customers)",
    ),
    Invariant(
        name="reservations are for flights", expression="values(reservations)[].flight_id", refers_to="keys(flights)"
    ),
    Invariant(
        name="tickets belong to reservations",
        expression="values(tickets)[].reservation_id",
        refers_to="keys(reservations)",
    ),
    Invariant(
        name="each seat is free or has a ticket",
        expression="sum([sum(values(flights)[].seats_left), length(values(tickets))]) == sum(values(flights)[].seats)",
    ),
    Invariant(
        name="who is checked in has a seat",
        expression="length(values(tickets)[?status == 'checked_in' && seat == null]) == `0`",
    ),
)

_CITIES = ("Arden", "Belmora", "Castria", "Dunvik", "Elsport", "Farholm")
_NAMES = (
    "Alma Reyes",
    "Boris Lund",
    "Chidi Eze",
    "Dora Weiss",
    "Emil Novak",
    "Farah Aziz",
    "Gita Rao",
    "Henk Visser",
    "Ines Costa",
    "Jun Mori",
    "Kofi Mensah",
    "Lena Brandt",
    "Milo Serra",
    "Nadia Haddad",
    "Otto Kivi",
    "Pia Lindt",
)
_TIMES = ("06:40", "09:15", "12:05", "15:30")


def seats_of(flight: Flight) -> list[str]:
    """The names of all seats, from the front: '1A' to '1D', then '2A' and so on."""
    return [f"{place // 4 + 1}{'ABCD'[place % 4]}" for place in range(flight["seats"])]


def price_of(flight: Flight, fare_class: FareClass) -> int:
    """What one passenger pays without bags."""
    return flight["fare"] + (FLEX_SURCHARGE if fare_class == "flex" else 0)


def draw_state(rng: random.Random) -> State:
    """Four flights on two routes, of which one may be cancelled, and three parties that booked, on some day of 2025."""
    today = date(2025, 1, 10) + timedelta(days=rng.randrange(330))
    flights = _flights(rng, today)
    names = rng.sample(_NAMES, len(_NAMES))
    customers = {f"C-{number}": _customer(rng, name) for number, name in zip(_numbers(rng, 3), names[:3], strict=True)}
    reservations: dict[str, Reservation] = {}
    tickets: dict[str, Ticket] = {}
    first, second, third, other = sorted(flights)
    booked = [first, second, rng.choice((first, first, third, other))]
    for number, owner, flight_id in zip(_numbers(rng, 3), customers, booked, strict=True):
        flight = flights[flight_id]
        party = [names.pop() for _ in range(rng.choice((1, 2, 2, 3, 4)))]
        reservation = _reservation(rng, owner, flight_id, flight, len(party))
        reservations[f"R-{number}"] = reservation
        leaves_today = flight["day"] == today.isoformat() and flight["status"] == "scheduled"
        status: TicketStatus = "checked_in" if leaves_today and rng.random() < 0.5 else "open"
        seats = seats_of(flight)[-flight["seats_left"] :] if status == "checked_in" or rng.random() < 0.5 else []
        tickets |= _tickets(rng, f"R-{number}", party, seats, status)
        flight["seats_left"] -= len(party)
    return {
        "today": today.isoformat(),
        "next_number": rng.randrange(500, 900),
        "customers": customers,
        "flights": flights,
        "reservations": reservations,
        "tickets": tickets,
    }


def _numbers(rng: random.Random, count: int) -> list[int]:
    return sorted(rng.sample(range(100, 400), count))


def _flights(rng: random.Random, today: date) -> dict[str, Flight]:
    """Three flights on one route and one on another; the first of them may be cancelled."""
    origin, *destinations = rng.sample(_CITIES, 3)
    days = [today + timedelta(days=ahead) for ahead in (rng.randrange(2), 1, rng.randrange(2, 4), rng.randrange(3))]
    flights = {
        f"H-{number}": _flight(rng, f"{origin}-{destinations[place // 3]}", day, _TIMES[place])
        for place, (number, day) in enumerate(zip(_numbers(rng, 4), days, strict=True))
    }
    if rng.random() < 0.5:
        flights[min(flights)]["status"] = "cancelled"
    return flights


def _flight(rng: random.Random, route: str, day: date, time: str) -> Flight:
    seats = rng.choice((8, 12, 16))
    return {
        "route": route,
        "day": day.isoformat(),
        "time": time,
        "fare": rng.randrange(30, 120) * 100,
        "seats": seats,
        "seats_left": seats,
        "status": "scheduled",
    }


def _customer(rng: random.Random, name: str) -> Customer:
    email = f"{name.lower().replace(' ', '.')}@post.example"
    return {"name": name, "email": email, "credit": rng.randrange(100, 900) * 100}


def _reservation(rng: random.Random, owner: str, flight_id: str, flight: Flight, passengers: int) -> Reservation:
    fare_class: FareClass = rng.choice(("saver", "flex"))
    return {
        "customer_id": owner,
        "flight_id": flight_id,
        "fare_class": fare_class,
        "paid": passengers * price_of(flight, fare_class),
        "status": "booked",
    }


def _tickets(
    rng: random.Random, reservation_id: str, party: list[str], seats: list[str], status: TicketStatus
) -> dict[str, Ticket]:
    """A ticket for each of the party, with the first of the seats if there are any."""
    return {
        f"T-{reservation_id[2:]}{place}": {
            "reservation_id": reservation_id,
            "passenger": passenger,
            "seat": seats[place] if seats else None,
            "bags": rng.randrange(2),
            "status": status,
        }
        for place, passenger in enumerate(party)
    }

"""The tools of the operations staff: whole flights and whole days."""

from datetime import date, timedelta

from typing_extensions import TypedDict

from simia.worlds.airline.state import AirlineState, Count, Day, FlightId, FlightStatus, ReservationId, TicketId
from simia.worlds.airline.tables import move, tickets_on
from simia.worlds.executable import Refused


class Departure(TypedDict):
    flight_id: FlightId
    time: str
    status: FlightStatus
    passengers: Count
    checked_in: Count


class Disruption(TypedDict):
    flight_id: FlightId
    reservation_ids: list[ReservationId]
    passengers: Count


class Rebooked(TypedDict):
    flight_id: FlightId
    moved: list[ReservationId]
    passengers: Count


class EndOfDay(TypedDict):
    departed: list[FlightId]
    flown: list[TicketId]
    no_shows: list[TicketId]
    today: Day


def todays_departures(state: AirlineState) -> list[Departure]:
    """The flights of today by time, with the number of passengers and of those checked in."""
    rows: list[Departure] = []
    for flight_id, flight in state["flights"].items():
        if flight["day"] == state["today"]:
            tickets = tickets_on(state, flight_id).values()
            rows.append(
                {
                    "flight_id": flight_id,
                    "time": flight["time"],
                    "status": flight["status"],
                    "passengers": len(tickets),
                    "checked_in": sum(ticket["status"] == "checked_in" for ticket in tickets),
                }
            )
    return sorted(rows, key=lambda row: (row["time"], row["flight_id"]))


def disrupted_flights(state: AirlineState) -> list[Disruption]:
    """The cancelled flights that still have passengers, with their reservations."""
    rows: list[Disruption] = []
    for flight_id, flight in sorted(state["flights"].items()):
        tickets = tickets_on(state, flight_id).values()
        if flight["status"] == "cancelled" and tickets:
            stranded = sorted({ticket["reservation_id"] for ticket in tickets})
            rows.append({"flight_id": flight_id, "reservation_ids": stranded, "passengers": len(tickets)})
    return rows


def rebook_flight(state: AirlineState, flight_id: FlightId, to_flight_id: FlightId) -> Rebooked:
    """Move everybody on a cancelled flight to another flight of the route, free of charge; their seats are given up."""
    flight = state["flights"].get(flight_id)
    if flight is None or flight["status"] != "cancelled":
        raise Refused(f"flight {flight_id!r} is not cancelled")
    tickets = tickets_on(state, flight_id)
    moved = sorted({ticket["reservation_id"] for ticket in tickets.values()})
    move(state, tickets, flight_id, to_flight_id)
    for reservation_id in moved:
        state["reservations"][reservation_id]["flight_id"] = to_flight_id
    return {"flight_id": to_flight_id, "moved": moved, "passengers": len(tickets)}


def end_day(state: AirlineState) -> EndOfDay:
    """Close today's flights: who is checked in has flown, all others did not show up. Then the next day begins."""
    departed: list[str] = []
    flown: list[str] = []
    no_shows: list[str] = []
    for flight_id, flight in sorted(state["flights"].items()):
        if flight["day"] != state["today"]:
            continue
        tickets = tickets_on(state, flight_id)
        if flight["status"] == "cancelled" and tickets:
            raise Refused(f"flight {flight_id} is cancelled and {len(tickets)} passengers are not rebooked")
        if flight["status"] == "scheduled":
            flight["status"] = "departed"
            departed.append(flight_id)
        for ticket_id, ticket in tickets.items():
            boarded = ticket["status"] == "checked_in"
            ticket["status"] = "flown" if boarded else "no_show"
            (flown if boarded else no_shows).append(ticket_id)
    state["today"] = (date.fromisoformat(state["today"]) + timedelta(days=1)).isoformat()
    return {"departed": departed, "flown": flown, "no_shows": no_shows, "today": state["today"]}

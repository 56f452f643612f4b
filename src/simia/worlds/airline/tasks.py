"""Kinds of tasks at the reservations desk, each with the calls that do it."""

import random
from typing import Any

from simia.worlds.drafting import Draft, NoTask, TaskKind, pick, pick_some

_GUESTS = ("Rosa Thorne", "Samir Qadir", "Tilda Berg", "Uwe Falk", "Vera Simic", "Wanda Osei", "Yusuf Demir")
_BAGS = {1: "one more bag", 2: "two more bags"}


def book_a_trip(rng: random.Random, draft: Draft) -> str:
    customer = draft.state["customers"][pick(rng, draft.state["customers"], where=lambda row: row["credit"] > 30000)]
    flight = draft.state["flights"][pick(rng, draft.state["flights"], where=lambda row: row["status"] == "scheduled")]
    passengers = rng.sample(_GUESTS, rng.randrange(1, 6))
    fare_class = rng.choice(("saver", "flex"))
    customer_id = draft.do("find_customer", email=customer["email"])["customer_id"]
    rows = draft.do("search_flights", route=flight["route"])
    chosen = next(row["flight_id"] for row in rows if (row["day"], row["time"]) == (flight["day"], flight["time"]))
    draft.do("book", customer_id=customer_id, flight_id=chosen, fare_class=fare_class, passengers=passengers)
    return f"""Book {_listed(passengers)} on the route {flight["route"]}, {flight["day"]} at {flight["time"]},
        {fare_class} fare, on the account of {customer["email"]}. I know the price and agree."""


def sit_together(rng: random.Random, draft: Draft) -> str:
    reservation_id = _upcoming(rng, draft)
    email = _email_of(draft, reservation_id)
    draft.do("find_customer", email=email)
    tickets = draft.do("get_reservation", reservation_id=reservation_id)["tickets"]
    free = draft.do("free_seats", flight_id=draft.state["reservations"][reservation_id]["flight_id"])
    chosen = pick_some(rng, tickets, 1, 4)
    if len(free) < len(chosen):
        raise NoTask("the flight is full")
    first = rng.randrange(len(free) - len(chosen) + 1)
    seats = free[first : first + len(chosen)]
    choices = [{"ticket_id": key, "seat": seat} for key, seat in zip(chosen, seats, strict=True)]
    draft.do("choose_seats", reservation_id=reservation_id, choices=choices)
    wanted = _listed([f"{tickets[row['ticket_id']]['passenger']} in {row['seat']}" for row in choices])
    return f"{email}, about {reservation_id}: if these seats are free, I would like to have {wanted}."


def take_luggage(rng: random.Random, draft: Draft) -> str:
    reservation_id = _upcoming(rng, draft)
    bags = rng.choice((1, 2))
    email = _email_of(draft, reservation_id)
    draft.do("find_customer", email=email)
    draft.do("get_reservation", reservation_id=reservation_id)
    draft.do("add_bags", reservation_id=reservation_id, bags=bags)
    return f"My e-mail is {email}. Everybody on {reservation_id} needs {_BAGS[bags]} in the hold. I'll pay."


def leave_another_time(rng: random.Random, draft: Draft) -> str:
    reservation_id = _upcoming(rng, draft)
    flight_id = draft.state["reservations"][reservation_id]["flight_id"]
    flight = draft.state["flights"][flight_id]
    email = _email_of(draft, reservation_id)
    draft.do("find_customer", email=email)
    draft.do("get_reservation", reservation_id=reservation_id)
    rows = draft.do("search_flights", route=flight["route"])
    others = [row for row in rows if row["flight_id"] != flight_id]
    if not others:
        raise NoTask("no other flight on the route")
    chosen = rng.choice(others)
    draft.do("change_flight", reservation_id=reservation_id, flight_id=chosen["flight_id"])
    return f"""Our plans moved. Please put {reservation_id} on the flight of {chosen["day"]} at {chosen["time"]};
        any difference is fine with me. I am {email}."""


def stay_at_home(rng: random.Random, draft: Draft) -> str:
    tickets = draft.state["tickets"]
    reservation_id = tickets[pick(rng, tickets, where=lambda row: row["status"] == "open")]["reservation_id"]
    email = _email_of(draft, reservation_id)
    draft.do("find_customer", email=email)
    draft.do("get_reservation", reservation_id=reservation_id)
    draft.do("cancel_reservation", reservation_id=reservation_id)
    return f"We are not going to travel. Cancel {reservation_id} and credit {email} with what the rules give back. Yes."


def get_boarding_passes(rng: random.Random, draft: Draft) -> str:
    reservation_id = _leaving_today(rng, draft)
    email = _email_of(draft, reservation_id)
    draft.do("find_customer", email=email)
    draft.do("check_in", reservation_id=reservation_id)
    return f"Hello, {email} here. Check all of us on {reservation_id} in, any seats will do."


def check_in_with_luggage(rng: random.Random, draft: Draft) -> str:
    reservation_id = _leaving_today(rng, draft)
    email = _email_of(draft, reservation_id)
    draft.do("find_customer", email=email)
    draft.do("add_bags", reservation_id=reservation_id, bags=1)
    draft.do("check_in", reservation_id=reservation_id)
    return f"I am {email}: one extra bag for each of us on {reservation_id}, charged to my credit, then check us in."


def rescue_passengers(rng: random.Random, draft: Draft) -> str:
    stranded = draft.do("disrupted_flights")
    if not stranded:
        raise NoTask("nobody is stranded")
    flight_id = stranded[0]["flight_id"]
    flight = draft.state["flights"][flight_id]
    rows = draft.do("search_flights", route=flight["route"])
    if not rows:
        raise NoTask("no other flight on the route")
    chosen = rng.choice(rows)
    draft.do("rebook_flight", flight_id=flight_id, to_flight_id=chosen["flight_id"])
    return f"""Operations: find the passengers who are stranded on the route {flight["route"]}, and move all of them
        to the flight of {chosen["day"]} at {chosen["time"]}."""


def close_the_day(rng: random.Random, draft: Draft) -> str:
    today = draft.state["today"]
    for flight in draft.state["flights"].values():
        if flight["status"] == "scheduled" and rng.random() < 0.5:
            flight["day"] = today
    draft.do("todays_departures")
    draft.do("end_day")
    return f"Operations again. Show me the departures of {today} and, since the last one is off, close the day."


KINDS: tuple[TaskKind, ...] = (
    book_a_trip,
    sit_together,
    take_luggage,
    leave_another_time,
    stay_at_home,
    get_boarding_passes,
    check_in_with_luggage,
    rescue_passengers,
    close_the_day,
)


def _upcoming(rng: random.Random, draft: Draft) -> str:
    """A reservation on a scheduled flight, whose passengers are not checked in."""
    flights, reservations = draft.state["flights"], draft.state["reservations"]
    tickets = {key: row for key, row in draft.state["tickets"].items() if row["status"] == "open"}

    def leaves(ticket: Any) -> bool:
        return bool(flights[reservations[ticket["reservation_id"]]["flight_id"]]["status"] == "scheduled")

    return str(tickets[pick(rng, tickets, where=leaves)]["reservation_id"])


def _leaving_today(rng: random.Random, draft: Draft) -> str:
    """Such a reservation, on a flight that is today: the task is arranged so."""
    reservation_id = _upcoming(rng, draft)
    draft.state["flights"][draft.state["reservations"][reservation_id]["flight_id"]]["day"] = draft.state["today"]
    return reservation_id


def _email_of(draft: Draft, reservation_id: str) -> str:
    owner = draft.state["reservations"][reservation_id]["customer_id"]
    return str(draft.state["customers"][owner]["email"])


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))

"""The tools for guests, orders and the kitchen, and all tools in the order an agent sees them."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.executable import Action, Refused
from simia.worlds.restaurant.bills import close_day, merge_bills, pay_bills, split_bill
from simia.worlds.restaurant.reads import (
    BillId,
    DishId,
    ReservationId,
    TableId,
    TicketId,
    dish_of,
    floor_plan,
    free_table,
    kitchen_queue,
    next_id,
    open_bill,
    open_bills_at,
    portions_left,
    reservation_of,
    show_bill,
    table_of,
    ticket_of,
)
from simia.worlds.restaurant.state import (
    Cents,
    Count,
    Line,
    Reservation,
    RestaurantState,
    Station,
    Time,
)

MINUTES_BETWEEN_PARTIES = 120


class Item(TypedDict):
    dish: DishId
    quantity: Annotated[int, Field(ge=1, le=10)]


class Delivery(TypedDict):
    ingredient: str
    units: Annotated[int, Field(ge=1, le=100)]


class Received(TypedDict):
    stock: Annotated[dict[str, Count], Field(description="Units there are now of each of these ingredients.")]


class NewReservation(Reservation):
    reservation_id: str


class Seated(TypedDict):
    reservation_id: str
    table: str
    bill_id: str


class Ordered(TypedDict):
    lines: list[str]
    tickets: dict[Station, str]
    total: Annotated[Cents, Field(description="Of the whole bill.")]


class Served(TypedDict):
    lines: list[str]
    still_waiting: Annotated[int, Field(description="Tickets left in the kitchen.")]


class Moved(TypedDict):
    reservation_id: str
    bills: list[str]
    tickets: list[str]


def reserve(
    state: RestaurantState,
    guest: Annotated[str, Field(min_length=1, max_length=40, description="Full name.")],
    guests: Annotated[int, Field(ge=1, description="How many come.")],
    time: Time,
    table_id: TableId,
) -> NewReservation:
    """Book a table for tonight, also for guests who are at the door. Two parties have it two hours apart."""
    table = table_of(state, table_id)
    if table["seats"] < guests:
        raise Refused(f"table {table_id} has {table['seats']} seats, not {guests}")
    for key, row in sorted(state["reservations"].items()):
        if row["guest"].lower() == guest.strip().lower():
            raise Refused(f"{guest} has the reservation {key}")
        apart = _minutes_apart(row["time"], time)
        if row["table"] == table_id and row["status"] != "left" and apart < MINUTES_BETWEEN_PARTIES:
            raise Refused(f"table {table_id} is booked at {row['time']} by {key}")
    reservation: Reservation = {
        "guest": guest.strip(),
        "guests": guests,
        "time": time,
        "table": table_id,
        "status": "booked",
    }
    reservation_id = next_id(state, "R")
    state["reservations"][reservation_id] = reservation
    return {"reservation_id": reservation_id, **reservation}


def seat_party(state: RestaurantState, reservation_id: ReservationId) -> Seated:
    """Seat guests at the table they booked, and open a bill for them."""
    reservation = reservation_of(state, reservation_id)
    if reservation["status"] != "booked":
        raise Refused(f"the guests of {reservation_id} are {reservation['status']}")
    free_table(state, reservation["table"], reservation["guests"])["reservation"] = reservation_id
    reservation["status"] = "seated"
    bill_id = next_id(state, "B")
    state["bills"][bill_id] = {"table": reservation["table"], "status": "open", "total": 0}
    return {"reservation_id": reservation_id, "table": reservation["table"], "bill_id": bill_id}


def move_party(state: RestaurantState, source: TableId, target: TableId) -> Moved:
    """Move the guests of one table to a free one, with their open bills and what the kitchen cooks for them."""
    reservation_id = table_of(state, source)["reservation"]
    if reservation_id is None:
        raise Refused(f"nobody sits at table {source}")
    reservation = state["reservations"][reservation_id]
    free_table(state, target, reservation["guests"])["reservation"] = reservation_id
    state["tables"][source]["reservation"] = None
    reservation["table"] = target
    bills = open_bills_at(state, source)
    for bill_id in bills:
        state["bills"][bill_id]["table"] = target
    tickets = sorted(key for key, ticket in state["tickets"].items() if ticket["table"] == source)
    for ticket_id in tickets:
        state["tickets"][ticket_id]["table"] = target
    return {"reservation_id": reservation_id, "bills": bills, "tickets": tickets}


def place_order(
    state: RestaurantState, bill_id: BillId, items: Annotated[list[Item], Field(min_length=1, max_length=6)]
) -> Ordered:
    """Order dishes on a bill: the stock is used, and each station of the kitchen gets one ticket. All, or nothing."""
    bill = open_bill(state, bill_id)
    lines: list[str] = []
    tickets: dict[Station, str] = {}
    for item in items:
        dish = dish_of(state, item["dish"])
        for ingredient, amount in sorted(dish["recipe"].items()):
            needed = amount * item["quantity"]
            if state["stock"][ingredient] < needed:
                raise Refused(f"{item['dish']} needs {needed} {ingredient}, and {state['stock'][ingredient]} are left")
            state["stock"][ingredient] -= needed
        if dish["station"] not in tickets:
            tickets[dish["station"]] = next_id(state, "K")
            state["tickets"][tickets[dish["station"]]] = {"table": bill["table"], "station": dish["station"]}
        line: Line = {
            "bill": bill_id,
            "dish": item["dish"],
            "quantity": item["quantity"],
            "amount": item["quantity"] * dish["price"],
            "ticket": tickets[dish["station"]],
        }
        lines.append(next_id(state, "L"))
        state["lines"][lines[-1]] = line
        bill["total"] += line["amount"]
    return {"lines": lines, "tickets": tickets, "total": bill["total"]}


def receive_delivery(
    state: RestaurantState, deliveries: Annotated[list[Delivery], Field(min_length=1, max_length=8)]
) -> Received:
    """Add what was delivered to the stock: all of it, or nothing."""
    now: dict[str, Count] = {}
    for delivery in deliveries:
        ingredient = delivery["ingredient"]
        if ingredient not in state["stock"]:
            raise Refused(f"no dish needs {ingredient!r}")
        state["stock"][ingredient] += delivery["units"]
        now[ingredient] = state["stock"][ingredient]
    return {"stock": now}


def serve_tickets(
    state: RestaurantState, ticket_ids: Annotated[list[TicketId], Field(min_length=1, max_length=6)]
) -> Served:
    """Bring what was cooked to the table: the tickets leave the kitchen, and their lines are served."""
    served: list[str] = []
    for ticket_id in ticket_ids:
        ticket_of(state, ticket_id)
        del state["tickets"][ticket_id]
        for line_id, line in state["lines"].items():
            if line["ticket"] == ticket_id:
                line["ticket"] = None
                served.append(line_id)
    return {"lines": sorted(served), "still_waiting": len(state["tickets"])}


TOOLS: tuple[Action, ...] = (
    floor_plan,
    kitchen_queue,
    show_bill,
    portions_left,
    reserve,
    seat_party,
    move_party,
    place_order,
    receive_delivery,
    serve_tickets,
    split_bill,
    merge_bills,
    pay_bills,
    close_day,
)


def _minutes_apart(one: str, other: str) -> int:
    hours, minutes = (int(one[part]) - int(other[part]) for part in (slice(2), slice(3, 5)))
    return abs(60 * hours + minutes)

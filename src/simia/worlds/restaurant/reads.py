"""The tools of the restaurant that only read, and what all tools look things up with."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.executable import Refused
from simia.worlds.restaurant.state import (
    Bill,
    Count,
    Dish,
    Line,
    Reservation,
    RestaurantState,
    Station,
    Table,
    Ticket,
)

TableId = Annotated[str, Field(description="Table, for example 'T-7'.")]
ReservationId = Annotated[str, Field(description="Reservation number, for example 'R-231'.")]
BillId = Annotated[str, Field(description="Bill number, for example 'B-118'.")]
LineId = Annotated[str, Field(description="Line of a bill, for example 'L-305'.")]
TicketId = Annotated[str, Field(description="Kitchen ticket, for example 'K-412'.")]
DishId = Annotated[str, Field(description="Dish, for example 'D-21'.")]


class TableRow(Table):
    table_id: str
    bills: Annotated[list[str], Field(description="Open bills.")]
    expected: Annotated[dict[str, str], Field(description="Guest by reservation that is booked.")]


class QueueRow(TypedDict):
    ticket_id: str
    table: str
    station: Station
    portions: Annotated[dict[str, int], Field(description="Portions by dish.")]


class BillDetails(Bill):
    bill_id: str
    lines: dict[str, Line]


class Portions(TypedDict):
    dish_id: str
    name: str
    portions_left: Count


def floor_plan(state: RestaurantState) -> list[TableRow]:
    """All tables: who sits there, the open bills, and who is expected."""
    return [
        {"table_id": key, **table, "bills": open_bills_at(state, key), "expected": expected_at(state, key)}
        for key, table in sorted(state["tables"].items())
    ]


def kitchen_queue(state: RestaurantState) -> list[QueueRow]:
    """The tickets that the kitchen works on, with what is to be cooked."""
    rows: list[QueueRow] = []
    for ticket_id, ticket in sorted(state["tickets"].items()):
        portions: dict[str, int] = {}
        for line in state["lines"].values():
            if line["ticket"] == ticket_id:
                portions[line["dish"]] = portions.get(line["dish"], 0) + line["quantity"]
        rows.append({"ticket_id": ticket_id, **ticket, "portions": portions})
    return rows


def show_bill(state: RestaurantState, bill_id: BillId) -> BillDetails:
    """A bill with its lines; a paid one has none any more."""
    lines = {key: line for key, line in sorted(state["lines"].items()) if line["bill"] == bill_id}
    return {"bill_id": bill_id, **bill_of(state, bill_id), "lines": lines}


def portions_left(state: RestaurantState, dish_id: DishId) -> Portions:
    """How many portions of a dish the stock is good for."""
    dish = dish_of(state, dish_id)
    left = min(state["stock"][ingredient] // amount for ingredient, amount in dish["recipe"].items())
    return {"dish_id": dish_id, "name": dish["name"], "portions_left": left}


def table_of(state: RestaurantState, table_id: str) -> Table:
    if table_id not in state["tables"]:
        raise Refused(f"table {table_id!r} not found")
    return state["tables"][table_id]


def free_table(state: RestaurantState, table_id: str, guests: int) -> Table:
    table = table_of(state, table_id)
    if table["reservation"] is not None:
        raise Refused(f"table {table_id} is taken by {table['reservation']}")
    if table["seats"] < guests:
        raise Refused(f"table {table_id} has {table['seats']} seats, not {guests}")
    return table


def reservation_of(state: RestaurantState, reservation_id: str) -> Reservation:
    if reservation_id not in state["reservations"]:
        raise Refused(f"reservation {reservation_id!r} not found")
    return state["reservations"][reservation_id]


def dish_of(state: RestaurantState, dish_id: str) -> Dish:
    if dish_id not in state["dishes"]:
        raise Refused(f"dish {dish_id!r} not found")
    return state["dishes"][dish_id]


def bill_of(state: RestaurantState, bill_id: str) -> Bill:
    if bill_id not in state["bills"]:
        raise Refused(f"bill {bill_id!r} not found")
    return state["bills"][bill_id]


def open_bill(state: RestaurantState, bill_id: str) -> Bill:
    bill = bill_of(state, bill_id)
    if bill["status"] != "open":
        raise Refused(f"bill {bill_id} is {bill['status']}")
    return bill


def ticket_of(state: RestaurantState, ticket_id: str) -> Ticket:
    if ticket_id not in state["tickets"]:
        raise Refused(f"ticket {ticket_id!r} not found")
    return state["tickets"][ticket_id]


def open_bills_at(state: RestaurantState, table_id: str) -> list[str]:
    bills = state["bills"].items()
    return sorted(key for key, bill in bills if bill["table"] == table_id and bill["status"] == "open")


def expected_at(state: RestaurantState, table_id: str) -> dict[str, str]:
    booked = {key: row for key, row in sorted(state["reservations"].items()) if row["status"] == "booked"}
    return {key: row["guest"] for key, row in booked.items() if row["table"] == table_id}


def next_id(state: RestaurantState, prefix: str) -> str:
    number = state["next_number"]
    state["next_number"] = number + 1
    return f"{prefix}-{number}"

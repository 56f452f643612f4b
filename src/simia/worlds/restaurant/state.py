"""What the Copper Ladle keeps: tables, reservations, dishes, stock, bills with their lines, kitchen tickets, the till.

Amounts are whole cents.
"""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from simia.types import Invariant

Day = Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
Time = Annotated[str, Field(pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$")]
Cents = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]
Station = Literal["cold", "grill", "oven"]
PaymentMethod = Literal["card", "cash"]


class Table(TypedDict):
    seats: int
    area: Literal["room", "terrace"]
    reservation: Annotated[str | None, Field(description="Whose guests sit here now.")]


class Reservation(TypedDict):
    guest: str
    guests: int
    time: Time
    table: str
    status: Literal["booked", "seated", "left"]


class Dish(TypedDict):
    name: str
    price: Cents
    station: Station
    recipe: Annotated[dict[str, int], Field(description="Units of each ingredient for one portion.")]


class Bill(TypedDict):
    table: str
    status: Literal["open", "paid"]
    total: Cents


class Line(TypedDict):
    bill: str
    dish: str
    quantity: int
    amount: Cents
    ticket: Annotated[str | None, Field(description="The kitchen ticket it waits on; null once served.")]


class Ticket(TypedDict):
    table: str
    station: Station


class Till(TypedDict):
    card: Cents
    cash: Cents


class RestaurantState(TypedDict):
    """The whole state."""

    today: Day
    next_number: int
    tables: dict[str, Table]
    reservations: dict[str, Reservation]
    dishes: dict[str, Dish]
    stock: dict[str, Count]
    bills: dict[str, Bill]
    lines: dict[str, Line]
    tickets: dict[str, Ticket]
    till: Till
    takings: Annotated[dict[str, Cents], Field(description="Of the days that are closed.")]


INVARIANTS = (
    Invariant(
        name="tables have reservations", expression="values(tables)[].reservation", refers_to="keys(reservations)"
    ),
    Invariant(name="reservations have tables", expression="values(reservations)[].table", refers_to="keys(tables)"),
    Invariant(name="bills have tables", expression="values(bills)[].table", refers_to="keys(tables)"),
    Invariant(name="tickets have tables", expression="values(tickets)[].table", refers_to="keys(tables)"),
    Invariant(name="lines are on bills", expression="values(lines)[].bill", refers_to="keys(bills)"),
    Invariant(name="lines are dishes", expression="values(lines)[].dish", refers_to="keys(dishes)"),
    Invariant(name="lines wait on tickets", expression="values(lines)[].ticket", refers_to="keys(tickets)"),
    Invariant(name="the kitchen cooks for lines", expression="keys(tickets)", refers_to="values(lines)[].ticket"),
    Invariant(name="recipes use the stock", expression="values(dishes)[].keys(recipe)[]", refers_to="keys(stock)"),
    Invariant(
        name="open bills add up",
        expression="sum(values(bills)[?status == 'open'].total) == sum(values(lines)[].amount)",
    ),
    Invariant(
        name="the till holds what was paid",
        expression="sum(values(till)) == sum(values(bills)[?status == 'paid'].total)",
    ),
    Invariant(
        name="as many tables as parties",
        expression="length(values(tables)[?reservation]) == length(values(reservations)[?status == 'seated'])",
    ),
)

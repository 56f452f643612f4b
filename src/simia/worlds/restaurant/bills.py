"""The tools for bills and the till."""

from datetime import date, timedelta
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.executable import Refused
from simia.worlds.restaurant.reads import BillDetails, BillId, LineId, next_id, open_bill, open_bills_at, show_bill
from simia.worlds.restaurant.state import Bill, Cents, Day, PaymentMethod, RestaurantState

BillIds = Annotated[list[BillId], Field(min_length=1, max_length=4)]


class SplitBill(TypedDict):
    new_bill: str
    new_total: Cents
    total: Annotated[Cents, Field(description="What stays on the old bill.")]


class Paid(TypedDict):
    paid: Cents
    tables_free: list[str]


class Closed(TypedDict):
    day: Day
    takings: Cents
    not_shown_up: list[str]


def split_bill(
    state: RestaurantState, bill_id: BillId, line_ids: Annotated[list[LineId], Field(min_length=1, max_length=8)]
) -> SplitBill:
    """Put some lines of an open bill on a new bill of the same table. At least one line stays."""
    bill = open_bill(state, bill_id)
    new_bill: Bill = {"table": bill["table"], "status": "open", "total": 0}
    new_id = next_id(state, "B")
    state["bills"][new_id] = new_bill
    for line_id in line_ids:
        line = state["lines"].get(line_id)
        if line is None or line["bill"] != bill_id:
            raise Refused(f"line {line_id} is not on bill {bill_id}")
        line["bill"] = new_id
        bill["total"] -= line["amount"]
        new_bill["total"] += line["amount"]
    if all(line["bill"] != bill_id for line in state["lines"].values()):
        raise Refused(f"nothing would stay on bill {bill_id}")
    return {"new_bill": new_id, "new_total": new_bill["total"], "total": bill["total"]}


def merge_bills(state: RestaurantState, bill_id: BillId, others: BillIds) -> BillDetails:
    """Put the lines of other open bills of the same table on one bill; the others are gone."""
    bill = open_bill(state, bill_id)
    for other_id in others:
        other = open_bill(state, other_id)
        if other_id == bill_id or other["table"] != bill["table"]:
            raise Refused(f"bill {other_id} is not another bill of table {bill['table']}")
        for line in state["lines"].values():
            if line["bill"] == other_id:
                line["bill"] = bill_id
        bill["total"] += other["total"]
        del state["bills"][other_id]
    return show_bill(state, bill_id)


def pay_bills(state: RestaurantState, bill_ids: BillIds, method: PaymentMethod) -> Paid:
    """Pay bills of which all is served; their lines are gone. A table without an open bill is free again."""
    paid = 0
    tables_free: list[str] = []
    for bill_id in bill_ids:
        bill = open_bill(state, bill_id)
        lines = {key: line for key, line in state["lines"].items() if line["bill"] == bill_id}
        if any(line["ticket"] is not None for line in lines.values()):
            raise Refused(f"the kitchen still cooks for bill {bill_id}")
        for line_id in lines:
            del state["lines"][line_id]
        bill["status"] = "paid"
        state["till"][method] += bill["total"]
        paid += bill["total"]
        reservation_id = state["tables"][bill["table"]]["reservation"]
        if reservation_id is not None and not open_bills_at(state, bill["table"]):
            state["tables"][bill["table"]]["reservation"] = None
            state["reservations"][reservation_id]["status"] = "left"
            tables_free.append(bill["table"])
    return {"paid": paid, "tables_free": sorted(tables_free)}


def close_day(state: RestaurantState) -> Closed:
    """Close the day when all guests have left: book the takings, empty the till, drop bills and reservations."""
    for table_id, table in sorted(state["tables"].items()):
        if table["reservation"] is not None:
            raise Refused(f"guests still sit at table {table_id}")
    day = state["today"]
    takings = state["till"]["card"] + state["till"]["cash"]
    not_shown_up = sorted(key for key, row in state["reservations"].items() if row["status"] == "booked")
    state["takings"][day] = takings
    state["till"] = {"card": 0, "cash": 0}
    state["bills"].clear()
    state["reservations"].clear()
    state["today"] = (date.fromisoformat(day) + timedelta(days=1)).isoformat()
    return {"day": day, "takings": takings, "not_shown_up": not_shown_up}

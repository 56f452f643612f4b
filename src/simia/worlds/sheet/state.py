"""What a workbook keeps: sheets of cells by name. Cells hold what they show; formulas stand beside them."""

import random

from typing_extensions import TypedDict

from simia.types import Invariant, State
from simia.worlds.sheet.formulas import COLUMNS, Sheet, Value, recalculate


class SheetState(TypedDict):
    """The whole state."""

    active_sheet: str
    sheets: dict[str, Sheet]


INVARIANTS = (
    Invariant(name="the active sheet exists", expression="active_sheet", refers_to="keys(sheets)"),
    Invariant(
        name="every formula shows a value",
        expression="length(values(sheets)[?length(keys(merge(cells, formulas))) != length(keys(cells))]) == `0`",
    ),
    Invariant(
        name="a formula begins with an equals sign",
        expression="length(values(sheets)[].values(formulas)[] | [?!starts_with(@, '=')]) == `0`",
    ),
)

_COSTS = ("Rent", "Power", "Travel", "Paper", "Phones", "Tools", "Repairs")
_NAMES = ("Ada", "Bruno", "Chiara", "Dmitri", "Eno", "Farah", "Goran", "Hana")
_TEAMS = ("North", "South")
_GOODS = ("Nails", "Rope", "Paint", "Hinges", "Lamps", "Boards", "Glue")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun")


def draw_state(rng: random.Random) -> State:
    """Four sheets with two to seven rows below their headings."""
    sheets = {"Budget": _budget(rng), "Team": _team(rng), "Stock": _stock(rng), "Archive": _archive(rng)}
    for sheet in sheets.values():
        recalculate(sheet)
    return {"active_sheet": rng.choice(sorted(sheets)), "sheets": sheets}


def _budget(rng: random.Random) -> Sheet:
    """Costs by month, with sums of rows and of columns, and sometimes more formulas below them."""
    first = rng.randrange(4)
    rows = _costs(rng, rng.randrange(3, 5))
    last = len(rows) + 1
    sheet = _table([["Cost", *_MONTHS[first : first + 3], "Sum"], *rows, ["Total"]])
    sheet["formulas"] = {
        **{f"E{row}": f"=SUM(B{row}:D{row})" for row in range(2, last + 1)},
        **{f"{column}{last + 1}": f"=SUM({column}2:{column}{last})" for column in "BCDE"},
    }
    more = (("Highest", f"=MAX(E2:E{last})"), ("Lowest", f"=MIN(E2:E{last})"), ("All", f"=E{last + 1}"))
    for row, (label, formula) in enumerate(rng.sample(more, rng.randrange(3)), last + 2):
        sheet["cells"][f"A{row}"] = label
        sheet["formulas"][f"B{row}"] = formula
    return sheet


def _team(rng: random.Random) -> Sheet:
    names = rng.sample(_NAMES, rng.randrange(3, 5))
    rows: list[list[Value]] = [[name, rng.choice(_TEAMS), rng.randrange(10, 41)] for name in names]
    last = len(rows) + 1
    sheet = _table([["Name", "Team", "Hours"], *rows])
    if rng.random() < 0.6:
        sheet["cells"][f"A{last + 1}"] = "Total"
        sheet["formulas"][f"C{last + 1}"] = f"=SUM(C2:C{last})"
    return sheet


def _stock(rng: random.Random) -> Sheet:
    goods = rng.sample(_GOODS, rng.randrange(3, 5))
    rows: list[list[Value]] = [
        [item, f"{rng.choice('KLM')}-{rng.randrange(1, 5)}", rng.randrange(90), rng.randrange(2, 50)] for item in goods
    ]
    return _table([["Item", "Shelf", "Pieces", "Price"], *rows])


def _archive(rng: random.Random) -> Sheet:
    return {**_table([["Cost", "Jan", "Feb", "Mar"], *_costs(rng, 2)]), "locked": True}


def _costs(rng: random.Random, count: int) -> list[list[Value]]:
    """Costs with the amounts of three months."""
    return [[cost, *(rng.randrange(5, 200) * 10 for _ in range(3))] for cost in rng.sample(_COSTS, count)]


def _table(rows: list[list[Value]]) -> Sheet:
    """A sheet without formulas, with ``rows`` from A1."""
    cells = {
        f"{column}{number}": value
        for number, row in enumerate(rows, 1)
        for column, value in zip(COLUMNS, row, strict=False)
    }
    return {"locked": False, "cells": cells, "formulas": {}}

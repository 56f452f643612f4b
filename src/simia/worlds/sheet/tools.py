"""The tools of the workbook, as code."""

import re
from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from simia.worlds.executable import Action, Refused, found
from simia.worlds.sheet.edits import Changed, enter, move_rows, writable_sheet
from simia.worlds.sheet.formulas import LAST_ROW, Value, cells_in, recalculate
from simia.worlds.sheet.state import SheetState

TOTAL = "Total"

Cell = Annotated[str, Field(description="A cell, for example 'B7'.")]
Area = Annotated[str, Field(description="A range such as 'B2:C5', or one cell.")]
Entry = Annotated[
    str, Field(max_length=40, description="As typed: a number, a text or a formula; '' empties the cell.")
]
Row = Annotated[int, Field(ge=1, le=LAST_ROW)]
Column = Literal["A", "B", "C", "D", "E", "F", "G", "H"]
Order = Literal["ascending", "descending"]


class SheetRow(TypedDict):
    sheet: str
    locked: bool
    cells: int
    formulas: int


class Workbook(TypedDict):
    active_sheet: str
    sheets: list[SheetRow]


class CellDetails(TypedDict):
    cell: str
    value: Value | None
    formula: str | None


class Inserted(TypedDict):
    row: int
    cells_moved: int


def list_sheets(state: SheetState) -> Workbook:
    """The sheets, with how many cells and formulas each has, and which one is active."""
    rows: list[SheetRow] = [
        {"sheet": name, "locked": sheet["locked"], "cells": len(sheet["cells"]), "formulas": len(sheet["formulas"])}
        for name, sheet in sorted(state["sheets"].items())
    ]
    return {"active_sheet": state["active_sheet"], "sheets": rows}


def list_formulas(state: SheetState) -> list[CellDetails]:
    """The formulas of the active sheet with what they show."""
    sheet = state["sheets"][state["active_sheet"]]
    return [
        {"cell": cell, "value": sheet["cells"][cell], "formula": formula}
        for cell, formula in sorted(sheet["formulas"].items())
    ]


def read_cell(state: SheetState, cell: Cell) -> CellDetails:
    """What a cell shows, and its formula if it has one."""
    sheet = state["sheets"][state["active_sheet"]]
    place = cells_in(cell)[0]
    return {"cell": place, "value": sheet["cells"].get(place), "formula": sheet["formulas"].get(place)}


def read_range(state: SheetState, area: Area) -> dict[str, Value]:
    """What the cells of a range show, without the empty ones."""
    cells = state["sheets"][state["active_sheet"]]["cells"]
    return {cell: cells[cell] for cell in cells_in(area) if cell in cells}


def open_sheet(state: SheetState, sheet: Annotated[str, Field(description="Name of a sheet.")]) -> Workbook:
    """Make a sheet the active one."""
    found(state["sheets"], sheet, "sheet")
    state["active_sheet"] = sheet
    return list_sheets(state)


def set_cell(state: SheetState, cell: Cell, entry: Entry) -> Changed:
    """Type something into a cell."""
    return enter(state, {cells_in(cell)[0]: entry})


def fill_range(state: SheetState, area: Area, entry: Entry) -> Changed:
    """Type the same into every cell of a range."""
    return enter(state, dict.fromkeys(cells_in(area), entry))


def clear_range(state: SheetState, area: Area) -> Changed:
    """Empty every cell of a range."""
    return enter(state, dict.fromkeys(cells_in(area), ""))


def copy_range(state: SheetState, area: Area, target: Area) -> Changed:
    """Copy what the cells of a range show, row by row, into another range of as many cells; no formulas."""
    places, sources = cells_in(target), cells_in(area)
    if len(places) != len(sources):
        raise Refused(f"{area} has {len(sources)} cells, {target} has {len(places)}")
    cells = state["sheets"][state["active_sheet"]]["cells"]
    return enter(state, {place: str(cells.get(source, "")) for place, source in zip(places, sources, strict=True)})


def find_and_replace(
    state: SheetState,
    find: Annotated[str, Field(min_length=1, max_length=40)],
    replacement: Annotated[str, Field(max_length=40)],
) -> Changed:
    """Replace a part of every text of the active sheet that has it. Numbers and formulas stay."""
    sheet = state["sheets"][state["active_sheet"]]
    texts = {cell: value for cell, value in sheet["cells"].items() if cell not in sheet["formulas"]}
    entries = {
        cell: value.replace(find, replacement)
        for cell, value in sorted(texts.items())
        if isinstance(value, str) and find in value
    }
    if not entries:
        raise Refused(f"no text of {state['active_sheet']} has {find!r}")
    return enter(state, entries)


def sort_rows(state: SheetState, area: Area, column: Column, order: Order = "ascending") -> Changed:
    """Sort the rows of a range by one of its columns, which must hold numbers only or texts only."""
    sheet = writable_sheet(state)
    places = cells_in(area)
    if any(place in sheet["formulas"] for place in places):
        raise Refused(f"{area} has formulas and is not sorted")
    before = dict(sheet["cells"])
    keys: dict[str, Any] = {place[1:]: before.get(column + place[1:]) for place in places}
    if len({type(key) for key in keys.values()}) > 1 or None in keys.values():
        raise Refused(f"column {column} of {area} is not all numbers or all texts")
    sources = dict(zip(keys, sorted(keys, key=lambda row: keys[row], reverse=order == "descending"), strict=True))
    for place in places:
        sheet["cells"].pop(place, None)
        source = place[0] + sources[place[1:]]
        if source in before:
            sheet["cells"][place] = before[source]
    return {"cells": places, "formulas": recalculate(sheet)}


def insert_row(state: SheetState, row: Row) -> Inserted:
    """Put an empty row before a row; what is there and below moves down, and formulas follow."""
    sheet = writable_sheet(state)
    if any(int(cell[1:]) == LAST_ROW for cell in sheet["cells"]):
        raise Refused(f"row {LAST_ROW} is not empty")
    moved = sum(int(cell[1:]) >= row for cell in sheet["cells"])
    move_rows(sheet, row, 1)
    return {"row": row, "cells_moved": moved}


def delete_row(state: SheetState, row: Row) -> Changed:
    """Take a row out; what is below moves up, and formulas follow."""
    sheet = writable_sheet(state)
    gone = [cell for cell in sorted(sheet["cells"]) if int(cell[1:]) == row]
    for cell in gone:
        del sheet["cells"][cell]
        sheet["formulas"].pop(cell, None)
    for cell, formula in sorted(sheet["formulas"].items()):
        if str(row) in re.findall("[0-9]+", formula):
            raise Refused(f"{formula} in {cell} begins or ends at row {row}")
    move_rows(sheet, row, -1)
    return {"cells": gone, "formulas": recalculate(sheet)}


def add_totals(state: SheetState) -> Changed:
    """Write a row of sums below the last row: a label in column A, and a sum for each other column with numbers."""
    cells = state["sheets"][state["active_sheet"]]["cells"]
    last = max((int(cell[1:]) for cell in cells), default=0)
    if cells.get(f"A{last}") == TOTAL:
        raise Refused(f"row {last} of {state['active_sheet']} has the totals")
    columns = sorted({cell[0] for cell, value in cells.items() if isinstance(value, int) and cell[0] != "A"})
    if not columns or last == LAST_ROW:
        raise Refused(f"{state['active_sheet']} has no numbers, or no row below them")
    sums = {f"{column}{last + 1}": f"=SUM({column}2:{column}{last})" for column in columns}
    return enter(state, {f"A{last + 1}": TOTAL, **sums})


TOOLS: tuple[Action, ...] = (
    list_sheets,
    list_formulas,
    read_cell,
    read_range,
    open_sheet,
    set_cell,
    fill_range,
    clear_range,
    copy_range,
    find_and_replace,
    sort_rows,
    insert_row,
    delete_row,
    add_totals,
)

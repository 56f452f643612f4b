"""Changes to the active sheet, each followed by a recalculation."""

import re

from typing_extensions import TypedDict

from simia.worlds.executable import Refused
from simia.worlds.sheet.formulas import Sheet, Value, recalculate
from simia.worlds.sheet.state import SheetState


class Changed(TypedDict):
    """``formulas`` has what they show now."""

    cells: list[str]
    formulas: dict[str, Value]


def writable_sheet(state: SheetState) -> Sheet:
    sheet = state["sheets"][state["active_sheet"]]
    if sheet["locked"]:
        raise Refused(f"sheet {state['active_sheet']} is locked")
    return sheet


def enter(state: SheetState, entries: dict[str, str]) -> Changed:
    """Type each text into its cell."""
    sheet = writable_sheet(state)
    for cell, entry in entries.items():
        sheet["formulas"].pop(cell, None)
        sheet["cells"].pop(cell, None)
        if entry.startswith("="):
            sheet["formulas"][cell] = entry
        elif entry:
            sheet["cells"][cell] = int(entry) if re.fullmatch("-?[0-9]{1,9}", entry) else entry
    return {"cells": list(entries), "formulas": recalculate(sheet)}


def move_rows(sheet: Sheet, first: int, by: int) -> None:
    """Move all rows from ``first`` on, with the references to them."""

    def moved(text: str) -> str:
        return re.sub("[0-9]+", lambda row: str(int(row[0]) + by if int(row[0]) >= first else int(row[0])), text)

    sheet["cells"] = {moved(cell): value for cell, value in sheet["cells"].items()}
    sheet["formulas"] = {moved(cell): moved(formula) for cell, formula in sheet["formulas"].items()}

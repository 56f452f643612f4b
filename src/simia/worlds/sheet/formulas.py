"""Cells, ranges and formulas. There are eight columns of thirty rows."""

import re

from typing_extensions import TypedDict

from simia.worlds.executable import Refused

COLUMNS = "ABCDEFGH"
LAST_ROW = 30
AREA = r"([A-H])([12]?[1-9]|[123]0)(?::([A-H])([12]?[1-9]|[123]0))?"
FORMULA = r"=(SUM|MIN|MAX|COUNT)\((.+)\)|=([A-H][0-9]+)"

Value = int | str
"""What a cell shows."""


class Sheet(TypedDict):
    locked: bool
    cells: dict[str, Value]
    formulas: dict[str, str]


def cells_in(area: str) -> list[str]:
    """The cells of 'B2:C5', or of 'B2' alone, row by row."""
    ends = re.fullmatch(AREA, area)
    if ends is None:
        raise Refused(f"{area!r} is no range")
    left, right = sorted((ends[1], ends[3] or ends[1]))
    top, bottom = sorted((int(ends[2]), int(ends[4] or ends[2])))
    return [f"{column}{row}" for row in range(top, bottom + 1) for column in COLUMNS if left <= column <= right]


def position(cell: str) -> tuple[int, str]:
    return int(cell[1:]), cell[0]


def recalculate(sheet: Sheet) -> dict[str, Value]:
    """Set and give what the formulas show. Each looks only at cells that come before it, row by row."""
    cells, formulas = sheet["cells"], sheet["formulas"]
    for cell in sorted(formulas, key=position):
        match = re.fullmatch(FORMULA, formulas[cell])
        if match is None:
            raise Refused(f"{formulas[cell]!r} is no formula")
        places = cells_in(match[2] or match[3])
        if position(places[-1]) >= position(cell):
            raise Refused(f"{formulas[cell]} does not look only at cells before {cell}")
        values = [cells[place] for place in places if place in cells]
        numbers = [value for value in values if isinstance(value, int)]
        results = {
            None: values[0] if values else 0,
            "SUM": sum(numbers),
            "MIN": min(numbers, default=0),
            "MAX": max(numbers, default=0),
            "COUNT": len(numbers),
        }
        cells[cell] = results[match[1]]
    return {cell: cells[cell] for cell in sorted(formulas)}

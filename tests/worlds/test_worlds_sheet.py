"""The rules of the workbook, each by one call."""

from typing import Any

import orjson
import pytest

from simia.types import State, ToolCall
from simia.worlds.sheet import SheetWorld

SHEET = SheetWorld()


def table(*rows: list[int | str]) -> State:
    return {
        f"{column}{number}": value
        for number, row in enumerate(rows, 1)
        for column, value in zip("ABCD", row, strict=False)
    }


@pytest.fixture
def state() -> State:
    costs = {
        "locked": False,
        "cells": table(
            ["Cost", "Jan", "Feb", "Sum"],
            ["Rent", 100, 110, 210],
            ["Power", 30, 20, 50],
            ["Paper", 5, 7, 12],
            ["All", 135, 137, 272],
        ),
        "formulas": {
            "D2": "=SUM(B2:C2)",
            "D3": "=SUM(B3:C3)",
            "D4": "=SUM(B4:C4)",
            "B5": "=SUM(B2:B4)",
            "C5": "=SUM(C2:C4)",
            "D5": "=SUM(D2:D4)",
        },
    }
    team = table(["Name", "Hours"], ["Hana", 8], ["Eno", 40], ["Ada", 20])
    return {
        "active_sheet": "Costs",
        "sheets": {
            "Costs": costs,
            "People": {"locked": False, "cells": team, "formulas": {}},
            "Old": {"locked": True, "cells": {"A1": 1}, "formulas": {}},
        },
    }


def do(state: State, name: str, **arguments: Any) -> tuple[Any, State]:
    transition, after = SHEET.run(state, ToolCall(id="call_1", name=name, arguments=arguments))
    return orjson.loads(transition.observation), after


def cells(state: State) -> Any:
    return state["sheets"][state["active_sheet"]]["cells"]


def formulas(state: State) -> Any:
    return state["sheets"][state["active_sheet"]]["formulas"]


def people(state: State) -> State:
    return {**state, "active_sheet": "People"}


def test_one_number_changes_every_formula_that_needs_it(state: State) -> None:
    result, after = do(state, "set_cell", cell="B3", entry="40")
    assert result["formulas"] == {"B5": 145, "C5": 137, "D2": 210, "D3": 60, "D4": 12, "D5": 282}
    assert cells(after)["D5"] == 282


def test_a_number_over_a_formula_takes_its_place(state: State) -> None:
    _, after = do(state, "set_cell", cell="D2", entry="1")
    assert "D2" not in formulas(after)
    assert cells(after)["D5"] == 63


@pytest.mark.parametrize(
    ("formula", "value"), [("=MIN(B2:B4)", 5), ("=MAX(A1:C4)", 110), ("=COUNT(A1:B5)", 4), ("=A2", "Rent"), ("=H1", 0)]
)
def test_a_formula_shows_its_value(state: State, formula: str, value: int | str) -> None:
    _, after = do(state, "set_cell", cell="E6", entry=formula)
    assert cells(after)["E6"] == value


@pytest.mark.parametrize("formula", ["=SUM(B2:B9)", "=E6", "=SUM(E6:F6)"])
def test_a_formula_looks_only_at_cells_before_it(state: State, formula: str) -> None:
    result, _ = do(state, "set_cell", cell="E6", entry=formula)
    assert result["error"] == f"{formula} does not look only at cells before E6"


@pytest.mark.parametrize("formula", ["=", "=B2+B3", "=SUM(B2", "=sum(B2:B3)", "=SUM(B2:J3)", "=B0"])
def test_other_formulas_are_refused(state: State, formula: str) -> None:
    result, after = do(state, "set_cell", cell="E6", entry=formula)
    assert "error" in result
    assert after == state


def test_a_row_that_comes_in_moves_cells_and_formulas_down(state: State) -> None:
    result, after = do(state, "insert_row", row=4)
    assert result == {"row": 4, "cells_moved": 8}
    assert cells(after)["A5"] == "Paper"
    assert formulas(after)["B6"] == "=SUM(B2:B5)"
    assert formulas(after)["D2"] == "=SUM(B2:C2)"


def test_a_row_that_goes_is_no_longer_in_the_sums(state: State) -> None:
    _, after = do(state, "delete_row", row=3)
    assert cells(after)["A3"] == "Paper"
    assert formulas(after)["B4"] == "=SUM(B2:B3)"
    assert cells(after)["B4"] == 105


def test_a_row_at_which_a_range_ends_does_not_go(state: State) -> None:
    result, _ = do(state, "delete_row", row=4)
    assert result["error"] == "=SUM(B2:B4) in B5 begins or ends at row 4"


def test_sorting_moves_whole_rows(state: State) -> None:
    _, after = do(people(state), "sort_rows", area="A2:B4", column="B", order="descending")
    assert [cells(after)[cell] for cell in ("A2", "B2", "A3", "B3", "A4", "B4")] == ["Eno", 40, "Ada", 20, "Hana", 8]


def test_rows_with_formulas_are_not_sorted(state: State) -> None:
    result, _ = do(state, "sort_rows", area="A2:D4", column="B")
    assert result["error"] == "A2:D4 has formulas and is not sorted"


def test_a_column_of_numbers_and_texts_is_no_order(state: State) -> None:
    result, _ = do(people(state), "sort_rows", area="A1:B4", column="B")
    assert result["error"] == "column B of A1:B4 is not all numbers or all texts"


def test_a_copy_takes_what_the_cells_show(state: State) -> None:
    _, after = do(state, "copy_range", area="D2:D4", target="E2:E4")
    assert [cells(after)[cell] for cell in ("E2", "E3", "E4")] == [210, 50, 12]
    assert "E2" not in formulas(after)


def test_totals_are_put_below_each_column_with_numbers_once(state: State) -> None:
    _, after = do(people(state), "add_totals")
    assert formulas(after) == {"B5": "=SUM(B2:B4)"}
    assert (cells(after)["A5"], cells(after)["B5"]) == ("Total", 68)
    again, _ = do(after, "add_totals")
    assert again["error"] == "row 5 of People has the totals"


def test_a_locked_sheet_is_read_and_not_changed(state: State) -> None:
    locked = {**state, "active_sheet": "Old"}
    assert do(locked, "read_cell", cell="A1")[0]["value"] == 1
    assert do(locked, "clear_range", area="A1")[0]["error"] == "sheet Old is locked"


def test_a_text_is_replaced_wherever_it_stands_and_numbers_stay(state: State) -> None:
    _, after = do(state, "find_and_replace", find="P", replacement="p")
    changed = {cell for cell in cells(state) if cells(state)[cell] != cells(after)[cell]}
    assert changed == {"A3", "A4"}

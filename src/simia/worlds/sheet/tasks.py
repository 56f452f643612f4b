"""Kinds of tasks in the workbook, each with the calls that do it."""

import random

from simia.worlds.drafting import Draft, NoTask, TaskKind, pick
from simia.worlds.sheet.formulas import Sheet


def correct_an_amount(rng: random.Random, draft: Draft) -> str:
    cell = rng.choice("BCD") + str(rng.randrange(2, _last_row(draft, "Budget") + 1))
    cells = _sheet(draft, "Budget")["cells"]
    cost, month = cells[f"A{cell[1:]}"], cells[f"{cell[0]}1"]
    amount = rng.randrange(20, 900)
    _open(draft, "Budget")
    draft.do("read_cell", cell=cell)
    draft.do("set_cell", cell=cell, entry=str(amount))
    return rng.choice(
        (
            f"In the budget, {cost} in {month} was {amount} in truth. Correct it.",
            f"Wrong number on sheet Budget: set {cost} of {month} to {amount}, please.",
        )
    )


def hire_somebody(rng: random.Random, draft: Draft) -> str:
    last = _last_row(draft, "Team")
    name, hours = rng.choice(("Ines", "Jonas", "Kemal")), rng.randrange(8, 41)
    above = _sheet(draft, "Team")["cells"][f"A{last}"]
    _open(draft, "Team")
    draft.do("read_range", area=f"A1:C{last}")
    draft.do("insert_row", row=last)
    draft.do("set_cell", cell=f"A{last}", entry=name)
    draft.do("set_cell", cell=f"C{last}", entry=str(hours))
    return rng.choice(
        (
            f"{name} joins us with {hours} hours, the team is open. Add a row for {name} right above {above}.",
            f"New row on sheet Team, just before {above}: {name}, {hours} hours. Leave the team empty.",
        )
    )


def drop_a_row(rng: random.Random, draft: Draft) -> str:
    name = rng.choice(("Team", "Stock"))
    last = _last_row(draft, name)
    row = last - 1 if name == "Team" else rng.randrange(last - 1, last + 1)
    title = _sheet(draft, name)["cells"][f"A{row}"]
    _open(draft, name)
    draft.do("read_range", area=f"A1:D{last}")
    draft.do("delete_row", row=row)
    return rng.choice(
        (
            f"Delete the row of {title} on sheet {name}. Yes, the whole row.",
            f"We need {title} no more: take its row out of {name}, I am sure.",
        )
    )


def sort_a_table(rng: random.Random, draft: Draft) -> str:
    name, column, meaning = rng.choice(
        (("Team", "A", "name"), ("Team", "C", "hours"), ("Stock", "A", "item"), ("Stock", "C", "pieces"))
    )
    order = rng.choice(("ascending", "descending"))
    area = f"A2:{'C' if name == 'Team' else 'D'}{_last_row(draft, name)}"
    _open(draft, name)
    draft.do("read_range", area=area)
    before = _sheet(draft, name)["cells"]
    draft.do("sort_rows", area=area, column=column, order=order)
    if _sheet(draft, name)["cells"] == before:
        raise NoTask(f"{name} is in order")
    return rng.choice(
        (
            f"Sort the rows of sheet {name} by {meaning}, {order}; headings and totals stay where they are.",
            f"I want the table on {name} in {order} order of {meaning}, whole rows, without heading and totals.",
        )
    )


def sum_up_the_stock(rng: random.Random, draft: Draft) -> str:
    if rng.random() < 0.5:
        _sheet(draft, "Stock")["cells"] |= {"E1": "Ordered", "E2": rng.randrange(1, 30)}
    draft.do("list_sheets")
    _open(draft, "Stock")
    draft.do("add_totals")
    return rng.choice(
        (
            "Which sheets are there? Put a row of totals below the table on sheet Stock.",
            "Sheet Stock has no sums yet. Add its totals, and tell me what other sheets we have.",
        )
    )


def repeat_a_month(rng: random.Random, draft: Draft) -> str:
    last = _last_row(draft, "Budget")
    source, target = rng.sample("BCD", 2)
    cells = _sheet(draft, "Budget")["cells"]
    _open(draft, "Budget")
    draft.do("read_range", area=f"{source}1:{source}{last}")
    draft.do("copy_range", area=f"{source}2:{source}{last}", target=f"{target}2:{target}{last}")
    return (
        f"In the budget, plan {cells[f'{target}1']} exactly like {cells[f'{source}1']}: "
        "copy the amounts of all costs, not the sum."
    )


def begin_anew(rng: random.Random, draft: Draft) -> str:
    name, column = rng.choice((("Budget", "B"), ("Budget", "D"), ("Team", "C"), ("Stock", "C"), ("Stock", "D")))
    last = _last_row(draft, name)
    area = f"{column}{rng.randrange(2, last)}:{column}{last}"
    _open(draft, name)
    draft.do("list_formulas")
    if rng.random() < 0.5:
        draft.do("clear_range", area=area)
        return f"Empty {area} on sheet {name}, we get new numbers there. The formulas around it stay."
    amount = rng.randrange(1, 40)
    draft.do("fill_range", area=area, entry=str(amount))
    return f"We have no numbers for {area} of sheet {name} yet. Put the estimate {amount} into each of these cells."


def rename_a_shelf(rng: random.Random, draft: Draft) -> str:
    sheet, column, new = rng.choice((("Stock", "B", "Q-9"), ("Team", "B", "Valley")))
    cells = _sheet(draft, sheet)["cells"]
    place = pick(rng, {cell: cell for cell in cells if cell[0] == column}, where=lambda cell: cell[1:] != "1")
    old = str(cells[place])
    draft.do("list_sheets")
    _open(draft, sheet)
    draft.do("find_and_replace", find=old, replacement=new)
    return rng.choice(
        (
            f"{old} is called {new} from now on. Change it wherever it stands on sheet {sheet}.",
            f"On sheet {sheet}, write {new} wherever a cell says {old}.",
        )
    )


def ask_for_a_figure(rng: random.Random, draft: Draft) -> str:
    name, column, heading = rng.choice((("Stock", "C", "pieces"), ("Stock", "D", "prices"), ("Team", "C", "hours")))
    function, label = rng.choice((("MIN", "Least"), ("MAX", "Most"), ("COUNT", "Number of")))
    last = _last_row(draft, name)
    _open(draft, name)
    draft.do("list_formulas")
    draft.do("set_cell", cell=f"G{last}", entry=f"{label} {heading}")
    draft.do("set_cell", cell=f"H{last}", entry=f"={function}({column}2:{column}{last})")
    return (
        f"On sheet {name}, write '{label} {heading}' into G{last}, and into H{last} the {function} "
        f"of {column}2 to {column}{last} as a formula."
    )


KINDS: tuple[TaskKind, ...] = (
    correct_an_amount,
    hire_somebody,
    drop_a_row,
    sort_a_table,
    sum_up_the_stock,
    repeat_a_month,
    begin_anew,
    rename_a_shelf,
    ask_for_a_figure,
)


def _sheet(draft: Draft, name: str) -> Sheet:
    sheet: Sheet = draft.state["sheets"][name]
    return sheet


def _last_row(draft: Draft, name: str) -> int:
    """The last row of the table, above its totals."""
    cells = _sheet(draft, name)["cells"]
    rows = (int(cell[1:]) for cell in cells if cell[0] == "A")
    return max(row for row in rows if cells[f"A{row}"] not in ("Total", "Highest", "Lowest", "All"))


def _open(draft: Draft, name: str) -> None:
    """Open a sheet unless it is the active one."""
    if draft.state["active_sheet"] != name:
        draft.do("open_sheet", sheet=name)

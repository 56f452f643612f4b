"""The code of a tool as a simulator reads it."""

import ast
from typing import Annotated, Any

from simia.worlds.source import source_of

LIMIT = 7
NAMES = ("ada", "ben")
RATES = {"express": 3}
UNUSED = 99
LARGEST = 50
Amount = Annotated[int, "at most LARGEST"]


class Table(dict[str, Any]):
    """A type, which is no code of a tool."""


def rounded(value: float) -> int:
    """Round it."""
    return round(value * LIMIT)


def doubled(value: float) -> int:
    return rounded(value) + rounded(value)


def even(number: int) -> bool:
    return number == 0 or odd(number - 1)


def odd(number: int) -> bool:
    return number != 0 and even(number - 1)


def pay(state: Table, amount: Annotated[Amount, LARGEST]) -> int:
    """Pay."""
    total: Amount = doubled(amount) + rounded(amount)
    return total * RATES["express"] if NAMES[0] in state else LIMIT


def shadow(state: Table, count: int) -> int:
    """Its LIMIT is its own."""
    LIMIT = count + 1  # noqa: N806
    return LIMIT * 2


def count_down(state: Table, number: int) -> bool:
    """Go down."""
    return even(number)


def outside(state: Table) -> str:
    """It uses what is not of the package."""
    return ast.dump(ast.parse(str(len(state))))


def of(action: Any) -> str:
    return source_of(action, __name__.rpartition(".")[0] or __name__)


def test_the_tool_stands_below_the_helpers_that_it_uses() -> None:
    text = of(pay)
    assert text.index("def rounded") < text.index("def doubled") < text.index("def pay")


def test_a_helper_that_is_used_twice_stands_there_once() -> None:
    assert of(pay).count("def rounded") == 1


def test_constants_stand_first_by_value_also_those_of_helpers() -> None:
    assert set(of(pay).split("\n\n")[0].splitlines()) == {
        "LIMIT = 7",
        "RATES = {'express': 3}",
        "NAMES = ('ada', 'ben')",
    }


def test_what_is_not_used_is_left_out() -> None:
    assert "UNUSED" not in of(pay)


def test_types_that_only_annotations_name_are_left_out() -> None:
    text = of(pay)
    assert "LARGEST = " not in text
    assert "Amount = Annotated" not in text
    assert "class Table" not in text


def test_a_name_that_the_tool_gives_itself_is_not_the_constant() -> None:
    assert "LIMIT = 7" not in of(shadow)


def test_helpers_that_call_one_another_stand_there_once_each() -> None:
    text = of(count_down)
    assert [text.count(f"def {name}") for name in ("even", "odd", "count_down")] == [1, 1, 1]


def test_what_is_imported_from_elsewhere_is_left_out() -> None:
    assert of(outside).startswith("def outside")
    assert "import ast" not in of(outside)


def test_the_code_runs_by_itself() -> None:
    names: dict[str, Any] = {"Table": dict, "Amount": int, "Annotated": Annotated, "LARGEST": 0}
    exec(of(pay), names)
    assert names["pay"]({"ada": 1}, 2) == pay(Table(ada=1), 2)

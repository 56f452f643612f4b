"""The code of a tool of another package as a simulator reads it. The package is this module."""

import ast
import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Annotated, Any, Optional

from pydantic import BaseModel, Field, computed_field

from simia.worlds.method_source import MethodSource

FEE = 3
TABLE = ["x" * 1000]
UNUSED = 99
Key = str


class Size(StrEnum):
    """How large."""

    SMALL = "small"
    LARGE = "large"


class Base(BaseModel):
    key: str = Field(description="of what")
    size: Size = Field(default=Size.SMALL, description="how large")


class Box(Base):
    """A box."""

    model_config = {"extra": "forbid"}
    content: list[str] = Field(default_factory=list)
    lid: dict[str, int] = Field(default_factory=lambda: {"height": FEE})
    label: str | None = Field(None, description="what it says")
    owner: str = Field(..., description="whose")

    def add(self, what: str) -> None:
        """Put it in."""
        self.content.append(what)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def count(self) -> int:
        """How many."""
        return len(self.content)

    def never(self) -> None:
        """Nobody calls it."""


@dataclass
class Shelf:
    boxes: dict[Key, Box] = field(default_factory=dict)


class Node:
    def __init__(self, parent: Optional["Node"]) -> None:
        self.parent = parent

    def top(self) -> "Node":
        return self if self.parent is None else self.parent.top()


def marked(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def today() -> date:
    """Now."""
    return date(2025, 1, 1)


class Kit:
    """The tools."""

    shelf: Shelf
    limit: int = FEE

    def __init__(self) -> None:
        self.node: Node | None = None

    @property
    def boxes(self) -> dict[Key, Box]:
        """All."""
        return self.shelf.boxes

    def _find(self, key: str) -> Box:
        """Find it."""
        if key not in self.boxes:
            raise ValueError(f"no {key}")
        return self.boxes[key]

    @marked
    def put(self, key: str, what: str) -> int:
        """Put something into a box.

        Args:
            key: which
        """
        # nobody reads this
        box = self._find(key)
        if box.count < self.limit:
            box.add(what)
        return box.count

    @marked
    def make(self, key: str) -> Box:
        return Box(key=Key(key), owner=str(today()))

    def climb(self) -> "Node":
        assert self.node is not None
        return self.node.top()

    def table(self) -> list[str]:
        return TABLE

    @functools.lru_cache  # noqa: B019
    def only_doc(self) -> None:
        """Nothing to do."""


def count(shelf: Annotated[Shelf, "of the state"]) -> int:
    """How many there are."""
    return sum(box.count for box in shelf.boxes.values())


PACKAGE = __name__.partition(".")[0]


def of(name: str) -> str:
    source = MethodSource(PACKAGE)
    source.add_method(Kit, name)
    return source.text("self is the state.")


def test_a_method_stands_in_its_class_below_what_it_uses_and_the_note_above_all() -> None:
    assert (
        of("put")
        == """\
# self is the state.

FEE = 3

class Box:
    @property
    def count(self) -> int:
        return len(self.content)

    def add(self, what: str) -> None:
        self.content.append(what)

class Kit:
    limit: int = FEE

    @property
    def boxes(self) -> dict[Key, Box]:
        return self.shelf.boxes

    def _find(self, key: str) -> Box:
        if key not in self.boxes:
            raise ValueError(f'no {key}')
        return self.boxes[key]

    def put(self, key: str, what: str) -> int:
        box = self._find(key)
        if box.count < self.limit:
            box.add(what)
        return box.count"""
    )


def test_a_class_whose_objects_are_made_is_told_by_its_fields_with_those_of_its_bases_and_defaults() -> None:
    text = of("make")
    assert (
        """\
class Box:
    key: str
    size: Size = Size.SMALL
    content: list[str] = list()
    lid: dict[str, int] = {'height': FEE}
    label: str | None = None
    owner: str
"""
        in text
    )
    assert "class Size(StrEnum):\n    SMALL = 'small'\n    LARGE = 'large'\n" in text
    assert "Key = str" in text
    assert "def today() -> date:\n    return date(2025, 1, 1)" in text
    assert "def never" not in text


def test_what_is_called_on_an_attribute_is_found_in_the_class_that_the_maker_of_the_object_tells() -> None:
    text = of("climb")
    assert "class Node:\n    def top(self) -> 'Node':" in text
    assert "def __init__" not in text


def test_a_function_stands_below_the_members_of_what_it_is_given() -> None:
    source = MethodSource(PACKAGE)
    source.add_function(count)  # type: ignore[arg-type]
    text = source.text("note")
    assert text.index("def count(self)") < text.index("def count(shelf")
    assert "class Kit" not in text


def test_a_long_constant_is_named_without_its_value() -> None:
    assert "TABLE = ...  # too long to be shown" in of("table")
    assert "xxx" not in of("table")


def test_a_function_of_nothing_but_its_doc_string_keeps_it() -> None:
    source = MethodSource(PACKAGE)
    source.add_method(Box, "never")
    assert source.text("note").endswith('def never(self) -> None:\n        """Nobody calls it."""')


def test_all_of_it_is_python() -> None:
    for name in ("put", "make", "climb", "table"):
        ast.parse(of(name))

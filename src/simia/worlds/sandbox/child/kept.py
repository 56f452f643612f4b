"""Whether an executed module is still as it was, so that it need not be executed again for the next call.

A module can be kept if all that it and its classes hold is either fixed (numbers, texts, functions, what it imports) or
plain data, whose content can be compared. With anything else, such as a generator of random numbers or an object of its
own, it cannot, and nobody has to find out what may have happened to it.
"""

import abc
import collections
import enum
import marshal
import operator
import types
from collections.abc import Iterable, Mapping
from typing import Any

_FIXED = (
    *(type(None), bool, int, float, complex, str, bytes, range, type(...), enum.Enum),
    *(types.ModuleType, types.BuiltinFunctionType, types.GenericAlias, types.UnionType),
    *(types.GetSetDescriptorType, types.MemberDescriptorType),
    *(type(vars(abc.ABC)["_abc_impl"]), type(vars(collections.namedtuple("_Any", "field"))["field"])),
)
_FIXED_OF = frozenset(
    {"__future__", "dataclasses", "datetime", "decimal", "fractions", "logging", "re", "typing", "uuid"}
)
"""Libraries whose objects do not change, or show nothing of it."""

_DATA = (list, dict, set)
_PLAIN_FORM = 2
"""The form of marshal that depends on nothing but the content."""

_dumps = marshal.dumps


class Kept:
    """What a module held when it was executed. ``is_possible`` is False where the module cannot be kept."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._bound: list[tuple[Mapping[str, Any], list[str], list[Any]]] = []
        self._contents: list[tuple[Any, bytes]] = []
        self._attributes: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._cells: list[tuple[types.CellType, Any]] = []
        self._met: set[int] = set()
        self._own = namespace["__name__"]
        try:
            self._look_at_names(namespace)
            self.is_possible = True
        except (_Unseen, ValueError):  # the second is marshal's, and that of an empty cell
            self.is_possible = False

    def holds(self) -> bool:
        """Whether every name, also one that only functions share, is still bound to the same, all data is the same,
        and so are attributes of functions.
        """
        return (
            all(
                list(table) == names and all(map(operator.is_, table.values(), values))
                for table, names, values in self._bound
            )
            and all(_dumps(data, _PLAIN_FORM) == content for data, content in self._contents)
            and all(now == then for now, then in self._attributes)
            and all(_is_bound_to(cell, value) for cell, value in self._cells)
        )

    def _look_at_names(self, table: Mapping[str, Any]) -> None:
        self._bound.append((table, list(table), list(table.values())))
        for name, value in table.items():
            if not (name.startswith("_") and name.endswith("_")):
                self._look_at(value)
            elif isinstance(value, types.FunctionType) and value.__module__ == self._own:
                self._look_at_function(value)  # a default of __init__, for example

    def _look_at(self, value: Any) -> None:
        if id(value) in self._met:
            return
        self._met.add(id(value))
        if type(value) in _DATA:
            self._contents.append((value, _dumps(value, _PLAIN_FORM)))
        elif isinstance(value, type | types.FunctionType) and value.__module__ != self._own:
            return  # the library's
        elif isinstance(value, type):
            self._look_at_names(vars(value))
        elif isinstance(value, types.FunctionType):
            self._look_at_function(value)
        else:
            for part in _parts(value):
                self._look_at(part)

    def _look_at_function(self, function: types.FunctionType) -> None:
        self._attributes.append((vars(function), dict(vars(function))))
        cells = [(cell, cell.cell_contents) for cell in function.__closure__ or ()]
        self._cells += cells
        defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        for part in (*defaults, *(value for _, value in cells), *vars(function).values()):
            self._look_at(part)


class _Unseen(Exception):
    """Something can change without a name being bound anew."""


def _parts(value: Any) -> Iterable[Any]:
    """What a fixed value holds that may not be.

    Raises:
        _Unseen: the value itself is not known to be fixed.
    """
    if isinstance(value, staticmethod | classmethod):
        return [value.__func__]
    if isinstance(value, property):
        return [value.fget, value.fset, value.fdel]
    if type(value) in (tuple, frozenset):
        return list(value)
    if isinstance(value, _FIXED) or type(value).__module__ in _FIXED_OF:
        return []
    raise _Unseen


def _is_bound_to(cell: types.CellType, value: Any) -> bool:
    try:
        return cell.cell_contents is value
    except ValueError:  # it is empty now
        return False

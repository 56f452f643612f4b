"""What the program computes for a simulator: sums, dates and new ids, which language models get wrong."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from simia.errors import FormatError
from simia.simulate.arithmetic import calculate
from simia.types import JsonObject, Path, State

KEY = "compute"
"""What an answer that asks for results holds instead of a transition."""

MOST_OPERATIONS = 16
"""How many may stand in one answer."""

_CLOCK = r"(\d\d:\d\d)(:\d\d)?((?:(?<=:\d\d:\d\d)\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)"
_MOMENT = re.compile(rf"(\d{{4}}-\d\d-\d\d)(?:([T ]){_CLOCK})?", re.ASCII)
_ID = re.compile(r"(.*?)([0-9]{1,18})([^0-9]*)", re.DOTALL)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def computed(operations: Any, state: State | None) -> list[JsonObject]:
    """What comes of each operation, in order: ``{"result": ...}``, or ``{"error": ...}`` with what to write instead.

    New ids of one table that are asked for together follow one another; asked for again, they are the same.

    Raises:
        FormatError: this is no list of operations at all.
    """
    if not isinstance(operations, list) or not 0 < len(operations) <= MOST_OPERATIONS:
        raise FormatError(f'"{KEY}" must be a list of 1 to {MOST_OPERATIONS} operations')
    tables = _Tables(state)
    results: list[JsonObject] = []
    for operation in operations:
        try:
            results.append({"result": _result(operation, tables)})
        except FormatError as cause:
            results.append({"error": str(cause)})
    return results


@dataclass
class _Tables:
    """The state, and the ids that were given out over it."""

    state: State | None
    given: dict[Path, list[str]] = field(default_factory=dict)


def _result(operation: Any, tables: _Tables) -> Any:
    name = operation.get("op") if isinstance(operation, dict) else None
    if not isinstance(name, str) or name not in _OPERATIONS:
        raise FormatError(f'an operation is an object whose "op" is one of {", ".join(_OPERATIONS)}')
    needed, optional, compute = _OPERATIONS[name]
    given = operation.keys() - {"op"}
    if (missing := needed - given) or (unknown := given - needed - optional):
        keys = ", ".join(sorted(needed)) + (f", and perhaps {', '.join(sorted(optional))}" if optional else "")
        what = f"lacks {', '.join(sorted(missing))}" if missing else f"has {', '.join(sorted(unknown))[:80]}"
        raise FormatError(f"{name} takes {keys}; this one {what}")
    return compute(operation, tables)


def _calculate(operation: JsonObject, _: _Tables) -> int | float:
    return calculate(_text(operation, "expression"))


def _add_days(operation: JsonObject, _: _Tables) -> str:
    """The later date in the spelling of the first; a time zone is carried along, and its clock is never changed."""
    day, separator, clock, seconds, rest = _parts(operation, "date")
    if not operation.keys() & {"days", "hours", "minutes"}:
        raise FormatError("add_days takes days, hours or minutes, as whole numbers")
    if not clock and operation.keys() & {"hours", "minutes"}:
        raise FormatError(f"{day} has no time to add hours or minutes to: write {day}T00:00, or give only days")
    try:
        later = _moment(day, clock, seconds) + timedelta(
            days=_whole(operation, "days"), hours=_whole(operation, "hours"), minutes=_whole(operation, "minutes")
        )
    except OverflowError:
        raise FormatError(f"{day} and so much more is beyond the years 0001 to 9999") from None
    text = later.date().isoformat()
    if not clock:
        return text
    return f"{text}{separator}{later.time().isoformat('seconds' if seconds else 'minutes')}{rest}"


def _days_between(operation: JsonObject, _: _Tables) -> int:
    """Days of the calendar, whatever the times: negative where the second date is the earlier one."""
    return (_day(operation, "to") - _day(operation, "from")).days


def _weekday(operation: JsonObject, _: _Tables) -> str:
    return _DAYS[_day(operation, "date").weekday()]


def _new_id(operation: JsonObject, tables: _Tables) -> str:
    path = operation["table"]
    if not isinstance(path, list) or not path or not all(isinstance(key, str) for key in path):
        raise FormatError('"table" is the list of keys from the top of the state down to the table, as in ["orders"]')
    if tables.state is None:
        raise FormatError("no state is kept, so there is no table: make up an id in the style of earlier results")
    table: Any = tables.state
    for key in path:
        if not isinstance(table, dict) or key not in table:
            raise FormatError(f"the state has nothing at {path}: name the keys from the top of the state")
        table = table[key]
    if not isinstance(table, dict):
        raise FormatError(f"what stands at {path} is no object with ids as keys: make up an id in the style of others")
    given = tables.given.setdefault(tuple(path), [])
    found = _following((*table, *given))
    if found is None:
        raise FormatError(f"no key at {path} ends in a number to continue: make up an id in the style of the tool")
    given.append(found)
    return found


def _following(ids: Iterable[str]) -> str | None:
    """The id after the greatest of those that are spelled like most: same text before and behind the last number. A
    number with leading zeros keeps its length.
    """
    numbers: dict[tuple[str, str], list[str]] = {}
    for known in ids:
        found = _ID.fullmatch(known)
        if found is not None:
            numbers.setdefault((found[1], found[3]), []).append(found[2])
    if not numbers:
        return None
    before, behind = max(numbers, key=lambda spelling: len(numbers[spelling]))
    digits = numbers[before, behind]
    padded = [len(one) for one in digits if len(one) > 1 and one[0] == "0"]
    return f"{before}{max(map(int, digits)) + 1:0{max(padded, default=1)}d}{behind}"


def _text(operation: JsonObject, key: str) -> str:
    value = operation[key]
    if not isinstance(value, str):
        raise FormatError(f'"{key}" is {value!r:.80}: write a text')
    return value


def _whole(operation: JsonObject, key: str) -> int:
    value = operation.get(key, 0)
    if isinstance(value, bool) or not isinstance(value, int):
        raise FormatError(f'"{key}" is {value!r:.80}: write a whole number')
    return value


def _parts(operation: JsonObject, key: str) -> tuple[str, str, str, str, str]:
    """Day, separator, clock, seconds with their colon, and what follows; all but the day may be empty."""
    text = _text(operation, key)
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise FormatError(f'"{key}" is {text!r:.80}: write a date as 2025-01-20 or 2025-01-20T10:00')
    day, separator, clock, seconds, rest = (part or "" for part in found.groups())
    return day, separator, clock, seconds, rest


def _moment(day: str, clock: str, seconds: str) -> datetime:
    text = f"{day}T{clock or '00:00'}{seconds}"
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise FormatError(f"{text} is not in the calendar") from None


def _day(operation: JsonObject, key: str) -> date:
    day, _, clock, seconds, _ = _parts(operation, key)
    return _moment(day, clock, seconds).date()


_Compute = Callable[[JsonObject, _Tables], Any]
_OPERATIONS: Mapping[str, tuple[frozenset[str], frozenset[str], _Compute]] = {
    "calculate": (frozenset({"expression"}), frozenset(), _calculate),
    "add_days": (frozenset({"date"}), frozenset({"days", "hours", "minutes"}), _add_days),
    "days_between": (frozenset({"from", "to"}), frozenset(), _days_between),
    "weekday": (frozenset({"date"}), frozenset(), _weekday),
    "new_id": (frozenset({"table"}), frozenset(), _new_id),
}
"""By name: the keys that must be there, those that may, and what is computed."""

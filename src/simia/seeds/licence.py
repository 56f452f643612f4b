"""The licence that a record states for itself."""

from collections.abc import Mapping
from typing import Any

from simia.errors import FormatError

_KEYS = ("licence", "license")


def licence_of(record: Mapping[str, Any]) -> str | None:
    """The SPDX expression under ``licence`` or ``license``; None where both are missing, null or empty.

    A list of names, as data cards have it, is all of them at once: ``MIT AND CC-BY-4.0``. Nothing that is stated is
    looked over: a licence that forbids something must not become one that says nothing.

    Raises:
        FormatError: what stands there is neither a name nor a list of names, or the two keys contradict each other.
    """
    stated = {key: _expression(key, record[key]) for key in _KEYS if record.get(key) not in (None, "", [])}
    if len(set(stated.values())) > 1:
        raise FormatError(f"'licence' is {stated['licence']!r} and 'license' is {stated['license']!r}: keep one")
    return next(iter(stated.values()), None)


def _expression(key: str, value: Any) -> str:
    names = value if isinstance(value, list) else [value]
    if not all(isinstance(name, str) and name.strip() for name in names):
        raise FormatError(f"{key!r} is neither an SPDX identifier nor a list of them: {value!r:.80}; write one there")
    distinct: list[str] = list(dict.fromkeys(name.strip() for name in names))
    if len(distinct) == 1:
        return distinct[0]
    return " AND ".join(f"({name})" if " OR " in name else name for name in distinct)

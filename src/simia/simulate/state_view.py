"""What a tool simulator is shown of a state that is too large for a prompt."""

from collections.abc import Iterable, Iterator
from typing import Any

from simia.formats.calls import dump_json
from simia.types import State


def excerpt(state: State, mentioned: Iterable[str], budget_chars: int) -> tuple[str, str]:
    """The state as compact JSON of at most about ``budget_chars``, and what is not shown, in words.

    A small state is shown whole and nothing is missing. Of a large one the top-level tables keep the records whose
    key or value is ``mentioned``, then those that these refer to, then others in order while there is room. A
    top-level value that is no table of records is always kept.
    """
    text = dump_json(state)
    if len(text) <= budget_chars:
        return text, ""
    wanted = {word for word in mentioned if word}
    referred: set[str] = set()
    ranks: dict[str, dict[str, int]] = {}
    for table, records in _tables(state):
        for key, record in records.items():
            leaves = {*_leaves(record), key}
            if leaves & wanted:
                ranks.setdefault(table, {})[key] = 0
                referred |= leaves
    candidates: list[tuple[int, int, str, str, int]] = []
    for table, records in _tables(state):
        for order, (key, record) in enumerate(records.items()):
            rank = ranks.get(table, {}).get(key, 1 if key in referred else 2)
            candidates.append((rank, order, table, key, len(dump_json(record).encode()) + len(key) + 4))
    tables = dict(_tables(state))
    shown: dict[str, Any] = {key: ({} if key in tables else value) for key, value in state.items()}
    room = budget_chars - len(dump_json(shown).encode())
    for _, _, table, key, size in sorted(candidates):
        if size <= room:
            shown[table][key] = tables[table][key]
            room -= size
    hidden = {name: len(records) - len(shown[name]) for name, records in tables.items()}
    missing = ", ".join(f"{count} more in {name}" for name, count in hidden.items() if count)
    return dump_json(shown), missing


def words_of(value: Any) -> Iterator[str]:
    """Every key-like word of a JSON value: its scalars as text."""
    return _leaves(value)


def _tables(state: State) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, records in state.items():
        if isinstance(records, dict) and records and all(isinstance(record, dict) for record in records.values()):
            yield name, records


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for entry in value.values():
            yield from _leaves(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _leaves(entry)
    elif isinstance(value, str):
        yield value
    elif value is not None and not isinstance(value, bool):
        yield str(value)

"""The state behind the tools, and what changes in it.

A state is a JSON object. A path is a tuple of keys, because keys may contain dots. Objects are walked; anything else,
lists included, is one value and is put as a whole.
"""

from typing import Annotated, Any, Literal

import orjson
from pydantic import Field

from simia.errors import StateError
from simia.types.value import JsonObject, Value

State = JsonObject
Path = tuple[str, ...]


class Put(Value):
    """The value at ``path`` becomes ``value``. Its parent object must exist."""

    op: Literal["put"] = "put"
    path: Path = Field(min_length=1)
    value: Any


class Remove(Value):
    """The key at ``path`` goes away. It must exist."""

    op: Literal["remove"] = "remove"
    path: Path = Field(min_length=1)


ABSENT: Any = object()
"""What stands for a key that is not there."""

Change = Annotated[Put | Remove, Field(discriminator="op")]


class StateDelta(Value):
    """Changes to a state, applied in order. ``between(a, b).apply(a)`` is ``b``; ``between(a, a).size`` is 0."""

    changes: tuple[Change, ...] = ()

    @property
    def size(self) -> int:
        """Number of changes."""
        return len(self.changes)

    @classmethod
    def between(cls, before: State, after: State) -> "StateDelta":
        """The fewest changes, by key, that turn ``before`` into ``after``."""
        return cls(
            changes=tuple(
                Remove(path=path) if value is ABSENT else Put(path=path, value=value)
                for path, value in differences(before, after)
            )
        )

    def apply(self, state: State) -> State:
        """A new state with the changes applied. ``state`` stays as it is; untouched branches are shared with it.

        Raises:
            StateError: a parent is missing or is no object, or a key to remove does not exist.
        """
        result = dict(state)
        own: dict[Path, dict[str, Any]] = {(): result}
        for change in self.changes:
            parent = _own_parent(change.path[:-1], own)
            key = change.path[-1]
            if isinstance(change, Put):
                parent[key] = change.value
            elif key in parent:
                del parent[key]
            else:
                raise StateError(f"nothing to remove at {_spell(change.path)}")
            for path in [path for path in own if path[: len(change.path)] == change.path]:
                del own[path]
        return result


def differences(before: State, after: State) -> list[tuple[Path, Any]]:
    """The paths at which ``after`` is another than ``before``, with the value there, or :data:`ABSENT`."""
    found: list[tuple[Path, Any]] = []
    if before is not after:
        _collect(before, after, (), found)
    return found


def same(a: Any, b: Any) -> bool:
    """JSON equality: ``1`` is ``1.0``, but ``true`` is not ``1``, at any depth."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    if isinstance(a, list | tuple):
        return isinstance(b, list | tuple) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return bool(a == b)


def _collect(before: State, after: State, path: Path, found: list[tuple[Path, Any]]) -> None:
    if before.keys() != after.keys():
        found += [((*path, key), ABSENT) for key in before if key not in after]
    for key, value in after.items():
        old = before.get(key, ABSENT)
        if old is value:
            continue
        kind = type(value)
        if kind is not type(old) and not (isinstance(old, dict) and isinstance(value, dict)):
            if old is ABSENT or not same(old, value):
                found.append(((*path, key), value))
        elif kind is str or kind is int or kind is float:
            if old != value:
                found.append(((*path, key), value))
        elif old == value and _spelled_alike(old, value):
            continue
        elif isinstance(value, dict):
            _collect(old, value, (*path, key), found)
        elif not same(old, value):
            found.append(((*path, key), value))


def _spelled_alike(a: Any, b: Any) -> bool:
    """Whether two values that Python calls equal, for which ``True`` is ``1``, are written alike, and so are equal in
    JSON as well: the common case, in one step. False says nothing.
    """
    try:
        return orjson.dumps(a) == orjson.dumps(b)
    except orjson.JSONEncodeError:  # integers beyond 64 bits
        return False


def _own_parent(path: Path, own: dict[Path, dict[str, Any]]) -> dict[str, Any]:
    found = own.get(path)
    if found is not None:
        return found
    parent = _own_parent(path[:-1], own)
    child = parent.get(path[-1])
    if not isinstance(child, dict):
        what = "is missing" if path[-1] not in parent else "is no object"
        raise StateError(f"{_spell(path)} {what}")
    copy = dict(child)
    parent[path[-1]] = copy
    own[path] = copy
    return copy


def _spell(path: Path) -> str:
    return " > ".join(repr(key) for key in path) or "the state"

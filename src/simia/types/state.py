"""The state behind the tools, and what changes in it.

A state is a JSON object. A path is a tuple of keys, because keys may contain dots. Objects are walked; anything else,
lists included, is one value and is put as a whole.
"""

from typing import Annotated, Any, Literal

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
        if before is after:
            return cls()
        changes: list[Put | Remove] = []
        _collect(before, after, (), changes)
        return cls(changes=tuple(changes))

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


def same(a: Any, b: Any) -> bool:
    """JSON equality: ``1`` is ``1.0``, but ``true`` is not ``1``, at any depth."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    if isinstance(a, list | tuple):
        return isinstance(b, list | tuple) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return bool(a == b)


def _collect(before: State, after: State, path: Path, changes: list[Put | Remove]) -> None:
    for key in before:
        if key not in after:
            changes.append(Remove(path=(*path, key)))
    for key, value in after.items():
        if key not in before:
            changes.append(Put(path=(*path, key), value=value))
            continue
        old = before[key]
        if old is value:
            continue
        if isinstance(old, dict) and isinstance(value, dict):
            _collect(old, value, (*path, key), changes)
        elif not same(old, value):
            changes.append(Put(path=(*path, key), value=value))


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

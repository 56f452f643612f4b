"""The objects behind BFCL's tools as JSON and back: what a state of :mod:`simia.worlds.bfcl` holds.

Every attribute of an object but its description stands under its own name.
Files and directories become nested objects as in BFCL's own scenarios, the current directory the names on the way to
it, a set a sorted list. Of a random generator its seed is kept and how many words it has given, so that the next draw
is part of the state.

What JSON cannot hold is lost: that a copied directory shares files with its original, and that the directories inside
a moved one still point to the old place.
"""

import random
import re
from typing import Any

from simia.errors import StateError
from simia.types import JsonObject

PRIVATE = "_"
"""The first letter of the attributes that BFCL's checker does not compare."""

_NO_STATE = frozenset({"_api_description", "_flight_cost_lookup"})
"""The second is a cache of bfcl-eval that is made anew before it is read."""
_SETS = frozenset({"generated_ids"})
_BY_NUMBER = frozenset({"tweets", "comments", "orders"})
"""Tables that tools look into by number. A scenario may have keys of text there, which no tool ever finds."""


class Words(random.Random):
    """The generator of ``seed`` after ``given`` words of 32 bits; it counts on in ``given``."""

    def __init__(self, seed: int, given: int = 0) -> None:
        self.given = 0
        super().__init__(seed)
        self.origin = seed
        for _ in range(given):
            self.getrandbits(32)

    def random(self) -> float:
        """A number from 0 to 1, for two words."""
        self.given += 2
        return super().random()

    def getrandbits(self, k: int, /) -> int:
        """An integer of ``k`` bits, for one word per 32 of them."""
        self.given += -(-k // 32)
        return super().getrandbits(k)


def state_of(instance: Any) -> JsonObject:
    """The state of an object of BFCL, as JSON; its generator, if it has one, is of :class:`Words`.

    Raises:
        StateError: it has none.
    """
    state: JsonObject = {}
    for name, value in vars(instance).items():
        if name in _NO_STATE:
            continue
        if isinstance(value, Words):
            state[name] = {"seed": value.origin, "words_given": value.given}
        elif name == "root":
            state[name] = {value.name: _tree(value)}
        elif name == "_current_dir":
            state[name] = _way_to(value)
        elif name in _BY_NUMBER:
            state[name] = {_key(key): _plain(row) for key, row in value.items()}
        else:
            state[name] = _plain(value)
    return state


def fill(instance: Any, state: JsonObject, package: Any) -> None:
    """Give ``instance``, just made, the attributes of ``state``. ``package`` is the module of its class."""
    for name in sorted(state, key=lambda name: name == "_current_dir"):  # it is looked up in what the others made
        value = state[name]
        made: Any = _copy(value)
        if name == "_random":
            made = Words(value["seed"], value["words_given"])
        elif name == "root":
            ((top, tree),) = value.items()
            made = package.Directory(top, None)
            _grow(made, tree["contents"], package)
        elif name == "_current_dir":
            made = instance.root
            for step in value[1:]:
                made = made.contents[step]
        elif name in _SETS:
            made = set(value)
        elif name in _BY_NUMBER:
            made = {_unkey(key): row for key, row in made.items()}
        setattr(instance, name, made)


def _tree(item: Any, above: tuple[int, ...] = ()) -> JsonObject:
    """A file, or a directory with all in it; ``above`` are the identities of the directories that it is in.

    Raises:
        StateError: a directory stands in itself, which the package allows.
    """
    if not hasattr(item, "contents"):
        return {"type": "file", "content": item.content}
    if id(item) in above:
        raise StateError(f"the directory {item.name} stands in itself: such a state has no JSON")
    within = (*above, id(item))
    return {"type": "directory", "contents": {name: _tree(one, within) for name, one in item.contents.items()}}


def _grow(directory: Any, contents: JsonObject, package: Any) -> None:
    for name, item in contents.items():
        if item["type"] == "file":
            directory.contents[name] = package.File(name, item["content"])
        else:
            directory.contents[name] = package.Directory(name, directory)
            _grow(directory.contents[name], item["contents"], package)


def _way_to(directory: Any) -> list[str]:
    above = [] if directory.parent is None else _way_to(directory.parent)
    return [*above, directory.name]


def _key(key: int | str) -> str:
    """A number as its digits; a text of digits gets quotes, so that it is not taken for a number."""
    return f'"{key}"' if isinstance(key, str) and _digits(key) else str(key)


def _unkey(key: str) -> int | str:
    return int(key) if _digits(key) else key.strip('"')


def _digits(key: str) -> bool:
    return re.fullmatch(r"-?\d+", key) is not None


def _plain(value: Any) -> Any:
    if isinstance(value, set):
        return sorted(value)
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_copy(one) for one in value]
    return value

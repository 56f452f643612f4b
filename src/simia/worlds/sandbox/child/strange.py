"""The strange class: its module executed, and for each request one instance made and one method called."""

import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from inspect import Parameter, signature
from types import ModuleType
from typing import Any

from .kept import Kept
from .plain import NoJson, check_exact, text_of
from .wire import dumps, loads

MODULE = "environment"


class Strange:
    """A class given as source text. ``begin`` starts randomness anew from a seed.

    Raises:
        Exception: whatever the text raises when it is compiled.
    """

    def __init__(self, code: str, name: str, builtins: dict[str, Any], begin: Callable[[int], None]) -> None:
        self._code = compile(code, f"<{MODULE}>", "exec", dont_inherit=True)
        self._name = name
        self._builtins = builtins
        self._begin = begin
        self._takes_config: bool | None = None
        self._found: type | None = None
        self._kept: Kept | None = None

    def load(self) -> type:
        """The class, with its module as it is when it has just been executed: nothing that an earlier request left in
        it is there. What it draws then is always the same.

        Raises:
            LookupError: the module defines no such class.
            Exception: whatever the module raises.
        """
        if self._found is None or self._kept is None or not self._kept.is_possible or not self._kept.holds():
            self._found = self._executed()
        return self._found

    def _executed(self) -> type:
        self._begin(0)
        module = ModuleType(MODULE)
        sys.modules[MODULE] = module  # there dataclasses and annotations that are text look names up
        namespace = vars(module)
        namespace["__builtins__"] = self._builtins
        exec(self._code, namespace)
        found = namespace.get(self._name)
        if not isinstance(found, type):
            raise LookupError(f"there is no class {self._name}")
        if self._kept is None or self._kept.is_possible:
            self._kept = Kept(namespace)
        return found

    def make(self, found: type) -> Any:
        """An instance, made with an empty configuration if the class takes one.

        Raises:
            Exception: whatever the class raises.
        """
        if self._takes_config is None:
            self._takes_config = _takes_one(found)
        return found({}) if self._takes_config else found()

    def fresh(self, found: type) -> str:
        """The state of a new instance as JSON text, without attributes that have none.

        Raises:
            Exception: whatever the class raises.
        """
        attributes = vars(self.make(found))
        plain = _attributes(attributes, {name: type(value) for name, value in attributes.items()})
        return text_of({name: value for name, value in plain.items() if _is_exact(value)}, "the state")

    def call(self, tool: str, arguments: dict[str, Any], state_text: str, seed: int) -> tuple[Any, str | None]:
        """What the method gives in the state, and the state afterwards as JSON text, or None where it is the same.

        An attribute that only the constructor set and that the method left alone is no part of the state: the next
        instance has it again.

        Raises:
            NoJson: the method left a state that has no JSON.
            Exception: whatever the class raises.
        """
        state = loads(state_text)
        found = self.load()
        self._begin(seed)
        instance = self.make(found)
        attributes = vars(instance)
        untouched = {name: _trace(value) for name, value in attributes.items() if name not in state}
        for name, value in state.items():
            setattr(instance, name, _restored(attributes.get(name), value))
        kinds = {name: type(value) for name, value in attributes.items()}
        result = getattr(instance, tool)(**arguments)
        after = {
            name: value
            for name, value in vars(instance).items()
            if name not in untouched or untouched[name] != _trace(value)
        }
        plain = _attributes(after, kinds)
        text = text_of(plain, "the state")
        if text == state_text:
            return result, None
        check_exact(plain, text, "the state")
        return result, text


def _takes_one(found: type) -> bool:
    try:
        parameters = signature(found).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(one.kind is not Parameter.KEYWORD_ONLY and one.kind is not Parameter.VAR_KEYWORD for one in parameters)


def _trace(value: Any) -> tuple[type, str]:
    """Something that changes when ``value`` does: its JSON, or else how it and its attributes show themselves."""
    try:
        return type(value), dumps(value)
    except (TypeError, ValueError, RecursionError):
        return type(value), f"{value!r} {getattr(value, '__dict__', '')!r}"


def _restored(made: Any, value: Any) -> Any:
    """``value`` in the kind of container that the constructor made in its place, if it fits."""
    kind = type(made)
    if kind in (tuple, frozenset, set) and isinstance(value, list):
        with suppress(TypeError):  # a set of what cannot be in one stays a list
            return kind(value)
    if isinstance(made, dict) and kind is not dict and isinstance(value, dict):
        made.clear()
        made.update(value)
        return made
    if isinstance(made, deque) and isinstance(value, list):
        made.clear()
        made.extend(value)
        return made
    return value


def _attributes(attributes: dict[str, Any], kinds: dict[str, type]) -> dict[str, Any]:
    """What of ``attributes`` is state.

    ``kinds`` are those of before the call. What was a set then is written as a list, since it will be a set again; one
    that is new could not be told from a list.
    """
    plain = {}
    for name, value in attributes.items():
        if name.startswith("__") and name.endswith("__"):
            continue
        if isinstance(value, set | frozenset | deque) and type(value) is kinds.get(name):
            value = list(value) if isinstance(value, deque) else sorted(value, key=_rank)
        plain[name] = value
    return plain


def _rank(value: Any) -> tuple[str, Any]:
    return type(value).__name__, value


def _is_exact(value: Any) -> bool:
    try:
        check_exact(value, text_of(value, ""), "")
    except NoJson:
        return False
    return True

"""A plain ``.py`` file with one class as a world. It is read and parsed here, and executed in the sandbox alone."""

import ast
from pathlib import Path
from typing import Any

from simia.errors import ConfigError, FormatError
from simia.formats.calls import dump_json, load_json
from simia.types import State
from simia.worlds.sandbox.limits import Limits
from simia.worlds.sandbox.text import only_class, parsed
from simia.worlds.sandbox.world import NOON, SandboxedWorld

STATES = "INITIAL_STATES"
"""The list in the module, of states to start from. Without it, they may stand in a JSON file of the same name."""


def read_module(path: Path, *, licence: str, limits: Limits | None = None, now: float = NOON) -> SandboxedWorld:
    """The world of the one class in the file with public methods; its docstring, or the module's, is the policy.

    Raises:
        ConfigError: the file cannot be read, or what stands in it or beside it cannot be used.
        SandboxViolation: the code runs into a wall when it is loaded.
    """
    code = _read(path)
    tree = parsed(code, str(path))
    found = only_class(tree, str(path))
    return SandboxedWorld(
        path.stem,
        code,
        found.name,
        licence=licence,
        policy=ast.get_docstring(found) or ast.get_docstring(tree) or "",
        states=_states(path, tree),
        limits=limits,
        now=now,
    )


def _states(path: Path, tree: ast.Module) -> list[State]:
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if value is not None and any(isinstance(target, ast.Name) and target.id == STATES for target in targets):
            origin = f"{STATES} in {path}"
            try:
                return _checked(ast.literal_eval(value), origin)
            except (ValueError, TypeError, RecursionError, MemoryError) as cause:
                raise ConfigError(f"{origin} is no literal ({cause}): write it out, or into a JSON file") from cause
    beside = path.with_suffix(".json")
    if not beside.exists():
        return []
    try:
        return _checked(load_json(_read(beside)), str(beside))
    except FormatError as cause:
        raise ConfigError(f"{beside}: {cause}") from cause


def _checked(value: Any, origin: str) -> list[State]:
    if not isinstance(value, list) or not all(isinstance(state, dict) for state in value):
        raise ConfigError(f"{origin} is no list of objects: {value!r:.80}; write one object for each state")
    try:
        is_json = load_json(dump_json(value)) == value
    except (TypeError, ValueError):
        is_json = False
    if not is_json:
        raise ConfigError(f"{origin} is no JSON: write lists, and objects with keys that are text, and nothing else")
    return value


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"no file {path}: check the path") from None
    except UnicodeDecodeError as cause:
        raise ConfigError(f"{path} is no UTF-8 text: {cause.reason} at byte {cause.start}") from cause
    except OSError as cause:
        raise ConfigError(f"cannot read {path}: {cause.strerror}") from cause

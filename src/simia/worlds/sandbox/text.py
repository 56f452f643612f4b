"""The source text of a strange class, read and never executed: the class is there, and each method can be shown."""

import ast
import textwrap
import warnings
from typing import TypeGuard

from simia.errors import ConfigError

_MOST_CHARACTERS = 1 << 20
_DRAWING = frozenset({"random", "secrets", "uuid", "time"})
_HARMLESS = frozenset({"UUID", "sleep", "compare_digest"})
_CLOCKS = frozenset({"now", "utcnow", "today"})

Function = ast.FunctionDef | ast.AsyncFunctionDef


class ClassText:
    """The text of a module that holds a class.

    Args:
        origin: what the text is called in errors.

    Raises:
        ConfigError: the text is no Python, or has no such class.
    """

    def __init__(self, code: str, class_name: str, origin: str) -> None:
        tree = parsed(code, origin)
        self._lines = code.replace("\r\n", "\n").replace("\r", "\n").split("\n")  # as Python counts them
        self._module = _named(tree.body)
        self._imported = _imported(tree)
        found = self._module.get(class_name)
        if not isinstance(found, ast.ClassDef):
            names = ", ".join(name for name, node in self._module.items() if isinstance(node, ast.ClassDef))
            raise ConfigError(f"{origin} has no class {class_name!r}; it has {names or 'none'}: name one of them")
        self._class = self._members(found, ())
        self._class_name = class_name

    def source_of(self, method: str) -> str | None:
        """The method below what it uses of its class, of bases in the same text, and of its module, each once; None
        where the text has no such method. An attribute that is no member brings the constructor along.

        What only an annotation names is left out.
        """
        found = self._closure(method)
        return "\n\n".join(map(self._segment, reversed(found))) or None

    def draws(self, method: str) -> bool:
        """Whether the method, or what it uses, takes something from ``random``, ``secrets``, ``uuid`` or a clock."""
        for inner in (inner for one in self._closure(method) for inner in _evaluated(one)):
            if isinstance(inner, ast.Name):
                module, name = self._imported.get(inner.id, ("", ""))
                if module in _DRAWING and name and name not in _HARMLESS:  # from random import choice
                    return True
            elif isinstance(inner, ast.Attribute) and inner.attr not in _HARMLESS:
                root = _root(inner)
                module, _ = self._imported.get(root, ("", ""))
                if module in _DRAWING or (module == "datetime" and inner.attr in _CLOCKS):
                    return True
        return False

    def _members(self, found: ast.ClassDef, below: tuple[str, ...]) -> dict[str, ast.stmt]:
        """The members of a class; its own go before those of its bases, the first base before the next."""
        members: dict[str, ast.stmt] = {}
        for base in reversed(found.bases):
            node = self._module.get(base.id) if isinstance(base, ast.Name) and base.id not in below else None
            if isinstance(node, ast.ClassDef):
                members |= self._members(node, (*below, found.name, node.name))
        return members | _named(found.body)

    def _closure(self, method: str) -> list[ast.stmt]:
        """The method, and all that it uses; nothing where the text has no such method."""
        node = self._class.get(method)
        if not _is_function(node):
            return []
        found: dict[ast.stmt, None] = {}
        waiting: list[ast.stmt] = [node]
        while waiting:
            one = waiting.pop(0)
            if one not in found:
                found[one] = None
                waiting += self._used_by(one)
        return list(found)

    def _used_by(self, node: ast.stmt) -> list[ast.stmt]:
        used = []
        for inner in _evaluated(node):
            target = None
            if isinstance(inner, ast.Name) and inner.id != self._class_name:
                target = self._module.get(inner.id)
            elif isinstance(inner, ast.Attribute) and self._is_own(inner.value):
                target = self._class.get(inner.attr, self._class.get("__init__"))
            if target is not None:
                used.append(target)
        return used

    def _is_own(self, node: ast.expr) -> bool:
        """Whether the attributes of ``node`` are those of the class."""
        return isinstance(node, ast.Name) and node.id in ("self", "cls", self._class_name)

    def _segment(self, node: ast.stmt) -> str:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(one.lineno for one in decorators)])
        return textwrap.dedent("\n".join(self._lines[first - 1 : node.end_lineno])).rstrip()


def parsed(code: str, origin: str) -> ast.Module:
    """The syntax tree of ``code``.

    Raises:
        ConfigError: it is no Python, or too long.
    """
    if len(code) > _MOST_CHARACTERS:
        raise ConfigError(f"{origin} has {len(code)} characters; {_MOST_CHARACTERS} are the most that is read")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except SyntaxError as cause:
        raise ConfigError(f"{origin} is no Python: {cause.msg} in line {cause.lineno}; correct it") from cause
    except (ValueError, RecursionError, MemoryError) as cause:
        raise ConfigError(f"{origin} is no Python that can be read: {type(cause).__name__}: {cause}") from cause


def only_class(tree: ast.Module, origin: str) -> ast.ClassDef:
    """The one class of the module that has a public method.

    Raises:
        ConfigError: there is none, or several.
    """
    found = [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        and any(_is_function(inner) and not inner.name.startswith("_") for inner in node.body)
    ]
    if len(found) != 1:
        names = ", ".join(node.name for node in found) or "none"
        raise ConfigError(f"{origin} has to hold one class with public methods, and holds {names}")
    return found[0]


def _named(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    found: dict[str, ast.stmt] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found.update((target.id, node) for target in targets if isinstance(target, ast.Name))
    return found


def _imported(tree: ast.Module) -> dict[str, tuple[str, str]]:
    """What each imported name is, anywhere in the text: its module, and its name there, empty for the module itself."""
    found: dict[str, tuple[str, str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update({(one.asname or one.name).partition(".")[0]: (one.name, "") for one in node.names})
        elif isinstance(node, ast.ImportFrom):
            found.update({one.asname or one.name: (node.module or "", one.name) for one in node.names})
    return found


def _root(node: ast.Attribute) -> str:
    """The name before the first dot; empty where it is none."""
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    return inner.id if isinstance(inner, ast.Name) else ""


def _is_function(node: ast.stmt | None) -> TypeGuard[Function]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _evaluated(node: ast.AST) -> list[ast.AST]:
    """``node`` and all nodes below it but annotations."""
    found = [node]
    for one in found:
        for name, value in ast.iter_fields(one):
            if name not in ("annotation", "returns"):
                inner = value if isinstance(value, list) else [value]
                found += [below for below in inner if isinstance(below, ast.AST)]
    return found

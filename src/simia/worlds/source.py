"""The code of a tool as a simulator may read it: the function, and the helpers and constants that it uses."""

import ast
import inspect
import textwrap
import types
from collections.abc import Callable
from typing import Any

PLAIN = (bool, int, float, str, tuple, list, dict, frozenset, set)
"""Of what kinds the constants are that are told by value."""


def source_of(action: Callable[..., Any], package: str) -> str:
    """The source of ``action`` below everything of ``package`` that it refers to, directly or not, each once.

    Functions are given as they are written, constants by value. Types and imports from elsewhere are left out.
    """
    found = _Found(package)
    found.add(action)
    constants = ["\n".join(found.constants.values())] if found.constants else []
    return "\n\n".join([*constants, *found.functions.values()])


class _Found:
    """What was met so far; helpers come before who uses them."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.constants: dict[str, str] = {}
        self.functions: dict[str, str] = {}
        self._met: set[str] = set()

    def add(self, function: Callable[..., Any]) -> None:
        """Add ``function`` and what it uses."""
        self._met.add(function.__name__)
        text = textwrap.dedent(inspect.getsource(function)).rstrip()
        namespace = function.__globals__
        for name in names_in(ast.parse(text)):
            value = namespace.get(name)
            if name in self._met or value is None:
                continue
            if isinstance(value, types.FunctionType):
                if value.__module__.startswith(self.package):
                    self.add(value)
            elif isinstance(value, PLAIN):
                self._met.add(name)
                self.constants[name] = f"{name} = {_spelled(value)}"
        self.functions[function.__name__] = text


def names_in(tree: ast.Module) -> list[str]:
    """The names that the code takes from its module, in order, without those that only an annotation names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                argument.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return list(dict.fromkeys(node.id for node in names if node.id not in own))


def _spelled(value: Any) -> str:
    """``repr``, but a set in the order of its entries, which Python draws anew in every process."""
    if isinstance(value, set | frozenset):
        entries = ", ".join(sorted(map(repr, value)))
        return f"{type(value).__name__}()" if not value else f"{{{entries}}}"
    return repr(value)

"""The code of a tool of another package as a simulator may read it: the method or function, and what it uses.

Methods stand in their classes, without doc strings and without decorators that say nothing about a call; a class whose
objects are made or told apart stands there with its fields and their defaults. What only annotations name is left out,
and of constants of more than a thousand characters the value.
"""

import ast
import inspect
import sys
import textwrap
import types
from collections.abc import Iterator
from enum import Enum
from functools import cache, cached_property
from typing import Any, get_args

from simia.worlds.source import PLAIN, names_in

_TELLING_DECORATORS = ("property", "cached_property", "staticmethod", "classmethod")
_LONGEST = 1000  # characters of a constant
_FIELDS = "fields"
_NAMELESS = ""
_SELF = ("self", "cls")

Function = types.FunctionType
Unit = type | Function


class MethodSource:
    """Collects code of ``package``, a top-level name: what is added, and all of the package that this uses, once.

    An attribute of anything but ``self`` is looked for in every class that the code speaks of, also in annotations; so
    more may be found than can be called.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._constants: dict[str, str] = {}
        self._units: dict[Unit, dict[str, str]] = {}
        """The code by part, of a class or a function, in the order in which it was met."""
        self._spoken_of: dict[type, None] = {}
        self._taken: set[str] = set()

    def add_method(self, owner: type, name: str) -> None:
        """Add the method ``name`` of the class ``owner``."""
        self._speak_of(owner)
        self._member(owner, name)
        self._complete()

    def add_function(self, function: Function) -> None:
        """Add a function of a module."""
        self._function(function)
        self._complete()

    def text(self, note: str) -> str:
        """The code below the comment ``note``; what was added first stands last, below what it uses."""
        comment = "\n".join(f"# {line}" for line in note.splitlines())
        constants = ["\n".join(self._constants.values())] if self._constants else []
        return "\n\n".join([comment, *constants, *(_text(*unit) for unit in reversed(self._units.items()))])

    def _complete(self) -> None:
        """Add the members of classes until none is missing."""
        before = -1
        while before != (before := len(self._taken) + len(self._spoken_of)):
            for owner in tuple(self._spoken_of):
                for name in () if issubclass(owner, Enum) else sorted(self._taken):
                    self._member(owner, name)

    def _member(self, owner: type, name: str) -> None:
        """Add a method, property or class attribute of ``owner``; nothing where it has none of that name."""
        base = next((base for base in self._own_bases(owner) if name in vars(base)), None)
        if base is None or name in self._units.get(base, ()):
            return
        function = _function_of(vars(base)[name])
        if function is not None:
            text = _cleaned(function)
        elif name in _statements(base):
            text = ast.unparse(_statements(base)[name])
        else:
            return
        self._units.setdefault(base, {})[name] = text
        self._follow(text, _namespace(base), owner)

    def _function(self, function: Function) -> None:
        if function not in self._units:
            self._units[function] = {_NAMELESS: _cleaned(function)}
            self._follow(self._units[function][_NAMELESS], function.__globals__)

    def _follow(self, text: str, namespace: dict[str, Any], owner: type | None = None) -> None:
        """Add what the code ``text`` uses; of ``owner`` what it takes of ``self``."""
        tree = ast.parse(text)
        for annotation in _annotations(tree):
            for name in _words(annotation):
                self._speak_of(namespace.get(name))
        for name in names_in(tree):  # it takes the annotations away
            self._name(name, namespace.get(name))
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                if owner is not None and isinstance(node.value, ast.Name) and node.value.id in _SELF:
                    self._member(owner, node.attr)
                else:
                    self._taken.add(node.attr)

    def _name(self, name: str, value: Any) -> None:
        if isinstance(value, Function):
            if self._is_own(value):
                self._function(value)
        elif isinstance(value, type):
            if self._is_own(value):
                self._made(value)
            elif name != value.__name__:
                self._constants[name] = f"{name} = {value.__name__}"
        elif isinstance(value, PLAIN):
            text = repr(value)
            self._constants[name] = f"{name} = {text if len(text) <= _LONGEST else '...  # too long to be shown'}"

    def _made(self, one: type) -> None:
        """Add what objects of the class ``one`` are made of."""
        self._speak_of(one)
        parts = self._units.setdefault(one, {})
        if _FIELDS in parts:
            return
        parts[_FIELDS] = ""
        lines: dict[str, str] = {}
        for base in reversed(self._own_bases(one)):
            for name, node in _statements(base).items():
                if isinstance(node, ast.AnnAssign):
                    lines[name] = ast.unparse(_plain_field(node))
                    self._follow(lines[name], _namespace(base))
                elif issubclass(base, Enum):
                    lines[name] = ast.unparse(node)
        parts[_FIELDS] = "\n".join(lines.values())
        if not lines:
            self._member(one, "__init__")

    def _speak_of(self, value: Any) -> None:
        """Look for members in the class ``value``, or in those of a type made of several, and in what these are of."""
        for one in _classes_in(value):
            if self._is_own(one) and one not in self._spoken_of:
                self._spoken_of[one] = None
                for base in self._own_bases(one):
                    for annotation in _field_annotations(base):
                        for name in _words(annotation):
                            self._speak_of(_namespace(base).get(name))

    def _own_bases(self, one: type) -> list[type]:
        return [base for base in one.__mro__ if self._is_own(base)]

    def _is_own(self, value: Any) -> bool:
        return str(value.__module__).partition(".")[0] == self._package


def _text(unit: Unit, parts: dict[str, str]) -> str:
    if isinstance(unit, Function):
        return parts[_NAMELESS]
    bases = ", ".join(base.__name__ for base in unit.__bases__) if issubclass(unit, Enum) else ""
    # Its fields, then its members, those first that others use.
    ordered = [parts.get(_FIELDS), *reversed([text for name, text in parts.items() if name != _FIELDS])]
    body = textwrap.indent("\n\n".join(filter(None, ordered)) or "...", "    ")
    return f"class {unit.__name__}{bases and f'({bases})'}:\n{body}"


def _cleaned(function: Function) -> str:
    """The code of a function without doc string, comments and most decorators."""
    node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if len(node.body) > 1 and ast.get_docstring(node, clean=False) is not None:
        del node.body[0]
    node.decorator_list = [one for one in node.decorator_list if ast.unparse(one).endswith(_TELLING_DECORATORS)]
    return ast.unparse(node)


def _function_of(value: Any) -> Function | None:
    if isinstance(value, property):
        value = value.fget
    elif isinstance(value, cached_property):
        value = value.func
    elif isinstance(value, staticmethod | classmethod):
        value = value.__func__
    is_written = isinstance(value, Function) and not value.__code__.co_filename.startswith("<")  # else a dataclass's
    return value if is_written else None


@cache
def _statements(one: type) -> dict[str, ast.stmt]:
    """The assignments in the body of a class, by name."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(one))).body[0]
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, ast.stmt] = {}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        found.update({target.id: node for target in targets if isinstance(target, ast.Name)})
    return found


def _plain_field(node: ast.AnnAssign) -> ast.AnnAssign:
    """A field with its default only, where pydantic's ``Field`` says more."""
    value = node.value
    if isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] == "Field":
        words = {word.arg: word.value for word in value.keywords}
        factory = words.get("default_factory")
        value = value.args[0] if value.args else words.get("default")
        if isinstance(factory, ast.Lambda):
            value = factory.body
        elif factory is not None:
            value = ast.Call(factory, [], [])
        if isinstance(value, ast.Constant) and value.value is ...:
            value = None
    return ast.AnnAssign(target=node.target, annotation=node.annotation, value=value, simple=1)


def _field_annotations(one: type) -> Iterator[ast.expr]:
    """How the attributes of a class are annotated, in its body and where it makes an object."""
    yield from (node.annotation for node in _statements(one).values() if isinstance(node, ast.AnnAssign))
    init = _function_of(vars(one).get("__init__"))
    if init is not None:
        yield from _annotations(ast.parse(_cleaned(init)))


def _annotations(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        found = node.returns if isinstance(node, ast.FunctionDef) else getattr(node, "annotation", None)
        if found is not None:
            yield found


def _words(annotation: ast.expr) -> Iterator[str]:
    """The names in an annotation, those in quotes too."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _classes_in(value: Any) -> Iterator[type]:
    if isinstance(value, type):
        yield value
    for inner in get_args(value):
        yield from _classes_in(inner)


def _namespace(one: type) -> dict[str, Any]:
    return vars(sys.modules[one.__module__])

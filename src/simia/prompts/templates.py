"""Prompt templates: ``.jinja`` files beside this module, loaded once, named in provenance by their SHA-256."""

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

import jinja2

from simia.errors import ConfigError, FormatError
from simia.formats.calls import dump_json

_SUFFIX = ".jinja"


def _compact_json(value: Any) -> str:
    return dump_json(value)


# No loader: a template cannot include another, so the hash of its own bytes covers every word of it. No autoescape:
# the reader is a model, not a browser. No sandbox: templates are simia's own, values are never compiled.
_environment = jinja2.Environment(
    undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=False
)
_environment.filters["compact_json"] = _compact_json


class Template:
    """One prompt. ``sha256`` is of the file's bytes, 64 hexadecimal digits."""

    __slots__ = ("_template", "name", "sha256")

    def __init__(self, name: str, content: bytes) -> None:
        self.name = name
        self.sha256 = hashlib.sha256(content).hexdigest()
        self._template = _environment.from_string(content.decode("utf-8"))

    def render(self, **values: Any) -> str:
        """The prompt's text, without white space at its ends.

        Raises:
            FormatError: a value that the template uses is missing.
        """
        try:
            # shared: the values alone are the context, since no template uses jinja's global functions.
            context = self._template.new_context(values, shared=True)
            return "".join(self._template.root_render_func(context)).strip()
        except jinja2.UndefinedError as cause:
            raise FormatError(f"prompt {self.name!r} lacks a value: {cause.message}") from cause


@cache
def load(name: str) -> Template:
    """The template in ``prompts/<name>.jinja``.

    Raises:
        ConfigError: there is no such file; the message lists those that exist.
    """
    folder = resources.files(__package__)
    file = folder.joinpath(name + _SUFFIX)
    if not file.is_file():
        known = sorted(entry.name.removesuffix(_SUFFIX) for entry in folder.iterdir() if entry.name.endswith(_SUFFIX))
        raise ConfigError(f"no prompt {name!r}; there are: {', '.join(known)}")
    return Template(name, file.read_bytes())


def hashes(names: Iterable[str]) -> dict[str, str]:
    """The SHA-256 of each named template: what a manifest and a trajectory's provenance hold."""
    return {name: load(name).sha256 for name in names}

"""What tokens cost: a table in TOML, the user's own before ours."""

import re
import tomllib
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path

from pydantic import Field

from simia.config import Settings, checked, read_toml
from simia.types import Usage

_DATED = re.compile(r"-20\d\d-?\d\d-?\d\d$")
_MILLION = 1_000_000


class Price(Settings):
    """What a model's tokens cost, in US dollars per million: ``input`` those of prompts, ``output`` those of replies,
    ``cached_input`` those of prompts that the provider still has in its cache; without it, as much as others.

    Prices are no settings of a recipe. They stand in the file that ``model.prices`` names, under ``[models]``, one
    model a line: ``"gpt-4.1-mini" = { input = 0.4, output = 1.6 }``. A name may be a pattern with ``*`` and ``?``.
    """

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)

    def cost(self, usage: Usage) -> float:
        """US dollars for ``usage``."""
        cached_input = self.input if self.cached_input is None else self.cached_input
        fresh = usage.prompt_tokens - usage.cached_tokens
        dollars = fresh * self.input + usage.cached_tokens * cached_input + usage.completion_tokens * self.output
        return dollars / _MILLION

    def most(self, prompt_tokens: int, completion_tokens: int) -> float:
        """US dollars for so many tokens when nothing comes from the cache."""
        dearest = max(self.input, self.cached_input or 0.0)
        return (prompt_tokens * dearest + completion_tokens * self.output) / _MILLION


FREE = Price(input=0.0, output=0.0)
"""The price of a model on this machine."""


class _Table(Settings):
    models: dict[str, Price]


class PriceTable:
    """Prices by model name. Exact names come before patterns, and ``own`` before the table that simia ships.

    Raises:
        ConfigError: ``own`` is missing, is no TOML, or has another form.
    """

    def __init__(self, own: Path | None = None) -> None:
        shipped = tomllib.loads(files("simia.models").joinpath("prices.toml").read_text(encoding="utf-8"))
        self._tables = [checked(_Table, shipped, "prices.toml").models]
        if own is not None:
            self._tables.insert(0, checked(_Table, read_toml(own), str(own)).models)
        self._found: dict[str, Price | None] = {}

    def price(self, model: str) -> Price | None:
        """The price of ``model``, or None where no table knows it."""
        if model not in self._found:
            self._found[model] = self._find(model)
        return self._found[model]

    def _find(self, model: str) -> Price | None:
        bare = _DATED.sub("", model)
        for table in self._tables:
            for name in (model, bare):
                if name in table:
                    return table[name]
            for pattern, price in table.items():
                if fnmatchcase(model, pattern):
                    return price
        return None

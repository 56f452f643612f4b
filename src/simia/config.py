"""Settings: a TOML recipe plus ``key=value`` words, read into models that refuse unknown keys. And randomness."""

import hashlib
import random
import tomllib
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from simia.errors import ConfigError


class Settings(BaseModel):
    """Base of everything a user configures: frozen, and an unknown key is an error, not a silence."""

    model_config = ConfigDict(frozen=True, extra="forbid")


S = TypeVar("S", bound=Settings)

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
"""A name that files are called by, so it is no path: letters, digits, ``_``, ``.`` and ``-``."""


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file.

    Raises:
        ConfigError: the file is missing or is no TOML; the message names file and place.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"no file {path}: check the path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as cause:
        raise ConfigError(f"{path} is no TOML: {cause}") from cause
    except OSError as cause:
        raise ConfigError(f"cannot read {path}: {cause.strerror}") from cause


def with_overrides(settings: dict[str, Any], words: list[str]) -> dict[str, Any]:
    """A copy of ``settings`` with every ``a.b=value`` word applied; a value is read as TOML, else as plain text.

    Raises:
        ConfigError: a word has no ``=``, or walks through something that is no table.
    """
    result: dict[str, Any] = _deep_copy(settings)
    for word in words:
        key, sign, text = word.partition("=")
        if not sign or not key:
            raise ConfigError(f"{word!r} is no setting: write key=value, for example seed=1")
        table = result
        *parents, last = key.split(".")
        for parent in parents:
            table = table.setdefault(parent, {})
            if not isinstance(table, dict):
                raise ConfigError(f"{word!r}: {parent!r} is a value, not a table")
        table[last] = _read_value(text)
    return result


def checked(model: type[S], settings: dict[str, Any], origin: str) -> S:
    """``settings`` as a ``model``. ``origin`` names where they came from, for the error.

    Raises:
        ConfigError: one line with every wrong key, what is wrong with it, and the keys that are known there.
    """
    try:
        return model.model_validate(settings)
    except ValidationError as cause:
        unknown: dict[str, list[str]] = {}
        problems = []
        for error in cause.errors():
            where = ".".join(str(part) for part in error["loc"])
            known = _known_keys(model, error["loc"][:-1]) if error["type"] == "extra_forbidden" else ""
            if known:
                unknown.setdefault(known, []).append(where)
            else:
                what = _in_words(where, error["type"], error["msg"], model, error["loc"])
                problems.append(f"{where}: {what}" if where else what)
        problems += [f"{', '.join(keys)}: unknown key (known: {known})" for known, keys in unknown.items()]
        raise ConfigError(f"{origin}: " + "; ".join(problems)) from None


def rng_for(seed: int, item_id: str, attempt: int = 0) -> random.Random:
    """The random numbers of one attempt at one item: the same in every process, independent of order and neighbours."""
    return random.Random(int.from_bytes(_digest(seed, item_id, attempt)[:16], "big"))


def bits_for(seed: int, item_id: str, attempt: int, count: int) -> int:
    """A number of ``count`` random bits, at most 256, as deterministic as :func:`rng_for` and without its generator."""
    return int.from_bytes(_digest(seed, item_id, attempt), "big") >> (256 - count)


def _digest(seed: int, item_id: str, attempt: int) -> bytes:
    return hashlib.sha256(f"{seed}\x1f{item_id}\x1f{attempt}".encode()).digest()


def _read_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _deep_copy(table: dict[str, Any]) -> dict[str, Any]:
    return {key: _deep_copy(value) if isinstance(value, dict) else value for key, value in table.items()}


def _in_words(where: str, kind: str, message: str, model: type[BaseModel], location: tuple[int | str, ...]) -> str:
    """What to write instead, where pydantic says it in the words of Python."""
    if kind in ("tuple_type", "list_type"):
        return f'not a list: write {where}=["...", "..."]'
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        known = _known_keys(model, location)
        return f"a table, so set its keys{f' ({known})' if known else ''}, as in {where}.KEY=..."
    if kind == "missing":
        return "missing"
    return message.removeprefix("Value error, ")


def _known_keys(model: type[BaseModel], location: tuple[int | str, ...]) -> str:
    current: Any = model
    for part in location:
        fields = getattr(current, "model_fields", {})
        if part not in fields:
            return ""
        current = fields[part].annotation
    fields = getattr(current, "model_fields", {})
    return ", ".join(sorted(fields))

"""What a user may set: every key of a recipe, of a benchmark run, of a judge's calibration and of a training run, with
its values and its default, told by the models that check it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from inspect import cleandoc
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from simia.bench.settings import BenchSettings
from simia.config import Name
from simia.environment.reward.calibration_run import CalibrationSettings
from simia.models.prices import Price
from simia.seeds.files import NAMES
from simia.synthesis.export import FORMATS
from simia.synthesis.postprocess import PASSES
from simia.synthesis.recipe import Recipe
from simia.train.recipe import GrpoRecipe


class Setting(NamedTuple):
    """One row: the key as it is typed, and in the user's words what it may be and what it is."""

    key: str
    values: str
    default: str


class Section(NamedTuple):
    """A table of a recipe. ``prose`` are paragraphs in Markdown, ``lists`` have what is too long for a cell."""

    name: str
    prose: tuple[str, ...]
    settings: tuple[Setting, ...]
    lists: tuple[tuple[str, tuple[str, ...]], ...]


_WIDEST_CELL = 100
_ROLE = re.compile(r":(?:\w+:)?\w+:`~?([^`]+)`")
_TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
_NAME = TypeAdapter(Name).json_schema()["pattern"]
_REQUIRED = object()
_PREFIXES = {"recipe": "", "bench": "", "calibrate": "", "grpo": "", "prices": "models.NAME."}


def prose(docstring: str | None) -> tuple[str, ...]:
    """The paragraphs of a docstring in plain Markdown, each on one line: Sphinx's marks become code."""
    text = _ROLE.sub(r"`\1`", cleandoc(docstring or "")).replace("``", "`")
    return tuple(" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip())


# What the code behind a key checks, where its model takes any text: the names, and what they do.
_KNOWN: Mapping[str, Mapping[str, str]] = {
    "seeds.format": dict.fromkeys(("auto", "world", *NAMES), ""),
    "postprocess.passes": {name: prose(one.apply.__doc__)[0] for name, one in PASSES.items()},
    "export.formats": dict.fromkeys(FORMATS, ""),
}


def sections() -> tuple[Section, ...]:
    """The recipe's own keys, then its tables, each before the tables in it; the keys of a benchmark run, of a
    calibration and of a training run with their tables; and what a file of prices holds.
    """
    recipe = Recipe.model_json_schema(mode="serialization")  # without what is excluded: a user may not set it
    bench = BenchSettings.model_json_schema(mode="serialization")
    calibrate = CalibrationSettings.model_json_schema(mode="serialization")
    grpo = GrpoRecipe.model_json_schema(mode="serialization")
    prices = Price.model_json_schema()
    told: dict[str, str] = {}
    return (
        *_sections(recipe, "recipe", {}, recipe["$defs"], told),
        *_sections(bench, "bench", {}, bench["$defs"], told),
        *_sections(calibrate, "calibrate", {}, calibrate["$defs"], told, "calibrate"),
        *_sections(grpo, "grpo", {}, grpo["$defs"], told, "grpo"),
        *_sections(prices, "prices", {}, {}, {}),
    )


def _sections(
    schema: Mapping[str, Any],
    name: str,
    given: Mapping[str, Any],
    tables: Mapping[str, Any],
    told: dict[str, str],
    group: str = "",
) -> Iterator[Section]:
    """The section of a JSON Schema, and those of the tables in it; with a ``group`` their names begin with it.

    ``given`` are the defaults that come from the table around it; ``told`` says where the keys of a table are told
    already, so that they are told once.
    """
    settings, lists, inner = [], [], []
    for key, field in schema["properties"].items():
        path = _PREFIXES.get(name, f"{name}.") + key
        default = given.get(key, field.get("default", _REQUIRED))
        form, *others = (one for one in field.get("anyOf", [field]) if one.get("type") != "null")
        table = form.get("$ref", "").removeprefix("#/$defs/")
        rows = form.get("items", {}).get("$ref", "").removeprefix("#/$defs/")
        if table and table not in told:
            told[table] = path
            inner.append((table, path, default if isinstance(default, dict) else {}))
            continue
        known = _KNOWN.get(path, {})
        if rows:
            told[rows] = path
            inner.append((rows, path, {}))
            settings.append(Setting(path, "list of tables with the keys below", _default(default, [])))
            continue
        if table:
            values = f"the keys of {told[table]}, as {path}.{next(iter(tables[table]['properties']))}"
        else:
            values = " or ".join(_values(one, known) for one in (form, *others))
        if known and len(values) > _WIDEST_CELL:
            values = f"{values.partition(' of ')[0]} of the {len(known)} names below"
            lists.append((f"Values of `{path}`", tuple(f"`{one}`: {does}" for one, does in known.items())))
        shown = "its defaults" if table and isinstance(default, dict) else _default(default, list(known))
        if isinstance(default, list) and len(shown) > _WIDEST_CELL:
            shown = f"the {len(default)} below"
            lists.append((f"Default of `{path}`", tuple(default)))
        settings.append(Setting(path, values, shown))
    if settings:
        yield Section(
            f"{group}.{name}" if group and name != group else name,
            prose(schema.get("description")),
            tuple(settings),
            tuple(lists),
        )
    for table, path, defaults in inner:
        yield from _sections(tables[table], path, defaults, tables, told, group)


def _values(form: Mapping[str, Any], known: Mapping[str, str]) -> str:
    names = ", ".join(known or form.get("items", form).get("enum", ()))
    if form["type"] == "object":
        return "table of numbers"
    if form["type"] == "array":
        least = f", at least {form['minItems']}" if "minItems" in form else ""
        return f"list of {names or _TYPES[form['items']['type']] + 's'}{least}"
    if names:
        return f"one of {names}"
    if form.get("format") == "path":
        return "a path"
    if "pattern" in form:
        return "letters, digits, `_`, `.`, `-`" if form["pattern"] == _NAME else f"text like `{form['pattern']}`"
    low, high, above = (form.get(bound) for bound in ("minimum", "maximum", "exclusiveMinimum"))
    bounds = f" > {_plain(above)}" if above is not None else ""
    if low is not None:
        bounds = f" >= {_plain(low)}" if high is None else f" {_plain(low)} to {_plain(high)}"
    step = f", a multiple of {form['multipleOf']}" if "multipleOf" in form else ""
    return _TYPES[form["type"]] + bounds + step


def _default(value: Any, known: list[str]) -> str:
    if value is _REQUIRED:
        return "required"
    missing = [name for name in known if isinstance(value, list) and name not in value]
    if missing and value == [name for name in known if name not in missing] and len(missing) < len(value):
        return f"all but {', '.join(missing)}"
    return _plain(value)


def _plain(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value)

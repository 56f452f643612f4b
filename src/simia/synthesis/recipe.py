"""A recipe: everything that decides what ``simia synth`` makes."""

from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import Field

from simia.config import Settings, checked, read_toml, with_overrides
from simia.errors import ConfigError
from simia.models.settings import ModelSettings
from simia.seeds.plan import PlanSettings
from simia.simulate import SimulateSettings
from simia.synthesis.dedup import DedupSettings
from simia.synthesis.export import ExportSettings
from simia.synthesis.postprocess import PostprocessSettings
from simia.synthesis.prefilter import PrefilterSettings
from simia.types import JsonObject

# How a model is reached, not what it is: may change between a run and its resumption.
_OPERATIONAL = frozenset(
    {
        "base_url",
        "api_key_env",
        "max_in_flight",
        "timeout_s",
        "retry_for_s",
        "max_cost",
        "prices",
        "structured",
        "record",
    }
)


class SeedSource(Settings):
    """Where seeds come from: ``bundled:NAME``, ``tau2:DOMAIN``, a file, or a world folder; see ``simia seeds``.

    ``licence`` overrides what format and records say, as an SPDX identifier.
    """

    source: str
    format: str = "auto"
    limit: int | None = Field(default=None, ge=1)
    licence: str | None = None


class Roles(Settings):
    """Other models for single roles; each is the recipe's ``model`` where it is absent. ``user``, ``agent`` and
    ``tools`` play in mode "turns", ``judge`` reads the seeds in the prefilter.
    """

    user: ModelSettings | None = None
    agent: ModelSettings | None = None
    tools: ModelSettings | None = None
    judge: ModelSettings | None = None


class Recipe(Settings):
    """What ``simia synth`` makes: ``count`` conversations from seeds, by a model, and what becomes of them.

    ``seed`` is the one random seed: plans, faults and sampling all follow from it.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    seed: int = 0
    count: int = Field(default=100, ge=1)
    seeds: SeedSource
    model: ModelSettings = ModelSettings()
    roles: Roles = Roles()
    prefilter: PrefilterSettings = PrefilterSettings()
    plan: PlanSettings = PlanSettings()
    simulate: SimulateSettings = SimulateSettings()
    postprocess: PostprocessSettings = PostprocessSettings()
    dedup: DedupSettings = DedupSettings()
    export: ExportSettings = ExportSettings()

    def decisive(self) -> JsonObject:
        """What a resumed run must share: all settings but those that only say how a model is reached."""
        content = self.model_dump(mode="json")
        models: list[JsonObject | None] = [content["model"], *content["roles"].values()]
        for model in models:
            if model is not None:
                for key in _OPERATIONAL:
                    model.pop(key, None)
        return content


def bundled_recipes() -> tuple[str, ...]:
    """The names of the recipes that come with simia."""
    folder = resources.files("simia.synthesis") / "recipes"
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")))


def read_recipe(name_or_path: str, overrides: list[str]) -> Recipe:
    """The recipe of a bundled name, a TOML file, or a folder with a ``recipe.toml``, with ``key=value`` words applied.

    Paths inside a file are relative to the file; those in ``overrides`` to the working directory.

    Raises:
        ConfigError: there is no such recipe, or a key or value in it is wrong; the message names the key.
    """
    path = Path(name_or_path).expanduser()
    if path.is_dir():
        path = path / "recipe.toml"
    if name_or_path in bundled_recipes() and not path.exists():
        with resources.as_file(resources.files("simia.synthesis") / "recipes" / f"{name_or_path}.toml") as bundled:
            settings = read_toml(bundled)
    elif path.exists():
        settings = read_toml(path)
        _anchor(settings, path.parent)
    else:
        known = ", ".join(bundled_recipes())
        raise ConfigError(f"no recipe {name_or_path!r}: give a .toml file, a world folder, or one of {known}")
    return checked(Recipe, with_overrides(settings, overrides), f"recipe {name_or_path}")


def _anchor(settings: dict[str, Any], folder: Path) -> None:
    """Make relative paths of a recipe file absolute, where they exist beside it."""
    source = settings.get("seeds", {}).get("source")
    if isinstance(source, str) and ":" not in source:
        settings["seeds"]["source"] = str((folder / source).resolve())
    tables = [settings.get("model", {}), *settings.get("roles", {}).values()]
    for table in tables:
        prices = table.get("prices") if isinstance(table, dict) else None
        if isinstance(prices, str):
            table["prices"] = str((folder / prices).resolve())

"""A recipe: everything that decides what ``simia synth`` makes."""

import re
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from simia.config import Name, Settings, checked, read_toml, with_overrides
from simia.errors import ConfigError
from simia.models.address import Address
from simia.models.settings import OPERATIONAL, ModelSettings
from simia.seeds.plan import PlanSettings
from simia.seeds.world_folder import WORLD_FILE, is_world_folder
from simia.simulate import SimulateSettings
from simia.synthesis.dedup import DedupSettings
from simia.synthesis.export import ExportSettings
from simia.synthesis.postprocess import PostprocessSettings
from simia.synthesis.prefilter import PrefilterSettings
from simia.types import JsonObject

_SEED_FILES = frozenset({".json", ".jsonl", ".parquet"})
_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_SEED_END = 10**18  # servers and files hold no longer integers
_SEEDED = ("plan", "simulate")
_MODELS = ("model", "roles.user", "roles.agent", "roles.tools", "roles.judge")

FREE = frozenset(
    {
        "config.seeds.source",  # the manifest tells the content itself: see ``sources.fingerprint``
        "config.postprocess",
        "config.dedup",
        "config.export",
        *(f"config.{model}.{key}" for model in _MODELS for key in OPERATIONAL),
    }
)
"""Keys of a manifest that a resumed run may change: where the seeds are, how models are reached and what they may cost,
and what is made anew anyway."""

GROWING = frozenset({"config.count"})
"""Keys whose number may be larger in a resumed run: a larger ``count`` only adds items."""

USED_BY = {"count": "generate", "postprocess": "postprocess", "dedup": "postprocess", "export": "export"}
"""The one stage that a setting decides about, where it is only one."""


class SeedSource(Settings):
    """Where seeds come from: ``bundled:NAME``, ``tau2:DOMAIN``, a file, or a world folder; ``simia seeds inspect``
    looks into one.

    ``format`` is that of a file; ``auto`` recognises it by its first readable record, ``world`` is a world folder.
    ``limit`` reads at most so many seeds; without it all. ``licence`` overrides what format and records say, as an SPDX
    identifier.
    """

    source: str
    format: str = "auto"
    limit: int | None = Field(default=None, ge=1)
    licence: str | None = None


class Roles(Settings):
    """Other models for single roles; each is the recipe's ``model`` where it is absent. ``user``, ``agent`` and
    ``tools`` play in mode "turns", ``judge`` reads the seeds in the prefilter. Set one as ``roles.judge.name=...``. A
    role with settings of its own takes nothing from ``model`` but its ``max_cost``; a key left out has the default that
    it has in ``model``.
    """

    user: ModelSettings | None = None
    agent: ModelSettings | None = None
    tools: ModelSettings | None = None
    judge: ModelSettings | None = None


class Recipe(Settings):
    """What ``simia synth`` makes: ``count`` conversations from seeds, by a model, and what becomes of them.

    ``name`` is what the run is called in ``run.json`` and in each conversation's provenance. ``count`` is how many
    conversations are asked for; fewer are kept. ``seed`` is the one random seed: plans, faults and sampling all follow
    from it. A part has none of its own.
    """

    name: Name
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

    @model_validator(mode="after")
    def _one_seed(self) -> "Recipe":
        if abs(self.seed) >= _SEED_END:
            raise ValueError("seed has more than 18 digits: take a shorter one")
        for name in _SEEDED:
            if "seed" in getattr(self, name).model_fields_set:
                raise ValueError(f"{name}.seed follows from the recipe's own seed: set seed, not {name}.seed")
        return self

    def recorded(self) -> JsonObject:
        """Every setting as ``run.json`` keeps it; :func:`recipe_of` reads it back.

        Raises:
            ConfigError: a base URL holds a secret, which must not come to disk.
        """
        roles = self.roles
        for model in (self.model, roles.user, roles.agent, roles.tools, roles.judge):
            if model is not None and model.base_url:
                Address.of(model.base_url)
        return self.model_dump(mode="json")


def bundled_recipes() -> tuple[str, ...]:
    """The names of the recipes that come with simia."""
    folder = resources.files("simia.synthesis") / "recipes"
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")))


def read_recipe(name_or_path: str, overrides: list[str]) -> Recipe:
    """The recipe of a bundled name, a TOML file, a folder with a ``recipe.toml``, or, with all defaults, of a world
    folder without one or of a seed file; with ``key=value`` words applied.

    Paths inside a file are relative to the file, those in ``overrides`` to the working directory; ``~`` is the home.

    Raises:
        ConfigError: there is no such recipe, or a key or value in it is wrong; the message names the key.
    """
    path = Path(name_or_path).expanduser()
    if path.is_dir() and ((path / "recipe.toml").exists() or not is_world_folder(path)):
        path = path / "recipe.toml"
    if name_or_path in bundled_recipes() and not path.exists():
        with resources.as_file(resources.files("simia.synthesis") / "recipes" / f"{name_or_path}.toml") as bundled:
            settings = read_toml(bundled)
    elif path.is_dir() or (path.suffix in _SEED_FILES and path.exists()):
        settings = {
            "name": _NO_NAME.sub("-", path.resolve().stem).strip("-_.") or "seeds",
            "seeds": {"source": str(path)},
        }
    elif path.name == WORLD_FILE and path.exists():
        raise ConfigError(f"{path} describes a world: give its folder, {path.parent}")
    elif path.exists():
        settings = read_toml(path)
        _anchor(settings, path.parent)
    else:
        raise ConfigError(
            f"no recipe {name_or_path!r}: give a .toml file, a world folder, a seed file, or one of "
            f"{', '.join(bundled_recipes())}"
        )
    return _overridden(settings, overrides, f"recipe {name_or_path}")


def recipe_of(config: JsonObject, overrides: list[str]) -> Recipe:
    """The recipe that a run recorded, with ``key=value`` words applied.

    Raises:
        ConfigError: a key or value is wrong; the message names the key.
    """
    return _overridden(config, overrides, "the recipe in run.json")


def _overridden(settings: dict[str, Any], overrides: list[str], origin: str) -> Recipe:
    settings = with_overrides(settings, overrides)
    _anchor(settings, Path.cwd())
    return checked(Recipe, settings, origin)


def _anchor(settings: dict[str, Any], folder: Path) -> None:
    """Make relative paths absolute. What is no table or no text is left for the check, which names it."""
    seeds = _table(settings, "seeds")
    source = seeds.get("source")
    if isinstance(source, str) and ":" not in source:
        seeds["source"] = _absolute(folder, source)
    for model in (_table(settings, "model"), *_table(settings, "roles").values()):
        for key in ("prices", "record"):
            path = model.get(key) if isinstance(model, dict) else None
            if isinstance(path, str):
                model[key] = _absolute(folder, path)


def _table(settings: dict[str, Any], key: str) -> dict[str, Any]:
    value = settings.get(key)
    return value if isinstance(value, dict) else {}


def _absolute(folder: Path, path: str) -> str:
    return str((folder / Path(path).expanduser()).resolve())

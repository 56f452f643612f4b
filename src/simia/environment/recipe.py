"""An environment with the models that play in it: what trainers, servers and rollouts are configured by."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from simia.config import Settings
from simia.environment.arena import ROLES, Arena, roles_of
from simia.environment.audit import CallSink
from simia.environment.rehearsal import PREFIX, chosen_rehearsal
from simia.environment.settings import EnvironmentSettings
from simia.errors import ConfigError, TransientModelError
from simia.models.adaptive import AdaptiveLimit
from simia.models.address import Address
from simia.models.cached import ReplyJournal
from simia.models.cast import Cast
from simia.models.choose import ChosenModel, choose_model
from simia.models.meter import Meter
from simia.models.settings import OPERATIONAL, ModelSettings
from simia.worlds import World

OpenWorld = Callable[[str], World]


class EnvironmentRoles(Settings):
    """Other models for single roles of an environment; each is ``model`` where it is absent. ``tools`` answers calls,
    ``user`` speaks, ``judge`` gives the reward. Set one as ``roles.judge.name=...``. A role with settings of its own
    takes nothing from ``model`` but its ``max_cost``.
    """

    tools: ModelSettings | None = None
    user: ModelSettings | None = None
    judge: ModelSettings | None = None


FREE = frozenset(
    f"config.{model}.{key}" for model in ("model", *(f"roles.{role}" for role in ROLES)) for key in OPERATIONAL
)
"""Keys of a manifest that a resumed run may change: how models are reached."""


class ArenaRecipe(Settings):
    """An environment, and who plays in it. ``seed`` is the one random seed: all draws follow from it."""

    seed: int = 0
    environment: EnvironmentSettings
    model: ModelSettings = ModelSettings()
    roles: EnvironmentRoles = EnvironmentRoles()

    def demand_no_secret(self) -> None:
        """Refuse addresses that hold a secret, before anything is written down.

        Raises:
            ConfigError: a base URL holds one.
        """
        for model in (self.model, *(getattr(self.roles, role) for role in ROLES)):
            if model is not None and model.base_url:
                Address.of(model.base_url)


def choose_players(recipe: ArenaRecipe, env: Mapping[str, str], world: World | None = None) -> Cast | None:
    """The models of the roles that the environment needs; None where programs play them all. Beside what
    :func:`simia.models.choose.choose_model` takes, ``rehearsal:SHARE`` is a program that plays the tools of ``world``.

    Raises:
        ConfigError, ModelError: a model cannot be had; the message says what to do.
    """
    known: dict[str, ChosenModel] = {}
    chosen: dict[str, ChosenModel] = {}
    for role in roles_of(recipe.environment):
        settings = getattr(recipe.roles, role) or recipe.model
        if settings.max_cost is None:
            settings = settings.model_copy(update={"max_cost": recipe.model.max_cost})
        key = settings.model_dump_json()
        if key not in known:
            known[key] = _chosen(settings, env, world, recipe.seed)
        chosen[role] = known[key]
    if not chosen:
        return None
    cast = Cast(chosen)
    cast.demand_prices()
    return cast


def _chosen(settings: ModelSettings, env: Mapping[str, str], world: World | None, seed: int) -> ChosenModel:
    name = settings.name or ""
    if name == PREFIX or name.startswith(f"{PREFIX}:"):
        return chosen_rehearsal(name, settings, world, seed)
    return choose_model(None, settings=settings, env=env)


def world_of(recipe: ArenaRecipe, open_world: OpenWorld) -> World | None:
    """The executable world of the tasks, or None where they come from seeds.

    Raises:
        ConfigError: there is no such world, or a fault names a tool that it has not.
        ExtraMissing: it needs an extra.
    """
    settings = recipe.environment
    if settings.world is None:
        return None
    world = open_world(settings.world)
    strange = sorted({rule.tool for rule in settings.faults if rule.tool is not None} - world.spec.tool.keys())
    if strange:
        raise ConfigError(
            f"environment.faults: the world {world.spec.name} has no tool {', '.join(strange)}; it has "
            f"{', '.join(sorted(world.spec.tool))}"
        )
    return world


@asynccontextmanager
async def open_arena(
    recipe: ArenaRecipe,
    cast: Cast | None,
    world: World | None,
    *,
    meter: Meter,
    journal: ReplyJournal,
    sink: CallSink | None = None,
    run_name: str = "",
    on_wait: Callable[[TransientModelError, float], None] | None = None,
    limit: AdaptiveLimit | None = None,
) -> AsyncIterator[Arena]:
    """The arena of ``recipe`` with its models open, for the length of an ``async with`` block on one loop.

    Raises:
        ConfigError: there are no tasks.
        ModelError: a model cannot be opened.
    """
    environment = recipe.environment
    if cast is None:
        yield Arena(environment, {}, world=world, seed=recipe.seed, run_name=run_name, sink=sink)
        return
    small = environment.model_copy(update={"simulate": environment.simulate.for_model(is_small=cast.is_small)})
    async with cast.opened(meter, journal, on_wait, limit) as models:
        yield Arena(small, models, world=world, seed=recipe.seed, run_name=run_name, sink=sink)

"""The models that a recipe's roles mean."""

from collections.abc import Mapping

from simia.models.cast import Cast
from simia.models.choose import ChosenModel, choose_model
from simia.models.settings import ModelSettings
from simia.synthesis.recipe import Recipe


def settled(recipe: Recipe, cast: Cast) -> Recipe:
    """``recipe`` with what its models decide: a small one gets shorter prompts and replies."""
    return recipe.model_copy(update={"simulate": recipe.simulate.for_model(is_small=cast.is_small)})


def _below(max_cost: float | None, settings: ModelSettings) -> ModelSettings:
    return settings if settings.max_cost is not None else settings.model_copy(update={"max_cost": max_cost})


def choose_cast(recipe: Recipe, env: Mapping[str, str]) -> Cast:
    """The models that the recipe's roles mean. The recipe's own one is among them, and first, if anybody needs it: the
    writer of whole conversations, or a role without settings of its own. Its ceiling is the run's: it holds for roles
    that have none.

    Raises:
        ConfigError, ModelError: a model cannot be had; the message says what to do.
    """
    players = ("user", "agent", "tools") if recipe.simulate.mode == "turns" else ("model",)
    roles = (*players, "judge") if recipe.prefilter.judge else players
    own: dict[str, ModelSettings | None] = {role: getattr(recipe.roles, role, None) for role in roles}
    wanted = {"model": recipe.model} if None in own.values() else {}
    for role, settings in own.items():
        wanted[role] = recipe.model if settings is None else _below(recipe.model.max_cost, settings)
    known: dict[str, ChosenModel] = {}
    chosen = {}
    for role, settings in wanted.items():
        key = settings.model_dump_json()
        if key not in known:
            known[key] = choose_model(None, settings=settings, env=env)
        chosen[role] = known[key]
    return Cast(chosen)

"""The recipe of the Simia paper: what verl reads in it is what the paper did, and verl knows every key of it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import simia.environment.adapters
from simia.config import checked, read_toml
from simia.environment.recipe import ArenaRecipe

pytestmark = [pytest.mark.verl, pytest.mark.filterwarnings("ignore")]

FOLDER = Path(simia.environment.adapters.__file__).parent / "verl_recipes"
GIVEN = ("data.train_files=train.parquet", "data.val_files=val.parquet")


@pytest.fixture
def compose() -> Callable[..., Any]:
    """A configuration of verl's trainer by its name, with overrides as on the command line."""
    pytest.importorskip("verl")
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir

    def composed(name: str, *overrides: str) -> Any:
        with initialize_config_dir(str(FOLDER), version_base=None):
            return hydra_compose(name, overrides=list(overrides))

    return composed


@pytest.fixture
def config(compose: Callable[..., Any], model_folder: Path) -> Any:
    """What ``main_ppo --config-name=simia_rl`` is started with."""
    agent_loop = f"actor_rollout_ref.rollout.agent.agent_loop_config_path={FOLDER / 'agent_loop.yaml'}"
    return compose("simia_rl", *GIVEN, agent_loop, f"actor_rollout_ref.model.path={model_folder}")


def keys(table: Any, prefix: str = "") -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from keys(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def test_verl_knows_every_key_of_the_recipe() -> None:
    pytest.importorskip("verl")
    from hydra import compose, initialize_config_module
    from omegaconf import OmegaConf

    written = OmegaConf.to_container(OmegaConf.load(FOLDER / "simia_rl.yaml"))
    ours = {key: value for key, value in dict(written).items() if key not in ("hydra", "defaults")}
    with initialize_config_module("verl.trainer.config", version_base=None):
        known = compose("ppo_trainer")
    free = "data.apply_chat_template_kwargs."
    for key in keys(ours):
        parent, _, last = key.rpartition(".")
        table = OmegaConf.select(known, parent, default={})
        assert key.startswith(free) or last in set(table.keys()), key


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("data.train_batch_size", 16),
        ("actor_rollout_ref.rollout.n", 8),
        ("actor_rollout_ref.rollout.temperature", 0.7),
        ("actor_rollout_ref.rollout.max_model_len", 9000),
        ("actor_rollout_ref.actor.use_kl_loss", True),
        ("actor_rollout_ref.actor.kl_loss_type", "low_var_kl"),
        ("actor_rollout_ref.actor.kl_loss_coef", 0.001),
        ("actor_rollout_ref.actor.clip_ratio_low", 0.2),
        ("actor_rollout_ref.actor.clip_ratio_high", 0.28),
        ("algorithm.adv_estimator", "grpo"),
        ("trainer.total_training_steps", 64),
        ("trainer.use_v1", True),
    ],
)
def test_the_composed_configuration_is_that_of_the_paper(config: Any, key: str, value: object) -> None:
    from omegaconf import OmegaConf

    assert OmegaConf.select(config, key) == value


def test_verl_itself_takes_the_configuration(config: Any) -> None:
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import omega_conf_to_dataclass, validate_config

    validate_config(config, use_reference_policy=need_reference_policy(config), use_critic=need_critic(config))
    assert need_reference_policy(config)
    assert omega_conf_to_dataclass(config.actor_rollout_ref.rollout).agent.num_workers == 8


@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_it_can_be_spread_over_nodes(compose: Callable[..., Any], model_folder: Path, nodes: int) -> None:
    from verl.utils.config import validate_config

    agent_loop = "actor_rollout_ref.rollout.agent.agent_loop_config_path=agent_loop.yaml"
    path = f"actor_rollout_ref.model.path={model_folder}"
    config = compose("simia_rl", *GIVEN, agent_loop, path, f"trainer.nnodes={nodes}")
    validate_config(config, use_reference_policy=True, use_critic=False)
    assert config.data.train_batch_size % config.actor_rollout_ref.rollout.agent.num_workers == 0


def test_a_key_that_verl_does_not_know_is_refused_on_the_command_line(compose: Callable[..., Any]) -> None:
    from hydra.errors import ConfigCompositionException

    with pytest.raises(ConfigCompositionException):
        compose("simia_rl", "actor_rollout_ref.rollout.interaction_config_path=x.yaml")


def test_the_arena_of_the_recipe_is_one() -> None:
    recipe = checked(ArenaRecipe, read_toml(FOLDER / "arena.toml"), "arena.toml")
    environment = recipe.environment
    assert environment.limits.max_turns == 40
    assert environment.dynamics == "hidden"
    assert environment.reward.parts == {"judge": 1.0}

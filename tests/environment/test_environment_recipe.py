"""What an environment recipe means, and what cannot be meant."""

import pytest
from pydantic import ValidationError

from simia import worlds
from simia.environment.arena import roles_of
from simia.environment.recipe import ArenaRecipe, choose_players, world_of
from simia.environment.settings import EnvironmentSettings
from simia.errors import ConfigError
from simia.worlds import World


def open_world(name: str) -> World:
    return worlds.load(name)


def test_only_the_roles_that_a_model_plays_get_one() -> None:
    settings = EnvironmentSettings(world="lamps", dynamics="executable", user="one_request")

    assert roles_of(settings) == ()
    assert choose_players(ArenaRecipe(environment=settings), {}) is None


def test_a_judge_is_a_role_where_the_reward_has_one() -> None:
    settings = EnvironmentSettings.model_validate({"seeds": "bundled:shop", "reward": {"parts": {"judge": 1.0}}})

    assert roles_of(settings) == ("tools", "user", "judge")


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ({"seeds": "bundled:shop"}, "tasks from seeds have no goal"),
        ({"world": "lamps", "dynamics": "hidden"}, 'dynamics "hidden" keeps no state'),
    ],
)
@pytest.mark.parametrize(
    "reward",
    [
        {},
        {"parts": {"state_goal": 1.0, "finished": 1.0}},
        {"parts": {"state_goal": 1.0, "judge": 1.0}, "gates": ["state_goal"]},
    ],
)
def test_a_goal_that_nobody_could_check_is_refused_before_anything_is_paid(
    source: dict[str, str], why: str, reward: dict[str, object]
) -> None:
    with pytest.raises(ValidationError, match=rf"{why}, .* reward\.parts = {{ judge = 1\.0 }}"):
        EnvironmentSettings.model_validate({**source, "reward": reward})


def test_a_goal_beside_a_judge_may_have_nothing_to_say() -> None:
    reward = {"parts": {"state_goal": 1.0, "judge": 1.0}}

    assert EnvironmentSettings.model_validate({"seeds": "bundled:shop", "reward": reward}).seeds == "bundled:shop"


def test_one_setting_of_the_tools_leaves_the_others_at_the_defaults_of_an_environment() -> None:
    settings = EnvironmentSettings.model_validate({"world": "lamps", "simulate": {"state_chars": 20_000}})

    simulate, default = settings.simulate, EnvironmentSettings(world="lamps").simulate
    assert (simulate.mode, simulate.temperature, simulate.operations) == ("turns", 0.0, True)
    assert simulate == default.model_copy(update={"state_chars": 20_000})


def test_a_small_model_plays_tools_with_small_prompts_and_the_defaults_of_an_environment() -> None:
    settings = EnvironmentSettings.model_validate({"world": "lamps", "simulate": {"state_chars": 20_000}})

    small = settings.simulate.for_model(is_small=True)

    assert (small.profile, small.history_chars, small.state_chars) == ("small", 3000, 20_000)
    assert (small.temperature, small.operations) == (0.0, True)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "set one of world=NAME and seeds=SOURCE"),
        ({"world": "lamps", "seeds": "bundled:shop"}, "set one of world=NAME and seeds=SOURCE"),
        ({"seeds": "bundled:shop", "dynamics": "executable"}, "needs an executable world"),
    ],
)
def test_tasks_come_from_one_place(values: dict[str, str], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        EnvironmentSettings.model_validate(values)


def test_a_fault_of_a_tool_that_the_world_has_not_is_refused_with_those_that_it_has() -> None:
    recipe = ArenaRecipe.model_validate(
        {"environment": {"world": "lamps", "faults": [{"kind": "timeout", "tool": "turn_up", "nth": 1}]}}
    )

    with pytest.raises(ConfigError, match=r"no tool turn_up; it has .*turn_on"):
        world_of(recipe, open_world)


@pytest.mark.parametrize("name", ["rehearsal:2", "rehearsal:many"])
def test_a_rehearsal_errs_in_a_share(name: str) -> None:
    recipe = ArenaRecipe.model_validate(
        {"environment": {"world": "lamps", "user": "one_request"}, "model": {"name": name}}
    )

    with pytest.raises(ConfigError, match="a number from 0 to 1"):
        choose_players(recipe, {}, open_world("lamps"))


def test_a_rehearsal_needs_an_executable_world() -> None:
    recipe = ArenaRecipe.model_validate(
        {
            "environment": {
                "seeds": "bundled:shop",
                "user": "one_request",
                "reward": {"parts": {"finished": 1.0}},
            },
            "model": {"name": "rehearsal"},
        }
    )

    with pytest.raises(ConfigError, match=r"set environment\.world=NAME"):
        choose_players(recipe, {})

"""Which models a recipe needs, and what holds for them."""

import asyncio

import pytest

from simia.errors import ConfigError
from simia.models.cast import Cast
from simia.models.mock_server import MockServer
from simia.synthesis.cast import choose_cast
from simia.synthesis.recipe import read_recipe

TURNS = "simulate.mode=turns"
DEAD = "http://127.0.0.1:9/v1"


def cast_of(roles: str, *words: str, own: str = "") -> Cast:
    """The cast of a recipe with the model ``own`` at the address ``own``, or where all are, and with models of their
    own for ``roles``.
    """

    async def chosen() -> Cast:
        async with MockServer(lambda body: "") as server:
            settings = ["model.name=own", f"model.base_url={own or server.base_url}"]
            for role in roles.split():
                settings += [f"roles.{role}.name={role}-model", f"roles.{role}.base_url={server.base_url}"]
            return await asyncio.to_thread(choose_cast, read_recipe("shop", [*settings, *words]), {})

    return asyncio.run(chosen())


def test_a_model_that_nobody_plays_by_is_neither_chosen_nor_named() -> None:
    cast = cast_of("user agent tools", TURNS, own=DEAD)
    assert {role: chosen.name for role, chosen in cast.chosen.items()} == {
        "user": "user-model",
        "agent": "agent-model",
        "tools": "tools-model",
    }
    assert cast.names == "user user-model, agent agent-model, tools tools-model"


@pytest.mark.parametrize(
    ("roles", "words"),
    [("", ()), ("user agent", (TURNS,)), ("user agent tools", (TURNS, "prefilter.judge=true"))],
)
def test_the_recipes_own_model_comes_first_where_anybody_needs_it(roles: str, words: tuple[str, ...]) -> None:
    cast = cast_of(roles, *words)
    assert next(iter(cast.chosen)) == "model"
    assert cast.main.name == "own"


def test_a_judge_with_a_model_of_its_own_needs_no_other() -> None:
    assert "model" not in cast_of("user agent tools judge", TURNS, "prefilter.judge=true", own=DEAD).chosen


def test_the_ceiling_of_the_recipe_holds_although_nobody_plays_by_its_model() -> None:
    cast = cast_of("user agent tools", TURNS, "model.max_cost=5", "roles.user.max_cost=2", own=DEAD)
    assert [chosen.settings.max_cost for chosen in cast.chosen.values()] == [2, 5, 5]
    with pytest.raises(ConfigError, match=r"no price is known for the model 'user-model'.*roles\.user\.prices"):
        cast.demand_prices()

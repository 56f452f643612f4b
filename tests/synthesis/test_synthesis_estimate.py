"""What a run would cost: every role at its own price, the judge counted, and no seed left out."""

import json
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from simia.models.cast import Cast
from simia.models.choose import ChosenModel
from simia.models.settings import ModelSettings
from simia.synthesis.estimate import Estimate, estimate
from simia.synthesis.recipe import read_recipe
from simia.types import ChatModel

ROLES = ("model", "user", "agent", "tools", "judge")


def never() -> AbstractAsyncContextManager[ChatModel]:
    raise AssertionError("an estimate opened a model")


def estimated(folder: Path, prices: Mapping[str, float | None], *words: str) -> Estimate:
    """The estimate with one model per role; ``prices`` is US dollars for a million tokens in, None for no price."""
    table = folder / "prices.toml"
    lines = (f"{role} = {{ input = {price}, output = 0.0 }}\n" for role, price in prices.items() if price is not None)
    table.write_text("[models]\n" + "".join(lines))
    chosen = {
        role: ChosenModel(role, "a test needs it", ModelSettings(name=role, prices=table), False, never)
        for role in prices
    }
    return estimate(read_recipe("shop", ["count=40", *words]), Cast(chosen))


def test_a_judge_is_asked_once_for_each_seed(tmp_path: Path) -> None:
    plain = estimated(tmp_path, {"model": 1.0})
    judged = estimated(tmp_path, {"model": 1.0, "judge": 1.0}, "prefilter.judge=true")

    assert (plain.judged, judged.judged) == (0, 20)
    assert judged.requests == plain.requests + 20


def test_a_judge_costs_what_the_judge_costs(tmp_path: Path) -> None:
    free = estimated(tmp_path, {"model": 0.0, "judge": 0.0}, "prefilter.judge=true")
    dear = estimated(tmp_path, {"model": 0.0, "judge": 1000.0}, "prefilter.judge=true")

    assert free.cost == 0
    assert dear.cost is not None
    assert dear.cost > 0


@pytest.mark.parametrize("role", ["user", "agent", "tools"])
def test_each_role_is_paid_at_its_own_price(tmp_path: Path, role: str) -> None:
    roles = dict.fromkeys(("model", "user", "agent", "tools"), 0.0)
    whole = estimated(tmp_path, dict.fromkeys(roles, 1.0), "simulate.mode=turns")
    part = estimated(tmp_path, roles | {role: 1.0}, "simulate.mode=turns")

    assert whole.cost is not None
    assert part.cost is not None
    assert 0 < part.cost < whole.cost


def test_the_parts_of_the_roles_are_the_whole(tmp_path: Path) -> None:
    roles = dict.fromkeys(("model", "user", "agent", "tools"), 0.0)
    whole = estimated(tmp_path, dict.fromkeys(roles, 1.0), "simulate.mode=turns")
    parts = [estimated(tmp_path, roles | {role: 1.0}, "simulate.mode=turns").cost for role in roles]

    assert sum(cost or 0.0 for cost in parts) == pytest.approx(whole.cost)


def test_one_role_without_a_price_leaves_the_cost_open(tmp_path: Path) -> None:
    roles = {"model": 1.0, "user": 1.0, "agent": None, "tools": 1.0}

    assert estimated(tmp_path, roles, "simulate.mode=turns").cost is None


def test_all_sound_seeds_are_counted_however_many_there_are(tmp_path: Path) -> None:
    tools = [{"name": "look", "parameters": {"type": "object"}}]
    said = [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Good day."}]
    seeds = [{"id": f"s{n}", "messages": [*said, {"role": "user", "content": f"{n}"}, said[1]]} for n in range(150)]
    source = tmp_path / "many.jsonl"
    source.write_text("".join(json.dumps({**seed, "tools": tools, "licence": "MIT"}) + "\n" for seed in seeds))

    assert estimated(tmp_path, {"model": 1.0}, f"seeds.source={source}").seeds == 150

"""Plans: deterministic, spread over the lists, and about as long as the exemplar."""

import subprocess
import sys
from collections import Counter

import pytest
from pydantic import ValidationError

from simia import seeds
from simia.config import checked
from simia.errors import ConfigError
from simia.seeds.plan import FORMULATIONS, PERSONAS, OutcomeWeights, PlanSettings, draw_plan
from simia.types import Seed


@pytest.fixture(scope="module")
def exemplar() -> Seed:
    return next(seeds.read("bundled:shop", limit=1))


def test_the_same_item_and_attempt_get_the_same_plan(exemplar: Seed) -> None:
    assert draw_plan(exemplar, "item-7", 1, PlanSettings()) == draw_plan(exemplar, "item-7", 1, PlanSettings())


def test_another_process_draws_the_same_plan(exemplar: Seed) -> None:
    program = (
        "from simia import seeds; from simia.seeds.plan import *;"
        "print(draw_plan(next(seeds.read('bundled:shop', limit=1)), 'item-7', 1, PlanSettings()).model_dump_json())"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
    assert told == draw_plan(exemplar, "item-7", 1, PlanSettings()).model_dump_json()


def test_another_attempt_gets_another_plan(exemplar: Seed) -> None:
    plans = {draw_plan(exemplar, "item-7", attempt, PlanSettings()).content_id for attempt in range(20)}
    assert len(plans) == 20


def test_every_formulation_and_persona_comes_up(exemplar: Seed) -> None:
    plans = [draw_plan(exemplar, f"item-{number}", 0, PlanSettings()) for number in range(600)]
    assert {plan.formulation for plan in plans} == set(FORMULATIONS)
    assert {plan.persona for plan in plans} == set(PERSONAS)


def test_outcomes_follow_their_weights(exemplar: Seed) -> None:
    settings = PlanSettings(outcomes=OutcomeWeights(success=0.5, refusal=0.5, recoverable_fault=0))
    drawn = Counter(draw_plan(exemplar, str(number), 0, settings).outcome for number in range(2000))
    assert drawn["recoverable_fault"] == 0
    assert 900 < drawn["success"] < 1100


def test_the_length_stays_within_a_fifth_of_the_exemplar(exemplar: Seed) -> None:
    length = len(exemplar.reference)
    turns = [draw_plan(exemplar, str(number), 0, PlanSettings()).turns for number in range(300)]
    assert round(0.8 * length) <= min(turns) < length < max(turns) <= round(1.2 * length)


def test_the_lists_are_rich_and_have_no_doubles() -> None:
    assert len(set(PERSONAS)) == len(PERSONAS) >= 20
    assert len(set(FORMULATIONS)) == len(FORMULATIONS) >= 10


def test_own_personas_replace_the_given_ones(exemplar: Seed) -> None:
    settings = PlanSettings(personas=("a pirate",))
    assert draw_plan(exemplar, "x", 0, settings).persona == "a pirate"


def test_weights_that_are_all_zero_are_refused() -> None:
    with pytest.raises(ValidationError, match="at least one outcome needs a weight"):
        OutcomeWeights(success=0, refusal=0, recoverable_fault=0)


def test_an_unknown_key_of_the_plan_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(
        ConfigError, match=r"outcomes.winning: unknown key \(known: recoverable_fault, refusal, success"
    ):
        checked(PlanSettings, {"outcomes": {"winning": 1}}, "recipe.toml")

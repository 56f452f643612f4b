"""An estimate of a run: from the prompts that it would send, without asking anybody."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simia import worlds
from simia.bench.rehearsal import estimate
from simia.bench.run import Examination, measure
from simia.bench.settings import BenchSettings
from simia.bench.suite import Suite, read_suite
from simia.errors import ManifestMismatch, StoreError
from simia.models.cast import Cast
from simia.models.scripted import Answer
from simia.types import ChatReply, ChatRequest

Examine = Callable[..., Examination]


def nobody(request: ChatRequest) -> Answer:
    raise AssertionError("an estimate asked the model")


def echo(request: ChatRequest) -> Answer:
    return ChatReply(text="no json", model="scripted")


@pytest.fixture
def examine(suite_file: Path, make_cast: Callable[..., Cast]) -> Examine:
    """What is settled before a run: keywords are settings, ``prices`` a file of them."""

    def settle(answer: Any = nobody, prices: Path | None = None, **given: Any) -> Examination:
        values = {"suite": str(suite_file), "model": {"name": "scripted"}}
        settings = BenchSettings.model_validate(values | given)
        cast = make_cast(answer) if prices is None else make_cast(answer, prices=prices)
        return Examination(settings, read_suite(suite_file), suite_file, cast, worlds.load)

    return settle


def test_every_sample_is_one_request(examine: Examine, suite: Suite) -> None:
    guess = estimate(examine())
    assert (guess.samples, guess.requests, guess.steps) == (len(suite.samples), len(suite.samples), 0)


def test_every_step_of_an_episode_is_one_more(examine: Examine, suite: Suite) -> None:
    guess = estimate(examine(drift=1, limit=5))
    steps = sum(len(one.steps) for one in suite.episodes if one.role == "drift")
    assert (guess.samples, guess.episodes, guess.steps) == (5, len(worlds.BENCHMARK), steps)
    assert guess.requests == 5 + steps


def test_tokens_are_those_of_whole_prompts(examine: Examine, suite: Suite) -> None:
    guess = estimate(examine())
    assert guess.prompt_tokens > 500 * len(suite.samples)
    assert guess.prompt_tokens / len(suite.samples) < guess.longest_prompt_tokens < guess.prompt_tokens
    assert 20 * len(suite.samples) < guess.completion_tokens < guess.prompt_tokens


def test_prompts_without_code_and_state_are_shorter_than_with_them(examine: Examine) -> None:
    longest = [estimate(examine(setting=name)).prompt_tokens for name in ("tracked", "hidden")]
    assert longest[1] < longest[0]


def test_a_model_on_this_machine_costs_nothing(examine: Examine) -> None:
    assert estimate(examine()).cost == 0.0


def test_a_model_with_a_price_costs_its_tokens(examine: Examine, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("[models.scripted]\ninput = 1000000.0\noutput = 0.0\n")
    guess = estimate(examine(prices=prices))
    assert guess.cost == guess.prompt_tokens


def test_a_model_without_a_price_has_no_cost(examine: Examine, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("[models.other]\ninput = 1.0\noutput = 1.0\n")
    assert estimate(examine(prices=prices)).cost is None


def test_a_baseline_asks_nothing(examine: Examine, suite: Suite) -> None:
    examination = examine(model={"name": "baseline:echo"})
    settled = Examination(examination.settings, examination.suite, examination.suite_file, None, worlds.load)
    guess = estimate(settled)
    assert (guess.samples, guess.requests, guess.prompt_tokens, guess.cost) == (len(suite.samples), 0, 0, 0.0)


def test_a_run_lacks_what_it_has_no_answer_to(examine: Examine, suite: Suite, tmp_path: Path) -> None:
    asyncio.run(measure(examine(echo, limit=10), tmp_path / "run"))
    guess = estimate(examine(limit=25, drift=1), tmp_path / "run")
    assert (guess.samples, guess.episodes) == (15, len(worlds.BENCHMARK))


def test_a_run_that_lacks_episodes_alone_has_their_tokens(examine: Examine, tmp_path: Path) -> None:
    asyncio.run(measure(examine(echo), tmp_path / "run"))
    guess = estimate(examine(drift=1), tmp_path / "run")
    assert (guess.samples, guess.requests) == (0, guess.steps)
    assert guess.prompt_tokens > 500 * guess.steps


def test_a_finished_run_lacks_nothing(examine: Examine, tmp_path: Path) -> None:
    asyncio.run(measure(examine(echo, drift=1), tmp_path / "run"))
    guess = estimate(examine(drift=1), tmp_path / "run")
    assert (guess.samples, guess.steps, guess.requests, guess.prompt_tokens) == (0, 0, 0, 0)


def test_an_estimate_refuses_what_the_run_would_refuse(examine: Examine, tmp_path: Path) -> None:
    asyncio.run(measure(examine(echo, limit=3), tmp_path / "run"))
    with pytest.raises(ManifestMismatch, match="temperature"):
        estimate(examine(temperature=1.0), tmp_path / "run")
    with pytest.raises(StoreError, match="no run"):
        estimate(examine(), tmp_path / "nowhere")

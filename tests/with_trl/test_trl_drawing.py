"""How the agent draws: with whose temperature, and how many at a time."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("trl", reason="needs the extra 'trl'")

from simia.environment.adapters.trl import REWARD, TrlSpec, samplers
from simia.environment.arena import Arena
from simia.environment.loop_thread import LoopThread
from simia.store.calls import CallRecord
from simia.train import trl_trainer
from simia.train.recipe import GrpoRecipe
from simia.types import Message

pytestmark = [
    pytest.mark.trl,
    pytest.mark.filterwarnings("default"),  # what TRL and transformers warn each other about is not ours to mend
]


class Spied:
    """A spec that notes the temperatures with which it is asked to play."""

    def __init__(self) -> None:
        self.temperatures: list[float] = []

    def rollout_func(self, prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        self.temperatures += [one.temperature for one in samplers(trainer)]
        return {REWARD: [1.0] * len(prompts)}


@pytest.mark.parametrize("engine", ["vllm_generation", "generation_config"])
def test_an_examination_draws_with_its_own_temperature_whoever_generates(engine: str) -> None:
    model = SimpleNamespace(training=True, eval=lambda: None, train=lambda training: None)
    sampler = SimpleNamespace(temperature=1.0)
    trainer: Any = SimpleNamespace(model=model, num_generations_eval=8, **{engine: sampler})
    spec: Any = Spied()

    rewards = trl_trainer.answering(trainer, spec, ["a", "b"], seed=0, temperature=0.25)

    assert rewards == [1.0, 1.0]
    assert spec.temperatures == [0.25]
    assert (sampler.temperature, trainer.num_generations_eval) == (1.0, 8)


class Calls:
    """A sink that keeps the records."""

    def __init__(self) -> None:
        self.records: list[CallRecord] = []

    def put(self, record: CallRecord, messages: tuple[Message, ...]) -> None:
        self.records.append(record)


@pytest.fixture
def trainer_for(
    arena: Arena, loop: LoopThread, agent: Path, recipe_for: Callable[..., GrpoRecipe], tmp_path: Path
) -> Callable[..., Any]:
    def made(**learn: Any) -> Any:
        recipe = recipe_for(agent, **learn)
        loaded = trl_trainer.load_agent(recipe.agent, str(agent), on_cpu=True)
        return trl_trainer.trainer_of(
            recipe,
            loaded,
            TrlSpec(arena, loop, turn_tokens=16),
            tmp_path,
            logged=lambda step, logs: None,
            after_step=lambda step: False,
        )

    return made


def test_the_record_of_an_examination_has_the_temperature_it_was_drawn_with(
    arena: Arena, loop: LoopThread, trainer_for: Callable[..., Any]
) -> None:
    calls = Calls()
    spec = TrlSpec(arena, loop, turn_tokens=16, sink=calls, mode="eval-trained", floor=1)

    trl_trainer.answering(trainer_for(), spec, list(arena.tasks)[:2], seed=0, temperature=0.25)

    assert {record.sampling.temperature for record in calls.records} == {0.25}


def test_no_more_episodes_speak_at_a_time_than_generate_batch_allows(
    arena: Arena, trainer_for: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = trainer_for(generate_batch=3)
    widths: list[int] = []
    generate = trainer.model.generate

    def counted(**inputs: Any) -> Any:
        widths.append(len(inputs["input_ids"]))
        return generate(**inputs)

    monkeypatch.setattr(trainer.model, "generate", counted)
    prompts = [trainer.processing_class.encode(f"Turn {number}") for number in range(8)]

    turns, logprobs = trainer._generate_single_turn(prompts, None, {}, 1)

    assert widths == [3, 3, 2]
    assert (len(turns), logprobs) == (8, None)

"""What the trainer is handed of a batch of episodes, and what it learns from those that say nothing."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("trl", reason="needs the extra 'trl'")

from simia.environment.adapters.trl import REWARD, TrlSpec
from simia.environment.arena import Arena
from simia.environment.loop_thread import LoopThread
from simia.errors import CostCeilingReached
from simia.train import trl_trainer
from simia.train.recipe import GrpoRecipe
from simia.types import Episode, Failed, Kept, Played, Reward

pytestmark = [
    pytest.mark.trl,
    pytest.mark.filterwarnings("default"),  # what TRL and transformers warn each other about is not ours to mend
]
END = "<|im_end|>"


def trainer_double(tokenizer: Any, size: int = 2, **more: Any) -> Any:
    """As much of a trainer as a batch needs; its agent says one thing."""

    def turn(prompts: list[list[int]], images: None, fields: Any, count: int) -> tuple[list[list[int]], None]:
        return [tokenizer.encode(f"It is done.{END}") for _ in prompts], None

    return SimpleNamespace(
        model=SimpleNamespace(training=True, config=SimpleNamespace(max_position_embeddings=2048)),
        state=SimpleNamespace(global_step=0),
        accelerator=SimpleNamespace(process_index=0),
        args=SimpleNamespace(temperature=1.0, top_p=1.0),
        processing_class=tokenizer,
        chat_template_kwargs={},
        num_generations=size,
        max_completion_length=400,
        use_vllm=False,
        _generate_single_turn=turn,
        **more,
    )


def judging(arena: Arena, mute: Callable[[Played], bool]) -> Arena:
    """``arena`` with a reward of 1, and none where ``mute`` says so."""

    async def reward(played: Played) -> Reward | None:
        return None if mute(played) else Reward(value=1.0, reason="")

    arena.reward = reward
    return arena


def rolled(arena: Arena, tokenizer: Any, loop: LoopThread, **options: Any) -> dict[str, Any]:
    task_id = next(iter(arena.tasks))
    prompts = [[{"task_id": task_id}]] * 4
    spec = TrlSpec(arena, loop, reruns=0, **options)
    return spec.rollout_func(prompts, trainer_double(tokenizer, 4))


def test_a_row_without_a_reward_has_no_token_to_learn_from(arena: Arena, tokenizer: Any, loop: LoopThread) -> None:
    mutes = iter([False, True, False, False])

    rows = rolled(judging(arena, lambda played: next(mutes)), tokenizer, loop)

    assert rows[REWARD].count(None) == 1
    for reward, mask, ids in zip(rows[REWARD], rows["env_mask"], rows["completion_ids"], strict=True):
        assert mask == [0 if reward is None else 1] * len(ids)


def test_a_void_group_has_no_token_to_learn_from(arena: Arena, tokenizer: Any, loop: LoopThread) -> None:
    mutes = iter([False, True, True, True])

    rows = rolled(judging(arena, lambda played: next(mutes)), tokenizer, loop)

    assert rows[REWARD] == [None] * 4
    assert not any(map(any, rows["env_mask"]))


def test_a_prompt_that_does_not_fit_is_one_token(arena: Arena, tokenizer: Any, loop: LoopThread) -> None:
    trainer = trainer_double(tokenizer)
    trainer.model.config.max_position_embeddings = 40
    task_id = next(iter(arena.tasks))

    rows = TrlSpec(arena, loop, reruns=0).rollout_func([[{"task_id": task_id}]] * 2, trainer)

    assert rows["prompt_ids"] == rows["completion_ids"] == [[tokenizer.eos_token_id]] * 2
    assert rows["env_mask"] == [[0]] * 2


class Listener:
    """A watch that notes the ends of episodes in their order."""

    def __init__(self) -> None:
        self.ends: dict[int, tuple[str, str]] = {}
        self.told_in_batch: list[str] = []

    async def ended(self, step: int, mode: str, place: int, key: str, outcome: Kept[Episode] | Failed) -> None:
        self.ends[place] = (key, outcome.error if isinstance(outcome, Failed) else "kept")

    def batch(self, step: int, mode: str, episodes: Sequence[Episode], seconds: float) -> None:
        self.told_in_batch = [episode.id for episode in episodes]


def test_an_episode_that_is_judged_is_told_though_the_next_one_ends_the_run(
    arena: Arena, tokenizer: Any, loop: LoopThread
) -> None:
    judged = iter(range(4))

    async def reward(played: Played) -> Reward:
        if next(judged) == 2:
            raise CostCeilingReached("enough was paid")
        return Reward(value=1.0, reason="")

    arena.reward = reward
    listener = Listener()

    with pytest.raises(CostCeilingReached):
        rolled(arena, tokenizer, loop, watch=listener)

    assert [listener.ends[place][1] for place in range(3)] == ["kept", "kept", "CostCeilingReached"]
    assert len(listener.ends) == 4
    assert not listener.told_in_batch


def test_an_episode_that_is_played_again_has_a_place_of_its_own(arena: Arena, tokenizer: Any, loop: LoopThread) -> None:
    mutes = iter([False, True, False, True, False, True, False])
    listener = Listener()
    spec = TrlSpec(judging(arena, lambda played: next(mutes)), loop, reruns=2, watch=listener)
    task_id = next(iter(arena.tasks))

    spec.rollout_func([[{"task_id": task_id}]] * 4, trainer_double(tokenizer, 4))

    assert {place: key.rpartition("/")[2] for place, (key, _) in listener.ends.items()} == {
        0: "0",
        1: "1",
        2: "2",
        3: "3",
        5: "1+1",
        7: "3+1",
        11: "3+2",
    }
    assert len(listener.told_in_batch) == 7


@pytest.mark.parametrize("loss", ["grpo", "dr_grpo", "dapo", "bnpo"])
def test_a_batch_in_which_everything_is_masked_changes_no_weight(
    arena: Arena, loop: LoopThread, agent: Path, recipe_for: Callable[..., GrpoRecipe], tmp_path: Path, loss: str
) -> None:
    import torch

    recipe = recipe_for(agent, loss=loss, kl=0.1)
    loaded = trl_trainer.load_agent(recipe.agent, str(agent), on_cpu=True)
    before = {name: weight.clone() for name, weight in loaded.model.state_dict().items()}
    losses: list[float] = []
    trainer = trl_trainer.trainer_of(
        recipe,
        loaded,
        TrlSpec(judging(arena, lambda played: True), loop, turn_tokens=16),
        tmp_path,
        logged=lambda step, logs: losses.append(logs["loss"]),
        after_step=lambda step: False,
    )

    trl_trainer.train(trainer, tmp_path, None)

    assert losses == [0.0]
    assert all(torch.equal(weight.cpu(), before[name]) for name, weight in trainer.model.state_dict().items())

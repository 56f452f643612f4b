"""A Ray cluster of two nodes on this machine: verl's own manager, workers, queue, replay buffer and advantages, with
simia's agent loop in each worker and a scripted engine in the place of vLLM.
"""

import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from verl_doubles import END, ScriptedEngine

import simia.environment.adapters
from simia.environment.adapters.verl_rows import write_recipe_rows
from simia.environment.episodes import EPISODES
from simia.store import Run
from simia.types import AssistantMessage, Episode, SystemMessage, ToolMessage
from simia.worlds import load

pytestmark = [pytest.mark.verl, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

STYLES = ("right", "lazy", "garbled", "parallel", "nosy")
REWARDS = {"right": 1.0, "lazy": 0.0, "garbled": 1.0, "parallel": 1.0}
PROMPTS = 4
STEP, SHY, NOSY = 7, 8, 9
FIELDS = ["prompts", "responses", "response_mask", "rm_scores", "rollout_log_probs", "extra_fields"]
RECIPES = Path(simia.environment.adapters.__file__).parent / "verl_recipes"


@dataclass
class Job:
    """A training job, less its trainer."""

    config: Any
    manager: Any
    tokenizer: Any
    run: Path


@dataclass
class Played:
    """What one step of a training job came to, as its trainer sees it."""

    keys: list[str]
    rows: list[dict[str, Any]]
    advantages: list[float]
    nodes: list[str]
    run: Path
    tokenizer: Any

    @property
    def groups(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The rows by prompt and by the style of the member."""
        found: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
        for key, row, advantage in zip(self.keys, self.rows, self.advantages, strict=True):
            uid, member, _ = key.split("_")
            found[uid][STYLES[int(member)]] = {**row, "advantage": advantage}
        return found

    def text(self, ids: list[int]) -> str:
        return str(self.tokenizer.decode(ids, skip_special_tokens=False))

    def episodes(self) -> list[list[Episode]]:
        """The episodes of each worker."""
        return [episodes_of(folder) for folder in sorted(self.run.iterdir())]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes that reach nothing but each other."""
    pytest.importorskip("verl")
    pytest.importorskip("transfer_queue")
    import ray
    from ray.cluster_utils import Cluster

    here = str(Path(__file__).parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    node = {"num_cpus": 4, "object_store_memory": 100 * 2**20, "include_dashboard": False}
    made = Cluster(initialize_head=True, connect=True, head_node_args=node)
    made.add_node(**{key: value for key, value in node.items() if key != "include_dashboard"})
    made.wait_for_nodes()
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="module")
def job(
    cluster: Any,
    model_folder: Path,
    lamps_recipe: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Job]:
    """verl's manager with two workers, and a queue."""
    import ray
    import transfer_queue as tq
    from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopManagerTQ

    folder = tmp_path_factory.mktemp("job")
    recipe = lamps_recipe("observation_chars = 60")
    write_recipe_rows(recipe, folder / "train.parquet", folder / "val.parquet", held_out=8 - PROMPTS)
    config = job_config(model_folder, recipe, folder)
    tq.init(config.transfer_queue)
    engine = ScriptedEngine(model_folder, STYLES, {SHY: ("shy",) * 5, NOSY: ("nosy",) * 5})
    manager = AgentLoopManagerTQ.create(config=config, llm_client=engine)
    yield Job(config, manager, engine.tokenizer, folder / "run")
    for worker in manager.agent_loop_workers:
        ray.kill(worker)
    tq.close()


@pytest.fixture(scope="module")
def played(job: Job) -> Played:
    """One step: four prompts of five members each, on two workers."""
    import ray

    keys, rows, advantages = one_step(job, STEP)
    nodes = ray.get([worker.__ray_call__.remote(node_of) for worker in job.manager.agent_loop_workers])
    return Played(keys, rows, advantages, nodes, job.run, job.tokenizer)


def job_config(model_folder: Path, recipe: Path, folder: Path) -> Any:
    """The recipe of the paper, made small."""
    from hydra import compose, initialize_config_dir

    loops = folder / "agent_loop.yaml"
    loops.write_text(
        "- name: simia_agent\n  _target_: simia.environment.adapters.verl.SimiaAgentLoop\n"
        f"  recipe: {recipe}\n  run: {folder / 'run'}\n"
    )
    overrides = [
        f"data.train_files={folder / 'train.parquet'}",
        f"data.val_files={folder / 'val.parquet'}",
        f"data.train_batch_size={PROMPTS}",
        "data.dataloader_num_workers=0",
        f"actor_rollout_ref.model.path={model_folder}",
        f"actor_rollout_ref.rollout.n={len(STYLES)}",
        "actor_rollout_ref.rollout.agent.num_workers=2",
        f"actor_rollout_ref.rollout.agent.agent_loop_config_path={loops}",
        "transfer_queue.enable=true",
        "transfer_queue.backend.SimpleStorage.num_data_storage_units=1",
        "transfer_queue.backend.SimpleStorage.total_storage_size=1000",
    ]
    with initialize_config_dir(str(RECIPES), version_base=None):
        return compose("simia_rl", overrides=overrides)


def one_step(job: Job, step: int) -> tuple[list[str], list[dict[str, Any]], list[float]]:
    """What verl's trainer does with one batch up to its advantages, without its model: keys, rows, advantages."""
    import numpy as np
    import transfer_queue as tq
    from torch.utils.data import DataLoader
    from verl.protocol import DataProto
    from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer
    from verl.trainer.ppo.v1.utils import compute_advantage_for_multi_trajectories
    from verl.utils import tensordict_utils as tu
    from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn

    config = job.config
    dataset = RLHFDataset([config.data.train_files], job.tokenizer, config.data)
    batch_dict = next(iter(DataLoader(dataset, batch_size=PROMPTS, collate_fn=collate_fn)))
    batch_dict["uid"] = np.array([f"{step}prompt{number}" for number in range(PROMPTS)], dtype=object)
    batch = tu.get_tensordict(batch_dict)
    tu.assign_non_tensor_data(batch, "global_steps", step)
    tags = [{"is_prompt": True, "status": "pending", "global_steps": step} for _ in range(PROMPTS)]
    tq.kv_batch_put(keys=list(batch["uid"]), partition_id="train", tags=tags)
    job.manager.generate_sequences(batch)
    buffer = ReplayBuffer("sync", config.trainer.v1.sync, 8, "drop", {}, poll_interval=0.2)
    keys = buffer.sample(global_steps=step, partition_id="train", batch_size=PROMPTS)[0].keys
    data = tq.kv_batch_get(keys=keys, partition_id="train", select_fields=FIELDS)
    rows = [{field: plain(data[field][place]) for field in FIELDS} for place in range(len(keys))]
    scores = tq.kv_batch_get(keys=keys, partition_id="train", select_fields=["response_mask", "rm_scores"])
    proto = DataProto(batch=scores.to_padded_tensor())
    proto.batch["token_level_rewards"] = proto.batch["rm_scores"]
    proto.non_tensor_batch["uid"] = np.array([key.split("_")[0] for key in keys], dtype=object)
    proto = compute_advantage_for_multi_trajectories(proto, keys, "grpo", config=config.algorithm)
    first = proto.batch["response_mask"].argmax(dim=1)
    tq.kv_clear(keys=keys, partition_id="train")
    return keys, rows, [float(proto.batch["advantages"][row, place]) for row, place in enumerate(first)]


def node_of(worker: Any) -> str:
    import ray

    return str(ray.get_runtime_context().get_node_id())


def plain(value: Any) -> Any:
    data = getattr(value, "data", value) if not hasattr(value, "tolist") else value
    return data.tolist() if hasattr(data, "tolist") else data


def episodes_of(folder: Path) -> list[Episode]:
    with Run.read(folder) as run:
        return [episode for _, _, episode in run.stream(EPISODES).kept(Episode)]


def test_each_node_has_a_worker_with_an_arena_of_its_own(played: Played) -> None:
    assert len(set(played.nodes)) == 2
    assert [folder.name for folder in sorted(played.run.iterdir())] == ["worker-0", "worker-1"]
    assert [len({episode.group for episode in episodes}) for episodes in played.episodes()] == [2, 2]


def test_every_rollout_comes_back_with_its_reward_but_the_masked_ones(played: Played) -> None:
    assert len(played.groups) == PROMPTS
    for group in played.groups.values():
        assert {style: sum(row["rm_scores"]) for style, row in group.items()} == REWARDS


def test_a_masked_rollout_is_left_out_of_the_baseline_of_its_group(played: Played) -> None:
    mean = sum(REWARDS.values()) / len(REWARDS)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in REWARDS.values()) / (len(REWARDS) - 1))
    for group in played.groups.values():
        for style, row in group.items():
            assert row["advantage"] == pytest.approx((REWARDS[style] - mean) / deviation, abs=1e-4)


def test_the_masked_are_told_with_whose_fault_it_was(played: Played) -> None:
    masked = [episode for episodes in played.episodes() for episode in episodes if episode.is_masked]
    assert len(masked) == 2 * PROMPTS  # each was played twice
    assert {episode.attributed_to.value for episode in masked} == {"simulator"}


def test_tokens_are_the_chat_template_of_the_conversation(played: Played) -> None:
    from simia.formats.chat_template import as_template

    spec = load("lamps").spec
    system = as_template(SystemMessage(content=spec.policy.strip()))
    tools = [tool.as_openai() for tool in spec.tools]
    whole = {
        episode.id: played.tokenizer.apply_chat_template(
            [system, *(as_template(message) for message in episode.trajectory.messages)], tools=tools, tokenize=False
        )
        for episodes in played.episodes()
        for episode in episodes
    }
    for group in played.groups.values():
        for style in ("right", "lazy", "parallel"):
            assert played.text(group[style]["prompts"] + group[style]["responses"]) + "\n" in whole.values()


def test_masked_in_are_the_agents_tokens_alone(played: Played) -> None:
    known = {episode.id: episode for episodes in played.episodes() for episode in episodes}
    for group in played.groups.values():
        for row in group.values():
            episode = known[row["extra_fields"]["simia"]["episode"]]
            results = sum(isinstance(message, ToolMessage) for message in episode.trajectory.messages)
            marked = list(zip(row["responses"], row["response_mask"], row["rollout_log_probs"], strict=True))
            said = played.text([token for token, mask, _ in marked if mask])
            told = played.text([token for token, mask, _ in marked if not mask])
            assert (said.count("<|im_start|>"), said.count(END)) == (0, episode.turns)
            assert told.count("<|im_start|>tool\n") == results
            assert "turn_o" not in told
            assert all(logprob == -0.5 * mask for _, mask, logprob in marked)


def test_members_of_a_group_are_told_the_same_for_the_same_call(played: Played) -> None:
    for episodes in played.episodes():
        told: dict[tuple[str, str], set[str]] = defaultdict(set)
        for episode in episodes:
            messages = episode.trajectory.messages
            calls = {
                call.id: call
                for message in messages
                if isinstance(message, AssistantMessage)
                for call in message.tool_calls
            }
            for message in messages:
                if isinstance(message, ToolMessage) and message.call_id in calls:
                    told[episode.group, calls[message.call_id].model_dump_json(exclude={"id"})].add(message.content)
        assert told
        assert all(len(answers) == 1 for answers in told.values())


def test_a_void_group_is_in_no_batch_and_the_others_are(job: Job, played: Played) -> None:
    keys, rows, _ = one_step(job, SHY)
    scored = {row["extra_fields"]["simia"]["group"] for row in rows}
    episodes = [episode for each in played.episodes() for episode in each if f"/{SHY:06d}/" in episode.group]
    masked = {episode.group for episode in episodes if episode.is_masked}
    assert len(keys) == len(STYLES) * len(scored)
    assert masked
    assert scored
    assert not masked & scored
    assert len(masked | scored) == PROMPTS


def test_a_step_in_which_nothing_can_be_scored_ends_the_training(job: Job) -> None:
    import transfer_queue as tq

    with pytest.raises(RuntimeError, match="no materializable trajectories"):
        one_step(job, NOSY)
    tq.kv_clear(keys=[f"{NOSY}prompt{number}" for number in range(PROMPTS)], partition_id="train")

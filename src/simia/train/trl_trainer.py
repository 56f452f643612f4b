"""GRPO by TRL: the one module that knows torch, transformers, peft and TRL's trainer."""

import os
import random
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import torch
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback, TrainerCallback, set_seed
from transformers.trainer_utils import get_last_checkpoint
from transformers.utils.logging import disable_progress_bar
from trl import GRPOConfig, GRPOTrainer

from simia.environment.adapters.trl import TrlSpec, samplers
from simia.errors import ConfigError, boundary
from simia.train.recipe import AgentSettings, GrpoRecipe

CHECKPOINTS = "checkpoints"
MODEL = "model"

Logged = Callable[[int, Mapping[str, float]], None]
AfterStep = Callable[[int], bool]
"""Told of a finished step; true asks the trainer to save and stop."""


@dataclass(frozen=True)
class Agent:
    """The agent that learns: its weights and its tokenizer."""

    model: Any
    tokenizer: Any


def load_agent(settings: AgentSettings, folder: str, *, on_cpu: bool) -> Agent:
    """The model and tokenizer in ``folder``, or of that name at Hugging Face.

    Raises:
        ConfigError: they cannot be loaded, or the tokenizer has no end token.
    """
    disable_progress_bar()  # of files that are there already
    with boundary(ConfigError, f"load the agent {folder!r}"):
        tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=weights_dtype(settings, on_cpu=on_cpu))
    if tokenizer.eos_token_id is None:
        raise ConfigError(f"the tokenizer of {folder!r} has no end token, so nobody could tell where a turn ends")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return Agent(model, tokenizer)


def weights_dtype(settings: AgentSettings, *, on_cpu: bool) -> torch.dtype:
    """The type that the weights are held in. Those that are changed are float32 unless the settings say otherwise: a
    weight of bfloat16 has three digits, and a step of 1e-6 leaves it as it was. Where only adapters are changed, the
    weights below them may be half as large on a GPU.
    """
    if settings.dtype == "auto":
        return torch.float32 if on_cpu or settings.lora is None else torch.bfloat16
    return torch.bfloat16 if settings.dtype == "bfloat16" else torch.float32


def uses_cpu(recipe: GrpoRecipe) -> bool:
    """Whether the run is on the processor."""
    return recipe.learn.device == "cpu" or not torch.cuda.is_available()


def last_checkpoint(run_folder: Path) -> tuple[Path, int] | None:
    """The newest whole checkpoint of a run and its step, or None."""
    folder = run_folder / CHECKPOINTS
    found = get_last_checkpoint(str(folder)) if folder.is_dir() else None
    while found is not None and not (Path(found) / "trainer_state.json").exists():
        # The state is written last: without it the save was cut short.
        shutil.rmtree(found)
        found = get_last_checkpoint(str(folder))
    return None if found is None else (Path(found), int(found.rsplit("-", 1)[1]))


def trainer_of(
    recipe: GrpoRecipe, agent: Agent, spec: TrlSpec, run_folder: Path, *, logged: Logged, after_step: AfterStep
) -> GRPOTrainer:
    """A trainer for ``recipe``, ready to train.

    Raises:
        ConfigError: TRL refuses a setting.
    """
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    os.environ["TENSORBOARD_LOGGING_DIR"] = str(run_folder / "tensorboard")
    lora = recipe.agent.lora
    peft = (
        None
        if lora is None
        else LoraConfig(
            r=lora.rank,
            lora_alpha=lora.alpha,
            lora_dropout=lora.dropout,
            target_modules=lora.targets if isinstance(lora.targets, str) else list(lora.targets),
            task_type="CAUSAL_LM",
        )
    )
    with boundary(ConfigError, "set up the trainer"):
        trainer = _Trainer(
            model=agent.model,
            args=_arguments(recipe, run_folder),
            train_dataset=spec.train_dataset,
            processing_class=agent.tokenizer,
            reward_funcs=spec.reward_funcs,
            rollout_func=spec.rollout_func,
            peft_config=peft,
            callbacks=[_Callback(logged, after_step)],
        )
    trainer.generate_batch = recipe.learn.generate_batch
    trainer.remove_callback(PrinterCallback)  # it prints every figure of every step; whoever asked tells what matters
    return trainer


def train(trainer: GRPOTrainer, run_folder: Path, checkpoint: Path | None) -> None:
    """Train to the end of the recipe, from ``checkpoint`` where there is one, and save the agent in ``model``."""
    with warnings.catch_warnings():
        # What TRL, transformers and accelerate have to tell each other about names that will change.
        warnings.simplefilter("ignore", FutureWarning)
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    _save(trainer, run_folder)


def restore(trainer: GRPOTrainer, run_folder: Path, checkpoint: Path, step: int) -> None:
    """Put the agent of ``checkpoint`` into ``trainer``, with nothing left to learn, and save it in ``model``."""
    trainer._load_from_checkpoint(str(checkpoint))  # weights or adapters, as ``train`` would
    trainer.state.global_step = step
    _save(trainer, run_folder)


def _save(trainer: GRPOTrainer, run_folder: Path) -> None:
    trainer.save_model(str(run_folder / MODEL))
    trainer.processing_class.save_pretrained(str(run_folder / MODEL))


def answering(
    trainer: GRPOTrainer, spec: TrlSpec, task_ids: Sequence[str], *, seed: int, temperature: float
) -> list[float | None]:
    """The rewards of one episode for each task, played by the trainer's agent as it is now.

    The draws are those of ``seed`` alone, and the training's own go on afterwards as if nothing had been.
    """
    was_training = trainer.model.training
    drawing = samplers(trainer)
    temperatures, generations = [one.temperature for one in drawing], trainer.num_generations_eval
    prompts = [[{"role": "user", "content": "", "task_id": task_id}] for task_id in task_ids]
    try:
        trainer.model.eval()
        for one in drawing:
            one.temperature = temperature
        trainer.num_generations_eval = 1
        with draws_of(seed):
            rewards: list[float | None] = spec.rollout_func(prompts, trainer)["simia_reward"]
        return rewards
    finally:
        for one, before in zip(drawing, temperatures, strict=True):
            one.temperature = before
        trainer.num_generations_eval = generations
        trainer.model.train(was_training)


@contextmanager
def draws_of(seed: int) -> Iterator[None]:
    """All draws are those of ``seed`` inside; outside they go on as if nothing had been."""
    plain, arrays, tensors = random.getstate(), numpy.random.get_state(), torch.get_rng_state()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None
    try:
        set_seed(seed % 2**32)
        yield
    finally:
        random.setstate(plain)
        numpy.random.set_state(arrays)
        torch.set_rng_state(tensors)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)


def _arguments(recipe: GrpoRecipe, run_folder: Path) -> GRPOConfig:
    learn = recipe.learn
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ConfigError(
            "simia train grpo is one process on one GPU: start it without torchrun or accelerate launch, or scale out "
            "by verl (docs/trainers/verl.md)"
        )
    batch = learn.groups * learn.group_size
    on_cpu = uses_cpu(recipe)
    vllm: dict[str, Any] = {}
    if learn.vllm != "off":
        vllm = {"use_vllm": True, "vllm_mode": learn.vllm, "vllm_gpu_memory_utilization": learn.vllm_memory}
        if learn.vllm_url is not None:
            vllm["vllm_server_base_url"] = learn.vllm_url
    return GRPOConfig(
        output_dir=str(run_folder / CHECKPOINTS),
        max_steps=learn.steps,
        per_device_train_batch_size=learn.micro_batch,
        gradient_accumulation_steps=batch // learn.micro_batch,
        num_generations=learn.group_size,
        max_completion_length=learn.completion_tokens,
        temperature=learn.temperature,
        top_p=learn.top_p,
        learning_rate=learn.learning_rate,
        lr_scheduler_type="constant_with_warmup" if learn.schedule == "constant" else learn.schedule,
        warmup_steps=learn.warmup,
        beta=learn.kl,
        epsilon=learn.clip_low,
        epsilon_high=learn.clip_high,
        loss_type=learn.loss,
        bf16=not on_cpu and recipe.agent.dtype != "float32",
        use_cpu=on_cpu,
        activation_checkpointing=learn.gradient_checkpointing,
        seed=recipe.seed % 2**32,
        data_seed=recipe.seed % 2**32,
        save_strategy="steps",
        save_steps=learn.checkpoint_every,
        save_total_limit=learn.keep_checkpoints,
        logging_steps=1,
        report_to=["tensorboard"] if learn.tensorboard else [],
        disable_tqdm=True,
        log_completions=False,
        **vllm,
    )


class _Trainer(GRPOTrainer):  # type: ignore[misc,unused-ignore]
    """Generates for at most ``generate_batch`` conversations at a time, unless vLLM does, which minds its own memory:
    all of a step at once, padded to the longest, take more memory than the change of weights.
    """

    generate_batch = 64

    def _generate_single_turn(self, prompt_ids: Any, *rest: Any, **more: Any) -> Any:
        size = len(prompt_ids) if self.use_vllm else self.generate_batch
        if len(prompt_ids) <= size:
            return super()._generate_single_turn(prompt_ids, *rest, **more)
        turns: list[list[int]] = []
        for first in range(0, len(prompt_ids), size):
            turns += super()._generate_single_turn(prompt_ids[first : first + size], *rest, **more)[0]
        return turns, None


class _Callback(TrainerCallback):  # type: ignore[misc,unused-ignore]
    """Hands on what the trainer logs, and asks after every step whether to go on."""

    def __init__(self, logged: Logged, after_step: AfterStep) -> None:
        self._logged = logged
        self._after_step = after_step

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """One row of the trainer's own figures."""
        if state.is_world_process_zero and logs and "loss" in logs:
            self._logged(int(state.global_step), {k: float(v) for k, v in logs.items() if _is_number(v)})

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The weights have changed."""
        if self._after_step(int(state.global_step)):
            control.should_save = True
            control.should_training_stop = True


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True

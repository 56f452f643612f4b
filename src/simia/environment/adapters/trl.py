"""TRL: what ``GRPOTrainer`` needs to train on an arena, as one object.

::

    spec = TrlSpec(arena, loop)
    GRPOTrainer(model, args=args, processing_class=tokenizer, train_dataset=spec.train_dataset,
                rollout_func=spec.rollout_func, reward_funcs=spec.reward_funcs).train()

``rollout_func`` and not ``environment_factory``: the latter has no user's turn, derives tool schemas anew from Python
signatures, and walks the rollouts one after another, each waiting for the tools of the one before (docs/adr/0010).
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from datasets import Dataset

from simia.environment.adapters.trl_rollout import EndWatch, Row, TokenRollout
from simia.environment.adapters.trl_tokens import ChatTokens
from simia.environment.arena import Arena
from simia.environment.audit import CallSink
from simia.environment.loop_thread import LoopThread
from simia.environment.session import Session
from simia.store.calls import CallRecord
from simia.types import Episode, Failed, Kept, Message, Sampling, Task, Usage, content_id

REWARD = "simia_reward"


class Watch(Protocol):
    """Told of what a batch of rollouts came to."""

    async def ended(self, step: int, mode: str, place: int, key: str, outcome: Kept[Episode] | Failed) -> None:
        """One episode of a batch, whose id is ``key``, as soon as it is judged, or given up because the run cannot go
        on. ``place`` is the same whenever the batch is played: its row, and beyond the last row where it is played
        again.
        """
        ...

    def batch(self, step: int, mode: str, episodes: Sequence[Episode], seconds: float) -> None:
        """All episodes of one batch, those that were masked and played again included; and how long it took."""
        ...


class TrlSpec:
    """An arena as TRL sees it.

    The rows of ``train_dataset`` name a task; the real prompt is what the environment begins with, and is made in
    :meth:`rollout_func`. The rewards come out of it too, so that ``reward_funcs`` only hand them on; None where an
    episode says nothing, which TRL leaves out of its group.

    Args:
        floor: groups with fewer scored members get no reward at all.
        reruns: how often a masked episode is played again before it is given up.
        turn_tokens: how long one turn of the agent may be; without it as long as a completion.
        sink: where what the agent was asked and answered is recorded.
        mode: the first part of the episodes' ids; "train" or "eval" without it.
        agent_name: what records call the agent; without it what its weights are called.
    """

    def __init__(
        self,
        arena: Arena,
        loop: LoopThread,
        *,
        tasks: Sequence[Task] | None = None,
        floor: int = 2,
        reruns: int = 1,
        turn_tokens: int | None = None,
        sink: CallSink | None = None,
        watch: Watch | None = None,
        mode: str | None = None,
        agent_name: str = "",
    ) -> None:
        self._arena = arena
        self._loop = loop
        self._tasks = list(arena.tasks.values()) if tasks is None else list(tasks)
        self._floor = floor
        self._reruns = reruns
        self._turn_tokens = turn_tokens
        self._sink = sink
        self._watch = watch
        self._mode = mode
        self._agent_name = agent_name
        self._batches: dict[tuple[str, int], int] = {}

    @property
    def train_dataset(self) -> Dataset:
        """One row for each task."""
        return self.dataset(self._tasks)

    @staticmethod
    def dataset(tasks: Sequence[Task]) -> Dataset:
        """One row for each of ``tasks``. Only the column ``prompt`` reaches a rollout function, so that it carries the
        task's id; its text is never shown to the agent.
        """
        return Dataset.from_list([{"prompt": [{"role": "user", "content": "", "task_id": task.id}]} for task in tasks])

    @property
    def reward_funcs(self) -> list[Callable[..., list[float | None]]]:
        """The one function that hands on the rewards of the rollouts."""

        def simia_reward(simia_reward: list[float | None], **_: Any) -> list[float | None]:
            return simia_reward

        return [simia_reward]

    def rollout_func(self, prompts: list[Any], trainer: Any) -> dict[str, Any]:
        """The rollouts of one batch, in the form that ``GRPOTrainer`` takes."""
        began = time.monotonic()
        mode = self._mode or ("train" if trainer.model.training else "eval")
        size = trainer.num_generations if trainer.model.training else trainer.num_generations_eval
        step = int(trainer.state.global_step)
        batch = self._batches[mode, step] = self._batches.get((mode, step), -1) + 1
        ids = [prompt[-1]["task_id"] for prompt in prompts]
        rank = int(getattr(trainer.accelerator, "process_index", 0))
        prefix = f"{mode}/{step:06d}" + (f".{batch}" if batch else "") + (f"/r{rank}" if rank else "")
        groups = [
            self._arena.group(self._arena.task(ids[first]), f"{prefix}/{first // size:03d}")
            for first in range(0, len(ids), size)
        ]
        rows: dict[int, Row] = {}
        places: dict[str, int] = {}
        everything: list[Episode] = []
        wanted = list(range(len(ids)))

        async def ended(session: Session, outcome: Kept[Episode] | Failed) -> None:
            if self._watch is not None:
                await self._watch.ended(step, mode, places[session.id], session.id, outcome)

        with _turns_of(trainer, self._turn_tokens):
            rollout = self._rollout(trainer, ended)
            for attempt in range(self._reruns + 1):
                sessions = [groups[place // size].session(place % size, attempt) for place in wanted]
                for place, session in zip(wanted, sessions, strict=True):
                    places[session.id] = attempt * len(ids) + place
                played = rollout.play(sessions)
                everything += [_episode(row) for row in played]
                rows |= dict(zip(wanted, played, strict=True))
                wanted = [place for place in wanted if _episode(rows[place]).is_masked]
                if not wanted:
                    break
        if self._watch is not None:
            self._watch.batch(step, mode, everything, time.monotonic() - began)
        return self._output([rows[place] for place in range(len(ids))], size, trainer)

    def _rollout(self, trainer: Any, on_end: EndWatch) -> TokenRollout:
        tokens = ChatTokens(trainer.processing_class, trainer.chat_template_kwargs)

        def generate(prompts: list[list[int]], room: int) -> tuple[list[list[int]], list[list[float]] | None]:
            turns, logprobs = trainer._generate_single_turn(prompts, None, {}, 1)
            return [ids[:room] for ids in turns], logprobs

        return TokenRollout(
            tokens,
            generate,
            self._loop,
            completion_tokens=trainer.max_completion_length,
            turn_tokens=self._turn_tokens or trainer.max_completion_length,
            context=getattr(trainer.model.config, "max_position_embeddings", None),
            on_turn=self._recorded(tokens, trainer),
            on_end=on_end,
        )

    def _recorded(self, tokens: ChatTokens, trainer: Any) -> Callable[[Row, Sequence[int], Sequence[int]], None] | None:
        sink = self._sink
        if sink is None:
            return None
        name = self._agent_name or str(getattr(trainer.model.config, "_name_or_path", "") or "policy")

        def record(row: Row, given: Sequence[int], ids: Sequence[int]) -> None:
            messages: tuple[Message, ...] = tuple(row.messages)
            sink.put(
                CallRecord(
                    episode=row.session.id,
                    role="agent",
                    model=name,
                    request=content_id(list(given)),
                    messages=tuple(message.content_id for message in messages),
                    sampling=Sampling(
                        temperature=next((one.temperature for one in samplers(trainer)), trainer.args.temperature),
                        max_tokens=self._turn_tokens or trainer.max_completion_length,
                        top_p=trainer.args.top_p,
                    ),
                    text=tokens.text(ids),
                    finish_reason="stop" if ids and ids[-1] == tokens.tokenizer.eos_token_id else "length",
                    usage=Usage(prompt_tokens=len(given), completion_tokens=len(ids)),
                ),
                messages,
            )

        return record

    def _output(self, rows: list[Row], size: int, trainer: Any) -> dict[str, Any]:
        end = trainer.processing_class.eos_token_id
        rewards: list[float | None] = []
        for first in range(0, len(rows), size):
            scores = [
                None if (reward := _episode(row).reward) is None else reward.value for row in rows[first : first + size]
            ]
            is_void = sum(score is not None for score in scores) < min(self._floor, size)
            rewards += [None] * len(scores) if is_void else scores
        # The trainer wants a token in each row, also where nobody spoke. What has no reward is not to be learned from:
        # with a mask of ones its tokens would still count in the mean of the loss, and in the divergence.
        masks = [
            row.mask if row.mask and reward is not None else [0] * max(1, len(row.mask))
            for row, reward in zip(rows, rewards, strict=True)
        ]
        return {
            "prompt_ids": [row.prompt or [end] for row in rows],
            "completion_ids": [row.completion or [end] for row in rows],
            "env_mask": masks,
            "logprobs": [row.logprobs or [0.0] for row in rows] if trainer.use_vllm else None,
            REWARD: rewards,
        }


def _episode(row: Row) -> Episode:
    if row.episode is None:
        raise RuntimeError(f"episode {row.session.id} was not finished")
    return row.episode


def samplers(trainer: Any) -> list[Any]:
    """What says how the trainer draws: vLLM's engine, or else the configuration of transformers. Both have a
    ``temperature``.
    """
    found = [getattr(trainer, name, None) for name in ("vllm_generation", "generation_config")]
    return [one for one in found if one is not None]


@contextmanager
def _turns_of(trainer: Any, most: int | None) -> Iterator[None]:
    """Let the trainer's engine generate at most ``most`` tokens at a time: by itself it takes the room of a whole
    completion for every turn.
    """
    configs = [
        (one, "max_completion_length" if hasattr(one, "max_completion_length") else "max_new_tokens")
        for one in samplers(trainer)
    ]
    before = [getattr(config, name) for config, name in configs]
    try:
        for config, name in configs:
            if most is not None:
                setattr(config, name, most)
        yield
    finally:
        for (config, name), value in zip(configs, before, strict=True):
            setattr(config, name, value)


__all__ = ["REWARD", "Session", "TrlSpec", "Watch", "samplers"]

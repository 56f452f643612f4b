"""verl: an agent loop that plays one episode of an arena, for training on a cluster with Ray.

::

    # agent_loop.yaml, for actor_rollout_ref.rollout.agent.agent_loop_config_path
    - name: simia_agent
      _target_: simia.environment.adapters.verl.SimiaAgentLoop
      recipe: /shared/arena.toml
      run: /shared/runs/simia_rl

Rows name a task (``verl_rows``); the prompt is what the environment begins with. The trainer must be verl's V1, its
default: there all rollouts of a prompt are begun in one worker, and a rollout may come to nothing. That is how a masked
episode is told: it gives no output at all, so that it is in no batch, no baseline and no mean. A group in which fewer
than ``floor`` members can be scored raises instead, so that verl counts it as failed and takes nothing of it.
"""

import os
import re
import socket
import time
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import ray
from pydantic import ValidationError
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput
from verl.experimental.agent_loop.tool_parser import ToolParser
from verl.tools.schemas import OpenAIFunctionToolSchema

from simia.environment.adapters.spoken_turn import parsed_turn, read_turn
from simia.environment.adapters.verl_rollout import Rollout
from simia.environment.adapters.verl_worker import GroupAtPlay, Worker, worker_of
from simia.environment.session import Session
from simia.errors import ConfigError, SimiaError
from simia.types import AssistantMessage, Episode, Failed, JsonObject, Kept, StopReason

_ABORTED = ("abort", "aborted")
_WORKER = re.compile(r"agent_loop_worker_(\d+)_")


class SimiaAgentLoop(AgentLoopBase):
    """Plays one member of a group. verl makes one for every rollout; the worker's arena is shared by all.

    Token in, token out: what was sampled is never rendered anew. Only what the environment says is rendered, by verl's
    builder for the family of the model, and masked. A completion ends with what the agent said.

    Args:
        recipe: an ``ArenaRecipe`` as TOML, at the same place on every node.
        run: the folder below which every worker keeps a run of its own.
        floor: how many scored members make a group that says anything.
        reruns: how often a masked episode is played again before it is given up.
        turn_tokens: how long one turn of the agent may be; without it as long as the response.

    Raises:
        ConfigError: verl is told a limit that only the recipe sets.
    """

    def __init__(
        self,
        *args: Any,
        recipe: str,
        run: str,
        floor: int = 2,
        reruns: int = 1,
        turn_tokens: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        turns = self.rollout_config.multi_turn
        if turns.max_assistant_turns is not None or turns.max_user_turns is not None:
            raise ConfigError(
                "the turns of an episode are limited by environment.limits.max_turns of the recipe: leave verl's "
                "multi_turn.max_assistant_turns and max_user_turns null"
            )
        self._recipe = Path(recipe)
        self._folder = Path(run)
        self._floor = floor
        self._reruns = reruns
        self._response_tokens = int(self.rollout_config.response_length)
        self._turn_tokens = turn_tokens or self._response_tokens
        self._prompt_tokens = int(self.rollout_config.prompt_length)
        self._context = int(self.rollout_config.max_model_len or self._prompt_tokens + self._response_tokens)
        self._format = str(turns.format)
        self._parser = ToolParser.get_tool_parser(self._format, self.tokenizer)

    async def worker(self) -> Worker:
        """What the loops of this process share. To be overridden where an arena is made by code and not by a recipe."""
        return await worker_of(self._recipe, self._folder / _worker_name())

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput | list[AgentLoopOutput]:
        """The rollout; an empty list where the episode is masked.

        Raises:
            ConfigError: the row names no task of the arena, or verl's trainer is not V1.
            SimiaError: no other episode would fare better, or too few members of the group can be scored.
        """
        if "session_id" not in row:
            raise ConfigError("this agent loop needs verl's V1 trainer: set trainer.use_v1=true")
        worker = await self.worker()
        group = await worker.join(row["uid"], *_place(row), self._floor)
        output: AgentLoopOutput | None = None
        try:
            output = await self._member(worker, group, int(row["session_id"]), sampling_params)
        finally:
            worker.settle(row["uid"], is_scored=output is not None)
        await group.over.wait()
        if group.is_void:
            raise SimiaError(
                f"only {group.scored} of the {group.members} episodes of {group.key} can be scored: the group is left "
                "out; the stream 'episodes' of the worker's run says why"
            )
        return [] if output is None else output

    async def _member(
        self, worker: Worker, group: GroupAtPlay, member: int, params: dict[str, Any]
    ) -> AgentLoopOutput | None:
        """The output of one member, or None where it stays masked."""
        for attempt in range(self._reruns + 1):
            session = group.maker.session(member, attempt)
            try:
                rollout, episode = await self._play(session, params, worker)
            except SimiaError as error:
                await worker.keep(session, Failed(type(error).__name__, str(error)))
                raise
            await worker.keep(session, Kept(episode))
            if episode.reward is not None:
                return AgentLoopOutput(
                    **rollout.tokens(), **rollout.told_of(episode, episode.reward), metrics=rollout.metrics()
                )
        return None

    async def _play(self, session: Session, params: dict[str, Any], worker: Worker) -> tuple[Rollout, Episode]:
        rollout = Rollout(session)
        request = f"{session.id}:{uuid4().hex}"
        step = await session.start()
        rollout.add(*step.messages)
        if step.stop is None:
            await self._begin(rollout)
        while not session.is_over:
            message = await self._turn(rollout, request, params, worker)
            if message is not None:
                await self._answer(rollout, message)
        rollout.answering_s = session.environment.seconds
        began = time.monotonic()
        episode = await session.finish()
        rollout.judging_s = time.monotonic() - began
        return rollout, episode

    async def _begin(self, rollout: Rollout) -> None:
        """The prompt. verl's own ``ct_build_initial_tokens`` would cut off its beginning where it is too long."""
        build = partial(self.continuous_token_builder.build_initial_tokens, rollout.spelled, tools=rollout.tools)
        rollout.ids = await self.loop.run_in_executor(None, build)
        longest = min(self._prompt_tokens, self._context - 1)
        if len(rollout.ids) > longest:
            said = f"the first prompt has {len(rollout.ids):,} tokens, and {longest:,} are allowed"
            rollout.session.cut(StopReason.CONTEXT_OVERFLOW, said)

    async def _turn(
        self, rollout: Rollout, request: str, params: dict[str, Any], worker: Worker
    ) -> AssistantMessage | None:
        """What the agent says next, or None where it was cut off, which ends the episode."""
        room = min(self._turn_tokens, self._response_tokens - len(rollout.mask), self._context - len(rollout.ids))
        asked = {**params, "max_tokens": room}
        if self._parser.stop_token_ids:
            asked["stop_token_ids"] = sorted({*params.get("stop_token_ids", ()), *self._parser.stop_token_ids})
        began = time.monotonic()
        reply = await self.server_manager.generate(
            request_id=request, prompt_ids=list(rollout.ids), sampling_params=asked
        )
        rollout.generating_s += time.monotonic() - began
        ids = list(reply.token_ids)[:room]
        is_whole = bool(ids) and (len(ids) < room or ids[-1] == self.tokenizer.eos_token_id)
        if worker.sink is not None:
            text = str(self.tokenizer.decode(ids, skip_special_tokens=False))
            worker.sink.put(rollout.call(ids, text, asked, is_whole=is_whole), tuple(rollout.messages))
        if reply.stop_reason in _ABORTED or not ids:
            rollout.session.cut(StopReason.UNAVAILABLE, "the engine gave the agent's turn up")
            return None
        await self._spoken(rollout, ids, reply)
        if not is_whole:
            rollout.session.cut(StopReason.MAX_TOKENS, f"the agent's turn was cut off after {len(ids):,} tokens")
            return None
        message = await self._read(ids, rollout)
        rollout.calls += len(message.tool_calls) + len(message.malformed_calls)
        rollout.add(message)
        return message

    async def _spoken(self, rollout: Rollout, ids: list[int], reply: Any) -> None:
        """Take over what was sampled, and what the engine says about it."""
        told = list(reply.log_probs)[: len(ids)] if reply.log_probs else None
        before = rollout.logprobs if rollout.mask or told is None else []
        merged, rollout.mask, rollout.logprobs = await self.ct_merge_assistant_token(
            rollout.ids, ids, rollout.mask, before, assistant_logprobs=told
        )
        rollout.ids = merged.token_ids
        rollout.hear(reply)

    async def _read(self, ids: list[int], rollout: Rollout) -> AssistantMessage:
        end = self.tokenizer.eos_token
        if self._format == "hermes":
            text = str(self.tokenizer.decode(ids, skip_special_tokens=False)).rstrip()
            return read_turn(text.removesuffix(end), rollout.calls + 1)
        content, found = await self._parser.extract_tool_calls(ids, _schemas(rollout.tools))
        calls = [(call.name, call.arguments) for call in found]
        return parsed_turn((content or "").rstrip().removesuffix(end), calls, rollout.calls + 1)

    async def _answer(self, rollout: Rollout, message: AssistantMessage) -> None:
        step = await rollout.session.step(message)
        before = list(rollout.spelled)
        rollout.add(*step.messages)
        if step.stop is not None:
            return  # a completion ends with what the agent said, never with what it was told
        merged, mask, logprobs = await self.ct_merge_context_msg(
            before, rollout.spelled, rollout.ids, rollout.mask, rollout.logprobs, tools=rollout.tools
        )
        if len(mask) >= self._response_tokens or len(merged.token_ids) >= self._context:
            rollout.session.cut(StopReason.CONTEXT_OVERFLOW, "what the environment answered does not fit any more")
            return
        rollout.ids, rollout.mask, rollout.logprobs = merged.token_ids, mask, logprobs


def _place(row: dict[str, Any]) -> tuple[str, int, str]:
    """Split, step and task of a row."""
    info = row.get("extra_info") or {}
    if "task_id" not in info:
        raise ConfigError("a row has no extra_info.task_id: write the data of verl with simia's verl_rows.write_rows")
    return str(info.get("split") or "train"), int(row.get("global_steps", 0)), str(info["task_id"])


def _schemas(tools: list[JsonObject] | None) -> list[Any]:
    """The tools as verl's readers take them, for which they cast arguments. One whose schema verl cannot hold is left
    out: its arguments stay as they were written.
    """
    held = []
    for tool in tools or ():
        try:
            held.append(OpenAIFunctionToolSchema.model_validate(tool))
        except ValidationError:
            continue
    return held


def _worker_name() -> str:
    """The same for the n-th worker in every job, so that its run is gone on with; elsewhere one for this process."""
    actor = ray.get_runtime_context().get_actor_name() if ray.is_initialized() else None
    found = _WORKER.match(actor or "")
    return f"worker-{found[1]}" if found else f"{socket.gethostname()}-{os.getpid()}"

"""One episode as tokens: what verl's agent loop gathers, and what verl is told of it at the end."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from simia.environment.session import Session
from simia.formats.chat_template import as_template
from simia.store.calls import CallRecord
from simia.types import Episode, JsonObject, Message, Reward, Sampling, SystemMessage, Usage, content_id


@dataclass
class Rollout:
    """One episode as tokens. ``mask`` and ``logprobs`` are of the tokens after the prompt: 1 where the agent spoke, and
    what the engine told of it; 0 and 0.0 where the environment did.
    """

    session: Session
    ids: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] | None = None
    messages: list[Message] = field(default_factory=list)
    spelled: list[JsonObject] = field(default_factory=list)
    calls: int = 0
    told: JsonObject = field(default_factory=dict)
    routed_experts: Any = None
    preempted: int = -1
    generating_s: float = 0.0
    answering_s: float = 0.0
    judging_s: float = 0.0

    def add(self, *messages: Message) -> None:
        """Go on with the conversation."""
        self.messages += messages
        self.spelled += [as_template(message) for message in messages]

    @property
    def tools(self) -> list[JsonObject] | None:
        """The tools as chat templates take them."""
        return [tool.as_openai() for tool in self.session.tools] or None

    def hear(self, reply: Any) -> None:
        """Take over what the engine says beside a turn: versions of the weights, routes of experts, interruptions."""
        if reply.routed_experts is not None:
            self.routed_experts = reply.routed_experts
        if reply.num_preempted is not None:
            self.preempted = max(self.preempted, 0) + reply.num_preempted
        first = self.told.get("min_global_steps")
        self.told |= reply.extra_fields
        if first is not None:
            self.told["min_global_steps"] = first

    def tokens(self) -> dict[str, Any]:
        """The fields of verl's output that are tokens, or as many as these."""
        start = len(self.ids) - len(self.mask)
        experts = self.routed_experts
        return {
            "prompt_ids": self.ids[:start],
            "response_ids": self.ids[start:],
            "response_mask": self.mask,
            "response_logprobs": self.logprobs,
            "routed_experts": None if experts is None else experts[: len(self.ids)],
        }

    def told_of(self, episode: Episode, reward: Reward) -> dict[str, Any]:
        """The other fields. Numbers under ``reward_extra_info`` become metrics of validation."""
        parts = {f"part/{name}": value for name, value in reward.parts.items()}
        return {
            "reward_score": float(reward.value),
            "num_turns": sum(not isinstance(message, SystemMessage) for message in self.messages),
            "extra_fields": {
                **self.told,
                "turn_scores": [],
                "tool_rewards": [],
                "reward_extra_info": {"truncated": float(episode.is_truncated), "turns": float(episode.turns), **parts},
                "simia": {"episode": episode.id, "group": episode.group, "stop": episode.trajectory.stop_reason.value},
            },
        }

    def metrics(self) -> dict[str, Any]:
        """Seconds that the engine, the environment and the judge took."""
        return {
            "generate_sequences": self.generating_s,
            "tool_calls": self.answering_s,
            "compute_score": self.judging_s,
            "num_preempted": self.preempted,
        }

    def call(self, ids: Sequence[int], text: str, asked: JsonObject, *, is_whole: bool) -> CallRecord:
        """The record of a turn, which was given all tokens so far. To be made before its tokens are taken over."""
        return CallRecord(
            episode=self.session.id,
            role="agent",
            model="policy",
            request=content_id(self.ids),
            messages=tuple(message.content_id for message in self.messages),
            sampling=Sampling(
                temperature=float(asked.get("temperature", 1.0)),
                max_tokens=asked["max_tokens"],
                top_p=float(asked.get("top_p", 1.0)),
            ),
            text=text,
            finish_reason="stop" if is_whole else "length",
            usage=Usage(prompt_tokens=len(self.ids), completion_tokens=len(ids)),
        )

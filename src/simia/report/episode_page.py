"""The page of one episode: its talk with every change of the state, its votes, and all that models were asked in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simia import __version__
from simia.environment.reward.evidence import shortened
from simia.formats.calls import calls_of, dump_json
from simia.report.charts import count_text
from simia.report.episode_calls import Asked, Totals, asked, drawn_text, seconds_text, tokens_text
from simia.report.episode_facts import facts_of, number_text, vote_rows, world_of
from simia.report.episode_turns import Changed, tell
from simia.report.page import document
from simia.store import Run
from simia.types import AssistantMessage, Episode, MalformedToolCall, Message, ToolCall, ToolMessage, WorldSpec

_LONGEST_VALUE = 2000
_MOST_CHANGES = 200


@dataclass(frozen=True, slots=True)
class _Block:
    """The closed fold of one call of a model; the page's script fills it when it is opened."""

    number: int
    role: str
    model: str
    tokens: str
    seconds: str
    error: str
    like: int | None


def render_episode_page(run: Run, episode: Episode) -> str:
    """The HTML of one self-contained page about ``episode``, whose run may still be going on.

    Messages that prompts share are in it once, so it is about as large as what was said in all.

    Raises:
        CorruptStream: a call, or a message of its prompt, cannot be read.
    """
    told = tell(episode)
    calls = list(asked(run, episode.id))
    messages = _Messages(run)
    data = [_call(one, messages) for one in calls]
    totals = Totals.of(calls)
    world = world_of(run, episode)
    trajectory, reward = episode.trajectory, episode.reward
    return document(
        "episode",
        {"calls": data, "messages": messages.shown},
        version=__version__,
        id=episode.id,
        task=trajectory.task,
        run=run.manifest.run,
        verdict=_verdict(episode),
        tone=_tone(episode),
        facts=facts_of(episode, told, world, totals),
        why=episode.detail if episode.is_masked else "",
        party=episode.attributed_to.value,
        stop=trajectory.stop_reason.value,
        reason="" if reward is None else reward.reason,
        votes=vote_rows(episode.votes),
        turns=told.turns,
        tracked=told.changes is not None,
        changes=told.changes or (),
        cut=cut_changes,
        more=lambda changes: max(0, len(changes) - _MOST_CHANGES),
        blocks=[_block(one) for one in calls],
        roles=[(role, count_text(count)) for role, count in totals.calls.items()],
        total=tokens_text(totals.usage),
        folds=_folds(episode, world, told.final),
        prompts=sorted(trajectory.provenance.prompts.items()),
        repairs=trajectory.repairs,
    )


def cut_changes(changes: Sequence[Changed]) -> list[tuple[str, str | None, str | None]]:
    """Path, old and new value of the first changes, long values without their middle."""
    return [
        (
            " › ".join(one.path),
            None if one.old is None else shortened(one.old, _LONGEST_VALUE),
            None if one.new is None else shortened(one.new, _LONGEST_VALUE),
        )
        for one in changes[:_MOST_CHANGES]
    ]


class _Messages:
    """The messages of prompts, each once, as the page's script reads them."""

    def __init__(self, run: Run) -> None:
        self.shown: list[dict[str, Any]] = []
        self._run = run
        self._places: dict[str, int] = {}

    def place(self, message_id: str) -> int:
        """Where the message stands."""
        if message_id not in self._places:
            self._places[message_id] = len(self.shown)
            self.shown.append(_message(self._run.calls.text(message_id)))
        return self._places[message_id]


def _message(message: Message) -> dict[str, Any]:
    told: dict[str, Any] = {"role": message.role, "text": message.content}
    if isinstance(message, ToolMessage):
        told["of"] = f"{message.name} {message.call_id}"
        told["error"] = message.is_error
    if isinstance(message, AssistantMessage):
        told["reasoning"] = message.reasoning
        told["calls"] = [_spelled(call) for call in calls_of(message)]
    return told


def _spelled(call: ToolCall | MalformedToolCall) -> dict[str, str]:
    if isinstance(call, ToolCall):
        return {"name": call.name, "id": call.id, "arguments": dump_json(call.arguments)}
    return {"name": call.name or "an unreadable call", "id": call.id, "arguments": call.text}


def _call(one: Asked, messages: _Messages) -> dict[str, Any]:
    record = one.record
    return {
        "prompt": [messages.place(message_id) for message_id in record.messages],
        "facts": [
            ("model", record.model),
            ("tokens", tokens_text(record.usage)),
            ("time", seconds_text(record.seconds)),
            ("drawn with", drawn_text(record)),
            ("ended", record.finish_reason),
            ("request", record.request),
            ("like", f"the same request as call {one.like}" if one.like else ""),
        ],
        "text": record.text,
        "reasoning": record.reasoning,
        "calls": [_spelled(call) for call in record.tool_calls],
        "error": record.error,
    }


def _block(one: Asked) -> _Block:
    record = one.record
    return _Block(
        one.number,
        record.role,
        record.model,
        tokens_text(record.usage),
        seconds_text(record.seconds),
        record.error,
        one.like,
    )


def _verdict(episode: Episode) -> str:
    if episode.reward is None:
        return f"masked: {episode.attributed_to.value}"
    return f"reward {number_text(episode.reward.value)}"


def _tone(episode: Episode) -> str:
    if episode.reward is None:
        return "dropped"
    return "kept" if episode.reward.value > 0 else "failed"


def _folds(episode: Episode, world: WorldSpec | None, final: Any) -> list[tuple[str, str]]:
    """Texts that few will open, under their titles; those that are JSON are laid out by the page's script."""
    first = episode.trajectory.initial_state
    folds = [("State at the start", "" if first is None else dump_json(first))]
    folds.append(("State at the end", "" if final is None else dump_json(final)))
    if world is not None:
        folds.append((f"Policy of {world.name}", world.policy))
        tools = [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in world.tools
        ]
        folds.append((f"Tools of {world.name}", dump_json(tools)))
    return [(title, text) for title, text in folds if text]

"""What is said about one episode before its talk: how it ended, whose doing that is, and what it was worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from simia.errors import CorruptStream
from simia.report.charts import count_text, share_text
from simia.report.episode_calls import Totals, seconds_text
from simia.report.episode_turns import Told
from simia.store import Run
from simia.types import Episode, Reward, Vote, WorldSpec

Verdict = Literal["kept", "failed", "dropped"]
Facts = Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True, slots=True)
class VoteRow:
    """A vote as a row; ``tone`` is kept, failed or dropped, for one that passes, fails or cannot be read."""

    number: int
    verdict: str
    tone: Verdict
    rule: str
    order: str
    temperature: str
    reason: str


def world_of(run: Run, episode: Episode) -> WorldSpec | None:
    """The world of ``episode``, or None where whoever played it did not keep it in the run."""
    try:
        return run.worlds.get(episode.trajectory.world)
    except CorruptStream:
        return None


def facts_of(episode: Episode, told: Told, world: WorldSpec | None, totals: Totals) -> Facts:
    """Names with their lines."""
    trajectory, origin = episode.trajectory, episode.trajectory.provenance
    return [
        ("Group", [episode.group]),
        ("World", [f"{world.name} ({world.licence})" if world else f"{trajectory.world[:12]}, not kept in this run"]),
        ("Ended", [ended_text(episode)]),
        ("Attributed to", [attributed_text(episode)]),
        ("Reward", reward_lines(episode.reward)),
        ("Length", [length_text(episode, told)]),
        ("Models asked", totals.words or ["none"]),
        ("Played by", [origin.model]),
        ("Seed", [f"{origin.seed}, attempt {origin.attempt} ({origin.licence or 'no licence named'})"]),
    ]


def ended_text(episode: Episode) -> str:
    """The stop reason, of which kind it is, and why in words."""
    stop = episode.trajectory.stop_reason
    if stop.is_truncation:
        kind = ", truncated: a limit cut it off"
    elif stop.is_failure:
        kind = ", failed: somebody other than the agent could not go on"
    else:
        kind = ""
    return f"{stop.value}{kind}" + (f" ({episode.detail})" if episode.detail and not episode.is_masked else "")


def attributed_text(episode: Episode) -> str:
    """Whose doing the end is, and what follows from it."""
    if episode.is_masked:
        why = episode.detail or "no reason is named"
        return f"{episode.attributed_to.value}, so it is masked and counts for nothing: {why}"
    return f"{episode.attributed_to.value}, so it is scored"


def reward_lines(reward: Reward | None) -> list[str]:
    """The value, its parts, and how far the votes agree."""
    if reward is None:
        return ["none"]
    lines = [number_text(reward.value)]
    if reward.parts:
        lines.append("of " + ", ".join(f"{name} {number_text(value)}" for name, value in reward.parts.items()))
    if reward.votes:
        lines.append(agreement_text(reward))
    return lines


def agreement_text(reward: Reward) -> str:
    """``3 votes: 2 pass, 1 fail; agreement 66.7 %``."""
    passing = sum(vote.passes is True for vote in reward.votes)
    failing = sum(vote.passes is False for vote in reward.votes)
    unread = len(reward.votes) - passing - failing
    shares = [f"{passing} pass", f"{failing} fail"] + ([f"{unread} unreadable"] if unread else [])
    said = f"{_plural(len(reward.votes), 'vote', 'votes')}: {', '.join(shares)}"
    return said if reward.agreement is None else f"{said}; agreement {share_text(reward.agreement)}"


def length_text(episode: Episode, told: Told) -> str:
    """Turns, calls, and what went wrong in them."""
    calls = list(told.calls)
    parts = [
        _plural(episode.turns, "turn of the agent", "turns of the agent"),
        _plural(len(calls), "call", "calls"),
        _plural(sum(call.is_error for call in calls), "error", "errors"),
        _plural(len(episode.trajectory.faults), "programmed fault", "programmed faults"),
        f"{seconds_text(episode.seconds)} in environment and judge",
    ]
    return ", ".join(parts)


def vote_rows(votes: Sequence[Vote]) -> list[VoteRow]:
    """The votes in their order."""
    words: dict[bool | None, tuple[str, Verdict]] = {
        True: ("passes", "kept"),
        False: ("fails", "failed"),
        None: ("unreadable", "dropped"),
    }
    return [
        VoteRow(number, *words[vote.passes], vote.rule, vote.order, f"{vote.temperature:g}", vote.reason)
        for number, vote in enumerate(votes, start=1)
    ]


def number_text(value: float) -> str:
    """``0.6667``: at most four digits."""
    return f"{value:.4g}"


def _plural(count: int, one: str, many: str) -> str:
    return f"{count_text(count)} {one if count == 1 else many}"

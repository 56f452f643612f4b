"""Which episodes a list shows, and what it says of each."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from heapq import nlargest, nsmallest
from typing import Literal

from simia.environment.episodes import EpisodeCounts, EpisodeLog
from simia.report.charts import count_text
from simia.report.episode_facts import number_text
from simia.types import AssistantMessage, Episode, JsonObject, Party, ToolMessage

Order = Literal["latest", "worst", "best"]


@dataclass(frozen=True, slots=True)
class Row:
    """One episode of a list. ``agreement`` is that of the judge's votes, None without; ``detail`` why it ended or was
    masked.
    """

    ordinal: int
    id: str
    reward: float | None
    agreement: float | None
    stop: str
    party: str
    turns: int
    calls: int
    errors: int
    faults: int
    seconds: float
    detail: str

    @classmethod
    def of(cls, ordinal: int, episode: Episode) -> "Row":
        """The row of ``episode``."""
        messages, reward = episode.trajectory.messages, episode.reward
        agents = [message for message in messages if isinstance(message, AssistantMessage)]
        return cls(
            ordinal=ordinal,
            id=episode.id,
            reward=None if reward is None else reward.value,
            agreement=None if reward is None else reward.agreement,
            stop=episode.trajectory.stop_reason.value,
            party=episode.attributed_to.value,
            turns=len(agents),
            calls=sum(len(message.tool_calls) + len(message.malformed_calls) for message in agents),
            errors=sum(isinstance(message, ToolMessage) and message.is_error for message in messages),
            faults=len(episode.trajectory.faults),
            seconds=episode.seconds,
            detail=episode.detail,
        )

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of a table under :data:`HEADER`."""
        counts = (self.turns, self.calls, self.errors, self.faults)
        return (
            self.id,
            "masked" if self.reward is None else number_text(self.reward),
            "-" if self.agreement is None else number_text(self.agreement),
            self.stop,
            self.party,
            *map(count_text, counts),
            f"{self.seconds:.1f}",
            self.detail,
        )

    def as_json(self) -> JsonObject:
        """The row by name."""
        return asdict(self)


HEADER = ("episode", "reward", "agreement", "ended", "party", "turns", "calls", "errors", "faults", "seconds", "why")
NUMBERS = (1, 2, 5, 6, 7, 8, 9)
"""Columns that hold numbers."""
NARROW = (0, 1, 3, 4)
"""Columns for where there is little room."""


@dataclass(frozen=True, slots=True)
class EpisodeList:
    """Some rows, how many there were to choose from, and what became of all episodes of the run."""

    rows: tuple[Row, ...]
    fitting: int
    counts: EpisodeCounts


def list_episodes(
    log: EpisodeLog, *, limit: int, order: Order = "latest", masked: bool = False, party: Party | None = None
) -> EpisodeList:
    """At most ``limit`` episodes, reading all of them once and holding no more than these rows.

    Args:
        order: the last ones in the order of the run, or those with the lowest or the highest reward; a masked episode
            has none and is not among these.
        masked: only masked ones.
        party: only those whose end is the doing of this party.
    """
    counts = EpisodeCounts(failed=sum(1 for _ in log.failed()))
    fitting = 0

    def offered() -> Iterator[Row]:
        nonlocal fitting
        for ordinal, episode in log.iterate():
            counts.add(episode)
            if (masked and not episode.is_masked) or party not in (None, episode.attributed_to):
                continue
            if order == "latest" or not episode.is_masked:
                fitting += 1
                yield Row.of(ordinal, episode)

    rows = _chosen(offered(), order, limit)
    return EpisodeList(tuple(rows), fitting, counts)


def counts_words(counts: EpisodeCounts) -> list[tuple[str, str]]:
    """Names and values of what became of all episodes of a run."""
    mean = "-" if counts.mean_reward is None else number_text(counts.mean_reward)
    facts = [
        ("episodes", f"{count_text(counts.kept)}, of which {count_text(counts.scored)} are scored; mean reward {mean}"),
        ("masked", _shares(counts.masked.total(), ((p.value, n) for p, n in counts.masked.most_common()))),
        ("truncated", count_text(counts.truncated)),
        ("ended", ", ".join(f"{stop.value} {count_text(n)}" for stop, n in counts.stops.most_common()) or "-"),
    ]
    return facts + ([("unfinished", f"{count_text(counts.failed)} could not be judged")] if counts.failed else [])


def _shares(total: int, parts: Iterable[tuple[str, int]]) -> str:
    said = ", ".join(f"{name} {count_text(count)}" for name, count in parts)
    return f"{count_text(total)} ({said})" if said else count_text(total)


def _chosen(rows: Iterator[Row], order: Order, limit: int) -> Iterable[Row]:
    if order == "worst":
        return nsmallest(limit, rows, key=lambda row: row.reward or 0.0)
    if order == "best":
        return nlargest(limit, rows, key=lambda row: row.reward or 0.0)
    return deque(rows, maxlen=limit)

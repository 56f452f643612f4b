"""What models were asked in one episode: call by call, and summed up by role."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from simia.report.charts import count_text
from simia.store import Run
from simia.store.calls import CallRecord
from simia.types import Usage


@dataclass(frozen=True, slots=True)
class Asked:
    """One call of a model; numbers count from 1. ``like`` is the number of an earlier call with the same request: this
    one was answered from what was paid for, as where an episode is played again after its run was killed.
    """

    number: int
    record: CallRecord
    like: int | None


def asked(run: Run, episode_id: str) -> Iterator[Asked]:
    """The calls of one episode in the order of their answers.

    Raises:
        CorruptStream: a line cannot be read.
    """
    seen: dict[str, int] = {}
    for number, record in enumerate(run.calls.of(episode_id), start=1):
        like = seen.setdefault(record.request, number)
        yield Asked(number, record, like if like != number else None)


@dataclass(slots=True)
class Totals:
    """The calls of some roles together. ``again`` are those whose request had been asked before in the episode: it was
    played again after its run was killed.
    """

    calls: dict[str, int] = field(default_factory=dict)
    failed: int = 0
    again: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0

    @classmethod
    def of(cls, calls: Iterable[Asked]) -> "Totals":
        """The sum of ``calls``."""
        totals = cls()
        for one in calls:
            totals.add(one.record)
            totals.again += one.like is not None
        return totals

    def add(self, record: CallRecord) -> None:
        """Count one call."""
        self.calls[record.role] = self.calls.get(record.role, 0) + 1
        self.failed += bool(record.error)
        self.usage = self.usage + record.usage
        self.seconds += record.seconds

    @property
    def words(self) -> list[str]:
        """Who was asked how often, and for how many tokens; empty where nobody was."""
        if not self.calls:
            return []
        roles = ", ".join(f"{role} {count_text(count)}" for role, count in self.calls.items())
        failed = f"; {count_text(self.failed)} without an answer" if self.failed else ""
        again = f"; {count_text(self.again)} of them again" if self.again else ""
        return [f"{roles}{failed}{again}", f"{tokens_text(self.usage)}, {seconds_text(self.seconds)} in all"]


def tokens_text(usage: Usage) -> str:
    """``1,234 tokens in (1,000 cached), 56 out``."""
    cached = f" ({count_text(usage.cached_tokens)} cached)" if usage.cached_tokens else ""
    thought = f" ({count_text(usage.reasoning_tokens)} reasoning)" if usage.reasoning_tokens else ""
    return f"{count_text(usage.prompt_tokens)} tokens in{cached}, {count_text(usage.completion_tokens)} out{thought}"


def seconds_text(seconds: float) -> str:
    """``0.41 s``, ``12.3 s``."""
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:,.1f} s"


def drawn_text(record: CallRecord) -> str:
    """How the answer was drawn: ``temperature 0.4, seed 17, at most 512 tokens``."""
    sampling = record.sampling
    parts = [f"temperature {sampling.temperature:g}"]
    if sampling.top_p != 1:
        parts.append(f"top_p {sampling.top_p:g}")
    if sampling.seed is not None:
        parts.append(f"seed {sampling.seed}")
    parts.append(f"at most {count_text(sampling.max_tokens)} tokens")
    return ", ".join(parts)

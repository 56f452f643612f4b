"""A judge measured against executable truth: how often it is right, and what fools it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from simia.config import rng_for
from simia.environment.reward.judge import PolicyJudge, decided
from simia.environment.reward.known import KINDS, KnownEpisode
from simia.environment.together import together
from simia.errors import JudgeError
from simia.types import JsonObject, Reward, Value, Vote
from simia.types.rate import Rate

_RESAMPLES = 1000
_TAIL = 0.025


class Verdict(Value):
    """What a judge said of an episode, beside the truth. ``passes`` is None where it gave no verdict, and ``detail``
    says why.
    """

    episode: str
    task: str
    world: str
    kind: str
    variant: str
    truth: bool
    passes: bool | None
    votes: tuple[Vote, ...]
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Kappa:
    """Cohen's kappa: agreement beyond chance, 1 at the most. ``low`` and ``high`` bound it with 95 % confidence; they
    are None where there are too few tasks to tell.
    """

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Calibration:
    """What the verdicts come to. A masked one, which is none, counts in no rate but that of unreadable votes."""

    verdicts: tuple[Verdict, ...]
    seed: int = 0

    @cached_property
    def judged(self) -> tuple[Verdict, ...]:
        """Those with a verdict."""
        return tuple(verdict for verdict in self.verdicts if verdict.passes is not None)

    @property
    def masked(self) -> int:
        """Episodes without a verdict."""
        return len(self.verdicts) - len(self.judged)

    @property
    def precision(self) -> Rate:
        """Of the episodes that were passed, those that do their task."""
        return Rate.of(verdict.truth for verdict in self.judged if verdict.passes)

    @property
    def recall(self) -> Rate:
        """Of the episodes that do their task, those that were passed."""
        return Rate.of(verdict.passes is True for verdict in self.judged if verdict.truth)

    @property
    def accuracy(self) -> Rate:
        """Verdicts that are the truth."""
        return Rate.of(verdict.passes is verdict.truth for verdict in self.judged)

    @property
    def unreadable(self) -> Rate:
        """Votes that could not be read."""
        return Rate.of(vote.passes is None for verdict in self.verdicts for vote in verdict.votes)

    @property
    def agreement(self) -> Rate:
        """Readable votes that say what most of their episode's readable votes say."""
        counts = [Counter(vote.passes for vote in verdict.votes if vote.passes is not None) for verdict in self.judged]
        return Rate(sum(max(count.values(), default=0) for count in counts), sum(count.total() for count in counts))

    @cached_property
    def kappa(self) -> Kappa | None:
        """Agreement of judge and truth beyond chance; None where one of the two never varies in the same way as the
        other. The interval is a bootstrap over tasks, because the episodes of one task are alike.
        """
        value = cohens_kappa([self.judged])
        if value is None:
            return None
        by_task: defaultdict[str, list[Verdict]] = defaultdict(list)
        for verdict in self.judged:
            by_task[verdict.task].append(verdict)
        tasks = list(by_task.values())
        rng = rng_for(self.seed, "calibration/kappa")
        drawn = (cohens_kappa(rng.choices(tasks, k=len(tasks))) for _ in range(_RESAMPLES))
        found = sorted(one for one in drawn if one is not None)
        if len(tasks) < 2 or 2 * len(found) < _RESAMPLES:
            return Kappa(value, None, None)
        return Kappa(value, found[int(_TAIL * len(found))], found[int((1 - _TAIL) * len(found))])

    def of_kind(self, kind: str) -> "Calibration":
        """The same of the episodes of one kind."""
        return Calibration(tuple(verdict for verdict in self.verdicts if verdict.kind == kind), self.seed)

    @property
    def false_passes(self) -> Rate:
        """Of the episodes that do not do their task, those that were passed."""
        return Rate.of(verdict.passes is True for verdict in self.judged if not verdict.truth)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the episodes, in the order of :data:`simia.environment.reward.known.KINDS`."""
        there = {verdict.kind for verdict in self.verdicts}
        return tuple(kind for kind in KINDS if kind in there)

    def as_json(self) -> JsonObject:
        """Every figure, each rate with its counts and its interval."""
        kappa = self.kappa
        return {
            "episodes": len(self.verdicts),
            "masked": self.masked,
            "precision": _as_json(self.precision),
            "recall": _as_json(self.recall),
            "accuracy": _as_json(self.accuracy),
            "false_passes": _as_json(self.false_passes),
            "kappa": None if kappa is None else {"value": kappa.value, "low": kappa.low, "high": kappa.high},
            "unreadable_votes": _as_json(self.unreadable),
            "agreement": _as_json(self.agreement),
            "kinds": {kind: _kind_as_json(self.of_kind(kind)) for kind in self.kinds},
        }


async def calibrate(judge: PolicyJudge, episodes: Iterable[KnownEpisode], *, seed: int = 0) -> Calibration:
    """The judge asked about every episode, all at once. ``seed`` moves the bootstrap.

    Raises:
        ModelError: nobody answered.
    """
    return Calibration(tuple(await together(judged_by(judge, episode) for episode in episodes)), seed)


async def judged_by(judge: PolicyJudge, episode: KnownEpisode) -> Verdict:
    """What ``judge`` says of an episode. That it gives no verdict is one of the things that are measured.

    Raises:
        ModelError: nobody answered.
    """
    votes = await judge.votes(episode.played)
    reward: Reward | None = None
    detail = ""
    try:
        reward = decided(votes)
    except JudgeError as cause:
        detail = str(cause)
    return Verdict(
        episode=episode.id,
        task=episode.played.task.id,
        world=episode.world,
        kind=episode.kind,
        variant=episode.variant,
        truth=episode.truth,
        passes=None if reward is None else reward.value == 1,
        votes=votes,
        detail=detail,
    )


def cohens_kappa(groups: Sequence[Sequence[Verdict]]) -> float | None:
    """Cohen's kappa (1960) of verdict and truth over all ``groups``; None where chance alone would agree always."""
    counts = Counter((verdict.truth, verdict.passes) for group in groups for verdict in group)
    total = counts.total()
    if not total:
        return None
    agreed = (counts[True, True] + counts[False, False]) / total
    true = (counts[True, True] + counts[True, False]) / total
    passed = (counts[True, True] + counts[False, True]) / total
    chance = true * passed + (1 - true) * (1 - passed)
    return None if chance == 1 else (agreed - chance) / (1 - chance)


def _as_json(rate: Rate) -> JsonObject:
    return {"value": rate.value, "hits": rate.hits, "count": rate.count, "low": rate.low, "high": rate.high}


def _kind_as_json(part: Calibration) -> JsonObject:
    return {
        "episodes": len(part.verdicts),
        "masked": part.masked,
        "recall": _as_json(part.recall),
        "false_passes": _as_json(part.false_passes),
    }

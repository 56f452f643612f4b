"""What a run of the benchmark shows: every answer with its verdicts, and rates over any selection of them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

from simia.bench.drift import DriftAnswer, DriftStep, compare
from simia.bench.prediction import Prediction
from simia.bench.published import PublishedVerdict, published_verdict
from simia.bench.questions import chosen, episode_items, ordered
from simia.bench.run import ANSWERS, DRIFT, SUITE_FILE
from simia.bench.sample import Sample
from simia.bench.score import Score, score, similarity
from simia.bench.settings import BenchSettings
from simia.bench.strata import CHANGING, Group, group_of
from simia.bench.suite import Suite, read_suite
from simia.config import checked
from simia.errors import ConfigError, StoreError
from simia.store import Manifest, Run
from simia.types.rate import Rate


@dataclass(frozen=True, slots=True)
class Verdict:
    """One sample, what was answered, and how right it is by our rule and by the released one."""

    sample: Sample
    prediction: Prediction
    score: Score
    published: PublishedVerdict

    @property
    def group(self) -> Group:
        """The sample's stratum."""
        return group_of(self.sample)


@dataclass(frozen=True)
class Results:
    """A run's answers, scored. ``unanswered`` samples are those that nobody answered, through no fault of the
    simulator: they are in no rate. ``asked`` is how many the run asks in all, and ``episodes`` how many it follows.
    """

    folder: Path
    manifest: Manifest
    settings: BenchSettings
    suite: Suite
    verdicts: tuple[Verdict, ...]
    drifts: tuple[tuple[DriftStep, ...], ...]
    asked: int
    unanswered: int
    episodes: int = 0

    @property
    def label(self) -> str:
        """What the row is called."""
        return self.manifest.model

    @property
    def is_complete(self) -> bool:
        """Whether every sample that the run asks has an answer."""
        return len(self.verdicts) == self.asked

    def config_match(self, verdicts: Iterable[Verdict] | None = None) -> Rate | None:
        """Config Match over ``verdicts``, all by default; None in the hidden setting."""
        known = [verdict.score.config_match for verdict in (self.verdicts if verdicts is None else verdicts)]
        if self.settings.setting == "hidden":
            return None
        return Rate.of(match is True for match in known)

    def feedback_match(self, verdicts: Iterable[Verdict] | None = None) -> Rate:
        """Feedback Match over ``verdicts``, all by default."""
        return Rate.of(verdict.score.feedback_match for verdict in (self.verdicts if verdicts is None else verdicts))

    @cached_property
    def similarity(self) -> float | None:
        """The mean over all answers of how alike the observation's text is; None of no answer. Computed when asked."""
        if not self.verdicts:
            return None
        return fmean(
            1.0 if verdict.score.feedback_match else similarity(verdict.sample, verdict.prediction)
            for verdict in self.verdicts
        )

    def changing(self) -> tuple[Verdict, ...]:
        """Verdicts on calls that change something."""
        return tuple(verdict for verdict in self.verdicts if verdict.group in CHANGING)

    def unchanging(self) -> tuple[Verdict, ...]:
        """Verdicts on calls that change nothing, refused ones among them."""
        return tuple(verdict for verdict in self.verdicts if verdict.group not in CHANGING)

    def problems(self) -> dict[str, int]:
        """How many answers could not be read or applied, by the word that says why."""
        counts: dict[str, int] = defaultdict(int)
        for verdict in self.verdicts:
            if verdict.score.problem:
                counts[verdict.score.problem.split(":")[0]] += 1
        return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def by(verdicts: Iterable[Verdict], key: Callable[[Verdict], Any]) -> dict[Any, list[Verdict]]:
    """``verdicts`` in groups, in the order of the keys."""
    groups: dict[Any, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        groups[key(verdict)].append(verdict)
    return dict(sorted(groups.items(), key=lambda pair: pair[0]))


def read_results(folder: Path) -> Results:
    """The results of the run in ``folder``, which may still be going on.

    Raises:
        ConfigError: the run is none of ``simia bench run``.
        StoreError: there is no run.
        CorruptStream: a stream cannot be read.
    """
    with Run.read(folder) as run:
        manifest = run.manifest
        if not (folder / SUITE_FILE).exists():
            raise ConfigError(
                f"{folder} is no run of simia bench run: it holds no suite; simia runs show tells of other runs"
            )
        settings = checked(BenchSettings, manifest.config, f"{folder}/run.json")
        suite = read_suite(folder / SUITE_FILE, "copy the suite that the run was begun with there again")
        if suite.sha256 != manifest.seeds.get("suite"):
            raise StoreError(f"the suite in {folder} is another one than the run was begun with: restore {SUITE_FILE}")
        hidden = settings.setting == "hidden"
        verdicts = tuple(_verdicts(run, suite, with_changes=not hidden))
        drifts = tuple(_drifts(run, suite, hidden=hidden))
        unanswered = run.stream(ANSWERS).counts().failed if ANSWERS in run.stream_names() else 0
    asked = len(chosen(suite, settings.limit))
    episodes = sum(1 for _ in episode_items(suite, settings.drift))
    return Results(folder, manifest, settings, suite, verdicts, drifts, asked, unanswered, episodes)


def _verdicts(run: Run, suite: Suite, *, with_changes: bool) -> Iterator[Verdict]:
    if ANSWERS not in run.stream_names():
        return
    samples = ordered(suite)
    for ordinal, _, prediction in run.stream(ANSWERS).kept(Prediction):
        sample = samples[ordinal]
        verdict = score(sample, prediction, with_changes=with_changes)
        yield Verdict(sample, prediction, verdict, published_verdict(sample, prediction))


def _drifts(run: Run, suite: Suite, *, hidden: bool) -> Iterator[tuple[DriftStep, ...]]:
    if DRIFT not in run.stream_names():
        return
    for ordinal, _, answer in run.stream(DRIFT).kept(DriftAnswer):
        yield compare(suite.episodes[ordinal], answer, hidden=hidden)

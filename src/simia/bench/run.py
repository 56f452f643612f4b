"""A run of the benchmark: every sample asked once, in a folder that can be resumed and that needs nothing else."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from simia import __version__
from simia.bench import questions
from simia.bench.baselines import PREFIX
from simia.bench.baselines import baseline as make_baseline
from simia.bench.drift import DriftAnswer, drift
from simia.bench.prediction import Prediction
from simia.bench.sample import Episode, Sample
from simia.bench.settings import FREE, GROWING, BenchSettings
from simia.bench.subjects import ModelSubject, Subject, demand_code
from simia.bench.suite import SUFFIX, Suite, read_suite, suite_path
from simia.errors import ConfigError, CostCeilingReached
from simia.models.address import Address
from simia.models.cast import Cast
from simia.models.choose import choose_model
from simia.models.meter import MeterTotals
from simia.pipeline import Item, Observer, Silent, run_stage
from simia.pipeline.metered import MeteredRun, Watch, metered_run
from simia.prompts import hashes
from simia.simulate import constrained, tracked
from simia.store import Counts, Manifest, Run
from simia.store.atomic import disk, write_atomically
from simia.types import Dynamics, Kept, Outcome

ANSWERS = "answers"
DRIFT = "drift"
SUITE_FILE = f"suite{SUFFIX}"

_AT_ONCE = 8  # a baseline waits for nobody


@dataclass
class Measured:
    """What a run came to. ``stages`` holds the counts by stream; how right the answers are is the report's."""

    folder: Path
    stages: dict[str, Counts] = field(default_factory=dict)
    totals: MeterTotals | None = None
    ceiling: CostCeilingReached | None = None

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped it."""
        return any(counts.interrupted for counts in self.stages.values())

    @property
    def failed(self) -> int:
        """Samples and episodes that nobody answered."""
        return sum(counts.failed for counts in self.stages.values())


@dataclass(frozen=True)
class Examination:
    """Who is asked what: everything that is settled before a run begins. ``cast`` is None for a baseline."""

    settings: BenchSettings
    suite: Suite
    suite_file: Path
    cast: Cast | None
    open_world: Callable[[str], Dynamics]

    @classmethod
    def settle(
        cls,
        settings: BenchSettings,
        env: Mapping[str, str],
        open_world: Callable[[str], Dynamics],
        *,
        resumed: Path | None = None,
    ) -> "Examination":
        """Read the suite and find the model. ``resumed`` is the folder of the run to go on with: where the suite that
        the settings name has gone, the folder's copy does.

        Raises:
            ConfigError, ModelError: one of them cannot be had; the message says what to do.
        """
        path = _suite_file(settings.suite, resumed)
        suite = read_suite(path)
        name = settings.model.name
        if name is not None and name.startswith(PREFIX):
            examination = cls(settings, suite, path, None, open_world)
            _ = examination.baseline  # an unknown one is told before there is a folder
            return examination
        if settings.setting == "constrained":
            demand_code(suite)
        cast = Cast({"model": choose_model(None, settings=settings.model, env=env)})
        cast.demand_prices()
        return cls(settings, suite, path, cast, open_world)

    @property
    def reason(self) -> str:
        """One sentence for the user: who is asked, and why."""
        if self.cast is None:
            return f"the baseline {(self.settings.model.name or '').removeprefix(PREFIX)}"
        return self.cast.reasons[0]

    @cached_property
    def baseline(self) -> Subject | None:
        """The subject where it is no model; its worlds are opened once."""
        if self.cast is not None or self.settings.model.name is None:
            return None
        name = self.settings.model.name.removeprefix(PREFIX)
        return make_baseline(name, self.suite, self.settings.setting, self.open_world)

    def manifest(self) -> Manifest:
        """What the run is made from.

        Raises:
            ConfigError: a base URL holds a secret.
        """
        if self.settings.model.base_url:
            Address.of(self.settings.model.base_url)
        prompts = constrained.PROMPTS if self.settings.setting == "constrained" else tracked.PROMPTS
        subject = self.baseline
        return Manifest(
            run=self.settings.name,
            version=__version__,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            config=self.settings.recorded() | {"limit": self._limit},
            prompts={} if self.cast is None else hashes(prompts),
            seeds={"suite": self.suite.sha256},
            licences=(self.suite.head.licence,),
            model=subject.name if subject is not None else self._cast().names,
            model_reason=self.reason,
        )

    def demand_same(self, folder: Path) -> None:
        """Make sure that the run in ``folder`` can be gone on with. Changes nothing.

        Raises:
            ManifestMismatch: it was made from something else; the message names the keys.
            StoreError: there is no run in the folder.
        """
        Run.check(folder, self.manifest(), free=FREE, growing=GROWING)

    @property
    def _limit(self) -> int:
        """How many samples are asked: as a number, so that a run of all of them is the largest."""
        whole = len(self.suite.samples)
        return min(self.settings.limit or whole, whole)

    def _cast(self) -> Cast:
        assert self.cast is not None
        return self.cast


async def measure(
    examination: Examination,
    folder: Path,
    *,
    resume: bool = False,
    observer: Observer | None = None,
    stop: asyncio.Event | None = None,
    watch: Watch | None = None,
) -> Measured:
    """Ask everything that the run in ``folder`` still lacks.

    Raises:
        StoreError: the run folder; see :class:`simia.store.Run`.
        ModelError: the model is gone; what was answered is kept.
    """
    manifest, cast, measured = examination.manifest(), examination.cast, Measured(folder)
    with metered_run(
        folder, manifest, cast, resume=resume, free=FREE, growing=GROWING, own=(SUITE_FILE,), watch=watch
    ) as metered:
        try:
            if not (folder / SUITE_FILE).exists():
                with disk(examination.suite_file, "read"):
                    content = examination.suite_file.read_bytes()
                write_atomically(folder / SUITE_FILE, content)
            await _Work(examination, metered, observer or Silent(), stop, measured).do()
        except CostCeilingReached as reached:
            measured.ceiling = reached
            for name in metered.run.stream_names():
                measured.stages.setdefault(name, metered.run.stream(name).counts())
        if cast is not None:
            measured.totals = metered.meter.totals()
    return measured


def _suite_file(name: str, resumed: Path | None) -> Path:
    copy = None if resumed is None else resumed / SUITE_FILE
    try:
        return suite_path(name)
    except ConfigError:
        if copy is None or not copy.is_file():
            raise
        return copy


@dataclass(frozen=True)
class _Work:
    examination: Examination
    metered: MeteredRun
    observer: Observer
    stop: asyncio.Event | None
    measured: Measured

    async def do(self) -> None:
        examination, cast, baseline = self.examination, self.examination.cast, self.examination.baseline
        if baseline is not None:
            await self._ask(baseline, _AT_ONCE)
            return
        assert cast is not None
        async with self.metered.models() as models:
            await self._ask(ModelSubject(models["model"], examination.suite, examination.settings), cast.in_flight)

    async def _ask(self, subject: Subject, in_flight: int) -> None:
        settings, suite, stages = self.examination.settings, self.examination.suite, self.measured.stages
        hidden = settings.setting == "hidden"
        asked = list(questions.items(suite, settings.limit))
        stages[ANSWERS] = await run_stage(
            _Answers(subject, self.metered.settled),
            asked,
            self.metered.run.stream(ANSWERS),
            in_flight=in_flight,
            observer=self.observer,
            stop=self.stop,
        )
        if not settings.drift or self.measured.interrupted:
            return
        stages[DRIFT] = await run_stage(
            _Drift(subject, hidden=hidden),
            list(questions.episode_items(suite, settings.drift)),
            self.metered.run.stream(DRIFT),
            in_flight=in_flight,
            observer=self.observer,
            stop=self.stop,
        )


class _Answers:
    """A stage: a sample becomes what the subject says to it. Nothing is ever dropped."""

    name = ANSWERS

    def __init__(self, subject: Subject, answered: Callable[[], None]) -> None:
        self._subject = subject
        self._answered = answered

    async def __call__(self, item: Item[Sample]) -> Outcome[Prediction]:
        prediction = await self._subject.answer(item.value)
        self._answered()
        return Kept(prediction)


class _Drift:
    """A stage: an episode becomes what the subject says at each of its steps, on its own state."""

    name = DRIFT

    def __init__(self, subject: Subject, *, hidden: bool) -> None:
        self._subject = subject
        self._hidden = hidden

    async def __call__(self, item: Item[Episode]) -> Outcome[DriftAnswer]:
        return Kept(await drift(self._subject, item.value, hidden=self._hidden))

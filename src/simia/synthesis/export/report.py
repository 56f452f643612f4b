"""The export of a run: its training files and their card, in the run's folder ``export``."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from simia.store import Run
from simia.synthesis.export.card import Card, StageCounts, non_commercial, render
from simia.synthesis.export.files import ExportedFile
from simia.synthesis.export.settings import ExportSettings
from simia.synthesis.export.write import CARD, write
from simia.types import Trajectory

_UNNAMED = ExportSettings().name
_STAGES = ("prefilter", "generate", "postprocess")
_MENDED_JSON = "json"  # the one mark in ``Trajectory.repairs`` that the simulator sets, and no pass


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was written. ``licences`` are those of the exported records, those of their worlds, whose policy and tools
    stand in every record, and those that the run was given.
    """

    folder: Path
    records: int
    files: tuple[ExportedFile, ...]
    card: Path
    licences: tuple[str, ...]

    @property
    def non_commercial(self) -> tuple[str, ...]:
        """The licences among them that forbid commercial use."""
        return non_commercial(self.licences)


class ExportStopped(Exception):
    """A stop was asked for before all records were written; the files of an earlier export are as they were."""


class _Census:
    """Counts trajectories as they stream by."""

    def __init__(self, run: Run, stream: str, stop: asyncio.Event | None) -> None:
        self._run = run
        self._stream = stream
        self._stop = stop
        self.records = 0
        self.worlds: Counter[str] = Counter()
        self.licences: set[str] = set(run.manifest.licences)
        self.notes: Counter[str] = Counter()

    def __iter__(self) -> Iterator[tuple[int, Trajectory]]:
        for ordinal, _, trajectory in self._run.stream(self._stream).kept(Trajectory):
            if self._stop is not None and self._stop.is_set():
                raise ExportStopped
            self.records += 1
            world = self._run.worlds.get(trajectory.world)
            self.worlds[world.name] += 1
            self.licences |= {trajectory.provenance.licence, world.licence}
            for kind in sorted({repair.partition(":")[0] for repair in trajectory.repairs}):
                what = (
                    "from a reply whose JSON had to be mended"
                    if kind == _MENDED_JSON
                    else f"changed by the pass `{kind}`"
                )
                self.notes[what] += 1
            if trajectory.faults:
                self.notes["with a programmed fault"] += 1
            if trajectory.plan is not None:
                self.notes[f"planned outcome: {trajectory.plan.outcome}"] += 1
            yield ordinal, trajectory


def export(
    run: Run, settings: ExportSettings, *, stream: str = "postprocess", stop: asyncio.Event | None = None
) -> ExportReport:
    """Write what ``run`` kept in ``stream`` in every format of ``settings``, and the card, into ``export/``.

    Everything in one pass; memory does not grow with the run. Files of other formats that lie there stay; the card
    does not name them. Files that an earlier export wrote under another ``settings.name`` go.

    Raises:
        ExportStopped: ``stop`` was set before the last record; nothing was changed.
        ConfigError: an unknown format, or one named twice.
        ExtraMissing: a format needs an extra.
        StoreError: a file cannot be written.
    """
    folder = run.folder / "export"
    census = _Census(run, stream, stop)
    files = write(
        settings.formats,
        census,
        run.worlds.get,
        folder,
        settings,
        lambda files: render(_card(run, settings, census, files)),
    )
    return ExportReport(folder, census.records, files, folder / CARD, tuple(sorted(census.licences)))


def _card(run: Run, settings: ExportSettings, census: _Census, files: tuple[ExportedFile, ...]) -> Card:
    written = run.stream_names()
    stages = []
    for name in _STAGES:
        if name in written:
            counts = run.stream(name).counts()
            stages.append(StageCounts(name, counts.seen, counts.kept, counts.failed, counts.dropped))
    manifest = run.manifest
    return Card(
        name=settings.name if settings.name != _UNNAMED else f"{_UNNAMED}-{manifest.run}",
        run=manifest.run,
        version=manifest.version,
        model=manifest.model,
        records=census.records,
        licences=tuple(sorted(census.licences)),
        files=files,
        stages=stages,
        worlds=census.worlds,
        prompts=manifest.prompts,
        seeds=manifest.seeds,
        notes=dict(sorted(census.notes.items())),
    )

"""The page of one or more runs of the benchmark: what was measured, who was right where, and every failed sample."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from markupsafe import Markup

from simia import __version__
from simia.bench.diagnosis import NOTE, went_wrong
from simia.bench.leaderboard import paired
from simia.bench.reference import published_source
from simia.bench.results import Results
from simia.bench.strata import GROUP_WORDS, GROUPS
from simia.report.bench_counts import by_tool, by_world
from simia.report.bench_curves import cliff, drift_curves, published_table
from simia.report.bench_entries import Entry, entries, lead, sentence, warnings
from simia.report.bench_failures import MOST_SHOWN, Failures
from simia.report.bench_tables import board, released
from simia.report.charts import count_text
from simia.report.lines import swatch
from simia.report.page import document
from simia.report.usage import read_totals, usage_facts
from simia.store import Run

_WORST_TOOLS = 12


def render_bench_page(runs: Sequence[Results], *, most_shown: int = MOST_SHOWN) -> str:
    """The HTML of one self-contained page about ``runs``, which may still be going on.

    Of each run at most ``most_shown`` failed samples are in it, spread over the strata.

    Raises:
        StoreError: a run's folder has gone.
    """
    shown = entries(runs)
    failures = Failures.of(shown, most_shown)
    names = sorted({entry.run.suite.head.name for entry in shown})
    return document(
        "bench",
        {"runs": [entry.name for entry in shown], "groups": [GROUP_WORDS[group] for group in GROUPS]}
        | failures.as_json(),
        title=" and ".join(names) or "no run",
        version=__version__,
        lead=lead(shown),
        sentences=[(swatch(entry.place), entry.name, sentence(entry)) for entry in shown],
        warnings=list(warnings(shown)),
        board=board(shown),
        pairs=paired([entry.run for entry in shown]),
        cliff=cliff(shown),
        published=published_table(),
        source=published_source(),
        released=released(shown),
        heats=[(entry, by_world(entry), by_tool(entry)) for entry in shown if entry.run.verdicts],
        first_heat=next((entry.place for entry in shown if entry.rate().value != 1), 0),
        worst=_WORST_TOOLS,
        drifts=drift_curves(shown),
        no_drift=[entry.name for entry in shown if not entry.run.episodes],
        entries=shown,
        wrong=went_wrong([entry.run for entry in shown]),
        wrong_note=NOTE,
        failures_note=_failures_note(shown, failures),
        abouts=[_about(entry) for entry in shown],
        swatch=swatch,
    )


def _failures_note(shown: Sequence[Entry], failures: Failures) -> str:
    if failures.shown == failures.failed:
        return f"All {count_text(sum(failures.failed))} are in this page."
    parts = [
        f"{count_text(part)} of {count_text(whole)} of {entry.name}"
        for entry, part, whole in zip(shown, failures.shown, failures.failed, strict=True)
        if part < whole
    ]
    return f"Not all are in this page: {'; '.join(parts)}, drawn alike from every stratum. The folders have all."


@dataclass(frozen=True, slots=True)
class _About:
    """What one run was made from."""

    name: str
    swatch: Markup
    facts: Sequence[tuple[str, Sequence[str]]]
    hashes: Sequence[tuple[str, str]]
    config: str


def _about(entry: Entry) -> _About:
    run = entry.run
    manifest, settings, head = run.manifest, run.settings, run.suite.head
    with Run.read(run.folder) as opened:
        totals = read_totals(opened)
    reason = "" if manifest.model_reason == manifest.model else manifest.model_reason
    facts: list[tuple[str, Sequence[str]]] = [
        ("Model", [part for part in (manifest.model, reason) if part]),
        ("Setting", [settings.setting + (f", boxed with up to {settings.max_repairs} repairs" * settings.boxed)]),
        ("Suite", [f"{head.name}, version {head.version}", f"made by {head.made_by}, seed {head.seed}"]),
        ("Samples", [f"{count_text(len(run.verdicts))} of {count_text(run.asked)} answered"]),
        ("Started", [manifest.created.replace("T", " ").replace("+00:00", " UTC")]),
        ("Measured by", [f"simia {manifest.version}"]),
        ("Licences", list(manifest.licences) or ["none named"]),
        *(usage_facts(totals) if totals is not None and totals.requests else ()),
    ]
    hashes = [("suite", run.suite.sha256), *((f"prompt {name}", sha) for name, sha in sorted(manifest.prompts.items()))]
    config: Any = manifest.config
    return _About(
        entry.name, swatch(entry.place), facts, hashes, orjson.dumps(config, option=orjson.OPT_INDENT_2).decode()
    )

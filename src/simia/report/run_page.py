"""The page of a run: read once, in memory that depends on the number of items shown and not on the run's size."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from simia.report.charts import count_text, counts_chart, funnel_chart, histogram_chart, share_text
from simia.report.funnel import Anatomy, Bin, Funnel, StageTally, histogram, quantile
from simia.report.page import Page, Panel
from simia.report.selection import Reservoir, Shown, conversation_of, in_order, share_out
from simia.report.usage import read_totals, usage_facts
from simia.store import Run, Stream
from simia.types import JsonObject

MOST_SHOWN = 500
"""Conversations of 10 to 20 KB each: more would make a page that a phone cannot open."""

_NON_COMMERCIAL = "-NC"


def render_run_page(run: Run, *, most_shown: int = MOST_SHOWN) -> str:
    """The HTML of one self-contained page about ``run``, which may still be going on.

    At most ``most_shown`` items are in its list, shared between kept, dropped and failed ones.

    Raises:
        CorruptStream: a stream cannot be read.
    """
    funnel = read_funnel(run)
    anatomy, rows = _read_rows(run, funnel, most_shown)
    manifest = run.manifest
    offered = _offered(funnel)
    worlds = dict(run.worlds)
    licences = sorted({*read_licences(run), *anatomy.licences})
    return Page(
        title=manifest.run,
        lead=_lead(funnel, manifest.model),
        version=manifest.version,
        facts=[
            ("Model", _model_words(manifest.model, manifest.model_reason)),
            ("Started", [manifest.created.replace("T", " ").replace("+00:00", " UTC")]),
            ("Licences", licences or ["none named"]),
            *usage_facts(read_totals(run)),
        ],
        config=orjson.dumps(manifest.config, option=orjson.OPT_INDENT_2).decode(),
        embedded_note=_embedded_note(len(rows), sum(offered.values())),
        warnings=_warnings(licences),
        prompts=sorted(manifest.prompts.items()),
        seeds=sorted(manifest.seeds.items()),
        funnel=funnel_chart(funnel.steps) if funnel.stages else None,
        reasons=list(_reason_panels(funnel)),
        anatomy=_anatomy_panels(anatomy),
        anatomy_of="kept trajectories" if funnel.is_finished else "trajectories so far",
        rows=rows,
        worlds={world_id: {"name": world.name, "licence": world.licence} for world_id, world in worlds.items()},
    ).html()


def read_licences(run: Run) -> tuple[str, ...]:
    """The licences that ``run`` was given and those of its worlds. A single seed may have another one still."""
    return tuple(sorted({*run.manifest.licences, *(world.licence for _, world in run.worlds)}))


def read_funnel(run: Run) -> Funnel:
    """What each stage of ``run`` did so far.

    Raises:
        CorruptStream: a stream cannot be read.
    """
    return Funnel.of(_tally(name, run.stream(name)) for name in run.stream_names())


def _tally(name: str, stream: Stream) -> StageTally:
    counts = stream.counts()
    failed = Counter(why.error for _, _, why in stream.failed())
    return StageTally(name, counts.kept, dict(counts.dropped), dict(failed))


def _offered(funnel: Funnel) -> dict[str, int]:
    return {
        "kept": funnel.delivered,
        "dropped": sum(sum(stage.dropped.values()) for stage in funnel.stages),
        "failed": sum(sum(stage.failed.values()) for stage in funnel.stages),
    }


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The reservoirs of one page, by outcome."""

    by_status: dict[str, Reservoir[Shown]]

    def offer_reason(self, status: str, stage: str, ordinal: int, key: str, rule: str, detail: str) -> None:
        reservoir = self.by_status[status]
        place = reservoir.place()
        if place is not None:
            reservoir.put(place, Shown(ordinal, key, stage, status, rule, detail))

    @property
    def rows(self) -> list[Shown]:
        return in_order(row for reservoir in self.by_status.values() for row in reservoir.items)


def _read_rows(run: Run, funnel: Funnel, most_shown: int) -> tuple[Anatomy, list[Shown]]:
    shares = share_out(most_shown, _offered(funnel))
    chosen = _Chosen({status: Reservoir(size) for status, size in shares.items()})
    anatomy = Anatomy()
    for stage in funnel.stages:
        stream = run.stream(stage.name)
        for ordinal, key, dropped in stream.dropped():
            chosen.offer_reason("dropped", stage.name, ordinal, key, dropped.rule, dropped.detail)
        for ordinal, key, failed in stream.failed():
            chosen.offer_reason("failed", stage.name, ordinal, key, failed.error, failed.message)
    if funnel.stages:
        last = funnel.stages[-1].name
        kept = chosen.by_status["kept"]
        for ordinal, key, content in run.stream(last).raw_kept():
            value = conversation_of(orjson.loads(content))
            if value is not None:
                anatomy.add(value)
            place = kept.place()
            if place is not None:
                kept.put(place, Shown(ordinal, key, last, "kept", value=value))
    return anatomy, _with_conversations(run, funnel, chosen.rows)


def _with_conversations(run: Run, funnel: Funnel, rows: Sequence[Shown]) -> list[Shown]:
    """Dropped and failed rows with what the stage before had kept under the same key: what the stage looked at."""
    before = {stage.name: previous.name for previous, stage in zip(funnel.stages, funnel.stages[1:], strict=False)}
    wanted: dict[str, set[str]] = {}
    for row in rows:
        if row.value is None and row.stage in before:
            wanted.setdefault(before[row.stage], set()).add(row.key)
    found: dict[tuple[str, str], JsonObject | None] = {}
    for name, keys in wanted.items():
        for _, key, content in run.stream(name).raw_kept():
            if key in keys:
                found[name, key] = conversation_of(orjson.loads(content))
    return [
        replace(row, value=found.get((before[row.stage], row.key)))
        if row.value is None and row.stage in before
        else row
        for row in rows
    ]


def _model_words(name: str, reason: str) -> list[str]:
    """Name and reason, without saying the name twice."""
    if reason.startswith(name):
        return [reason or "none yet"]
    return [part for part in (name, reason) if part]


def _lead(funnel: Funnel, model: str) -> str:
    if not funnel.stages:
        return "Nothing has an outcome yet."
    made_by = f", made by {model}" if model else ""
    last = funnel.steps[-1]
    if last.opens:
        return f"{count_text(last.count)} items{made_by}."
    return f"{last.label}: {count_text(last.count)} of {count_text(last.whole)} ({share_text(last.share)}){made_by}."


def _embedded_note(shown: int, offered: int) -> str:
    if shown == offered:
        return f"All {count_text(offered)} items with an outcome are in this page."
    return (
        f"{count_text(shown)} of {count_text(offered)} items with an outcome are in this page, drawn at random from "
        "kept, dropped and failed ones. The run's folder has all of them."
    )


def _warnings(licences: Sequence[str]) -> list[str]:
    bound = [licence for licence in licences if _NON_COMMERCIAL in licence.upper()]
    if not bound:
        return []
    names = ", ".join(bound)
    return [f"Made from seeds or a world whose licence forbids commercial use ({names}); it binds this data set too."]


def _reason_panels(funnel: Funnel) -> Iterator[Panel]:
    for stage in funnel.stages:
        dropped, failed = sum(stage.dropped.values()), sum(stage.failed.values())
        if dropped:
            note = f"{count_text(dropped)} of {count_text(stage.seen)} dropped"
            chart = counts_chart(f"Dropped by {stage.name}", stage.reasons, whole=stage.seen, tone="dropped")
            yield Panel(f"Dropped by {stage.name}", note, chart)
        if failed:
            note = f"{count_text(failed)} of {count_text(stage.seen)} failed; --resume tries them again"
            errors = Counter(stage.failed).most_common()
            chart = counts_chart(f"Failed in {stage.name}", errors, whole=stage.seen, tone="failed")
            yield Panel(f"Failed in {stage.name}", note, chart)


def _anatomy_panels(anatomy: Anatomy) -> list[Panel]:
    if not anatomy.trajectories:
        return []
    panels = [
        _histogram_panel("Messages per trajectory", anatomy.lengths),
        _names_panel("Calls by tool", anatomy.tools, "calls"),
        _histogram_panel("Calls per trajectory", anatomy.calls),
        _names_panel("Errors by tool", anatomy.tool_errors, "observations that are errors"),
        _names_panel("How they ended", anatomy.stop_reasons, "trajectories"),
        _names_panel("Repaired", anatomy.repairs, "changes"),
    ]
    return [panel for panel in panels if panel is not None]


def _histogram_panel(title: str, counts: Counter[int]) -> Panel:
    bins: tuple[Bin, ...] = histogram(counts)
    note = f"median {quantile(counts, 0.5)}, from {min(counts)} to {max(counts)}"
    return Panel(title, note, histogram_chart(title, bins, unit="trajectories"))


def _names_panel(title: str, counts: Counter[str], unit: str) -> Panel | None:
    if not counts:
        return None
    rows: list[tuple[str, Any]] = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    note = f"{count_text(counts.total())} {unit}"
    return Panel(title, note, counts_chart(title, rows, whole=counts.total()))

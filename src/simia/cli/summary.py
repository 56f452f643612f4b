"""What a run came to, in words: how much was kept, why the rest was not, and where the files are."""

import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from simia import errors
from simia.cli.console import result, say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simia.store import Counts
    from simia.synthesis.run import Summary


def print_summary(summary: "Summary", took_s: float) -> None:
    """Print what each stage kept, what was used, and which files there are now."""
    from simia.cli.progress import clock_text, reasons_text, usage_line
    from simia.synthesis.manifest import ASKING

    parts = []
    for name, counts in summary.stages.items():
        if not counts.seen:
            continue  # nothing came to this stage, which is no news of its own
        reasons = Counter(counts.dropped)
        dropped = f", {counts.dropped_total:,} dropped ({reasons_text(reasons)})" if reasons else ""
        failed = f", {counts.failed:,} failed" if counts.failed else ""
        parts.append(f"{name} kept {counts.kept:,} of {counts.seen:,}{dropped}{failed}")
    result("; ".join([*parts, f"took {clock_text(took_s)}"]))
    if ASKING & summary.stages.keys() and (usage := usage_line(summary.totals)):
        result(f"used: {usage}")
    run = shlex.quote(str(summary.folder))
    result(f"run: {summary.folder} (simia runs show {run})")
    if summary.unread_seeds:
        say(
            f"no conversation was asked for, because {summary.unread_seeds:,} seeds failed in the prefilter; to go on "
            f"without them: simia generate {run}, then simia postprocess and simia export"
        )
    if summary.late_seeds:
        say(
            f"note: {summary.late_seeds:,} seeds passed the prefilter only after conversations were made, and are not "
            "used here; a new --run uses them"
        )
    if summary.exported is not None and not summary.exported.records:
        result(f"no training files: no conversation was kept ({summary.exported.folder} holds empty ones)")
    elif summary.exported is not None:
        folder = summary.exported.folder
        for path in (summary.exported.card, *(folder / file.path for file in summary.exported.files)):
            result(str(path))
        if summary.exported.non_commercial:
            say(f"note: {', '.join(summary.exported.non_commercial)} forbids commercial use of these files")


def may_pass(folder: Path, stages: "Mapping[str, Counts]") -> bool:
    """Whether any item of ``stages`` failed with an error that another try may cure."""
    from simia.report import read_funnel
    from simia.store import Run

    with Run.read(folder) as run:
        names = {name for stage in read_funnel(run).stages if stage.name in stages for name in stage.failed}
    return any(issubclass(getattr(errors, name, errors.SimiaError), errors.TransientModelError) for name in names)


def tell_examples(folder: Path, stages: "Mapping[str, Counts]") -> None:
    """One item of the most frequent error of each stage, and of the most frequent rule where a stage kept nothing:
    the particulars say what to mend.
    """
    from simia.report import read_funnel
    from simia.store import Run

    if not any(counts.failed or (counts.seen and not counts.kept) for counts in stages.values()):
        return
    with Run.read(folder) as run:
        for stage in read_funnel(run).stages:
            if stage.name not in stages:
                continue
            stream = run.stream(stage.name)
            if stage.failed:
                error = max(stage.failed, key=lambda name: stage.failed[name])
                key, why = next((key, failed.message) for _, key, failed in stream.failed() if failed.error == error)
                say(f"{stage.name} failed {stage.failed[error]:,} times with {error}, for example {key}: {why}")
            if stage.dropped and not stage.kept:
                rule, count = stage.reasons[0]
                key, why = next((key, dropped.detail) for _, key, dropped in stream.dropped() if dropped.rule == rule)
                say(f"{stage.name} kept nothing; {count:,} times {rule}, for example {key}: {why}")

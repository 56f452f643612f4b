"""Every rate of runs as a row of its own, with what it was counted from: for spreadsheets and scripts."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from simia.bench.results import Results, Verdict, by
from simia.bench.score import ChangeCounts
from simia.bench.sizes import bucket_name, size_bucket
from simia.types.rate import Rate

HEADER = (
    "folder", "simulator", "setting", "boxed", "suite", "version", "suite_sha256", "asked",
    "measure", "by", "key", "right", "count", "rate", "low", "high",
)  # fmt: skip
"""The columns. ``right`` of ``count`` answers are ``rate``, and ``low`` to ``high`` is the 95 % interval of Wilson, all
three from 0 to 1; where ``count`` is less than ``asked`` over ``all``, the rest has no answer yet or is not counted.

``measure`` is ``config_match``, ``feedback_match``, ``error_flag_match`` (whether the call is refused), ``usable``
(answers that could be read and applied), ``config_match_released`` (the released rule), ``change_precision`` and
``change_recall`` (of predicted and of true changes, one by one), or along drift episodes ``drift_state_match``,
``drift_state_match_once_changed`` and ``drift_feedback_match``. ``by`` says what ``key`` is: ``all`` of the run, a
``stratum``, a number of ``changes``, a ``world``, a ``tool`` of it, or a ``step``.
"""

_Measure = Callable[[Sequence[Verdict]], Rate | None]

_KEYS: Mapping[str, Callable[[Verdict], Any]] = {
    "all": lambda verdict: "",
    "stratum": lambda verdict: verdict.group,
    "changes": lambda verdict: size_bucket(verdict.sample),
    "world": lambda verdict: verdict.sample.world,
    "tool": lambda verdict: f"{verdict.sample.world}.{verdict.sample.call.name}",
}


def as_csv(runs: Sequence[Results]) -> str:
    """The rates of ``runs``, one a row, under :data:`HEADER`."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for run in runs:
        head, settings = run.suite.head, run.settings
        about = (run.folder, run.label, settings.setting, str(settings.boxed).lower(), head.name, head.version)
        for measure, kind, key, rate in _rates(run):
            numbers = (f"{rate.value:.6f}", f"{rate.low:.6f}", f"{rate.high:.6f}") if rate.count else ("", "", "")
            row = (*about, run.suite.sha256, run.asked, measure, kind, key, rate.hits, rate.count, *numbers)
            writer.writerow(row)
    return out.getvalue()


def _rates(run: Results) -> Iterator[tuple[str, str, Any, Rate]]:
    measures: dict[str, _Measure] = {"config_match": run.config_match, "feedback_match": run.feedback_match}
    measures["error_flag_match"] = lambda verdicts: Rate.of(verdict.score.error_match for verdict in verdicts)
    measures["usable"] = lambda verdicts: Rate.of(not verdict.score.problem for verdict in verdicts)
    if run.settings.setting != "hidden":
        measures["config_match_released"] = released_rate
        measures["change_precision"] = lambda verdicts: _precision(_changes(verdicts))
        measures["change_recall"] = lambda verdicts: _recall(_changes(verdicts))
    for measure, rate_of in measures.items():
        for kind, key in _KEYS.items():
            for value, verdicts in by(run.verdicts, key).items():
                rate = rate_of(verdicts)
                if rate is not None:
                    yield measure, kind, bucket_name(value) if kind == "changes" else value, rate
    for number in range(1, max(map(len, run.drifts), default=0) + 1):
        here = [steps[number - 1] for steps in run.drifts if len(steps) >= number]
        yield "drift_feedback_match", "step", number, Rate.of(step.feedback_match for step in here)
        if run.settings.setting != "hidden":
            yield "drift_state_match", "step", number, Rate.of(step.state_match is True for step in here)
            changed = Rate.of(step.state_match is True for step in here if step.has_changed)
            yield "drift_state_match_once_changed", "step", number, changed


def _changes(verdicts: Sequence[Verdict]) -> ChangeCounts:
    return sum((verdict.score.counts for verdict in verdicts), ChangeCounts())


def _precision(counts: ChangeCounts) -> Rate:
    return Rate(counts.right, counts.right + counts.wrong + counts.invented)


def _recall(counts: ChangeCounts) -> Rate:
    return Rate(counts.right, counts.true)


def released_rate(verdicts: Sequence[Verdict]) -> Rate:
    """Config Match by the released rule, over those verdicts that it counts."""
    counted = [verdict.published for verdict in verdicts if verdict.published.is_counted]
    return Rate.of(verdict.config_match for verdict in counted)

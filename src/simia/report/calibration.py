"""A judge's calibration as tables."""

from simia.bench.leaderboard import Table, counted_text, interval_text, rate_text
from simia.environment.reward.calibration import Calibration, Kappa

_NOTE = (
    "Precision: share of the passed episodes that do their task. Recall: share of those that do it that were passed. "
    "Both depend on how many do; recall and the false passes below do not. Intervals are Wilson's; that of Cohen's "
    "kappa, the agreement beyond chance, is a bootstrap over tasks. Masked: no verdict, because too few votes could be "
    "read or they were tied. Agreement: readable votes that say what most of their episode's say."
)
_KINDS_NOTE = (
    "Passed: of the episodes that do their task. False passes: of those that do not, which is all of them from claim "
    "on; 0 % is right. Masked ones count in neither."
)


def calibration_tables(calibration: Calibration, judge: str) -> tuple[Table, ...]:
    """How right the judge called ``judge`` is, and what it passes of each kind of episode."""
    row = (
        judge,
        str(len(calibration.verdicts)),
        str(calibration.masked),
        interval_text(calibration.accuracy),
        interval_text(calibration.precision),
        interval_text(calibration.recall),
        kappa_text(calibration.kappa),
        interval_text(calibration.false_passes),
        rate_text(calibration.unreadable),
        rate_text(calibration.agreement),
    )
    header = (
        "judge",
        "episodes",
        "masked",
        "accuracy",
        "precision",
        "recall",
        "Cohen's kappa",
        "false passes",
        "unreadable votes",
        "agreement",
    )
    rows = []
    for kind in calibration.kinds:
        part = calibration.of_kind(kind)
        false = (
            f"{counted_text(part.false_passes)} ({100 * part.false_passes.low:.0f}-{100 * part.false_passes.high:.0f})"
        )
        rows.append(
            (
                kind,
                str(len(part.verdicts)),
                str(part.masked),
                counted_text(part.recall),
                false if part.false_passes.count else "-",
            )
        )
    return (
        Table("The judge against executable truth", header, (row,), _NOTE),
        Table("By kind of episode", ("kind", "episodes", "masked", "passed", "false passes"), tuple(rows), _KINDS_NOTE),
    )


def kappa_text(kappa: Kappa | None) -> str:
    """``0.62 (0.48-0.75)``, or ``-`` where there is none."""
    if kappa is None:
        return "-"
    if kappa.low is None or kappa.high is None:
        return f"{kappa.value:.2f}"
    return f"{kappa.value:.2f} ({kappa.low:.2f} to {kappa.high:.2f})"

"""What a reader must know before the rates of several runs: the same sentences in tables and on the page."""

from collections.abc import Iterator, Sequence

from simia.bench.results import Results
from simia.worlds import TRAINING


def remarks(named: Sequence[tuple[str, Results]]) -> Iterator[str]:
    """Why the rates of the runs, each with its name, do not compare, and what of each run they leave out."""
    runs = [run for _, run in named]
    if len({run.suite.sha256 for run in runs}) > 1:
        yield "The runs were not measured on the same suite: their rates do not compare."
    elif len({frozenset(verdict.sample.id for verdict in run.verdicts) for run in runs}) > 1:
        yield "The runs did not answer the same samples: their rates compare only roughly; the pairs below do."
    trained = sorted({world for run in runs for world in run.suite.head.worlds} & set(TRAINING))
    if trained:
        yield (
            f"{', '.join(trained)}: simia bench sft makes training data of these worlds. A simulator that was trained "
            "on such data is measured here on what it has seen."
        )
    for name, run in named:
        if not run.is_complete:
            yield (
                f"{name}: incomplete, {len(run.verdicts):,} of {run.asked:,} samples have an answer. "
                "Its rates are over those."
            )
        if len(run.drifts) < run.episodes:
            yield (
                f"{name}: drift over {len(run.drifts):,} of {run.episodes:,} episodes; the others were not followed to "
                "their end. --resume asks them again."
            )
        if run.unanswered:
            yield (
                f"{name}: {run.unanswered:,} of {run.asked:,} samples failed, through no fault of the simulator "
                "(the endpoint, the network). They are in no rate; --resume asks them again."
            )

"""What runs are called and in which order they stand, wherever several are shown."""

from collections import Counter
from collections.abc import Callable, Sequence

from simia.bench.results import Results


def ranked(runs: Sequence[Results]) -> list[Results]:
    """Best Config Match first; the runs without one last, by Feedback Match. Equal ones stand by name and folder."""
    return sorted(runs, key=_rank)


def setting_text(run: Results) -> str:
    """``constrained``, or ``constrained boxed``."""
    return run.settings.setting + (" boxed" if run.settings.boxed else "")


def named(runs: Sequence[Results]) -> list[tuple[str, Results]]:
    """``runs`` as :func:`ranked`, each with a name of its own: its simulator, and where several have one also the
    setting, then the folder, then the place.
    """
    order = ranked(runs)
    names = [run.label or "no model" for run in order]
    further: tuple[Callable[[Results, int], str], ...] = (
        lambda run, place: setting_text(run),
        lambda run, place: run.folder.name,
        lambda run, place: str(place + 1),
    )
    for word in further:
        counts = Counter(names)
        names = [
            name if counts[name] == 1 else f"{name} · {word(run, place)}"
            for place, (name, run) in enumerate(zip(names, order, strict=True))
        ]
    return list(zip(names, order, strict=True))


def suite_names(runs: Sequence[Results]) -> dict[str, str]:
    """What the suites of ``runs`` are called, by SHA-256: name and version, and where two share a name the hash."""
    heads = {run.suite.sha256: run.suite.head for run in runs}
    names = Counter(head.name for head in heads.values())
    return {
        sha256: f"{head.name} {head.version}" + (f" {sha256[:8]}" if names[head.name] > 1 else "")
        for sha256, head in heads.items()
    }


def _rank(run: Results) -> tuple[float, float, str, str]:
    config = run.config_match()
    value = -1.0 if config is None or config.value is None else config.value
    return (-value, -(run.feedback_match().value or 0.0), run.label, str(run.folder))

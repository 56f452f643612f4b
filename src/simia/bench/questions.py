"""Which samples a run asks, and in which order."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice

from simia.bench.sample import Episode, Sample
from simia.bench.strata import PUBLISHED, Cell, group_of
from simia.bench.suite import Suite
from simia.pipeline import Item


def ordered(suite: Suite) -> tuple[Sample, ...]:
    """All samples, those of one world and tool after another: they share the beginning of their prompt, which a server
    then computes once.
    """
    return tuple(sorted(suite.samples, key=lambda sample: (sample.world, sample.call.name, sample.id)))


def chosen(suite: Suite, limit: int) -> frozenset[str]:
    """The ids of ``limit`` samples, the same share of every cell; all where it is 0 or large.

    A cell's samples are taken in the suite's order, which spreads them over worlds, and a larger limit only adds some.
    The first come from as many cells as there are, so that a small limit has seen all of them.
    """
    if not limit or limit >= len(suite.samples):
        return frozenset(sample.id for sample in suite.samples)
    cells: dict[str, list[str]] = defaultdict(list)
    for sample in suite.samples:
        cells[cell_name(sample)].append(sample.id)
    # After the first of every cell, a cell's k-th of n samples comes at (k + 1/2) / n: all run through at one pace.
    places = sorted(
        (number > 0, (number + 0.5) / len(ids), name, sample_id)
        for name, ids in cells.items()
        for number, sample_id in enumerate(ids)
    )
    return frozenset(sample_id for *_, sample_id in islice(places, limit))


def items(suite: Suite, limit: int) -> Iterator[Item[Sample]]:
    """The questions of a run. A sample's ordinal is its place among all, whatever the limit."""
    wanted = chosen(suite, limit)
    for ordinal, sample in enumerate(ordered(suite)):
        if sample.id in wanted:
            yield Item(ordinal, sample.id, sample)


def episode_items(suite: Suite, per_world: int) -> Iterator[Item[Episode]]:
    """The first ``per_world`` episodes of each world that drift is measured on."""
    met: dict[str, int] = defaultdict(int)
    for ordinal, episode in enumerate(suite.episodes):
        if episode.role != "drift":
            continue
        met[episode.world] += 1
        if met[episode.world] <= per_world:
            yield Item(ordinal, episode.id, episode)


def cell_name(sample: Sample) -> str:
    """The published cell of ``sample``, or the name of its group where it is in none."""
    return next((cell.name for cell in _CELLS if cell.holds(sample)), group_of(sample))


_CELLS: tuple[Cell, ...] = PUBLISHED

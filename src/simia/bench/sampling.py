"""Draws a suite's samples: each cell its quota, spread over worlds and tools, the same for the same seed."""

import hashlib
import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from simia.bench.sample import Sample
from simia.bench.strata import Cell
from simia.config import rng_for

_Bin = tuple[str, str, int]
"""World, tool and number of changes: samples of one bin are alike, and a bin is emptied last."""


@dataclass
class Drawn:
    """The samples, in the order of the cells, and what was there to choose from."""

    samples: list[Sample] = field(default_factory=list)
    worlds_by_cell: dict[str, dict[str, int]] = field(default_factory=dict)
    offered_by_cell: Counter[str] = field(default_factory=Counter)
    short_by_cell: dict[str, int] = field(default_factory=dict)


class Sampler:
    """Sees any number of samples once and keeps what might be drawn: in each bin the ``count`` of its cell whose hash
    with the seed is smallest, so that neither order nor number of others changes which of two is preferred.
    """

    def __init__(self, cells: Iterable[Cell], seed: int) -> None:
        self._cells = tuple(cells)
        self._seed = seed
        self._bins: dict[str, dict[_Bin, list[tuple[int, str, Sample]]]] = {cell.name: {} for cell in self._cells}
        self._held: set[int] = set()
        self._offered: Counter[str] = Counter()

    def add(self, sample: Sample) -> None:
        """Offer a sample. One that belongs to no cell is passed over."""
        for cell in self._cells:
            if cell.holds(sample):
                self._offered[cell.name] += 1
                held = self._bins[cell.name].setdefault((sample.world, sample.call.name, sample.size), [])
                rank = -self._rank(sample)
                if rank in self._held:  # the same question once more
                    return
                if len(held) < cell.count:
                    heapq.heappush(held, (rank, sample.id, sample))
                elif rank > held[0][0]:
                    self._held.discard(heapq.heapreplace(held, (rank, sample.id, sample))[0])
                else:
                    return
                self._held.add(rank)
                return

    def draw(self) -> Drawn:
        """What was drawn. A cell with fewer samples than its quota is named in ``short_by_cell``."""
        drawn = Drawn(offered_by_cell=self._offered)
        for cell in self._cells:
            chosen = self._of_cell(cell)
            drawn.samples += chosen
            drawn.worlds_by_cell[cell.name] = dict(sorted(Counter(sample.world for sample in chosen).items()))
            if len(chosen) < cell.count:
                drawn.short_by_cell[cell.name] = cell.count - len(chosen)
        return drawn

    def _of_cell(self, cell: Cell) -> list[Sample]:
        """Worlds take turns; a world's bins take turns, first those of numbers of changes that it gave least."""
        queues: dict[str, dict[_Bin, list[Sample]]] = defaultdict(dict)
        for key, held in self._bins[cell.name].items():
            queues[key[0]][key] = [sample for _, _, sample in sorted(held, key=lambda entry: (entry[0], entry[1]))]
        order = sorted(queues)
        rng_for(self._seed, cell.name).shuffle(order)
        turns = {world: self._turns(queues[world]) for world in order}
        chosen: list[Sample] = []
        while turns and len(chosen) < cell.count:
            for world in tuple(turns):
                sample = next(turns[world], None)
                if sample is None:
                    del turns[world]
                elif len(chosen) < cell.count:
                    chosen.append(sample)
        return chosen

    def _turns(self, bins: dict[_Bin, list[Sample]]) -> Iterator[Sample]:
        by_size: Counter[int] = Counter()
        by_tool: Counter[str] = Counter()
        while any(bins.values()):
            key = min(
                (key for key, samples in bins.items() if samples),
                key=lambda key: (by_size[key[2]], by_tool[key[1]], self._rank(bins[key][-1]), key),
            )
            by_size[key[2]] += 1
            by_tool[key[1]] += 1
            yield bins[key].pop()

    def _rank(self, sample: Sample) -> int:
        digest = hashlib.blake2b(f"{self._seed}/{sample.id}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big")

"""Drawing a suite: quotas, spread, and the same draw for the same seed."""

import random
import tracemalloc
from collections import Counter
from collections.abc import Iterable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from simia.bench.sample import Sample
from simia.bench.sampling import Drawn, Sampler
from simia.bench.strata import PUBLISHED, Cell
from simia.types import Put, State, StateDelta, ToolCall

SIMPLE = Cell("simple", 12, ("simple",))
NOTHING: State = {}


def made(
    number: int, world: str = "w", tool: str = "t", size: int = 1, state: State = NOTHING, **changed: Any
) -> Sample:
    return Sample(
        id=f"{world}/{tool}/{size}/{number}",
        world=world,
        origin="gold",
        call=ToolCall(id="c", name=tool, arguments=changed.pop("arguments", {})),
        state=state,
        observation="{}",
        is_error=changed.pop("is_error", False),
        delta=StateDelta(changes=tuple(Put(path=(str(place),), value=1) for place in range(size))),
    )


def many(
    worlds: Iterable[str], tools: Iterable[str] = "t", sizes: Iterable[int] = (1,), each: int = 30
) -> list[Sample]:
    return [
        made(number, world, tool, size)
        for world in worlds
        for tool in tools
        for size in sizes
        for number in range(each)
    ]


def drawn(samples: Iterable[Sample], *cells: Cell, seed: int = 0) -> Drawn:
    sampler = Sampler(cells or (SIMPLE,), seed)
    for sample in samples:
        sampler.add(sample)
    return sampler.draw()


def ids(found: Drawn) -> list[str]:
    return [sample.id for sample in found.samples]


def of_every_cell(each: int) -> list[Sample]:
    samples = many("ab", "xy", range(1, 13), each)
    for number in range(each):
        samples += [made(number, world, "fail", 0, is_error=True) for world in "ab"]
        samples += [
            made(number, world, f"look{n}", 0, arguments={"k": 1} if n else {}) for world in "ab" for n in (0, 1)
        ]
    return samples


def test_every_cell_gets_its_quota() -> None:
    found = drawn(of_every_cell(60), *PUBLISHED)
    by_cell = Counter(next(cell.name for cell in PUBLISHED if cell.holds(sample)) for sample in found.samples)
    assert by_cell == {cell.name: cell.count for cell in PUBLISHED}
    assert found.short_by_cell == {}


def test_samples_come_in_the_order_of_the_cells() -> None:
    found = drawn(of_every_cell(60), *PUBLISHED)
    cells = [next(place for place, cell in enumerate(PUBLISHED) if cell.holds(sample)) for sample in found.samples]
    assert cells == sorted(cells)


def test_no_sample_is_drawn_twice() -> None:
    found = ids(drawn(of_every_cell(60), *PUBLISHED))
    assert len(found) == len(set(found))


def test_every_world_gives_as_many() -> None:
    assert drawn(many("abc")).worlds_by_cell == {"simple": {"a": 4, "b": 4, "c": 4}}


def test_a_world_with_many_more_samples_gives_no_more_than_another() -> None:
    samples = many("a", each=500) + many("b", each=6)
    assert drawn(samples).worlds_by_cell["simple"] == {"a": 6, "b": 6}


def test_what_a_small_world_lacks_another_gives() -> None:
    samples = many("a", each=500) + many("b", each=2)
    assert drawn(samples).worlds_by_cell["simple"] == {"a": 10, "b": 2}


def test_every_tool_of_a_world_gives_as_many() -> None:
    samples = many("a", "x", each=500) + many("a", "yz", each=20)
    assert Counter(sample.call.name for sample in drawn(samples).samples) == {"x": 4, "y": 4, "z": 4}


def test_every_number_of_changes_gives_as_many() -> None:
    samples = many("a", "x", sizes=[7], each=500) + many("a", "y", sizes=[9, 12], each=20)
    found = drawn(samples, Cell("7-12", 12, ("difficult",)))
    assert Counter(sample.size for sample in found.samples) == {7: 4, 9: 4, 12: 4}


def test_a_shortage_is_reported_and_what_there_is_is_drawn() -> None:
    found = drawn(many("a", each=5))
    assert (len(found.samples), found.short_by_cell) == (5, {"simple": 7})


def test_a_cell_without_any_sample_is_wholly_short() -> None:
    found = drawn([])
    assert (found.samples, found.short_by_cell, found.worlds_by_cell) == ([], {"simple": 12}, {"simple": {}})


def test_it_is_told_how_many_there_were_to_choose_from() -> None:
    assert drawn(many("ab", each=200)).offered_by_cell == {"simple": 400}


def test_a_sample_of_no_cell_is_passed_over() -> None:
    found = drawn([made(0, size=3)])
    assert (found.samples, found.offered_by_cell) == ([], {})


def test_the_same_seed_draws_the_same() -> None:
    samples = of_every_cell(60)
    assert ids(drawn(samples, *PUBLISHED, seed=5)) == ids(drawn(samples, *PUBLISHED, seed=5))


def test_another_seed_draws_others() -> None:
    samples = many("ab", each=200)
    assert set(ids(drawn(samples, seed=1))) != set(ids(drawn(samples, seed=2)))


@given(st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_the_order_in_which_samples_are_offered_does_not_matter(draw: random.Random) -> None:
    samples = many("abc", "xy", [1, 2], 9)
    shuffled = samples.copy()
    draw.shuffle(shuffled)
    assert ids(drawn(shuffled)) == ids(drawn(samples))


def test_samples_of_other_worlds_do_not_change_which_of_a_world_are_preferred() -> None:
    alone = drawn(many("a", each=100), Cell("simple", 4, ("simple",)))
    among = drawn(many("ab", each=100), Cell("simple", 8, ("simple",)))
    assert ids(alone) == [one for one in ids(among) if one.startswith("a/")]


def test_a_larger_quota_only_adds_samples() -> None:
    samples = many("ab", "xy", [1, 2], 50)
    small = ids(drawn(samples, Cell("simple", 20, ("simple",))))
    large = ids(drawn(samples, Cell("simple", 60, ("simple",))))
    assert set(small) < set(large)


def test_a_sample_that_is_offered_twice_is_drawn_once() -> None:
    samples = many("a", each=5)
    assert sorted(ids(drawn(samples + samples))) == sorted(one.id for one in samples)


def test_a_full_bin_that_is_offered_everything_again_stays_as_it_is() -> None:
    samples = many("a", each=300)
    assert ids(drawn(samples + samples)) == ids(drawn(samples))


def test_drawing_again_draws_the_same() -> None:
    sampler = Sampler((SIMPLE,), 0)
    for sample in many("ab"):
        sampler.add(sample)
    assert ids(sampler.draw()) == ids(sampler.draw())


def test_no_more_than_the_quota_of_a_bin_is_held() -> None:
    def offered() -> Iterable[Sample]:
        return (made(number, state={"text": f"{number:020000d}"}) for number in range(1000))

    tracemalloc.start()
    try:
        found = drawn(offered())
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(found.samples) == 12
    assert most < 2_000_000  # all together are 20 MB

"""Which samples a run asks: the same share of every cell, and more when more are asked for."""

from collections import Counter
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.bench.questions import cell_name, chosen, episode_items, items, ordered
from simia.bench.sample import Episode, Sample
from simia.bench.strata import PUBLISHED, Cell
from simia.bench.suite import Suite, SuiteHead
from simia.types import Put, StateDelta, ToolCall, WorldSpec

WORLDS = ("a", "b", "c")


def made(
    number: int, size: int = 1, arguments: int = 0, *, is_error: bool = False, world: str | None = None, tool: str = "t"
) -> Sample:
    return Sample(
        id=f"{size}-{arguments}-{is_error}-{number:03d}",
        world=world or WORLDS[number % 3],
        origin="gold",
        call=ToolCall(id="c", name=tool, arguments={f"a{n}": 1 for n in range(arguments)}),
        state={},
        observation="{}",
        is_error=is_error,
        delta=StateDelta(changes=tuple(Put(path=(str(place),), value=1) for place in range(size))),
    )


def of_cell(cell: Cell) -> list[Sample]:
    size = 0 if cell.groups[0] in ("failure", "no_change") else (cell.sizes or (7,))[0]
    is_error = cell.groups == ("failure",)
    return [made(number, size, cell.arguments or 0, is_error=is_error) for number in range(cell.count)]


def suite_of(*samples: Sample, episodes: tuple[Episode, ...] = ()) -> Suite:
    spec = WorldSpec(name="w", policy="", tools=(), licence="Apache-2.0")
    head: dict[str, Any] = {"name": "s", "version": "1", "licence": "x", "made_by": "y", "seed": 0}
    counts: dict[str, Any] = {"quotas": {}, "worlds_by_cell": {}}
    return Suite(SuiteHead(worlds=dict.fromkeys(WORLDS, spec), **head, **counts), episodes, samples, "0" * 64)


PUBLISHED_SUITE = suite_of(*(sample for cell in PUBLISHED for sample in of_cell(cell)))


def by_cell(limit: int) -> Counter[str]:
    asked = chosen(PUBLISHED_SUITE, limit)
    return Counter(cell_name(sample) for sample in PUBLISHED_SUITE.samples if sample.id in asked)


@pytest.mark.parametrize("limit", [0, 400, 401, 10**9])
def test_no_limit_or_a_large_one_asks_everything(limit: int) -> None:
    assert by_cell(limit) == {cell.name: cell.count for cell in PUBLISHED}


@pytest.mark.parametrize("limit", [1, 7, 40, 399])
def test_exactly_so_many_are_asked(limit: int) -> None:
    assert len(chosen(PUBLISHED_SUITE, limit)) == limit


def test_a_tenth_of_the_suite_is_a_tenth_of_every_cell() -> None:
    counts = by_cell(40)
    assert {name: counts[name] for name in ("failure", "no_change/0", "no_change/1", "3", "4", "5", "6", "7-12")} == {
        "failure": 2,
        "no_change/0": 4,
        "no_change/1": 4,
        "3": 5,
        "4": 5,
        "5": 5,
        "6": 5,
        "7-12": 5,
    }
    assert {counts["1"], counts["2"]} <= {2, 3}


@given(st.integers(1, 400))
@settings(max_examples=60, deadline=None)
def test_every_cell_gets_its_share_but_for_one_sample(limit: int) -> None:
    counts = by_cell(limit)
    assert all(abs(counts[cell.name] - cell.count * limit / 400) <= 1 for cell in PUBLISHED)


@given(st.integers(1, 399), st.integers(1, 399))
@settings(max_examples=60, deadline=None)
def test_a_larger_limit_only_adds_samples(one: int, other: int) -> None:
    assert chosen(PUBLISHED_SUITE, min(one, other)) <= chosen(PUBLISHED_SUITE, max(one, other))


def test_a_limit_takes_the_samples_of_a_cell_in_the_order_of_the_suite() -> None:
    suite = suite_of(*(made(number) for number in reversed(range(9))))
    assert chosen(suite, 4) == {sample.id for sample in suite.samples[:4]}


def test_a_limit_is_spread_over_the_worlds() -> None:
    asked = chosen(PUBLISHED_SUITE, 100)
    worlds = Counter(sample.world for sample in PUBLISHED_SUITE.samples if sample.id in asked)
    assert max(worlds.values()) - min(worlds.values()) <= len(PUBLISHED)


def test_a_sample_outside_of_the_published_cells_is_called_after_its_stratum() -> None:
    assert cell_name(made(0, 13)) == "beyond"
    assert cell_name(made(0, 0, 3)) == "no_change"
    assert cell_name(made(0, 0, 1)) == "no_change/1"


def test_samples_of_one_world_and_tool_come_one_after_another() -> None:
    samples = [made(number, world="ab"[number % 2], tool="xy"[number % 3 % 2]) for number in range(12)]
    kinds = [(sample.world, sample.call.name) for sample in ordered(suite_of(*samples))]
    assert kinds == sorted(kinds)
    assert set(kinds) == {("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")}


def test_the_order_of_the_suite_does_not_change_the_order_of_the_questions() -> None:
    samples = [made(number) for number in range(12)]
    assert ordered(suite_of(*samples)) == ordered(suite_of(*reversed(samples)))


def test_a_sample_has_the_same_ordinal_whatever_the_limit() -> None:
    everything = {item.key: item.ordinal for item in items(PUBLISHED_SUITE, 0)}
    some = {item.key: item.ordinal for item in items(PUBLISHED_SUITE, 33)}
    assert len(some) == 33
    assert some.items() <= everything.items()


def test_the_ordinal_of_a_question_is_its_place_among_all_samples() -> None:
    samples = ordered(PUBLISHED_SUITE)
    assert all(samples[item.ordinal] == item.value and item.key == item.value.id for item in items(PUBLISHED_SUITE, 50))


def episode(number: int, world: str, role: Literal["example", "drift"]) -> Episode:
    return Episode(id=f"{world}{number}", world=world, role=role, instruction="", initial_state={}, steps=())


EPISODES = (
    episode(0, "a", "example"),
    *(episode(number, "a", "drift") for number in range(1, 4)),
    *(episode(number, "b", "drift") for number in range(1, 3)),
)


@pytest.mark.parametrize(
    ("per_world", "found"),
    [(0, []), (1, ["a1", "b1"]), (2, ["a1", "a2", "b1", "b2"]), (9, ["a1", "a2", "a3", "b1", "b2"])],
)
def test_drift_is_measured_on_the_first_drift_episodes_of_each_world(per_world: int, found: list[str]) -> None:
    assert [item.key for item in episode_items(suite_of(episodes=EPISODES), per_world)] == found


def test_the_ordinal_of_an_episode_is_its_place_in_the_suite() -> None:
    assert [item.ordinal for item in episode_items(suite_of(episodes=EPISODES), 1)] == [1, 4]

"""How hard a sample is, and the quotas of the published suite."""

from typing import Any

import pytest

from simia.bench.sample import Sample
from simia.bench.strata import BALANCE2, GROUPS, PUBLISHED, Cell, group_of, scaled, with_quotas
from simia.errors import ConfigError
from simia.types import Put, StateDelta, ToolCall


def made(size: int = 0, *, is_error: bool = False, arguments: int = 0) -> Sample:
    return Sample(
        id="s",
        world="w",
        origin="gold",
        call=ToolCall(id="c", name="t", arguments={f"a{number}": 1 for number in range(arguments)}),
        state={},
        observation="{}",
        is_error=is_error,
        delta=StateDelta(changes=tuple(Put(path=(str(number),), value=1) for number in range(size))),
    )


@pytest.mark.parametrize(
    ("size", "group"),
    [
        (0, "no_change"),
        (1, "simple"),
        (2, "simple"),
        (3, "medium"),
        (6, "medium"),
        (7, "difficult"),
        (12, "difficult"),
        (13, "beyond"),
        (200, "beyond"),
    ],
)
def test_the_stratum_is_the_number_of_changes(size: int, group: str) -> None:
    assert group_of(made(size)) == group


@pytest.mark.parametrize("size", [0, 1, 20])
def test_a_call_that_failed_is_a_failure_whatever_it_changed(size: int) -> None:
    assert group_of(made(size, is_error=True)) == "failure"


def cells_of(sample: Sample, cells: tuple[Cell, ...] = PUBLISHED) -> list[str]:
    return [cell.name for cell in cells if cell.holds(sample)]


@pytest.mark.parametrize(
    ("sample", "cells"),
    [
        (made(is_error=True, arguments=2), ["failure"]),
        (made(arguments=0), ["no_change/0"]),
        (made(arguments=1), ["no_change/1"]),
        (made(arguments=2), []),
        (made(1, arguments=5), ["1"]),
        (made(6), ["6"]),
        (made(7), ["7-12"]),
        (made(12), ["7-12"]),
        (made(13), []),
    ],
)
def test_a_sample_belongs_to_the_published_cell_of_its_axes(sample: Sample, cells: list[str]) -> None:
    assert cells_of(sample) == cells


def test_no_sample_belongs_to_two_cells() -> None:
    samples = [
        made(size, is_error=error, arguments=n) for size in range(15) for error in (True, False) for n in range(4)
    ]
    assert all(len(cells_of(sample, cells)) <= 1 for sample in samples for cells in (PUBLISHED, BALANCE2))


def test_every_sample_belongs_to_a_cell_of_the_training_mixture() -> None:
    samples = [made(size, is_error=error, arguments=2) for size in range(15) for error in (True, False)]
    assert all(cells_of(sample, BALANCE2) for sample in samples)


def test_the_published_suite_has_400_samples() -> None:
    assert sum(cell.count for cell in PUBLISHED) == 400


def test_the_published_training_mixture_has_6230_samples() -> None:
    assert sum(cell.count for cell in BALANCE2) == 6230


def test_strata_are_ordered_from_easy_to_hard() -> None:
    sizes = [made(is_error=True), *(made(size) for size in (0, 1, 3, 7, 13))]
    assert tuple(map(group_of, sizes)) == GROUPS


def test_quotas_are_scaled_alike() -> None:
    assert [cell.count for cell in scaled(PUBLISHED, 0.2)] == [4, 8, 8, 5, 5, 10, 10, 10, 10, 10]


def test_no_scale_leaves_a_cell_out() -> None:
    assert {cell.count for cell in scaled(PUBLISHED, 0.001)} == {1}


def test_a_quota_can_be_set() -> None:
    counts = {cell.name: cell.count for cell in with_quotas(PUBLISHED, ["failure=3", "7-12=1"])}
    assert (counts["failure"], counts["7-12"], counts["6"]) == (3, 1, 50)


def test_a_quota_of_0_leaves_a_cell_out() -> None:
    assert "7-12" not in {cell.name for cell in with_quotas(PUBLISHED, ["7-12=0"])}


def test_of_two_quotas_for_one_cell_the_later_counts() -> None:
    assert with_quotas(PUBLISHED, ["failure=3", "failure=4"])[0].count == 4


@pytest.mark.parametrize("word", ["failures=3", "failure", "failure=", "failure=-1", "failure=1.5", "failure=²", "=3"])
def test_a_word_that_is_no_quota_says_what_to_write(word: Any) -> None:
    with pytest.raises(ConfigError, match=r"is no quota: write CELL=COUNT with a cell of failure, no_change/0"):
        with_quotas(PUBLISHED, [word])

"""The suite that comes with simia is what its command makes, and holds what it says."""

from collections import Counter

import pytest

from simia import worlds
from simia.bench.build import SuitePlan, build
from simia.bench.questions import cell_name
from simia.bench.strata import PUBLISHED
from simia.bench.suite import BUNDLED, Suite, read_suite, suite_path


@pytest.fixture(scope="module")
def simbench() -> Suite:
    return read_suite(suite_path("simbench-400"))


def test_the_file_has_the_checksum_that_lies_beside_it(simbench: Suite) -> None:
    noted = (BUNDLED / "simbench-400.sha256").read_text(encoding="utf-8").split()[0]
    assert simbench.sha256 == noted


def test_every_cell_has_its_published_quota(simbench: Suite) -> None:
    assert Counter(map(cell_name, simbench.samples)) == {cell.name: cell.count for cell in PUBLISHED}


def test_samples_come_from_the_worlds_of_the_benchmark_and_from_no_training_world(simbench: Suite) -> None:
    assert {sample.world for sample in simbench.samples} == set(worlds.BENCHMARK)


def test_no_question_is_asked_twice(simbench: Suite) -> None:
    assert len({sample.id for sample in simbench.samples}) == 400


def test_every_tool_has_its_code(simbench: Suite) -> None:
    assert all(tool.source for spec in simbench.head.worlds.values() for tool in spec.tools)


def test_the_licence_lies_beside_the_data(simbench: Suite) -> None:
    assert simbench.head.licence in (BUNDLED / "LICENSE").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_command_makes_the_same_suite_again(simbench: Suite) -> None:
    built = build(SuitePlan(name="simbench-400"), {name: worlds.load(name) for name in worlds.BENCHMARK})
    assert built.samples == simbench.samples
    assert built.episodes == simbench.episodes
    assert built.head.worlds == simbench.head.worlds

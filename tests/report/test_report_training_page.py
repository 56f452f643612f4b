"""The page of a training run says what its curves say, and draws them."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from simia.errors import ConfigError
from simia.report.step_chart import Series, round_ticks, running_mean, standalone, step_chart
from simia.report.training_page import training_page, write_page
from simia.store import Manifest, Run
from simia.train.curves import Curves
from simia.train.recipe import read_recipe


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    config = read_recipe("tiny", []).recorded()
    manifest = Manifest(run="tiny", version="0", created="2026-11-22", config=config, model="programs")
    with Run.create(tmp_path / "run", manifest):
        pass
    curves = Curves(tmp_path / "run" / "curves.csv")
    curves.put(0, {"trained_success": 0.25, "executed_success": 0.2})
    for step in range(1, 21):
        curves.put(
            step, {"reward": step / 20, "success": step / 20, "masked": 0.1, "masked_simulator": 0.1, "turns": 2}
        )
    return tmp_path / "run"


def test_it_says_where_the_reward_began_and_where_it_came_to(folder: Path) -> None:
    assert "20 steps; mean reward 0.08 over the first 2, 0.97 over the last 2." in training_page(folder)


def test_it_draws_what_was_measured_and_nothing_else(folder: Path) -> None:
    page = training_page(folder)

    assert page.count("<figure>") == 4
    assert "Masked episodes" in page
    assert "KL divergence" not in page


def test_it_shows_success_in_both_worlds(folder: Path) -> None:
    page = training_page(folder)

    assert "25% after step 0" in page
    assert "20% after step 0" in page


def test_it_is_written_into_the_run(folder: Path) -> None:
    assert write_page(folder) == folder / "report.html"
    assert (folder / "report.html").read_text(encoding="utf-8") == training_page(folder)


def test_a_folder_without_curves_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no training run"):
        training_page(tmp_path)


def test_a_drawing_alone_is_well_formed_and_carries_its_style() -> None:
    drawing = standalone(step_chart("Reward <1>", [Series("a & b", [(1, 0.0), (2, 1.0)]), Series("c", [(1, 0.5)])]))

    root = ElementTree.fromstring(drawing)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme" in drawing


def test_one_value_and_none_can_be_drawn() -> None:
    assert "<svg" in step_chart("one", [Series("a", [(3, 0.2)])])
    assert "<svg" in step_chart("none", [])


def test_the_line_is_the_mean_of_the_last_values() -> None:
    assert running_mean([(1, 0.0), (2, 1.0), (3, 2.0), (4, 6.0)], 3) == [(1, 0.0), (2, 0.5), (3, 1.0), (4, 3.0)]


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.0, 1.0, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0.0, 1.72, [0, 0.5, 1, 1.5, 2]),
        (-0.03, 0.09, [-0.04, -0.02, 0, 0.02, 0.04, 0.06, 0.08, 0.1]),
        (0.0, 173_000.0, [0, 50_000, 100_000, 150_000, 200_000]),
        (5.0, 5.0, [5, 5.2, 5.4, 5.6, 5.8, 6]),
    ],
)
def test_an_axis_has_round_numbers_around_its_values(low: float, high: float, ticks: list[float]) -> None:
    assert round_ticks(low, high) == pytest.approx(ticks)

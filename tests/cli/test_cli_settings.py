"""What ``simia settings`` prints."""

from collections.abc import Callable
from typing import Any

import pytest

Simia = Callable[..., Any]


def test_every_setting_is_printed_with_its_values_and_its_default(simia: Simia) -> None:
    ended = simia("settings")

    assert ended.code == 0
    rows = [line.split("  ") for line in ended.out.splitlines()]
    cells: dict[str, list[str]] = {}
    for row in rows:
        cells.setdefault(row[0], [cell.strip() for cell in row[1:] if cell.strip()])
    assert cells["count"] == ["whole number >= 1", "100"]
    assert cells["simulate.mode"] == ["one of trajectory, turns", "trajectory"]
    assert cells["plan.outcomes.success"] == ["number >= 0", "0.7"]


def test_one_section_is_printed_alone(simia: Simia) -> None:
    ended = simia("settings", "dedup")

    assert "dedup.near" in ended.out
    assert "simulate.mode" not in ended.out


@pytest.mark.parametrize("section", ["plan", "PLAN"])
def test_a_section_comes_with_the_tables_in_it(simia: Simia, section: str) -> None:
    ended = simia("settings", section)

    assert "plan.personas" in ended.out
    assert "plan.difficulties.easy" in ended.out


def test_a_table_in_a_section_is_printed_alone(simia: Simia) -> None:
    ended = simia("settings", "plan.outcomes")

    assert "plan.outcomes.refusal" in ended.out
    assert "plan.personas" not in ended.out


def test_each_row_is_one_line_where_nobody_sees_a_terminal(simia: Simia) -> None:
    lines = simia("settings", "seeds").out.splitlines()

    assert [line.split()[0] for line in lines if line.startswith("seeds.")] == [
        "seeds.source",
        "seeds.format",
        "seeds.limit",
        "seeds.licence",
    ]


@pytest.mark.parametrize("word", ["model.max_cost", "mod", "", "modle"])
def test_an_unknown_section_is_refused_in_one_line_with_the_known_ones(simia: Simia, word: str) -> None:
    ended = simia("settings", word)

    assert ended.code == 2
    assert ended.out == ""
    (line,) = ended.err.splitlines()
    assert line.startswith(f"error: no section {word!r}: the sections are recipe, seeds, model, ")
    assert line.endswith("grpo.evaluation, prices")


def test_a_benchmark_run_has_a_section_of_its_own(simia: Simia) -> None:
    lines = simia("settings", "bench").out.splitlines()

    assert ["drift", "whole number >= 0", "0"] in [
        [cell.strip() for cell in line.split("  ") if cell] for line in lines
    ]


def test_the_help_has_examples(simia: Simia) -> None:
    ended = simia("settings", "--help")

    assert ended.code == 0
    assert "simia settings simulate" in ended.out.split("Example")[1]


def test_the_help_of_simia_names_the_command(simia: Simia) -> None:
    assert " settings " in simia("--help").out


def test_a_role_has_the_settings_of_a_model(simia: Simia) -> None:
    assert simia("settings", "roles.judge").out == simia("settings", "model").out

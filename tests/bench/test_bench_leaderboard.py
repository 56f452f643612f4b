"""Runs side by side: rows, their order, paired comparison, drift by step, and the tables as text."""

import asyncio
import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simia import worlds
from simia.bench.intervals import Rate
from simia.bench.leaderboard import (
    Table,
    as_csv,
    by_size,
    drift_table,
    heat,
    interval_text,
    leaderboard,
    paired,
    published_rows,
    rate_text,
    released_rule,
)
from simia.bench.results import Results, read_results
from simia.bench.run import Examination, measure
from simia.bench.settings import BenchSettings
from simia.bench.suite import Suite, read_suite
from simia.errors import ServerFailed
from simia.models.cast import Cast
from simia.models.scripted import Answer
from simia.types import ChatRequest

Measure = Callable[..., Results]
SUCCESS = '{"observation": {"success": true}, "is_error": false, "changes": []}'


@pytest.fixture(scope="module")
def baselines(suite_file: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    """Finished runs of all baselines, which followed an episode of every world."""
    home = tmp_path_factory.mktemp("runs")
    found = {}
    for name in ("oracle", "do-nothing", "echo", "nearest"):
        settings = BenchSettings.model_validate(
            {"suite": str(suite_file), "model": {"name": f"baseline:{name}"}, "drift": 1}
        )
        examination = Examination(settings, read_suite(suite_file), suite_file, None, worlds.load)
        asyncio.run(measure(examination, home / name))
        found[name] = read_results(home / name)
    return found


@pytest.fixture
def measured(suite_file: Path, make_cast: Callable[..., Cast], tmp_path: Path) -> Measure:
    """The results of a scripted model over the small suite."""

    def take(answer: Any, folder: str = "run", **given: Any) -> Results:
        settings = BenchSettings.model_validate({"suite": str(suite_file), "model": {"name": "scripted"}} | given)
        examination = Examination(settings, read_suite(suite_file), suite_file, make_cast(answer), worlds.load)
        asyncio.run(measure(examination, tmp_path / folder))
        return read_results(tmp_path / folder)

    return take


def column(table: Table, name: str) -> list[str]:
    return [row[table.header.index(name)] for row in table.rows]


def assert_well_formed(table: Table) -> None:
    assert all(len(row) == len(table.header) for row in table.rows)
    assert all(cell for row in table.rows for cell in row)


def test_the_best_stands_first(baselines: dict[str, Results]) -> None:
    table = leaderboard([baselines["echo"], baselines["oracle"], baselines["do-nothing"]])
    assert column(table, "simulator")[0] == "oracle"
    assert column(table, "Config Match")[0] == "100.0 % (91-100)"


def test_every_stratum_of_the_suite_has_its_column(baselines: dict[str, Results]) -> None:
    table = leaderboard([baselines["do-nothing"]])
    assert table.header[4:-2] == ("failure", "no change", "1-2 changes", "3-6", "7-12")
    assert table.rows[0][4:-2] == ("100 %", "100 %", "0 %", "0 %", "0 %")


def test_a_run_without_config_match_stands_last_with_a_dash(baselines: dict[str, Results], measured: Measure) -> None:
    hidden = measured(lambda request: '{"observation": 1}', setting="hidden")
    table = leaderboard([hidden, baselines["echo"]])
    assert column(table, "simulator") == ["echo the arguments", "scripted"]
    assert set(table.rows[1][3:-2]) == {"-"}
    assert column(table, "Feedback Match")[1].startswith("0.0 % (")


def test_samples_that_nobody_answered_show_in_the_number_of_samples(measured: Measure) -> None:
    asked = iter(range(10**6))

    def broken(request: ChatRequest) -> Answer:
        return ServerFailed("status 500") if next(asked) % 3 == 0 else SUCCESS

    table = leaderboard([measured(broken)])
    assert column(table, "samples") == ["26 of 39"]
    assert column(table, "no answer") == ["0"]


def test_answers_that_could_not_be_read_are_counted(measured: Measure) -> None:
    assert column(leaderboard([measured(lambda request: "no json")]), "no answer") == ["39"]


def test_runs_of_one_simulator_are_told_apart(measured: Measure, tmp_path: Path) -> None:
    runs = [
        measured(lambda request: SUCCESS, "a"),
        measured(lambda request: SUCCESS, "b", setting="tracked"),
        measured(lambda request: SUCCESS, "c", setting="tracked", temperature=0.5),
    ]
    names = column(by_size(runs), "simulator")
    assert set(names) == {"scripted, constrained", f"scripted, {tmp_path / 'b'}", f"scripted, {tmp_path / 'c'}"}
    assert column(leaderboard(runs), "simulator") == names


def test_a_boxed_run_says_so(measured: Measure) -> None:
    table = leaderboard([measured(lambda request: SUCCESS, boxed=True, limit=3)])
    assert column(table, "setting") == ["constrained boxed"]


def test_config_match_by_size_has_a_column_for_each_number(baselines: dict[str, Results], suite: Suite) -> None:
    table = by_size(list(baselines.values()))
    assert table.header[1:] == tuple(str(size) for size in sorted({sample.size for sample in suite.samples}))
    assert set(next(row for row in table.rows if row[0] == "oracle")[1:]) == {"100 %"}
    assert_well_formed(table)


def test_config_match_by_size_leaves_out_who_saw_no_state(measured: Measure) -> None:
    hidden = measured(lambda request: '{"observation": 1}', setting="hidden", limit=5)
    assert by_size([hidden]).rows == ()


def test_the_released_rule_stands_beside_what_was_published(baselines: dict[str, Results]) -> None:
    table = released_rule([baselines["oracle"]])
    suites = column(table, "suite")
    assert suites == ["small", *["published"] * len(published_rows())]
    assert "they are a reference and no comparison" in table.note
    assert_well_formed(table)


def test_published_rows_are_never_in_our_own_tables(baselines: dict[str, Results]) -> None:
    runs = list(baselines.values())
    names = {row.model for row in published_rows()}
    ours = [leaderboard(runs), by_size(runs), paired(runs), drift_table(runs)]
    cells = {cell for table in ours if table is not None for row in table.rows for cell in row}
    assert names
    assert not names & cells


def test_pairs_are_compared_on_shared_samples_only(baselines: dict[str, Results], measured: Measure) -> None:
    some = measured(lambda request: SUCCESS, limit=10)
    table = paired([baselines["oracle"], some])
    assert table is not None
    ((first, second, samples, only_first, only_second, _),) = table.rows
    assert (first, second) == ("oracle", "scripted")
    wrong = sum(verdict.sample.size > 0 for verdict in some.verdicts)
    assert (samples, only_first, only_second) == ("10", str(wrong), "0")


def test_every_two_runs_are_a_pair(baselines: dict[str, Results]) -> None:
    table = paired(list(baselines.values()))
    assert table is not None
    assert len(table.rows) == 6


def test_one_run_has_no_pair(baselines: dict[str, Results]) -> None:
    assert paired([baselines["oracle"]]) is None


def test_a_run_without_config_match_has_no_pair(baselines: dict[str, Results], measured: Measure) -> None:
    hidden = measured(lambda request: '{"observation": 1}', setting="hidden", limit=5)
    assert paired([baselines["oracle"], hidden]) is None


def test_drift_is_shown_by_step_with_counts(baselines: dict[str, Results], suite: Suite) -> None:
    episodes = [one for one in suite.episodes if one.role == "drift"]
    table = drift_table([baselines["oracle"]])
    assert table is not None
    longest = max(len(one.steps) for one in episodes)
    assert column(table, "step") == [str(number) for number in range(1, longest + 1)]
    assert column(table, "episodes") == [
        str(sum(len(one.steps) >= number for one in episodes)) for number in range(1, longest + 1)
    ]
    assert set(column(table, "state right")) == set(column(table, "Feedback Match")) == {"100 %"}
    assert_well_formed(table)


def test_who_does_nothing_is_right_only_where_nothing_has_changed_yet(baselines: dict[str, Results]) -> None:
    table = drift_table([baselines["do-nothing"]])
    assert table is not None
    assert all(cell == "-" or cell.startswith("0 % of ") for cell in column(table, "once changed"))


def test_drift_of_a_hidden_state_has_observations_only(measured: Measure) -> None:
    table = drift_table([measured(lambda request: '{"observation": 1}', setting="hidden", drift=1, limit=1)])
    assert table is not None
    assert set(column(table, "state right")) == set(column(table, "once changed")) == {"-"}


def test_runs_without_drift_have_no_table_of_it(measured: Measure) -> None:
    assert drift_table([measured(lambda request: SUCCESS, limit=1)]) is None


def test_one_run_by_world(baselines: dict[str, Results]) -> None:
    table = heat(baselines["do-nothing"], lambda verdict: verdict.sample.world, "world")
    assert column(table, "world") == sorted(worlds.BENCHMARK)
    assert set(column(table, "on changes")) == {"0 %"}
    assert sum(map(int, column(table, "samples"))) == 39


def test_markdown_has_as_many_cells_in_every_row(baselines: dict[str, Results]) -> None:
    table = leaderboard(list(baselines.values()))
    lines = table.as_markdown().splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert lines[0] == "### Leaderboard"
    assert len(rows) == 2 + len(table.rows)
    assert len({line.count("|") for line in rows}) == 1
    assert lines[-1] == table.note


def test_a_bar_in_a_cell_does_not_break_the_markdown() -> None:
    text = Table("t", ("a", "b"), (("x|y", "z"),)).as_markdown()
    assert "| x\\|y | z |" in text


def test_csv_reads_back_with_the_title_of_each_table(baselines: dict[str, Results]) -> None:
    tables = [leaderboard(list(baselines.values())), by_size(list(baselines.values()))]
    rows = list(csv.reader(io.StringIO(as_csv(tables))))
    assert rows[0] == ["table", *tables[0].header]
    assert rows[1] == ["Leaderboard", *tables[0].rows[0]]
    assert rows[len(tables[0].rows) + 1] == ["table", *tables[1].header]
    assert len(rows) == sum(len(table.rows) + 1 for table in tables)


@pytest.mark.parametrize(
    ("rate", "short", "long"),
    [
        (Rate(0, 20), "0 %", "0.0 % (0-16)"),
        (Rate(20, 20), "100 %", "100.0 % (84-100)"),
        (Rate(7, 20), "35.0 %", "35.0 % (18-57)"),
        (Rate(0, 0), "-", "-"),
        (None, "-", "-"),
    ],
)
def test_a_rate_is_spelled(rate: Rate | None, short: str, long: str) -> None:
    assert (rate_text(rate), interval_text(rate)) == (short, long)

"""The rates of runs as rows for a spreadsheet."""

import csv
import io
from collections import defaultdict

import pytest

from simia.bench.figures import HEADER, as_csv
from simia.bench.results import Results


@pytest.fixture(scope="module")
def rows(baselines: dict[str, Results]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(as_csv([baselines["oracle"], baselines["do-nothing"]]))))


def test_every_row_says_of_which_run_and_suite_it_is(rows: list[dict[str, str]], baselines: dict[str, Results]) -> None:
    assert {row["simulator"] for row in rows} == {"oracle", "do nothing"}
    assert {row["suite_sha256"] for row in rows} == {baselines["oracle"].suite.sha256}
    assert {row["asked"] for row in rows} == {str(baselines["oracle"].asked)}
    assert all(tuple(row) == HEADER for row in rows)


def test_a_rate_comes_with_its_counts_and_its_interval(rows: list[dict[str, str]]) -> None:
    oracle = next(
        row for row in rows if (row["simulator"], row["measure"], row["by"]) == ("oracle", "config_match", "all")
    )
    assert (oracle["right"], oracle["rate"], oracle["high"]) == (oracle["count"], "1.000000", "1.000000")
    assert 0.8 < float(oracle["low"]) < 1


def test_the_parts_of_a_run_sum_up_to_all_of_it(rows: list[dict[str, str]]) -> None:
    sums: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        if row["by"] != "step":
            key = (row["simulator"], row["measure"], row["by"])
            sums[key][0] += int(row["right"])
            sums[key][1] += int(row["count"])
    for (simulator, measure, _), found in sums.items():
        assert found == sums[simulator, measure, "all"]


def test_strata_worlds_tools_and_numbers_of_changes_have_rows(rows: list[dict[str, str]]) -> None:
    keys = defaultdict(set)
    for row in rows:
        keys[row["by"]].add(row["key"])
    assert {"failure", "no_change", "simple", "medium", "difficult"} <= keys["stratum"]
    assert {"0", "1", "12"} & keys["changes"]
    assert "bank" in keys["world"]
    assert any(key.startswith("bank.") for key in keys["tool"])


def test_drift_has_a_row_for_each_step(rows: list[dict[str, str]]) -> None:
    steps = [row for row in rows if (row["simulator"], row["measure"]) == ("oracle", "drift_state_match")]
    assert [row["key"] for row in steps] == [str(number) for number in range(1, len(steps) + 1)]
    assert {row["rate"] for row in steps} == {"1.000000"}


def test_where_nothing_has_changed_yet_there_is_no_rate(baselines: dict[str, Results]) -> None:
    for row in csv.DictReader(io.StringIO(as_csv([baselines["oracle"]]))):
        assert (row["count"] == "0") == (row["rate"] == "")

"""Runs side by side: rows, their order, paired comparison, drift by step, and the tables as text."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simia import worlds
from simia.bench.build import SuitePlan, build
from simia.bench.leaderboard import (
    Table,
    by_size,
    by_stratum,
    drift_table,
    interval_text,
    leaderboard,
    paired,
    rate_text,
    released_rule,
)
from simia.bench.naming import ranked, suite_names
from simia.bench.reference import published_notes, published_rows
from simia.bench.results import Results, read_results
from simia.bench.run import Examination, measure
from simia.bench.settings import BenchSettings
from simia.bench.strata import PUBLISHED, scaled
from simia.bench.suite import Suite, read_suite, write_suite
from simia.errors import ServerFailed
from simia.models.cast import Cast
from simia.models.scripted import Answer
from simia.types import ChatRequest
from simia.types.rate import Rate
from simia.worlds import World

Measure = Callable[..., Results]
SMALL = SuitePlan(name="other", examples=1, drift=1)
SUCCESS = '{"observation": {"success": true}, "is_error": false, "changes": []}'


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
    assert table.header[4:-3] == ("refused", "no change", "1-2 changes", "3-6 changes", "7-12 changes")
    assert [cell.partition(" (")[0] for cell in table.rows[0][4:-3]] == ["100 %", "100 %", "0 %", "0 %", "0 %"]


def test_a_run_without_config_match_stands_last_with_a_dash(baselines: dict[str, Results], measured: Measure) -> None:
    hidden = measured(lambda request: '{"observation": 1}', setting="hidden")
    table = leaderboard([hidden, baselines["echo"]])
    assert column(table, "simulator") == ["echo the arguments", "scripted"]
    assert set(table.rows[1][3:-3]) == {"-"}
    assert column(table, "Feedback Match")[1].startswith("0.0 % (")


def test_samples_that_nobody_answered_show_in_the_number_of_samples(measured: Measure) -> None:
    asked = iter(range(10**6))

    def broken(request: ChatRequest) -> Answer:
        return ServerFailed("status 500") if next(asked) % 3 == 0 else SUCCESS

    table = leaderboard([measured(broken)])
    assert column(table, "samples") == ["26 of 39"]
    assert column(table, "unusable") == ["0"]


def test_answers_that_could_not_be_read_are_counted(measured: Measure) -> None:
    assert column(leaderboard([measured(lambda request: "no json")]), "unusable") == ["39"]


def test_runs_of_one_simulator_are_told_apart(measured: Measure) -> None:
    runs = [
        measured(lambda request: SUCCESS, "a"),
        measured(lambda request: SUCCESS, "b", setting="tracked"),
        measured(lambda request: SUCCESS, "c", setting="tracked", temperature=0.5),
    ]
    names = column(by_size(runs), "simulator")
    assert set(names) == {"scripted · constrained", "scripted · tracked · b", "scripted · tracked · c"}
    assert column(leaderboard(runs), "simulator") == names


def test_a_boxed_run_says_so(measured: Measure) -> None:
    table = leaderboard([measured(lambda request: SUCCESS, boxed=True, limit=3)])
    assert column(table, "setting") == ["constrained boxed"]


def test_config_match_by_size_has_a_column_for_each_number(baselines: dict[str, Results], suite: Suite) -> None:
    table = by_size(list(baselines.values()))
    sizes = sorted({sample.size for sample in suite.samples if not sample.is_error})
    assert table.header[1:] == ("refused", *map(str, sizes))
    assert set(next(row for row in table.rows if row[0] == "oracle")[1:]) == {"100 %"}
    assert_well_formed(table)


def test_no_change_counts_no_refused_call(baselines: dict[str, Results]) -> None:
    table = by_size([baselines["nearest"]])
    still = [v for v in baselines["nearest"].verdicts if not v.sample.size and not v.sample.is_error]
    refused = [v for v in baselines["nearest"].verdicts if v.sample.is_error]
    for name, verdicts in (("0", still), ("refused", refused)):
        assert column(table, name) == [rate_text(baselines["nearest"].config_match(verdicts))]


def test_config_match_by_size_leaves_out_who_saw_no_state(measured: Measure) -> None:
    hidden = measured(lambda request: '{"observation": 1}', setting="hidden", limit=5)
    assert by_size([hidden]).rows == ()


def test_the_released_rule_stands_beside_what_was_published(baselines: dict[str, Results]) -> None:
    table = released_rule([baselines["oracle"]])
    suites = column(table, "suite")
    assert suites == ["small 1", *["published"] * len(published_rows())]
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
    ((first, second, measure, samples, only_first, only_second, _),) = table.rows
    assert (first, second, measure) == ("oracle", "scripted", "Config Match")
    wrong = sum(verdict.sample.size > 0 for verdict in some.verdicts)
    assert (samples, only_first, only_second) == ("10", str(wrong), "0")


@pytest.fixture(scope="module")
def elsewhere(benchmark_worlds: dict[str, World], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Results]:
    """The results of doing nothing on a suite that shares worlds with the small one, under a name of choice."""

    def take(name: str, version: str = "1") -> Results:
        home = tmp_path_factory.mktemp("elsewhere")
        path = home / "other.jsonl.gz"
        plan = replace(SMALL, name=name, version=version, tasks=5, cells=scaled(PUBLISHED, 0.05))
        made = build(plan, {"bank": benchmark_worlds["bank"]})
        write_suite(path, made.head, made.episodes, made.samples)
        settings = BenchSettings.model_validate(
            {"suite": str(path), "model": {"name": "baseline:do-nothing"}, "drift": 1}
        )
        asyncio.run(measure(Examination(settings, read_suite(path), path, None, worlds.load), home / "run"))
        return read_results(home / "run")

    return take


def test_runs_of_one_suite_have_no_column_of_it(baselines: dict[str, Results]) -> None:
    runs = list(baselines.values())
    tables = [leaderboard(runs), by_size(runs), drift_table(runs)]
    assert not [table for table in tables if table is not None and "suite" in table.header]
    assert leaderboard(runs).remarks == ()


def test_runs_of_several_suites_say_which_and_that_they_do_not_compare(
    baselines: dict[str, Results], elsewhere: Callable[..., Results]
) -> None:
    runs = [elsewhere("other", "2"), baselines["oracle"]]
    found = [leaderboard(runs), by_size(runs), drift_table(runs), released_rule(runs)]
    tables = [table for table in found if table is not None]
    assert len(tables) == 4
    for table in tables:
        said = dict(zip(column(table, "simulator"), column(table, "suite"), strict=True))
        assert (said["oracle"], said["do nothing"]) == ("small 1", "other 2")
        assert_well_formed(table)
    warning = "The runs were not measured on the same suite: their rates do not compare."
    assert tables[0].remarks == (warning,)
    assert f"### Leaderboard\n\n> {warning}\n\n| simulator | setting | suite |" in tables[0].as_markdown()
    assert tables[2].header[:4] == ("simulator", "suite", "right after step", "1")
    assert tables[2].keys == 3


def test_suites_of_one_name_are_told_apart_by_their_hash(
    baselines: dict[str, Results], elsewhere: Callable[..., Results]
) -> None:
    runs = [elsewhere("small"), baselines["oracle"]]
    assert suite_names(runs) == {run.suite.sha256: f"small 1 {run.suite.sha256[:8]}" for run in runs}


def test_runs_of_several_suites_are_no_pair_although_they_share_samples(
    baselines: dict[str, Results], elsewhere: Callable[..., Results]
) -> None:
    first, second = elsewhere("small", "2"), elsewhere("small", "3")
    assert {v.sample.id for v in first.verdicts} == {v.sample.id for v in second.verdicts}
    assert paired([first, second]) is None
    table = paired([first, baselines["oracle"], baselines["echo"], second])
    assert table is not None
    assert [row[:2] for row in table.rows] == [("oracle", "echo the arguments")]


def test_what_is_not_answered_is_remarked_in_every_output(measured: Measure) -> None:
    asked = iter(range(10**6))
    table = leaderboard([measured(lambda request: ServerFailed("500") if next(asked) % 3 == 0 else SUCCESS)])
    assert table.remarks == (
        "scripted: incomplete, 26 of 39 samples have an answer. Its rates are over those.",
        "scripted: 13 of 39 samples failed, through no fault of the simulator (the endpoint, the network). "
        "They are in no rate; --resume asks them again.",
    )
    assert all(remark in table.as_markdown() for remark in table.remarks)


def test_runs_that_answered_other_samples_of_one_suite_are_remarked(
    baselines: dict[str, Results], measured: Measure
) -> None:
    (remark,) = leaderboard([baselines["oracle"], measured(lambda request: SUCCESS, limit=10)]).remarks
    assert remark.startswith("The runs did not answer the same samples")


def test_episodes_that_were_not_followed_are_remarked(measured: Measure) -> None:
    asked = iter(range(10**6))
    table = leaderboard(
        [measured(lambda request: ServerFailed("500") if next(asked) > 6 else SUCCESS, limit=3, drift=1)]
    )
    (remark,) = (remark for remark in table.remarks if "drift" in remark)
    assert remark.startswith("scripted: drift over 0 of 10 episodes; the others were not followed to their end.")


def test_the_order_does_not_depend_on_who_is_named_first(baselines: dict[str, Results], measured: Measure) -> None:
    runs = [*baselines.values(), *(measured(lambda request: "{}", name) for name in ("b", "a"))]
    assert ranked(runs) == ranked(runs[::-1]) == ranked(ranked(runs))


def test_how_alike_the_texts_are_is_a_mean(baselines: dict[str, Results]) -> None:
    table = leaderboard([baselines["oracle"], baselines["nearest"]])
    assert column(table, "similarity") == ["1.00", f"{baselines['nearest'].similarity:.2f}"]


def test_published_figures_that_do_not_fit_say_so_wherever_they_stand(baselines: dict[str, Results]) -> None:
    row = next(row for row in published_rows() if row.note)
    assert (row.model, row.unchanged, row.by_size[0]) == ("EnvSimBench 4B (Full-Balance2)", 100.0, 99)
    assert published_notes() == f"{row.model}: {row.note}"
    assert released_rule([baselines["oracle"]]).as_markdown().rstrip().endswith(published_notes())


def test_published_rows_fit_their_overall_figure() -> None:
    quotas = (100, 25, 25, 50, 50, 50, 50, 50)
    for row in published_rows():
        assert sum(q * v for q, v in zip(quotas, row.by_size, strict=True)) / 400 == pytest.approx(
            row.overall, abs=0.06
        )
        assert row.note or row.unchanged == row.by_size[0]


def test_a_stratum_says_how_many_of_how_many(baselines: dict[str, Results]) -> None:
    table = leaderboard([baselines["do-nothing"]])
    refused = baselines["do-nothing"].config_match(
        [v for v in baselines["do-nothing"].verdicts if v.group == "failure"]
    )
    assert refused is not None
    assert column(table, "refused") == [f"100 % ({refused.count}/{refused.count})"]
    assert column(table, "7-12 changes")[0].startswith("0 % (0/")


def test_each_stratum_has_both_rates_with_their_intervals(baselines: dict[str, Results]) -> None:
    table = by_stratum([baselines["oracle"], baselines["do-nothing"]])
    assert_well_formed(table)
    rows = {row[:2]: row[2:] for row in table.rows}
    count, config, feedback = rows["do nothing", "3-6 changes"]
    assert (config, feedback) == (interval_text(Rate(0, int(count))), interval_text(Rate(0, int(count))))
    assert rows["oracle", "refused"][1].startswith("100.0 % (")


def test_training_worlds_in_a_suite_are_remarked(measured: Measure, tmp_path: Path) -> None:
    plan = replace(SMALL, tasks=2, cells=scaled(PUBLISHED, 0.02))
    built = build(plan, {"library": worlds.load("library")})
    write_suite(tmp_path / "t.jsonl.gz", built.head, built.episodes, built.samples)
    settings = BenchSettings.model_validate({"suite": str(tmp_path / "t.jsonl.gz"), "model": {"name": "baseline:echo"}})
    path = Path(settings.suite)
    asyncio.run(measure(Examination(settings, read_suite(path), path, None, worlds.load), tmp_path / "run"))
    (remark,) = leaderboard([read_results(tmp_path / "run")]).remarks
    assert remark.startswith("library: simia bench sft makes training data of these worlds.")


def test_every_two_runs_are_a_pair(baselines: dict[str, Results]) -> None:
    table = paired(list(baselines.values()))
    assert table is not None
    assert len(table.rows) == 6


def test_one_run_has_no_pair(baselines: dict[str, Results]) -> None:
    assert paired([baselines["oracle"]]) is None


def test_a_run_without_config_match_is_paired_by_feedback(baselines: dict[str, Results], measured: Measure) -> None:
    hidden = measured(lambda request: '{"observation": 1}', setting="hidden", limit=5)
    table = paired([baselines["oracle"], hidden])
    assert table is not None
    ((_, _, measure, samples, only_first, only_second, _),) = table.rows
    assert (measure, samples, only_first, only_second) == ("Feedback Match", "5", "5", "0")


def drift_rows(run: Results) -> dict[str, tuple[str, ...]]:
    table = drift_table([run])
    assert table is not None
    assert_well_formed(table)
    return {row[1]: row[2:] for row in table.rows}


def test_drift_is_shown_by_step_with_counts(baselines: dict[str, Results], suite: Suite) -> None:
    lengths = [len(one.steps) for one in suite.episodes if one.role == "drift"]
    counts = [sum(length > place for length in lengths) for place in range(max(lengths))]
    rows = drift_rows(baselines["oracle"])
    for name in ("state right", "Feedback Match"):
        assert rows[name] == tuple(f"{count}/{count}" for count in counts)


def test_who_does_nothing_is_right_only_where_nothing_has_changed_yet(baselines: dict[str, Results]) -> None:
    assert all(cell == "-" or cell.startswith("0/") for cell in drift_rows(baselines["do-nothing"])["once changed"])


def test_drift_of_a_hidden_state_has_observations_only(measured: Measure) -> None:
    run = measured(lambda request: '{"observation": 1}', setting="hidden", drift=1, limit=1)
    assert set(drift_rows(run)) == {"Feedback Match"}


def test_runs_without_drift_have_no_table_of_it(measured: Measure) -> None:
    assert drift_table([measured(lambda request: SUCCESS, limit=1)]) is None


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

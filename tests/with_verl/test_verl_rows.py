"""verl's data files: rows that name tasks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simia.environment.adapters.verl_rows import write_recipe_rows, write_rows
from simia.environment.arena import Arena
from simia.environment.settings import EnvironmentSettings
from simia.errors import ConfigError
from simia.worlds import load


def read(path: Path) -> list[dict[str, Any]]:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return rows


@pytest.fixture
def arena() -> Arena:
    settings = EnvironmentSettings(world="lamps", dynamics="executable", user="one_request", tasks=5)
    return Arena(settings, {}, world=load("lamps"))


def test_every_row_names_a_task_and_the_agent_loop(arena: Arena, tmp_path: Path) -> None:
    assert write_rows(arena, tmp_path / "data" / "train.parquet") == 5
    rows = read(tmp_path / "data" / "train.parquet")
    assert [row["extra_info"]["task_id"] for row in rows] == list(arena.tasks)
    assert {row["agent_name"] for row in rows} == {"simia_agent"}
    assert {row["data_source"] for row in rows} == {"simia/lamps"}


def test_nothing_of_a_task_is_told_in_its_row(arena: Arena, tmp_path: Path) -> None:
    write_rows(arena, tmp_path / "train.parquet")
    for row, task in zip(read(tmp_path / "train.parquet"), arena.tasks.values(), strict=True):
        assert task.seed.task not in str(row)


def test_the_last_tasks_of_a_recipe_are_held_out(lamps_recipe: Callable[[str], Path], tmp_path: Path) -> None:
    train, val = tmp_path / "train.parquet", tmp_path / "val.parquet"
    assert write_recipe_rows(lamps_recipe(""), train, val, held_out=3) == (5, 3)
    splits = [{row["extra_info"]["split"] for row in read(path)} for path in (train, val)]
    assert splits == [{"train"}, {"val"}]
    ids = [{row["extra_info"]["task_id"] for row in read(path)} for path in (train, val)]
    assert len(ids[0] | ids[1]) == 8


@pytest.mark.parametrize("held_out", [0, 8, 9])
def test_neither_file_may_be_empty(lamps_recipe: Callable[[str], Path], tmp_path: Path, held_out: int) -> None:
    with pytest.raises(ConfigError, match=f"{held_out} of 8 tasks"):
        write_recipe_rows(lamps_recipe(""), tmp_path / "t.parquet", tmp_path / "v.parquet", held_out=held_out)


def test_an_empty_selection_is_refused(arena: Arena, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no task"):
        write_rows(arena, tmp_path / "train.parquet", tasks=[])

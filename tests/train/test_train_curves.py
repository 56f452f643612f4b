"""Curves of a training run: a row a step, on the disk at once, cut back where a run goes on earlier."""

from pathlib import Path

from simia.train.curves import COLUMNS, Curves, read_curves


def test_what_was_put_is_read_back_and_nothing_else_stands_in_the_row(tmp_path: Path) -> None:
    curves = Curves(tmp_path / "curves.csv")

    curves.put(1, {"reward": 0.25, "success": None, "loss": float("nan")})
    curves.put(1, {"turns": 2.5})
    curves.put(2, {"reward": 0.5})

    assert read_curves(tmp_path / "curves.csv") == {1: {"reward": 0.25, "turns": 2.5}, 2: {"reward": 0.5}}


def test_the_file_is_plain_csv_with_every_column(tmp_path: Path) -> None:
    Curves(tmp_path / "curves.csv").put(3, {"reward": 1.0})

    head, row = (tmp_path / "curves.csv").read_text().splitlines()
    assert head == ",".join(COLUMNS)
    assert row.startswith("3,1,,")


def test_a_run_that_goes_on_forgets_what_came_after_its_checkpoint(tmp_path: Path) -> None:
    curves = Curves(tmp_path / "curves.csv")
    for step in range(1, 6):
        curves.put(step, {"reward": step / 10})

    Curves(tmp_path / "curves.csv").cut(3)

    assert sorted(read_curves(tmp_path / "curves.csv")) == [1, 2, 3]

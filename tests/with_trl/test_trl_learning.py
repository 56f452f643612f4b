"""The command that trains, end to end: a tiny agent learns in a simulated world, and it holds in the executable one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("trl", reason="needs the extra 'trl'")

from simia.train.curves import read_curves

pytestmark = [pytest.mark.trl, pytest.mark.slow]


def test_an_agent_learns_in_the_simulated_world_and_does_better_in_the_real_one(tmp_path: Path) -> None:
    run = tmp_path / "run"

    ended = subprocess.run(
        [sys.executable, "-m", "simia", "train", "grpo", "tiny", "--run", str(run)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )

    assert ended.returncode == 0, ended.stderr[-2000:]
    rows = read_curves(run / "curves.csv")
    first, last = (sum(rows[step]["reward"] for step in range(begin, begin + 10)) / 10 for begin in (1, 91))
    assert first < 0.3
    assert last > 0.65
    assert rows[0]["executed_success"] < 0.3
    assert rows[100]["executed_success"] > 0.65
    assert all(rows[step]["masked"] == 0 for step in range(1, 101))
    assert (run / "report.html").exists()
    assert "success on held-out tasks in the executable world" in ended.stdout

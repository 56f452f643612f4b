"""``make demo``, with a mock endpoint in the place of the embedded model, in a folder of its own."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MAKEFILE = Path(__file__).parents[2] / "Makefile"
BIN = Path(sys.executable).parent

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("make") is None or not (BIN / "simia").exists(), reason="needs make and simia"),
]


def demo(*words: str) -> "subprocess.CompletedProcess[str]":
    """The target, without the installation that it needs elsewhere."""
    command = ["make", "-f", str(MAKEFILE), "-o", ".venv/.installed", "demo", f"BIN={BIN}", "MODEL=tiny", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_demo_ends_well_with_its_page_although_the_model_kept_nothing(serve: Callable[..., Any]) -> None:
    serve(lambda body: "no conversation")

    ended = demo()

    assert ended.returncode == 0, ended.stderr
    assert "no conversation passed every check" in ended.stdout
    assert "<title>shop" in Path("runs/demo/report.html").read_text()
    assert json.loads(Path("runs/demo/run.json").read_text())["config"]["count"] == 8


def test_the_demo_goes_on_with_its_own_run_and_begins_anew_over_another(serve: Callable[..., Any]) -> None:
    endpoint = serve(lambda body: "no conversation")
    demo()
    asked = endpoint.server.stats()["requests"]

    again = demo()
    asked_again = endpoint.server.stats()["requests"]
    other = demo("DEMO_SETTINGS=simulate.temperature=0.3")

    assert (again.returncode, other.returncode) == (0, 0)
    assert asked_again == asked
    assert "beginning anew" not in again.stdout
    assert "beginning anew" in other.stdout
    assert json.loads(Path("runs/demo/run.json").read_text())["config"]["simulate"]["temperature"] == 0.3


def test_the_demo_with_a_wrong_setting_leaves_its_run_alone(serve: Callable[..., Any]) -> None:
    serve(lambda body: "no conversation")
    demo("DEMO_SETTINGS=count=1")

    ended = demo("DEMO_SETTINGS=simulate.temprature=1")

    assert ended.returncode == 2
    assert "simulate.temprature: unknown key" in ended.stderr
    assert Path("runs/demo/run.json").exists()

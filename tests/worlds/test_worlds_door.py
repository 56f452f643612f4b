"""The door to every executable world, without any extra."""

import importlib.util
from pathlib import Path

import pytest

from simia import worlds
from simia.errors import ConfigError, ExtraMissing
from simia.worlds.door import known_names, open_world

EXTRAS = [
    ("tau2:airline", "tau2", ("tau2",)),
    ("bfcl:MathAPI", "bfcl", ("bfcl", "bfcl_eval")),
    ("agentdojo:slack", "agentdojo", ("agentdojo",)),
]


def test_a_world_of_simia_is_opened_by_its_name() -> None:
    assert open_world("shop").spec.name == "shop"


def test_the_known_names_are_the_own_worlds_and_the_adapted_ones() -> None:
    assert known_names()[: len(worlds.names())] == worlds.names()
    assert {"tau2:retail", "bfcl:GorillaFileSystem", "agentdojo:workspace"} <= set(known_names())
    assert len(known_names()) == len(worlds.names()) + 3 + 8 + 4


def test_an_unknown_name_is_an_error_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"no world 'shoppe'; there are .*shop.*tau2:airline.*agentdojo:slack"):
        open_world("shoppe")


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("tau2:bank", "airline, retail, telecom"),
        ("tau2:airline:all", "train, test, base"),
        ("bfcl:Files", "GorillaFileSystem, MathAPI"),
        ("bfcl:MathAPI:hard", "base, miss_func"),
        ("agentdojo:bank", "workspace, travel, banking, slack"),
    ],
)
def test_an_unknown_name_in_a_package_is_an_error_with_those_that_it_has(name: str, known: str) -> None:
    with pytest.raises(ConfigError, match=known):
        open_world(name)


@pytest.mark.parametrize(("name", "extra", "packages"), EXTRAS)
def test_a_missing_extra_is_an_error_that_names_the_command(name: str, extra: str, packages: tuple[str, ...]) -> None:
    if any(importlib.util.find_spec(package) is not None for package in packages):
        pytest.skip(f"{extra} is installed here")
    with pytest.raises(ExtraMissing, match=rf"needs the extra '{extra}'.*pip install 'simia\[{extra}\]'"):
        open_world(name)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no file .*world\.py"):
        open_world(str(tmp_path / "world.py"))


def test_a_folder_of_seeds_is_no_executable_world(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a world folder, which has seeds and no code: it cannot be executed"):
        open_world(str(tmp_path))

"""The one door through which seeds come in."""

from pathlib import Path

import pytest

from simia import seeds
from simia.errors import SeedError


def test_the_bundled_worlds_are_named() -> None:
    assert seeds.bundled_names() == ("office", "shop")


def test_a_limit_stops_the_reading() -> None:
    assert len(list(seeds.read("bundled:shop", limit=3))) == 3


def test_a_limit_of_zero_gives_nothing_and_no_error() -> None:
    assert list(seeds.read("bundled:shop", limit=0)) == []


def test_an_unknown_bundled_name_is_an_error_with_the_known_ones() -> None:
    with pytest.raises(SeedError, match="no bundled seeds 'bank'; there are office, shop"):
        next(seeds.read("bundled:bank"))


def test_an_unknown_tau2_domain_is_an_error_with_the_known_ones() -> None:
    with pytest.raises(SeedError, match="no tau2 domain 'bank'; there are airline, retail, telecom"):
        next(seeds.read("tau2:bank"))


def test_an_unknown_format_name_is_an_error_with_the_known_ones(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("{}")
    with pytest.raises(SeedError, match="no seed format 'csv'; known formats: auto, world, openai, hermes, apigen_mt"):
        next(seeds.read(str(path), format="csv"))


def test_a_folder_of_nothing_known_is_an_error_that_says_what_it_could_be(tmp_path: Path) -> None:
    with pytest.raises(SeedError, match=r"is a folder without world\.toml"):
        next(seeds.read(str(tmp_path)))


def test_a_path_that_does_not_exist_is_an_error_that_names_it() -> None:
    with pytest.raises(SeedError, match=r"no file nowhere/seeds\.jsonl"):
        next(seeds.read("nowhere/seeds.jsonl"))


def test_equal_seeds_come_out_of_two_readings() -> None:
    assert list(seeds.read("bundled:office")) == list(seeds.read("bundled:office"))

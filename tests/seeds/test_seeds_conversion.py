"""Seeds written again are the same seeds; what a place cannot hold is told."""

from collections.abc import Callable
from itertools import chain
from pathlib import Path

import pytest

from simia import seeds
from simia.errors import ConfigError
from simia.seeds.conversion import Written, write_file, write_folder
from simia.seeds.world_folder import check_world
from simia.types import Seed, ToolSpec


def ids(found: list[Seed]) -> list[str]:
    return [seed.content_id for seed in found]


@pytest.mark.parametrize("name", ["shop", "office"])
def test_a_folder_gives_back_the_very_same_seeds(tmp_path: Path, name: str) -> None:
    before = list(seeds.read(f"bundled:{name}"))
    written = write_folder(tmp_path / "mine", iter(before))
    assert written == Written(len(before))
    assert ids(list(seeds.read(str(tmp_path / "mine")))) == ids(before)
    assert check_world(tmp_path / "mine") == []


@pytest.mark.parametrize("write", [write_file, write_folder])
def test_a_long_integer_stays_exact(tmp_path: Path, write: Callable[[Path, list[Seed]], Written]) -> None:
    seed = next(seeds.read("bundled:shop"))
    long = seed.model_copy(update={"metadata": {"number": 12345678901234567890123}})
    place = tmp_path / "long.jsonl"
    write(place, [long])
    assert next(seeds.read(str(place))).metadata == long.metadata


def test_a_file_gives_back_everything_but_what_it_says_it_does_not_hold(tmp_path: Path) -> None:
    before = list(seeds.read("bundled:shop"))
    written = write_file(tmp_path / "shop.jsonl", before)
    after = list(seeds.read(str(tmp_path / "shop.jsonl")))
    assert written.lost == ("name", "state schema", "invariants")
    assert [{**dict(seed), "world": None} for seed in after] == [{**dict(seed), "world": None} for seed in before]
    assert all(
        (one.world.policy, one.world.tools, one.world.licence)
        == (other.world.policy, other.world.tools, other.world.licence)
        for one, other in zip(after, before, strict=True)
    )


def test_a_file_keeps_what_a_tool_returns_and_its_source(tmp_path: Path) -> None:
    tool = ToolSpec(name="t", parameters={"type": "object"}, returns={"type": "string"}, source="def t(): ...")
    seed = next(seeds.read("bundled:shop"))
    world = seed.world.model_copy(update={"tools": (tool,)})
    write_file(tmp_path / "one.jsonl", [Seed(**{**dict(seed), "world": world})])
    assert next(seeds.read(str(tmp_path / "one.jsonl"))).world.tools == (tool,)


def test_a_file_of_seeds_that_came_from_a_file_loses_nothing(tmp_path: Path) -> None:
    write_file(tmp_path / "first.jsonl", seeds.read("bundled:shop", limit=3))
    written = write_file(tmp_path / "second.jsonl", seeds.read(str(tmp_path / "first.jsonl")))
    assert written == Written(3)
    assert (tmp_path / "second.jsonl").read_bytes() == (tmp_path / "first.jsonl").read_bytes()


def test_seeds_of_two_worlds_are_no_folder_and_leave_none(tmp_path: Path) -> None:
    both = chain(seeds.read("bundled:shop"), seeds.read("bundled:office"))
    with pytest.raises(ConfigError, match=r"of the world 'office', those before it of 'shop', .* write a file instead"):
        write_folder(tmp_path / "both", both)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_can_be_written_over_itself(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    write_folder(folder, seeds.read("bundled:shop"))
    (folder / "recipe.toml").write_text('name = "mine"\n')
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    write_folder(folder, seeds.read(str(folder)))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_no_seeds_are_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there are no seeds to write"):
        write_folder(tmp_path / "none", [])
    assert list(tmp_path.iterdir()) == []

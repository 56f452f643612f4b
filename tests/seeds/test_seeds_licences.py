"""The licence that a record states is that of its seed and of its world, in every format."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from simia import seeds
from simia.errors import RecordError, SeedError
from simia.seeds.conversion import write_file
from simia.types import Seed

HELLO = [{"from": "human", "value": "Hi."}, {"from": "gpt", "value": "Hello."}]
RECORDS: dict[str, dict[str, Any]] = {
    "openai": {"messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]},
    "hermes": {"conversations": [{"from": "system", "value": "<tools>[]</tools>"}, *HELLO]},
    "apigen_mt": {"system": "Be kind.", "tools": "[]", "conversations": HELLO},
    "sharegpt": {"tools": "[]", "conversations": HELLO},
    "agent_instruct": {"conversations": [{**item, "loss": None} for item in HELLO]},
}
EVERY_FORMAT = pytest.mark.parametrize("name", RECORDS)


def read(tmp_path: Path, name: str, stated: dict[str, Any], **options: Any) -> Seed:
    path = tmp_path / "x.jsonl"
    path.write_bytes(orjson.dumps({**RECORDS[name], **stated}))
    assert seeds.detect_format(path) == name
    return next(seeds.read(str(path), **options))


def world_folder(folder: Path, licence: str, stated: dict[str, Any]) -> str:
    (folder / "world.toml").write_text(f'name = "w"\nlicence = "{licence}"\n')
    (folder / "policy.md").write_text("Be kind.")
    (folder / "tools.json").write_text("[]")
    (folder / "seeds.jsonl").write_bytes(orjson.dumps({**RECORDS["openai"], **stated}))
    return str(folder)


@EVERY_FORMAT
@pytest.mark.parametrize("key", ["licence", "license"])
def test_a_record_states_its_licence_and_the_world_that_it_declares_has_it_too(
    tmp_path: Path, name: str, key: str
) -> None:
    seed = read(tmp_path, name, {key: "CC-BY-NC-4.0"})
    assert (seed.licence, seed.world.licence) == ("CC-BY-NC-4.0", "CC-BY-NC-4.0")


@EVERY_FORMAT
@pytest.mark.parametrize("nothing", [None, "", []])
def test_a_licence_that_is_null_or_empty_says_nothing_beside_the_other_key(
    tmp_path: Path, name: str, nothing: Any
) -> None:
    assert read(tmp_path, name, {"licence": nothing, "license": "GPL-3.0-only"}).licence == "GPL-3.0-only"


@EVERY_FORMAT
@pytest.mark.parametrize(
    ("names", "licence"),
    [
        (["CC-BY-NC-4.0"], "CC-BY-NC-4.0"),
        (["MIT", "CC-BY-NC-4.0", "MIT"], "MIT AND CC-BY-NC-4.0"),
        (["MIT OR Apache-2.0", "CC-BY-4.0"], "(MIT OR Apache-2.0) AND CC-BY-4.0"),
    ],
)
def test_a_list_of_licences_is_all_of_them(tmp_path: Path, name: str, names: list[str], licence: str) -> None:
    assert read(tmp_path, name, {"license": names}).licence == licence


@EVERY_FORMAT
@pytest.mark.parametrize("stated", [7, False, {"name": "MIT"}, [None], ["MIT", ""], " "])
def test_a_licence_that_cannot_be_read_is_a_bad_record_and_never_none_at_all(
    tmp_path: Path, name: str, stated: Any
) -> None:
    with pytest.raises(RecordError, match=r"'license' is neither an SPDX identifier nor a list of them: .*; write one"):
        read(tmp_path, name, {"license": stated})


@EVERY_FORMAT
def test_two_licences_that_contradict_each_other_are_a_bad_record(tmp_path: Path, name: str) -> None:
    with pytest.raises(RecordError, match=r"'licence' is 'MIT' and 'license' is 'CC-BY-NC-4\.0': keep one"):
        read(tmp_path, name, {"licence": "MIT", "license": "CC-BY-NC-4.0"})


@EVERY_FORMAT
def test_a_licence_given_by_hand_goes_before_one_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    assert read(tmp_path, name, {"license": 7}, licence="MIT").licence == "MIT"


def test_in_a_world_folder_a_record_states_its_own_licence_and_the_world_keeps_the_folders(tmp_path: Path) -> None:
    seed = next(seeds.read(world_folder(tmp_path, "CC-BY-NC-4.0", {"license": ["MIT"]})))
    assert (seed.licence, seed.world.licence) == ("MIT", "CC-BY-NC-4.0")


def test_a_licence_given_by_hand_is_that_of_a_folders_world_too(tmp_path: Path) -> None:
    seed = next(seeds.read(world_folder(tmp_path, "CC-BY-NC-4.0", {}), licence="MIT"))
    assert (seed.licence, seed.world.licence) == ("MIT", "MIT")


def test_a_bad_licence_in_a_world_folder_is_a_bad_record(tmp_path: Path) -> None:
    with pytest.raises(SeedError, match=r"no record of .* could be read; the first reason: .*'licence' is neither"):
        list(seeds.read(world_folder(tmp_path, "MIT", {"licence": 7}), on_bad=lambda error: None))


def test_a_file_of_seeds_says_that_it_does_not_hold_another_licence_of_the_world(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    source = world_folder(tmp_path / "w", "CC-BY-NC-4.0", {"licence": "MIT"})
    assert "licence" in write_file(tmp_path / "x.jsonl", seeds.read(source)).lost

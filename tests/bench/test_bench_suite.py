"""A suite on disk: the same bytes, the same content again, and an error with advice for every damaged file."""

import gzip
import hashlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from simia.bench import suite
from simia.bench.collect import Walk, episode_of, harvest
from simia.bench.sample import Episode, Sample
from simia.bench.suite import (
    SUFFIX,
    Suite,
    SuiteHead,
    bundled_suites,
    pack,
    read_suite,
    suite_path,
    write_suite,
)
from simia.errors import ConfigError, StoreError
from simia.types import StateDelta
from simia.worlds import load

BANK = load("bank")
SAMPLES = tuple(harvest("bank", BANK, map(Walk.gold, BANK.tasks(6, 1))))
EPISODES = tuple(
    episode_of("bank", BANK, task, "drift" if number else "example") for number, task in enumerate(BANK.tasks(2, 9))
)
HEAD = SuiteHead(
    name="mine",
    version="1",
    licence="Apache-2.0",
    made_by="simia",
    seed=0,
    worlds={"bank": BANK.spec},
    quotas={"all": len(SAMPLES)},
    worlds_by_cell={"all": {"bank": len(SAMPLES)}},
)


def telling(samples: tuple[Sample, ...]) -> SuiteHead:
    """The head of a suite with other samples."""
    return HEAD.model_copy(update={"worlds_by_cell": {"all": Counter(sample.world for sample in samples)}})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / f"mine{SUFFIX}"
    write_suite(path, HEAD, EPISODES, SAMPLES)
    return path


def lines_of(path: Path) -> list[bytes]:
    return gzip.decompress(path.read_bytes()).splitlines()


def rewritten(path: Path, change: Callable[[list[bytes]], list[bytes]]) -> Path:
    path.write_bytes(gzip.compress(b"\n".join(change(lines_of(path))) + b"\n"))
    return path


def with_value(line: bytes, **changed: Any) -> bytes:
    ((kind, value),) = orjson.loads(line).items()
    return orjson.dumps({kind: {**value, **changed}})


def test_a_suite_is_read_as_it_was_written(file: Path) -> None:
    found = read_suite(file)
    assert (found.head, found.episodes, found.samples) == (HEAD, EPISODES, SAMPLES)


def test_the_same_content_is_the_same_bytes() -> None:
    assert pack(HEAD, EPISODES, SAMPLES) == pack(HEAD, EPISODES, SAMPLES)


def test_a_suite_that_was_read_is_the_same_bytes_again(file: Path) -> None:
    found = read_suite(file)
    assert pack(found.head, found.episodes, found.samples)[0] == file.read_bytes()


def test_the_hash_is_of_the_content_however_it_is_packed(file: Path) -> None:
    content = gzip.decompress(file.read_bytes())
    digest = read_suite(file).sha256
    assert digest == hashlib.sha256(content).hexdigest() == pack(HEAD, EPISODES, SAMPLES)[1]
    file.write_bytes(gzip.compress(content, compresslevel=1))
    assert read_suite(file).sha256 == digest


def test_a_suite_that_is_not_packed_is_read_too(file: Path) -> None:
    digest = read_suite(file).sha256
    file.write_bytes(gzip.decompress(file.read_bytes()))
    assert read_suite(file).sha256 == digest


def test_another_sample_gives_another_hash() -> None:
    assert pack(HEAD, EPISODES, SAMPLES)[1] != pack(HEAD, EPISODES, SAMPLES[:-1])[1]


def test_the_keys_of_a_state_keep_their_order(file: Path) -> None:
    state = {"zebra": {"b": 1, "a": 2}, "ant": 3}
    sample = SAMPLES[0].model_copy(update={"state": state, "delta": StateDelta()})
    write_suite(file, telling((sample,)), (), (sample,))
    (read,) = read_suite(file).samples
    assert (list(read.state), list(read.state["zebra"])) == (["zebra", "ant"], ["b", "a"])


def test_integers_of_any_length_are_exact(file: Path) -> None:
    sample = SAMPLES[0].model_copy(update={"state": {"n": 12345678901234567890123}, "delta": StateDelta()})
    write_suite(file, telling((sample,)), (), (sample,))
    assert read_suite(file).samples[0].state == {"n": 12345678901234567890123}


def test_a_world_that_was_read_has_the_same_content(file: Path) -> None:
    assert read_suite(file).head.worlds["bank"].content_id == BANK.spec.content_id


def test_the_code_of_the_tools_comes_along(file: Path) -> None:
    tools = tuple(tool.model_copy(update={"source": f"def {tool.name}(): ..."}) for tool in BANK.spec.tools)
    head = HEAD.model_copy(update={"worlds": {"bank": BANK.spec.model_copy(update={"tools": tools})}})
    write_suite(file, head, (), SAMPLES)
    assert read_suite(file).head.worlds["bank"].tools == tools


def test_examples_are_shown_and_drift_episodes_are_not(file: Path) -> None:
    assert read_suite(file).examples("bank") == EPISODES[:1]
    assert read_suite(file).examples("shop") == ()


def test_the_folder_of_a_suite_is_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / f"mine{SUFFIX}"
    assert write_suite(path, HEAD, EPISODES, SAMPLES) == read_suite(path).sha256


def test_writing_leaves_nothing_beside_the_suite(file: Path) -> None:
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_suite_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(StoreError, match=r"cannot make the folder of .*taken"):
        write_suite(tmp_path / "taken" / f"mine{SUFFIX}", HEAD, EPISODES, SAMPLES)


def test_a_suite_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        read_suite(tmp_path / "none.jsonl.gz")


def test_a_suite_with_its_end_cut_off_says_to_make_it_again(file: Path) -> None:
    packed = file.read_bytes()
    for length in (3, 12, len(packed) // 2, len(packed) - 1):
        file.write_bytes(packed[:length])
        with pytest.raises(ConfigError, match=r"is cut or damaged .*: make it again with simia bench build"):
            read_suite(file)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9, 1.0])
def test_a_suite_with_other_bytes_inside_says_to_make_it_again(file: Path, share: float) -> None:
    packed = bytearray(file.read_bytes())
    place = min(len(packed) - 8, int(len(packed) * share))
    packed[place : place + 4] = bytes(byte ^ 0xFF for byte in packed[place : place + 4])
    file.write_bytes(packed)
    with pytest.raises(ConfigError, match=r"is cut or damaged .*: make it again with simia bench build"):
        read_suite(file)


def test_an_empty_file_is_no_suite(file: Path) -> None:
    file.write_bytes(b"")
    with pytest.raises(ConfigError, match="its first line is no head; simia bench build makes suites"):
        read_suite(file)


def test_a_suite_without_its_head_says_so(file: Path) -> None:
    with pytest.raises(ConfigError, match="its first line is no head; simia bench build makes suites"):
        read_suite(rewritten(file, lambda lines: lines[1:]))


@pytest.mark.parametrize("content", [b"hello\n", b"\xff\xfe\n", b"PK\x03\x04\n", b'{"suite":\n'])
def test_a_file_of_another_kind_is_no_suite(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=rf"{file}:1: no JSON.*is it a suite of simia bench build\?"):
        read_suite(file)


@pytest.mark.parametrize("line", [b"[1]", b"3", b"null", b'{"a":1,"b":2}', b"{}"])
def test_json_of_another_kind_is_no_suite(file: Path, line: bytes) -> None:
    with pytest.raises(ConfigError, match=r":2: no line of a suite; is it a file of simia bench build\?"):
        read_suite(rewritten(file, lambda lines: [lines[0], line]))


def test_a_line_that_this_version_does_not_know_is_named(file: Path) -> None:
    with pytest.raises(ConfigError, match=r":2: a 'movie' is nothing that this version of simia knows"):
        read_suite(rewritten(file, lambda lines: [lines[0], b'{"movie":{}}', *lines[1:]]))


def test_a_suite_of_another_format_says_so(file: Path) -> None:
    with pytest.raises(ConfigError, match=r":1: no suite of this version of simia: format: Input should be 1"):
        read_suite(rewritten(file, lambda lines: [with_value(lines[0], format=2), *lines[1:]]))


def test_a_sample_with_a_key_too_many_is_named_by_its_line(file: Path) -> None:
    with pytest.raises(ConfigError, match=r":4: no sample of this version of simia: mood: Extra inputs"):
        read_suite(rewritten(file, lambda lines: [*lines[:3], with_value(lines[3], mood="good"), *lines[4:]]))


def test_a_sample_with_a_value_of_another_type_is_named_by_its_line(file: Path) -> None:
    with pytest.raises(
        ConfigError, match=r":4: no sample of this version of simia: state: Input should be a valid dict"
    ):
        read_suite(rewritten(file, lambda lines: [*lines[:3], with_value(lines[3], state=[])]))


def test_a_sample_whose_changes_do_not_fit_its_state_is_named_by_its_line(file: Path) -> None:
    delta = {"changes": [{"op": "remove", "path": ["nowhere"]}]}
    with pytest.raises(ConfigError, match=r":4: the changes of the sample do not fit .*'nowhere'.*simia bench build"):
        read_suite(rewritten(file, lambda lines: [*lines[:3], with_value(lines[3], delta=delta)]))


def test_an_episode_of_an_unknown_role_is_named_by_its_line(file: Path) -> None:
    with pytest.raises(ConfigError, match=r":2: no episode of this version of simia: role: Input should be 'example'"):
        read_suite(rewritten(file, lambda lines: [lines[0], with_value(lines[1], role="film")]))


@pytest.mark.parametrize("line", [1, 3], ids=["episode", "sample"])
def test_a_world_without_spec_is_named(file: Path, line: int) -> None:
    with pytest.raises(ConfigError, match="samples of casino, whose spec the suite does not have"):
        read_suite(rewritten(file, lambda lines: [lines[0], with_value(lines[line], world="casino")]))


@pytest.mark.parametrize("change", [lambda lines: lines[:-1], lambda lines: [*lines, lines[-1]]], ids=["cut", "twice"])
def test_a_suite_that_lacks_a_sample_or_has_one_too_many_says_so(
    file: Path, change: Callable[[list[bytes]], list[bytes]]
) -> None:
    with pytest.raises(ConfigError, match=r"its samples are not those that its head tells of.*simia bench build"):
        read_suite(rewritten(file, change))


def test_a_bundled_suite_that_was_changed_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = read_suite(file).sha256
    file.with_name("mine.sha256").write_text(f"{digest}  mine.jsonl, version 1\n")
    monkeypatch.setattr(suite, "BUNDLED", file.parent)
    assert read_suite(file).sha256 == digest
    write_suite(file, HEAD, EPISODES[:1], SAMPLES)
    with pytest.raises(ConfigError, match=f"is not the suite that came with simia .{digest}.: install simia again"):
        read_suite(file)


def test_a_path_names_a_suite(file: Path) -> None:
    assert suite_path(str(file)) == file


def test_every_bundled_suite_has_a_name_and_can_be_read() -> None:
    assert all(isinstance(read_suite(suite_path(name)), Suite) for name in bundled_suites())


def test_a_suite_that_there_is_not_says_which_there_are() -> None:
    with pytest.raises(ConfigError, match=r"no suite 'nope': give a file of simia bench build, or a bundled one \("):
        suite_path("nope")


def test_a_folder_is_no_suite(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no suite"):
        suite_path(str(tmp_path))


def test_samples_and_episodes_of_several_worlds_are_kept_apart(file: Path) -> None:
    other: Sample = SAMPLES[0].model_copy(update={"world": "other"})
    episode: Episode = EPISODES[0].model_copy(update={"world": "other"})
    head = telling((*SAMPLES, other)).model_copy(update={"worlds": {"bank": BANK.spec, "other": BANK.spec}})
    write_suite(file, head, (*EPISODES, episode), (*SAMPLES, other))
    found = read_suite(file)
    assert found.examples("other") == (episode,)
    assert [sample.world for sample in found.samples].count("other") == 1

"""Transitions on disk: JSON Lines that are read again, Parquet with plain columns, and whole files only."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.bench.collect import Walk, harvest
from simia.bench.sample import Sample
from simia.bench.strata import group_of
from simia.bench.transitions import read_transitions, write_transitions
from simia.errors import ConfigError, RecordError, StoreError
from simia.types import Put, Remove, State, StateDelta, ToolCall
from simia.worlds import load

BANK = load("bank")
SAMPLES = tuple(harvest("bank", BANK, map(Walk.gold, BANK.tasks(6, 1))))
COLUMNS = {
    "id": "string",
    "world": "string",
    "origin": "string",
    "group": "string",
    "call_id": "string",
    "size": "int32",
    "tool": "string",
    "arguments": "string",
    "state": "string",
    "observation": "string",
    "is_error": "bool",
    "changes": "string",
    "history": "string",
}


def made(state: State, *changes: Put | Remove) -> Sample:
    return Sample(
        id="s",
        world="w",
        origin="gold",
        call=ToolCall(id="c", name="t", arguments={}),
        state=state,
        observation="ok\n\u2028done",
        is_error=False,
        delta=StateDelta(changes=changes),
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def broken(error: BaseException) -> Iterator[Sample]:
    yield from SAMPLES
    raise error


def test_lines_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    assert write_transitions(path, SAMPLES) == len(SAMPLES)
    assert tuple(read_transitions(path)) == SAMPLES


def test_a_line_says_stratum_and_number_of_changes_beside_the_sample(tmp_path: Path) -> None:
    write_transitions(tmp_path / "t.jsonl", SAMPLES)
    records = [orjson.loads(line) for line in (tmp_path / "t.jsonl").read_bytes().splitlines()]
    assert [(one["group"], one["size"]) for one in records] == [(group_of(one), one.size) for one in SAMPLES]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)
states = st.dictionaries(st.text(max_size=2), json_values, max_size=3)


@given(states, states)
@settings(max_examples=40, deadline=None)
def test_any_state_and_changes_survive(tmp_path_factory: pytest.TempPathFactory, before: State, after: State) -> None:
    path = tmp_path_factory.mktemp("any") / "t.jsonl"
    sample = made(before, *StateDelta.between(before, after).changes)
    write_transitions(path, [sample])
    (read,) = read_transitions(path)
    assert read.model_dump_json() == sample.model_dump_json()


def test_integers_of_any_length_are_exact(tmp_path: Path) -> None:
    write_transitions(tmp_path / "t.jsonl", [made({"n": 12345678901234567890123})])
    assert next(read_transitions(tmp_path / "t.jsonl")).state == {"n": 12345678901234567890123}


def test_the_folder_is_made(tmp_path: Path) -> None:
    assert write_transitions(tmp_path / "new" / "folder" / "t.jsonl", SAMPLES) == len(SAMPLES)


def test_no_transitions_are_an_empty_file(tmp_path: Path) -> None:
    assert write_transitions(tmp_path / "t.jsonl", []) == 0
    assert list(read_transitions(tmp_path / "t.jsonl")) == []


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize("error", [RuntimeError("gone"), KeyboardInterrupt(), StoreError("gone")])
def test_an_interrupted_write_leaves_nothing(tmp_path: Path, suffix: str, error: BaseException) -> None:
    with pytest.raises(type(error)):
        write_transitions(tmp_path / f"t.{suffix}", broken(error))
    assert names(tmp_path) == []


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_an_interrupted_write_leaves_the_file_that_was_there(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t.{suffix}"
    write_transitions(path, SAMPLES)
    kept = path.read_bytes()
    with pytest.raises(RuntimeError, match="gone"):
        write_transitions(path, broken(RuntimeError("gone")))
    assert (names(tmp_path), path.read_bytes()) == ([path.name], kept)


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_finished_write_leaves_nothing_beside_the_file(tmp_path: Path, suffix: str) -> None:
    write_transitions(tmp_path / f"t.{suffix}", SAMPLES)
    assert names(tmp_path) == [f"t.{suffix}"]


@pytest.mark.parametrize("name", ["t.csv", "t", "t.jsonl.gz", "jsonl"])
def test_a_file_of_another_kind_is_refused_before_anything_is_harvested(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"transitions are written to a \.jsonl or a \.parquet file"):
        write_transitions(tmp_path / name, broken(AssertionError("harvested")))
    assert names(tmp_path) == []


def test_a_file_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl.new").mkdir()
    with pytest.raises(StoreError, match=r"cannot write .*t\.jsonl\.new: Is a directory"):
        write_transitions(tmp_path / "t.jsonl", SAMPLES)


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        next(read_transitions(tmp_path / "t.jsonl"))


@pytest.mark.parametrize("line", [b"hello", b"[1]", b"3", b"{}", b'{"id":"x"}', b"\xff", b"", b'{"id":"a","id":"b"}'])
def test_a_line_that_is_no_transition_is_named(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "t.jsonl"
    write_transitions(path, SAMPLES[:2])
    path.write_bytes(path.read_bytes() + line + b"\n")
    read = read_transitions(path)
    assert [next(read), next(read)] == list(SAMPLES[:2])
    with pytest.raises(RecordError, match="no transition of simia bench collect") as caught:
        next(read)
    assert str(caught.value).startswith(f"{path}:3")


def test_transitions_are_read_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    write_transitions(path, SAMPLES)
    path.write_bytes(path.read_bytes() + b"torn")
    assert next(read_transitions(path)) == SAMPLES[0]


def table(path: Path) -> Any:
    return pyarrow.parquet.read_table(path)


def test_the_columns_of_a_parquet_file_have_plain_types(tmp_path: Path) -> None:
    write_transitions(tmp_path / "t.parquet", SAMPLES)
    schema = table(tmp_path / "t.parquet").schema
    assert {field.name: str(field.type) for field in schema} == COLUMNS


def test_a_row_is_a_sample(tmp_path: Path) -> None:
    assert write_transitions(tmp_path / "t.parquet", SAMPLES) == len(SAMPLES)
    rows = table(tmp_path / "t.parquet").to_pylist()
    for row, sample in zip(rows, SAMPLES, strict=True):
        assert {key: row[key] for key in ("id", "world", "origin", "observation", "is_error", "size")} == {
            key: getattr(sample, key) for key in ("id", "world", "origin", "observation", "is_error", "size")
        }
        assert (row["tool"], row["group"]) == (sample.call.name, group_of(sample))
        assert orjson.loads(row["arguments"]) == sample.call.arguments
        assert orjson.loads(row["state"]) == sample.state
        assert StateDelta.model_validate({"changes": orjson.loads(row["changes"])}) == sample.delta
        assert len(orjson.loads(row["history"])) == len(sample.history)


def test_many_rows_are_written_in_groups(tmp_path: Path) -> None:
    many = [sample for _ in range(1200 // len(SAMPLES) + 1) for sample in SAMPLES]
    write_transitions(tmp_path / "t.parquet", many)
    file = pyarrow.parquet.ParquetFile(tmp_path / "t.parquet")
    assert file.metadata.num_rows == len(many)
    assert file.metadata.row_group(0).num_rows == 512


def test_no_transitions_are_a_parquet_file_with_the_same_columns(tmp_path: Path) -> None:
    write_transitions(tmp_path / "t.parquet", [])
    found = table(tmp_path / "t.parquet")
    assert (found.num_rows, set(found.column_names)) == (0, set(COLUMNS))


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_transitions(path, SAMPLES)
    assert tuple(read_transitions(path)) == SAMPLES


def test_a_file_that_is_no_parquet_says_so(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"hello")
    with pytest.raises(ConfigError, match=r"t\.parquet cannot be read as Parquet .*: is it whole\?"):
        next(read_transitions(tmp_path / "t.parquet"))


def test_a_parquet_file_of_something_else_says_so(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"a": [1]}), tmp_path / "t.parquet")
    with pytest.raises(RecordError, match=r"t\.parquet:1: no transition of simia bench collect: no 'call_id'"):
        next(read_transitions(tmp_path / "t.parquet"))


def test_a_name_that_tells_no_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"transitions are read from a \.jsonl or a \.parquet file"):
        next(read_transitions(tmp_path / "t.json"))


def test_long_integers_are_written_to_parquet_as_they_are(tmp_path: Path) -> None:
    write_transitions(tmp_path / "t.parquet", [made({"n": 12345678901234567890123}, Remove(path=("n",)))])
    assert table(tmp_path / "t.parquet").to_pylist()[0]["state"] == '{"n":12345678901234567890123}'

"""Streams: appending, reading back, and going on after an end of any kind."""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.errors import CorruptStream, FormatError, StoreError
from simia.store import Counts, Manifest, Run, Stream
from simia.store.commit import GroupCommit
from simia.types import ChatReply, Dropped, Failed, Kept, Outcome, Usage


def _open(path: Path, *, writable: bool = True) -> Stream:
    return Stream(path, GroupCommit(), writable=writable)


def _usage(n: int) -> Kept[Usage]:
    return Kept(Usage(prompt_tokens=n))


def _outcome(n: int) -> Outcome[Usage]:
    return _usage(n) if n % 3 == 0 else Dropped("odd" if n % 2 else "even", f"it is {n}")


def _append(stream: Stream, *pairs: tuple[int, Outcome[Usage]]) -> None:
    async def work() -> None:
        for ordinal, outcome in pairs:
            await stream.append(ordinal, f"key-{ordinal}", outcome)

    asyncio.run(work())


def test_outcomes_come_back_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    _append(_open(path), (0, _usage(5)), (1, Dropped("rule", "why")), (2, Failed("ModelTimeout", "late")))
    stream = _open(path)
    assert [stream.outcome_of(n, Usage) for n in range(4)] == [
        _usage(5),
        Dropped("rule", "why"),
        Failed("ModelTimeout", "late"),
        None,
    ]
    assert stream.counts() == Counts(seen=3, kept=1, failed=1, dropped={"rule": 1})


def test_kept_values_come_in_the_order_of_ordinals(tmp_path: Path) -> None:
    stream = _open(tmp_path / "s.jsonl")
    _append(stream, (2, _usage(2)), (0, _usage(0)), (3, Dropped("r", "")), (1, _usage(1)))
    assert [(n, key, value.prompt_tokens) for n, key, value in stream.kept(Usage)] == [
        (0, "key-0", 0),
        (1, "key-1", 1),
        (2, "key-2", 2),
    ]


def test_raw_values_are_the_json_as_written(tmp_path: Path) -> None:
    stream = _open(tmp_path / "s.jsonl")
    asyncio.run(stream.append(0, "a", Kept(b'{"prompt_tokens": 1}')))
    assert list(stream.raw_kept()) == [(0, "a", b'{"prompt_tokens": 1}')]


def test_dropped_and_failed_items_tell_why(tmp_path: Path) -> None:
    stream = _open(tmp_path / "s.jsonl")
    _append(stream, (0, Dropped("r", "d")), (1, Failed("E", "m")))
    assert list(stream.dropped()) == [(0, "key-0", Dropped("r", "d"))]
    assert list(stream.failed()) == [(1, "key-1", Failed("E", "m"))]


def test_a_failed_item_is_not_done_and_its_next_outcome_counts(tmp_path: Path) -> None:
    stream = _open(tmp_path / "s.jsonl")
    _append(stream, (0, Failed("E", "m")))
    assert not stream.is_done(0)
    _append(stream, (0, _usage(1)))
    for current in (stream, _open(tmp_path / "s.jsonl")):
        assert current.is_done(0)
        assert current.counts() == Counts(seen=1, kept=1, failed=0)


def test_an_item_nobody_saw_is_not_done(tmp_path: Path) -> None:
    stream = _open(tmp_path / "s.jsonl")
    _append(stream, (5, _usage(1)))
    assert [stream.is_done(n) for n in (-1, 0, 4, 5, 6, 10**9)] == [False, False, False, True, False, False]


@pytest.mark.parametrize("ordinal", [-1, 2**32])
def test_an_ordinal_out_of_range_is_refused(tmp_path: Path, ordinal: int) -> None:
    with pytest.raises(StoreError, match="ordinal"):
        _append(_open(tmp_path / "s.jsonl"), (ordinal, _usage(1)))
    assert (tmp_path / "s.jsonl").read_bytes() == b""


def test_a_torn_last_line_is_cut_off_at_resume(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    _append(_open(path), (0, _usage(0)), (1, _usage(1)))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"n":2,"key":"key-2","kept":{"prompt')
    stream = _open(path)
    assert path.read_bytes() == whole
    _append(stream, (2, _usage(2)))
    assert [n for n, _, _ in _open(path).raw_kept()] == [0, 1, 2]


def test_a_torn_line_longer_than_a_chunk_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    _append(_open(path), (0, _usage(0)))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"n":1,"key":"b","kept":{"x":"' + b"y" * 3_000_000)
    assert _open(path).counts().kept == 1
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "line",
    [
        b"garbage",
        b'{"n":1,"key":"b","kept":{"prompt_tokens":',
        b'{"n":1,"key":"b","kept":{"x":"{"n":2,"key":"c","kept":{}}',
        b'{"n":1,"key":"b","dropped":["one"]}',
        b'{"n":-1,"key":"b","kept":{}}',
        b'{"n":99999999999,"key":"b","kept":{}}',
        b'{"n":1,"key":"b","else":{}}',
        b"",
        b"\0\0\0\0",
    ],
)
def test_a_bad_line_in_the_middle_is_named_with_its_offset(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "s.jsonl"
    _append(_open(path), (0, _usage(0)))
    good = path.read_bytes()
    path.write_bytes(good + line + b"\n" + good)
    with pytest.raises(CorruptStream, match=rf"byte {len(good)} of .*s\.jsonl"):
        _open(path)


def test_a_line_that_is_no_such_value_is_named_when_it_is_read(tmp_path: Path) -> None:
    stream = _open(tmp_path / "s.jsonl")
    _append(stream, (0, _usage(1)))
    with pytest.raises(CorruptStream, match=r"byte 0 of .* no ChatReply: text"):
        list(stream.kept(ChatReply))


def test_buffered_records_are_read_back_at_once_and_after_reopening(tmp_path: Path) -> None:
    stream = _open(tmp_path / "s.jsonl")
    for n in range(100):
        stream.append_now(n, str(n), _outcome(n))
    assert [n for n, _, _ in stream.raw_kept()] == list(range(0, 100, 3))
    _append(stream, (100, _outcome(100)))
    stream.append_now(101, "101", _outcome(101))
    stream.commit_now()
    assert _open(tmp_path / "s.jsonl").counts() == stream.counts()
    assert stream.counts().seen == 102


def test_a_record_that_cannot_be_spelled_leaves_the_stream_as_it_was(tmp_path: Path) -> None:
    stream = _open(tmp_path / "s.jsonl")
    with pytest.raises(FormatError):
        asyncio.run(stream.append(0, "\ud83d", _usage(1)))
    with pytest.raises(FormatError):
        stream.append_now(0, "a", Kept(b"\n"))
    stream.commit_now()
    assert stream.counts().seen == 0
    assert stream.path.read_bytes() == b""


def test_an_acknowledged_record_is_in_the_file_before_any_commit(tmp_path: Path) -> None:
    stream = _open(tmp_path / "s.jsonl")
    asyncio.run(stream.append(0, "a", _usage(1)))
    assert stream.path.read_bytes().endswith(b"}\n")


def test_a_reader_sees_what_was_there_when_it_came_and_no_half_line(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    stream = _open(path)
    _append(stream, (0, _usage(0)))
    path.write_bytes(path.read_bytes() + b'{"n":1,')
    reader = _open(path, writable=False)
    assert [n for n, _, _ in reader.kept(Usage)] == [0]


@settings(max_examples=60, deadline=None)
@given(
    outcomes=st.lists(
        st.tuples(
            st.integers(0, 30), st.sampled_from([_usage(1), Dropped("a", ""), Dropped("b", "x"), Failed("E", "")])
        )
    )
)
def test_reopening_gives_the_same_index_as_writing(outcomes: list[tuple[int, Outcome[Usage]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        stream = _open(path)
        _append(stream, *outcomes)
        last = dict(outcomes)
        for current in (stream, _open(path), _open(path, writable=False)):
            assert {n: current.outcome_of(n, Usage) for n in range(31)} == {n: last.get(n) for n in range(31)}
            assert current.counts() == stream.counts()
        assert stream.counts().seen == len(last)


@settings(max_examples=60, deadline=None)
@given(cuts=st.lists(st.integers(0, 3000), min_size=1, max_size=3))
def test_a_run_cut_at_any_byte_and_resumed_equals_an_uninterrupted_one(cuts: list[int]) -> None:
    manifest = Manifest(run="r", version="0", created="", config={})

    def go_on(run: Run) -> None:
        stream = run.stream("s")
        for n in range(30):
            if run.replies.get(str(n)) is None:
                asyncio.run(run.replies.put(str(n), ChatReply(text=str(n), model="m")))
            if not stream.is_done(n):
                _append(stream, (n, _outcome(n)))

    with tempfile.TemporaryDirectory() as folder:
        with Run.create(Path(folder), manifest) as run:
            go_on(run)
            path = run.stream("s").path
        whole, paid = path.read_bytes(), (Path(folder) / "replies.jsonl").read_bytes()
        for cut in cuts:
            for file in (path, Path(folder) / "replies.jsonl"):
                file.write_bytes(file.read_bytes()[:cut])
            with Run.resume(Path(folder), manifest) as run:
                go_on(run)
        assert path.read_bytes() == whole
        assert (Path(folder) / "replies.jsonl").read_bytes() == paid

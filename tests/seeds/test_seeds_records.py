"""Records of JSON files: every form, in pieces, with bad records named."""

import io
import tracemalloc
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.errors import RecordError, SeedError
from simia.seeds import records as module
from simia.seeds.records import records

values = st.dictionaries(
    st.text(max_size=5), st.recursive(st.text() | st.integers(-9, 9) | st.none(), st.lists, max_leaves=5), max_size=4
)


def read(path: Path, content: bytes) -> tuple[list[Any], list[RecordError]]:
    path.write_bytes(content)
    bad: list[RecordError] = []
    return [value for _, value in records(path, bad.append)], bad


@settings(max_examples=60, deadline=None)
@given(
    found=st.lists(values, min_size=1, max_size=8),
    form=st.sampled_from(["array", "pretty array", "lines", "pretty objects"]),
)
def test_every_form_gives_the_same_records(
    tmp_path_factory: pytest.TempPathFactory, found: list[Any], form: str
) -> None:
    pretty = orjson.OPT_INDENT_2
    content = {
        "array": lambda: orjson.dumps(found),
        "pretty array": lambda: orjson.dumps(found, option=pretty),
        "lines": lambda: b"\n".join(map(orjson.dumps, found)),
        "pretty objects": lambda: b"\n".join(orjson.dumps({"v": one, "w": 1}, option=pretty) for one in found),
    }[form]()
    told, bad = read(tmp_path_factory.getbasetemp() / "records.json", content)
    assert bad == []
    assert ([one["v"] for one in told] if form == "pretty objects" else told) == found


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 64])
def test_the_size_of_the_pieces_does_not_matter(tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PIECE", piece)
    found = [{"a": 'quote " brace } bracket ]', "b": [1, {"c": "\\"}]}, {"d": "é\\n"}, {}]
    told, bad = read(tmp_path / "x.json", b" \n" + orjson.dumps(found, option=orjson.OPT_INDENT_2))
    assert (told, bad) == (found, [])


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 64])
def test_the_size_of_the_pieces_does_not_matter_to_what_is_bad(
    tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PIECE", piece)
    told, bad = read(tmp_path / "x.json", b'[1,\n"a, \\"]b",\n{"a": 1}]\nand\n[{"a": 2}}, {"a": 3}]\n]')
    assert told == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert [error.line for error in bad] == [1, 2, 4, 5, 6]


def test_a_broken_line_is_named_and_the_next_is_read(tmp_path: Path) -> None:
    told, bad = read(tmp_path / "x.jsonl", b'{"a": 1}\n{"a": \n\n{"a": 3}\n')
    assert told == [{"a": 1}, {"a": 3}]
    assert [(error.file, error.line) for error in bad] == [(str(tmp_path / "x.jsonl"), 2)]
    assert bad[0].reason.startswith("no JSON: ")


def test_a_broken_element_of_an_array_is_named_with_its_line_and_the_next_is_read(tmp_path: Path) -> None:
    told, bad = read(tmp_path / "x.json", b'[\n{"a": 1},\n{"a": 2,},\n{"a": 3}\n]')
    assert told == [{"a": 1}, {"a": 3}]
    assert [error.line for error in bad] == [3]


def test_a_closing_brace_too_many_does_not_end_the_array(tmp_path: Path) -> None:
    told, bad = read(tmp_path / "x.json", b'[{"a": 1}},\n{"a": 2}]')
    assert told == [{"a": 1}, {"a": 2}]
    assert len(bad) == 1


@pytest.mark.parametrize(
    "content", [b'[{"a": 1}]\n[{"a": 2},{"a": 3}]', b'[{"a": 1}]\n{"a": 2}\n{"a": 3}', b'{\n"a": 1}[{"a": 2},{"a": 3}]']
)
def test_after_an_array_the_next_array_or_value_is_read(tmp_path: Path, content: bytes) -> None:
    assert read(tmp_path / "x.json", content) == ([{"a": 1}, {"a": 2}, {"a": 3}], [])


def test_what_is_no_object_in_an_array_is_named_with_line_and_kind(tmp_path: Path) -> None:
    told, bad = read(tmp_path / "x.json", b'[1,"abc",\n{"a": 1},\nnull,{"a": 2}, [{"a": 3}],\n4.5]')
    assert told == [{"a": 1}, {"a": 2}]
    assert [(error.line, error.reason) for error in bad] == [
        (1, "the record is int, not an object: 1"),
        (1, "the record is str, not an object: 'abc'"),
        (3, "the record is NoneType, not an object: None"),
        (3, "the record is list, not an object: [{'a': 3}]"),
        (4, "the record is float, not an object: 4.5"),
    ]


def test_what_is_no_object_on_a_line_is_named_with_line_and_kind(tmp_path: Path) -> None:
    told, bad = read(tmp_path / "x.jsonl", b'{"a": 1}\n"abc"\n{"a": 2}\n')
    assert told == [{"a": 1}, {"a": 2}]
    assert [(error.line, error.reason) for error in bad] == [(2, "the record is str, not an object: 'abc'")]


def test_what_stands_between_values_is_named_line_by_line(tmp_path: Path) -> None:
    told, bad = read(tmp_path / "x.json", b'[{"a": 1}]\n\n# more\n5\n{"a": 2}] and so on')
    assert told == [{"a": 1}, {"a": 2}]
    assert [error.line for error in bad] == [3, 4, 5, 5]


@given(
    parts=st.lists(
        st.sampled_from([b"[", b"]", b"{", b"}", b",", b'"', b"\\", b"\n", b" ", b":", b"1", b'{"a":1}', b"null"]),
        min_size=1,
    )
)
@settings(max_examples=200, deadline=None)
def test_of_a_text_nothing_but_white_space_and_the_marks_of_arrays_is_lost(parts: list[bytes]) -> None:
    text = b"".join(parts)
    given_texts = b"".join(part for _, part in module._values(io.BytesIO(text)))
    marks = b" \n,[]"
    assert given_texts.translate(None, marks) == text.translate(None, marks)


def test_an_array_that_ends_early_between_records_is_named(tmp_path: Path) -> None:
    told, bad = read(tmp_path / "x.json", b'[{"a": 1},\n{"a": 2},\n')
    assert told == [{"a": 1}, {"a": 2}]
    assert [error.line for error in bad] == [2]
    assert "unexpected end of data" in bad[0].reason


def test_an_array_that_ends_early_gives_what_is_whole_and_names_the_rest(tmp_path: Path) -> None:
    told, bad = read(tmp_path / "x.json", b'[{"a": 1},\n{"a": "and then')
    assert told == [{"a": 1}]
    assert [error.line for error in bad] == [2]


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    told, bad = read(tmp_path / "x.json", b'\xef\xbb\xbf[{"a": 1}]')
    assert (told, bad) == ([{"a": 1}], [])


def test_a_byte_order_mark_before_json_lines_is_no_error(tmp_path: Path) -> None:
    told, bad = read(tmp_path / "x.jsonl", b'\xef\xbb\xbf{"a": 1}\n{"a": 2}\n')
    assert (told, bad) == ([{"a": 1}, {"a": 2}], [])


@pytest.mark.parametrize("content", [b"", b" \n \n"])
def test_an_empty_file_is_an_error_that_says_so(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(SeedError, match=r"x\.json is empty: a seed file needs at least one record"):
        read(tmp_path / "x.json", content)


def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(SeedError, match=r"no file .*nothing\.json"):
        list(records(tmp_path / "nothing.json", lambda error: None))


def test_memory_stays_flat_over_a_large_array(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    record = orjson.dumps({"text": "word " * 4000, "rows": [{"n": n} for n in range(10)]})
    with path.open("wb") as file:
        file.write(b"[" + record)
        for _ in range(599):
            file.write(b",\n" + record)
        file.write(b"]")
    assert path.stat().st_size > 10_000_000
    tracemalloc.start()
    count = sum(1 for _ in records(path, lambda error: None))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 600
    assert peak < 3_000_000


def test_a_long_integer_stays_exact(tmp_path: Path) -> None:
    found, bad = read(tmp_path / "long.jsonl", b'{"id": 12345678901234567890123}\n')
    assert (found, bad) == ([{"id": 12345678901234567890123}], [])

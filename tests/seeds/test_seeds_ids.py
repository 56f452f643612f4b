"""Seeds without an id are told apart by their place, however the file is written."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from simia import seeds
from simia.errors import RecordError


def record(number: int) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": f"Hi {number}"}, {"role": "assistant", "content": "Hello."}]}


RECORDS = [record(number) for number in range(3)]
LINES = [orjson.dumps(one) for one in RECORDS]
FORMS = {
    "an array on one line": orjson.dumps(RECORDS),
    "an array": orjson.dumps(RECORDS, option=orjson.OPT_INDENT_2),
    "lines": b"\n".join(LINES),
    "lines with commas behind them": b",\n".join(LINES),
    "one after another on a line": b"".join(LINES),
    "two on a line": LINES[0] + b" " + LINES[1] + b"\n" + LINES[2],
    "one after another over several lines": b"\n".join(
        orjson.dumps(one, option=orjson.OPT_INDENT_2) for one in RECORDS
    ),
    "broken where messages end": b"\n".join(line.replace(b"},{", b"},\n{") for line in LINES),
    "broken behind the first key": b"\n".join(
        orjson.dumps({"task": "t", **one}).replace(b'"t",', b'"t",\n') for one in RECORDS
    ),
    "broken before the first message": b"\n".join(line.replace(b"[{", b"[\n{") for line in LINES),
}


def read(path: Path, content: bytes) -> tuple[list[str], list[str], list[RecordError]]:
    """What the users say first, the ids, and the bad records."""
    path.write_bytes(content)
    bad: list[RecordError] = []
    found = list(seeds.read(str(path), on_bad=bad.append))
    return [seed.reference[0].content for seed in found], [seed.id for seed in found], bad


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_file_gives_every_record_as_a_seed_with_an_id_of_its_own(tmp_path: Path, form: str) -> None:
    said, ids, bad = read(tmp_path / "x.json", FORMS[form])
    assert bad == []
    assert said == ["Hi 0", "Hi 1", "Hi 2"]
    assert len(set(ids)) == 3


def test_the_only_record_of_a_line_has_the_line_as_its_id(tmp_path: Path) -> None:
    assert read(tmp_path / "x.json", FORMS["lines"])[1] == ["x:1", "x:2", "x:3"]


def test_further_records_of_a_line_are_counted(tmp_path: Path) -> None:
    assert read(tmp_path / "x.json", FORMS["two on a line"])[1] == ["x:1", "x:1.2", "x:2"]


def test_a_world_folder_tells_its_seeds_apart_in_the_same_way(tmp_path: Path) -> None:
    (tmp_path / "world.toml").write_text('name = "w"\nlicence = "MIT"\n')
    (tmp_path / "policy.md").write_text("Be kind.")
    (tmp_path / "tools.json").write_text("[]")
    (tmp_path / "seeds.jsonl").write_bytes(FORMS["an array on one line"])
    assert [seed.id for seed in seeds.read(str(tmp_path))] == ["w:1", "w:1.2", "w:1.3"]


def test_a_bad_record_of_an_array_on_one_line_is_named_with_that_line(tmp_path: Path) -> None:
    _, ids, bad = read(tmp_path / "x.json", orjson.dumps([record(0), {"messages": []}, record(2)]))
    assert ids == ["x:1", "x:1.3"]
    assert [error.line for error in bad] == [1]


@pytest.mark.parametrize("cut", [b'{"messages": [{"role": "user", "content": "Hi th', b'{"task": "t"'])
def test_lines_whose_first_was_cut_off_are_still_lines(tmp_path: Path, cut: bytes) -> None:
    said, _, bad = read(tmp_path / "x.jsonl", b"\n".join([cut, *LINES]))
    assert said == ["Hi 0", "Hi 1", "Hi 2"]
    assert [error.line for error in bad] == [1]

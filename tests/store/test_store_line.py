"""The spelling of outcomes as lines."""

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simia.errors import FormatError
from simia.store.line import read_head, read_key, read_reason, spell
from simia.types import Dropped, Failed, Kept, ToolSpec

_text = st.text(st.characters(codec="utf-8"))
_tricky = st.text(alphabet='",\\kept:{}\n\u2028n1') | _text


@example(ordinal=0, key='",', name="")
@example(ordinal=0, key='\\","\\\\",', name="")
@given(ordinal=st.integers(0, 2**32 - 1), key=_tricky, name=_tricky)
def test_a_kept_value_survives(ordinal: int, key: str, name: str) -> None:
    value = ToolSpec(name=name, parameters={key: name})
    line = spell(ordinal, key, Kept(value))
    head = read_head(line[:-1])
    assert (head.ordinal, read_key(head), head.fate) == (ordinal, key, "kept")
    assert ToolSpec.model_validate_json(line[head.start : -2]) == value


@example(key='",', first="", second="")
@given(key=_tricky, first=_tricky, second=_tricky)
def test_a_reason_survives(key: str, first: str, second: str) -> None:
    for outcome, fate in ((Dropped(first, second), "dropped"), (Failed(first, second), "failed")):
        line = spell(3, key, outcome)[:-1]
        head = read_head(line)
        assert (read_key(head), head.fate, read_reason(line, head)) == (key, fate, (first, second))


@given(key=_tricky, name=_tricky)
def test_an_outcome_is_one_line_of_json(key: str, name: str) -> None:
    line = spell(1, key, Kept(ToolSpec(name=name, parameters={})))
    assert line.count(b"\n") == 1
    assert orjson.loads(line)["key"] == key


@given(cut=st.integers(0, 60))
def test_no_beginning_of_a_line_passes_for_a_line(cut: int) -> None:
    line = spell(12, "key", Kept(ToolSpec(name="a", parameters={"b": {"c": {}}})))[:-1]
    beginning = line[: min(cut, len(line) - 1)]
    assert not _passes(beginning)
    assert _passes(line)


def _passes(line: bytes) -> bool:
    try:
        read_head(line)
        orjson.loads(line)
    except (FormatError, orjson.JSONDecodeError):
        return False
    return True


def test_json_at_hand_is_taken_as_it_is() -> None:
    assert spell(0, "a", Kept(b'{"x": 1}')) == b'{"n":0,"key":"a","kept":{"x": 1}}\n'


def test_json_at_hand_with_a_line_end_is_refused() -> None:
    with pytest.raises(FormatError, match="line end"):
        spell(0, "a", Kept(b'{\n"x": 1}'))


def test_half_a_surrogate_is_refused_in_a_value_and_shown_in_a_reason() -> None:
    with pytest.raises(FormatError, match="cannot be written as JSON"):
        spell(0, "a", Kept(ToolSpec(name="\ud83d", parameters={})))
    with pytest.raises(FormatError, match="no Unicode text"):
        spell(0, "\ud83d", Dropped("r", ""))
    line = spell(0, "a", Failed("E", "bad \ud83d"))[:-1]
    assert read_reason(line, read_head(line)) == ("E", "bad \\ud83d")

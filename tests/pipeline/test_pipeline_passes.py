"""A pass without an event loop."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from simia.errors import ConfigError, FormatError
from simia.pipeline import Counts, Item, run_pass
from simia.store import Manifest, Run
from simia.types import Dropped, Failed, Kept, Outcome, Usage


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with Run.create(tmp_path / "run", Manifest(run="r", version="0", created="", config={})) as opened:
        yield opened


def _items(count: int) -> Iterator[Item[int]]:
    return (Item(n, f"key-{n}", n) for n in range(count))


def _thirds(item: Item[int]) -> Outcome[Usage]:
    if item.value % 3 == 0:
        raise FormatError("a third")
    return Dropped("one", "") if item.value == 1 else Kept(Usage(prompt_tokens=item.value))


def test_a_pass_gives_each_item_one_outcome_and_leaves_it_on_disk(run: Run, tmp_path: Path) -> None:
    counts = run_pass("thirds", _thirds, _items(6), run.stream("s"))
    assert counts == Counts(seen=6, kept=3, failed=2, dropped={"one": 1})
    with Run.read(tmp_path / "run") as reader:
        assert reader.stream("s").counts() == counts
        assert reader.stream("s").outcome_of(3, Usage) == Failed("FormatError", "a third")


def test_a_pass_goes_on_where_another_ended(run: Run) -> None:
    run_pass("thirds", _thirds, _items(4), run.stream("s"))
    seen: list[int] = []

    def note(item: Item[int]) -> Outcome[Usage]:
        seen.append(item.ordinal)
        return Kept(Usage())

    counts = run_pass("note", note, _items(6), run.stream("s"))
    assert seen == [0, 3, 4, 5]
    assert counts == Counts(seen=6, kept=5, failed=0, dropped={"one": 1})


def test_json_bytes_pass_from_stream_to_stream_unparsed(run: Run) -> None:
    run_pass("thirds", _thirds, _items(6), run.stream("a"))
    items = (Item(*kept) for kept in run.stream("a").raw_kept())

    def same(item: Item[bytes]) -> Outcome[bytes]:
        return Kept(item.value)

    run_pass("copy", same, items, run.stream("b"))
    assert list(run.stream("b").raw_kept()) == list(run.stream("a").raw_kept())


def test_a_foreign_error_is_the_failure_of_its_item(run: Run) -> None:
    def divide(item: Item[int]) -> Outcome[Usage]:
        return Kept(Usage(prompt_tokens=1 // item.value))

    run_pass("divide", divide, _items(2), run.stream("s"))
    outcome = run.stream("s").outcome_of(0, Usage)
    assert isinstance(outcome, Failed)
    assert outcome.error == "ZeroDivisionError"


def test_a_fatal_error_leaves_what_came_before_it_on_disk(run: Run, tmp_path: Path) -> None:
    def fatal(item: Item[int]) -> Outcome[Usage]:
        if item.value == 3:
            raise ConfigError("stop here")
        return Kept(Usage())

    with pytest.raises(ConfigError, match="stop here"):
        run_pass("fatal", fatal, _items(6), run.stream("s"))
    with Run.read(tmp_path / "run") as reader:
        assert reader.stream("s").counts().kept == 3


def test_a_stop_ends_a_pass_between_two_items(run: Run) -> None:
    stop = asyncio.Event()

    def stop_at_two(item: Item[int]) -> Outcome[Usage]:
        if item.value == 2:
            stop.set()
        return Kept(Usage())

    assert run_pass("stop", stop_at_two, _items(6), run.stream("s"), stop=stop) == Counts(
        seen=3, kept=3, failed=0, interrupted=True
    )


def test_a_source_that_counts_backwards_is_refused(run: Run) -> None:
    with pytest.raises(ConfigError, match="item 0 after item 0"):
        run_pass("thirds", _thirds, [Item(0, "a", 1), Item(0, "b", 2)], run.stream("s"))

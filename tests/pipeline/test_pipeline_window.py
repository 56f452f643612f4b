"""A stage over many items at once."""

import asyncio
import gc
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.errors import (
    AuthenticationFailed,
    ConfigError,
    CostCeilingReached,
    DiskFull,
    ModelNotFound,
    ModelTimeout,
    SeedError,
    SimiaError,
)
from simia.pipeline import Counts, Item, run_stage
from simia.store import Manifest, Run, Stream
from simia.types import Dropped, Failed, Kept, Outcome, Usage, Value

_MANIFEST = Manifest(run="r", version="0", created="", config={})


class _Stage:
    """A stage made from a function of the item's value."""

    name = "double"

    def __init__(self, act: Callable[[int], Awaitable[Outcome[Usage]]]) -> None:
        self._act = act
        self.calls: list[int] = []
        self.busy = self.most_busy = 0

    async def __call__(self, item: Item[int]) -> Outcome[Usage]:
        self.calls.append(item.ordinal)
        self.busy += 1
        self.most_busy = max(self.most_busy, self.busy)
        try:
            return await self._act(item.value)
        finally:
            self.busy -= 1


class _Witness:
    """An observer that writes everything down."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def started(self, stage: str, total: int | None, done: Counts) -> None:
        self.told.append(f"{stage} starts: {total} items, {done.seen} done")

    def settled(self, stage: str, key: str, outcome: Outcome[Value] | Outcome[bytes]) -> None:
        self.told.append(f"{key} {type(outcome).__name__}")

    def waiting(self, stage: str, in_flight: int, reason: str) -> None:
        self.told.append(f"waiting for {in_flight}: {reason}")

    def finished(self, stage: str, counts: Counts) -> None:
        self.told.append(f"{stage} ends: {counts.seen} seen")


async def _double(n: int) -> Outcome[Usage]:
    await asyncio.sleep(0)
    return Kept(Usage(prompt_tokens=2 * n))


def _items(count: int) -> list[Item[int]]:
    return [Item(n, f"key-{n}", n) for n in range(count)]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with Run.create(tmp_path / "run", _MANIFEST) as opened:
        yield opened


@pytest.fixture
def stream(run: Run) -> Stream:
    return run.stream("s")


def test_every_item_has_one_outcome(stream: Stream) -> None:
    counts = asyncio.run(run_stage(_Stage(_double), _items(50), stream, in_flight=7))
    assert counts == Counts(seen=50, kept=50, failed=0)
    assert [value.prompt_tokens for _, _, value in stream.kept(Usage)] == [2 * n for n in range(50)]


def test_the_window_is_full_and_never_more(stream: Stream) -> None:
    async def wait(n: int) -> Outcome[Usage]:
        await asyncio.sleep(0.001)
        return await _double(n)

    stage = _Stage(wait)
    asyncio.run(run_stage(stage, _items(50), stream, in_flight=7))
    assert stage.most_busy == 7


def test_the_source_is_read_only_as_places_become_free(stream: Stream) -> None:
    drawn: list[int] = []
    ahead: list[int] = []

    def source() -> Iterator[Item[int]]:
        for item in _items(50):
            drawn.append(item.ordinal)
            yield item

    async def watch(n: int) -> Outcome[Usage]:
        ahead.append(len(drawn) - len(stage.calls))
        return await _double(n)

    stage = _Stage(watch)
    asyncio.run(run_stage(stage, source(), stream, in_flight=4))
    assert max(ahead) == 0


def test_one_slow_item_holds_up_no_other(stream: Stream) -> None:
    others = asyncio.Event()

    async def first_waits_for_all_others(n: int) -> Outcome[Usage]:
        if n == 0:
            await others.wait()
        if n == 29:
            others.set()
        return await _double(n)

    stage = _Stage(first_waits_for_all_others)
    assert asyncio.run(run_stage(stage, _items(30), stream, in_flight=2)).kept == 30


def test_what_is_done_is_skipped_and_what_failed_runs_again(run: Run) -> None:
    async def odd_ones_fail(n: int) -> Outcome[Usage]:
        if n % 2:
            raise ModelTimeout("late")
        return Dropped("zero", "") if n == 0 else await _double(n)

    first = asyncio.run(run_stage(_Stage(odd_ones_fail), _items(6), run.stream("s"), in_flight=3))
    assert first == Counts(seen=6, kept=2, failed=3, dropped={"zero": 1})
    again = _Stage(_double)
    second = asyncio.run(run_stage(again, _items(6), run.stream("s"), in_flight=3))
    assert again.calls == [1, 3, 5]
    assert second == Counts(seen=6, kept=5, failed=0, dropped={"zero": 1})


def test_an_error_of_our_own_is_the_failure_of_its_item(stream: Stream) -> None:
    async def fail(n: int) -> Outcome[Usage]:
        raise ModelTimeout(f"no answer to {n} in 600 s")

    counts = asyncio.run(run_stage(_Stage(fail), _items(2), stream, in_flight=1))
    assert counts.failed == 2
    assert stream.outcome_of(1, Usage) == Failed("ModelTimeout", "no answer to 1 in 600 s")


def test_a_foreign_error_is_the_failure_of_its_item_under_its_own_name(stream: Stream) -> None:
    async def fail(n: int) -> Outcome[Usage]:
        raise KeyError("colour")

    asyncio.run(run_stage(_Stage(fail), _items(1), stream, in_flight=1))
    outcome = stream.outcome_of(0, Usage)
    assert isinstance(outcome, Failed)
    assert outcome.error == "KeyError"
    assert "'key-0'" in outcome.message
    assert "colour" in outcome.message


def test_a_value_that_cannot_be_written_is_a_failure(stream: Stream) -> None:
    class Broken(Value):
        text: str

    class Stage:
        name = "broken"

        async def __call__(self, item: Item[int]) -> Outcome[Broken]:
            return Kept(Broken(text="\ud83d"))

    assert asyncio.run(run_stage(Stage(), _items(3), stream, in_flight=2)) == Counts(seen=3, kept=0, failed=3)


def test_something_cancelled_inside_a_stage_is_a_failure_and_stops_no_worker(stream: Stream) -> None:
    async def cancelled(n: int) -> Outcome[Usage]:
        if n < 2:
            raise asyncio.CancelledError
        return await _double(n)

    assert asyncio.run(run_stage(_Stage(cancelled), _items(10), stream, in_flight=2)) == Counts(
        seen=10, kept=8, failed=2
    )


@pytest.mark.parametrize("error", [CostCeilingReached, AuthenticationFailed, ModelNotFound, DiskFull, ConfigError])
def test_a_fatal_error_is_raised_after_everything_in_flight_is_settled(stream: Stream, error: type[SimiaError]) -> None:
    async def fatal(n: int) -> Outcome[Usage]:
        await asyncio.sleep(0)
        if n == 2:
            raise error("stop here")
        for _ in range(20):
            await asyncio.sleep(0)
        return await _double(n)

    stage = _Stage(fatal)
    with pytest.raises(error, match="stop here"):
        asyncio.run(run_stage(stage, _items(100), stream, in_flight=4))
    assert stage.calls == [0, 1, 2, 3]
    assert stream.counts() == Counts(seen=3, kept=3, failed=0)
    assert not stream.is_done(2)


def test_a_source_that_breaks_ends_the_stage_after_what_it_gave(stream: Stream) -> None:
    def source() -> Iterator[Item[int]]:
        yield from _items(3)
        raise SeedError("file gone")

    with pytest.raises(SeedError, match="file gone"):
        asyncio.run(run_stage(_Stage(_double), source(), stream, in_flight=2))
    assert stream.counts().kept == 3


def test_a_source_that_breaks_in_a_foreign_way_says_where(stream: Stream) -> None:
    def source() -> Iterator[Item[int]]:
        yield from _items(1)
        raise OSError("gone")

    with pytest.raises(SimiaError, match="could not read the next item: OSError: gone"):
        asyncio.run(run_stage(_Stage(_double), source(), stream, in_flight=2))


def test_a_source_that_counts_backwards_is_refused(stream: Stream) -> None:
    items = [Item(0, "a", 0), Item(2, "b", 2), Item(2, "c", 2)]
    with pytest.raises(ConfigError, match="item 2 after item 2"):
        asyncio.run(run_stage(_Stage(_double), items, stream, in_flight=1))


def test_a_stop_takes_no_new_items_and_lets_those_in_flight_finish(stream: Stream) -> None:
    async def scenario() -> Counts:
        stop = asyncio.Event()

        async def stop_at_five(n: int) -> Outcome[Usage]:
            if n == 5:
                stop.set()
            await asyncio.sleep(0.01)
            return await _double(n)

        return await run_stage(_Stage(stop_at_five), _items(1000), stream, in_flight=3, stop=stop, observer=witness)

    witness = _Witness()
    counts = asyncio.run(scenario())
    assert counts.interrupted
    assert 6 <= counts.kept == counts.seen < 20
    assert stream.counts().kept == counts.kept
    assert any(told.endswith("a stop was asked for") for told in witness.told)


def test_what_does_not_finish_in_the_grace_period_is_given_up_and_runs_at_resume(stream: Stream) -> None:
    async def scenario() -> Counts:
        stop = asyncio.Event()

        async def hang(n: int) -> Outcome[Usage]:
            if n == 1:
                stop.set()
                await asyncio.sleep(3600)
            return await _double(n)

        return await run_stage(_Stage(hang), _items(2), stream, in_flight=2, stop=stop, grace_s=0.01)

    assert asyncio.run(scenario()) == Counts(seen=1, kept=1, failed=0, interrupted=True)
    assert asyncio.run(run_stage(_Stage(_double), _items(2), stream, in_flight=2)) == Counts(seen=2, kept=2, failed=0)


@pytest.mark.parametrize("how", ["grace", "cancel"])
def test_what_is_given_up_leaves_no_complaint_of_the_loop(stream: Stream, how: str) -> None:
    complaints: list[dict[str, Any]] = []

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: complaints.append(context))
        stop, hanging = asyncio.Event(), asyncio.Event()

        async def hang(n: int) -> Outcome[Usage]:
            hanging.set()
            await asyncio.sleep(3600)
            return await _double(n)

        staged = asyncio.create_task(run_stage(_Stage(hang), _items(2), stream, in_flight=2, stop=stop, grace_s=0.01))
        await hanging.wait()
        if how == "grace":
            stop.set()
        else:
            staged.cancel()
        await asyncio.wait({staged})
        del staged
        gc.collect()
        await asyncio.sleep(0)

    asyncio.run(scenario())
    gc.collect()
    assert complaints == []


def test_a_stop_before_the_start_does_nothing(stream: Stream) -> None:
    async def scenario() -> Counts:
        stop = asyncio.Event()
        stop.set()
        return await run_stage(_Stage(_double), _items(2), stream, in_flight=2, stop=stop)

    assert asyncio.run(scenario()) == Counts(seen=0, kept=0, failed=0, interrupted=True)


def test_a_stop_that_comes_too_late_is_no_interruption(stream: Stream) -> None:
    async def scenario() -> Counts:
        stop = asyncio.Event()

        async def stop_at_the_end(n: int) -> Outcome[Usage]:
            if n == 1:
                await asyncio.sleep(0.01)
                stop.set()
            return await _double(n)

        return await run_stage(_Stage(stop_at_the_end), _items(2), stream, in_flight=2, stop=stop)

    assert asyncio.run(scenario()) == Counts(seen=2, kept=2, failed=0)


def test_cancelling_the_stage_leaves_what_was_written(stream: Stream) -> None:
    async def scenario() -> None:
        async def hang(n: int) -> Outcome[Usage]:
            if n == 3:
                asyncio.get_running_loop().call_soon(task.cancel)
                await asyncio.sleep(3600)
            return await _double(n)

        task = asyncio.create_task(run_stage(_Stage(hang), _items(10), stream, in_flight=1))
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(scenario())
    assert stream.counts() == Counts(seen=3, kept=3, failed=0)


def test_a_long_row_of_done_items_lets_the_loop_breathe(stream: Stream) -> None:
    for n in range(5000):
        stream.append_now(n, str(n), Kept(Usage()))

    async def scenario() -> int:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        await run_stage(_Stage(_double), _items(5000), stream, in_flight=1)
        counting.cancel()
        return turns

    assert asyncio.run(scenario()) > 10


def test_an_observer_is_told_of_everything(stream: Stream) -> None:
    async def drop_one(n: int) -> Outcome[Usage]:
        return Dropped("one", "") if n == 1 else await _double(n)

    witness = _Witness()
    asyncio.run(run_stage(_Stage(drop_one), _items(2), stream, in_flight=1, observer=witness))
    assert witness.told == ["double starts: 2 items, 0 done", "key-0 Kept", "key-1 Dropped", "double ends: 2 seen"]


@settings(max_examples=40, deadline=None)
@given(
    fates=st.lists(st.sampled_from(["kept", "dropped", "failed", "foreign"]), max_size=40),
    in_flight=st.integers(1, 8),
    cut=st.integers(0, 3000),
)
def test_a_resumed_stage_equals_an_uninterrupted_one(fates: list[str], in_flight: int, cut: int) -> None:
    async def act(n: int) -> Outcome[Usage]:
        for _ in range(n % 3):
            await asyncio.sleep(0)
        if fates[n] == "failed":
            raise ModelTimeout("late")
        if fates[n] == "foreign":
            raise ValueError("odd")
        return Dropped("rule", str(n)) if fates[n] == "dropped" else await _double(n)

    def go(run: Run) -> Counts:
        return asyncio.run(run_stage(_Stage(act), _items(len(fates)), run.stream("s"), in_flight=in_flight))

    def outcomes(run: Run) -> list[Outcome[Usage] | None]:
        return [run.stream("s").outcome_of(n, Usage) for n in range(len(fates))]

    with tempfile.TemporaryDirectory() as folder:
        with Run.create(Path(folder), _MANIFEST) as run:
            counts, whole = go(run), outcomes(run)
            path = run.stream("s").path
        path.write_bytes(path.read_bytes()[:cut])
        with Run.resume(Path(folder), _MANIFEST) as run:
            assert go(run) == counts
            assert outcomes(run) == whole
    assert counts.seen == len(fates)

"""What keeping a record costs: CPU per record of each path through the store and the pipeline.

    python benchmarks/persistence.py [--records 20000] [--folder DIR]

Records are trajectories of about 6.6 KB. CPU is that of the whole process, all threads, user and system. ``replies``
and ``outcomes`` are acknowledged writes with group commit every 0.25 s or 256 records. Memory is measured by
``--flat``, which runs itself at 5,000 and 50,000 records in fresh processes and compares the peaks.
"""

import argparse
import asyncio
import hashlib
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import orjson

from simia.pipeline import Item, run_pass, run_stage
from simia.store import Manifest, Run
from simia.types import AssistantMessage, ChatReply, Kept, Outcome, Provenance, ToolCall, Trajectory, UserMessage

MANIFEST = Manifest(run="bench", version="0", created="", config={})
_SENTENCE = "Please change the delivery address of order 4711 to the new flat, and tell me what that costs. "


def trajectory(ordinal: int) -> Trajectory:
    """A conversation of 14 turns whose JSON has about 6.6 KB."""
    messages: list[UserMessage | AssistantMessage] = []
    for turn in range(7):
        messages.append(UserMessage(content=_SENTENCE * 4))
        call = ToolCall(id=f"call_{turn}", name="change_address", arguments={"order": ordinal, "note": _SENTENCE})
        messages.append(AssistantMessage(content=_SENTENCE * 3, tool_calls=(call,)))
    provenance = Provenance(run="bench", seed="s", attempt=ordinal, model="m", prompts={}, licence="Apache-2.0")
    return Trajectory(world="w" * 64, task=_SENTENCE, messages=tuple(messages), provenance=provenance)


class Echo:
    """A stage that keeps what it gets, after one turn of the loop."""

    name = "echo"

    async def __call__(self, item: Item[Trajectory]) -> Outcome[Trajectory]:
        """The item's value, kept."""
        await asyncio.sleep(0)
        return Kept(item.value)


class Clock:
    """CPU and wall seconds of a block, per record."""

    def __init__(self, name: str, records: int) -> None:
        self.name, self.records = name, records

    def __enter__(self) -> None:
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def __exit__(self, *error: object) -> None:
        cpu, wall = time.process_time() - self.cpu, time.perf_counter() - self.wall
        print(f"{self.name:<52}{cpu / self.records * 1e6:8.1f} us CPU{wall / self.records * 1e6:9.1f} us wall a record")


@asynccontextmanager
async def heartbeat() -> AsyncIterator[list[float]]:
    """How late a timer of 5 ms was, in ms: what the store does to everything else on the loop."""
    late: list[float] = []

    async def beat() -> None:
        while True:
            start = time.perf_counter()
            await asyncio.sleep(0.005)
            late.append((time.perf_counter() - start - 0.005) * 1e3)

    task = asyncio.create_task(beat())
    try:
        yield late
    finally:
        task.cancel()


async def outcomes(run: Run, values: list[Trajectory], records: int) -> None:
    """Acknowledged writes of outcomes, one after another."""
    stream = run.stream("outcomes")
    async with heartbeat() as late:
        with Clock("outcome: dump + append + group commit", records):
            for ordinal in range(records):
                await stream.append(ordinal, "k", Kept(values[ordinal % len(values)]))
                if ordinal % 20 == 0:
                    await asyncio.sleep(0)
            await stream.commit()
    print(f"{'  a 5 ms timer on the same loop was late by at most':<52}{max(late, default=0):8.1f} ms")


async def raw(run: Run, content: bytes, records: int) -> None:
    """The same with the JSON at hand: the store alone."""
    stream = run.stream("raw")
    with Clock("outcome as JSON bytes: append + group commit", records):
        for ordinal in range(records):
            await stream.append(ordinal, "k", Kept(content))
            if ordinal % 20 == 0:
                await asyncio.sleep(0)
        await stream.commit()


async def replies(run: Run, text: str, records: int) -> None:
    """Acknowledged writes of replies, each asked for before."""
    reply = ChatReply(text=text, model="m")
    ids = [hashlib.sha256(str(n).encode()).hexdigest() for n in range(records)]
    with Clock("reply: get (miss) + put + group commit", records):
        for n, request_id in enumerate(ids):
            if run.replies.get(request_id) is None:
                await run.replies.put(request_id, reply)
            if n % 20 == 0:
                await asyncio.sleep(0)
        await run.commit()
    with Clock("reply: get (hit)", records):
        for request_id in ids:
            run.replies.get(request_id)


def passes(run: Run, records: int) -> None:
    """One streaming pass over the kept records."""
    with Clock("pass: read + write, unparsed", records):
        items = (Item(n, key, content) for n, key, content in run.stream("outcomes").raw_kept())
        run_pass("raw pass", lambda item: Kept(item.value), items, run.restart_stream("passed"))
    with Clock("pass: read + orjson.loads + dumps + write", records):
        items = (Item(n, key, content) for n, key, content in run.stream("outcomes").raw_kept())
        again = run.restart_stream("passed")
        run_pass("pass", lambda item: Kept(orjson.dumps(orjson.loads(item.value))), items, again)
    with Clock("read as Trajectory", records):
        for _ in run.stream("outcomes").kept(Trajectory):
            pass


def measure(folder: Path, records: int) -> None:
    """Every path once."""
    values = [trajectory(n) for n in range(8)]
    content = values[0].model_dump_json().encode()
    print(f"{records} records of {len(content)} bytes")
    with Clock("  of which model_dump_json", 2000):
        for n in range(2000):
            values[n % 8].model_dump_json().encode()
    with Run.create(folder, MANIFEST) as run:
        asyncio.run(outcomes(run, values, records))
        asyncio.run(raw(run, content, records))
        asyncio.run(replies(run, content.decode(), records))
        items = (Item(n, "k", values[n % 8]) for n in range(records))
        with Clock("window: 200 in flight, dump + append + commit", records):
            asyncio.run(run_stage(Echo(), items, run.stream("window"), in_flight=200))
        passes(run, records)
    with Run.resume(folder, MANIFEST) as run:
        with Clock("resume: cut, parse and index a stream", records):
            stream = run.stream("outcomes")
        with Clock("resume: skip what is done", records):
            items = (Item(n, "k", values[0]) for n in range(records))
            asyncio.run(run_stage(Echo(), items, stream, in_flight=200))


def peak_mb(folder: Path, records: int) -> float:
    """Peak resident memory of generating, resuming and passing over ``records`` records, in MB."""
    values = [trajectory(n) for n in range(8)]

    def source() -> Iterator[Item[Trajectory]]:
        return (Item(n, f"item-{n}", values[n % 8]) for n in range(records))

    async def generate(run: Run) -> None:
        for n in range(records):
            await run.replies.put(hashlib.sha256(str(n).encode()).hexdigest(), ChatReply(text="a" * 6600, model="m"))
        await run_stage(Echo(), source(), run.stream("window"), in_flight=200)

    with Run.create(folder, MANIFEST) as run:
        asyncio.run(generate(run))
    with Run.resume(folder, MANIFEST) as run:
        asyncio.run(run_stage(Echo(), source(), run.stream("window"), in_flight=200))
        items = (Item(n, key, content) for n, key, content in run.stream("window").raw_kept())
        run_pass("pass", lambda item: Kept(item.value), items, run.restart_stream("passed"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def flat() -> None:
    """Peak memory at two sizes, each in a process of its own."""
    peaks = {}
    for records in (5000, 50000):
        command = [sys.executable, __file__, "--peak", "--records", str(records)]
        peaks[records] = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(f"peak resident at {records:>6} records: {peaks[records]:6.1f} MB")
    print(f"ratio: {peaks[50000] / peaks[5000]:.2f} (at most 1.2)")


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--records", type=int, default=20000)
    parser.add_argument("--folder", type=Path, default=None, help="where to write; a temporary folder by default")
    parser.add_argument("--flat", action="store_true", help="compare peak memory at 5,000 and 50,000 records")
    parser.add_argument("--peak", action="store_true", help="print the peak memory of one run and nothing else")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=words.folder) as scratch:
        if words.flat:
            flat()
        elif words.peak:
            print(peak_mb(Path(scratch) / "run", words.records))
        else:
            measure(Path(scratch) / "run", words.records)


if __name__ == "__main__":
    main()

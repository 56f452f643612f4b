"""``kill -9`` at random moments: what was lost, and what is there twice.

    python benchmarks/kill.py [--moments 50] [--items 50000] [--seed 1] [--folder DIR]

A child process runs a stage whose items are paid replies: a request that the reply log does not know is "paid" (its
number goes to a pipe), its reply is kept, and its number goes to the pipe again as acknowledged; then its outcome is
written. The parent kills the child at a random moment, again and again; every second time it waits for the child to
say that a commit has begun. Then the run is gone on with to its end, with no terminal, and compared with a run that
nobody killed. Printed: acknowledged replies and outcomes that are gone, records that are there twice, requests that
were paid twice although their first reply had been acknowledged, and whether the end is the same.
"""

import argparse
import asyncio
import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from simia.errors import StoreError
from simia.pipeline import Item, run_stage
from simia.store import Manifest, Run
from simia.types import ChatReply, Dropped, Kept, Outcome

MANIFEST = Manifest(run="kill", version="0", created="", config={})


class Paid:
    """A stage that pays for a reply unless it has one, and says what it did in lines of text."""

    name = "paid"

    def __init__(self, run: Run, *, loud: bool) -> None:
        self._run = run
        self._loud = loud

    async def __call__(self, item: Item[int]) -> Outcome[ChatReply]:
        """The reply, kept or dropped by a fixed rule."""
        request_id = hashlib.sha256(str(item.value).encode()).hexdigest()
        reply = self._run.replies.get(request_id)
        if reply is None:
            self.say("pay", item.ordinal)
            await asyncio.sleep(0.0005)
            reply = ChatReply(text=f"{item.value} " * 1000, model="m")
            await self._run.replies.put(request_id, reply)
            self.say("reply", item.ordinal)
        return Dropped("seventh", str(item.value)) if item.value % 7 == 0 else Kept(reply)

    def say(self, what: str, number: int) -> None:
        """One line to the parent, in one write, so that a kill cannot cut it."""
        if self._loud:
            os.write(1, b"%b %d\n" % (what.encode(), number))


class Loud:
    """An observer that tells the parent of each written outcome."""

    def __init__(self, stage: Paid) -> None:
        self._stage = stage

    def started(self, stage: str, total: int | None, done: object) -> None:
        """The parent starts its clock."""
        self._stage.say("start", 0)

    def settled(self, stage: str, key: str, outcome: object) -> None:
        """Acknowledged."""
        self._stage.say("outcome", int(key))

    def waiting(self, stage: str, in_flight: int, reason: str) -> None:
        """Nothing."""

    def finished(self, stage: str, counts: object) -> None:
        """Nothing."""


def items(count: int) -> Iterator[Item[int]]:
    """The source."""
    return (Item(n, str(n), n) for n in range(count))


async def work(run: Run, count: int, *, loud: bool) -> None:
    """The stage, with a commit every few milliseconds so that many kills fall into one."""
    stage = Paid(run, loud=loud)

    async def commit_often() -> None:
        while True:
            await asyncio.sleep(0.005)
            stage.say("commit", 0)
            await run.commit()

    committing = asyncio.create_task(commit_often())
    try:
        await run_stage(stage, items(count), run.stream("paid"), in_flight=20, observer=Loud(stage))
    finally:
        committing.cancel()


def child(folder: Path, count: int, *, loud: bool) -> None:
    """Begin or go on with the run."""
    opened = Run.resume(folder, MANIFEST) if (folder / "run.json").exists() else Run.create(folder, MANIFEST)
    with opened as run:
        asyncio.run(work(run, count, loud=loud))


def kill_once(folder: Path, count: int, draw: random.Random, *, inside_a_commit: bool) -> tuple[list[str], bool]:
    """Start a child, kill it, and give its lines and whether it was still at work."""
    command = [sys.executable, __file__, "--child", str(folder), "--items", str(count)]
    lines: list[str] = []
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        commits = draw.randint(1, 8) if inside_a_commit else 0
        for line in process.stdout:
            lines.append(line)
            commits -= line.startswith("commit")
            if commits <= 0 and (inside_a_commit or line.startswith("start")):
                break
        time.sleep(draw.uniform(0, 0.0008) if inside_a_commit else draw.uniform(0, 0.12))
        process.send_signal(signal.SIGKILL)
        lines += process.stdout
    return lines, process.returncode == -signal.SIGKILL


def numbers(lines: list[str], what: str) -> list[int]:
    """The numbers after a word."""
    return [int(line.split()[1]) for line in lines if line.startswith(what + " ")]


def contents(folder: Path) -> dict[int, str]:
    """Each outcome by ordinal."""
    with Run.read(folder) as run:
        stream = run.stream("paid")
        return {n: repr(stream.outcome_of(n, ChatReply)) for n in range(stream.counts().seen)}


def measure(scratch: Path, moments: int, count: int, seed: int) -> int:
    """Kill, resume, compare, print; the number of faults."""
    draw = random.Random(seed)
    folder, whole = scratch / "killed", scratch / "whole"
    told: list[str] = []
    alive = inside = torn = 0
    paid_again = 0
    acknowledged: set[int] = set()
    for moment in range(moments):
        lines, killed = kill_once(folder, count, draw, inside_a_commit=moment % 2 == 1)
        paid_again += len(acknowledged.intersection(numbers(lines, "pay")))
        acknowledged.update(numbers(lines, "reply"))
        told += lines
        alive += killed
        inside += killed and moment % 2 == 1
        torn += any(file.read_bytes()[-1:] not in (b"", b"\n") for file in folder.rglob("*.jsonl"))
    with Run.resume(folder, MANIFEST) as run:
        replies = Counter(request_id for request_id, _ in run.replies)
        lost_replies = sum(run.replies.get(hashlib.sha256(str(n).encode()).hexdigest()) is None for n in acknowledged)
        lost_outcomes = sum(not run.stream("paid").is_done(n) for n in set(numbers(told, "outcome")))
        written = (folder / "streams" / "paid.jsonl").read_bytes().count(b"\n")
        twice = written - run.stream("paid").counts().seen + sum(times - 1 for times in replies.values())
        done = run.stream("paid").counts().seen
    child(folder, count, loud=False)
    child(whole, count, loud=False)
    same = contents(folder) == contents(whole)
    print(
        f"killed {alive} times ({inside} after a commit began), {torn} files ended torn, {done} of {count} items done"
    )
    print(f"replies acknowledged: {len(acknowledged)}, lost: {lost_replies}, paid for again: {paid_again}")
    print(f"outcomes acknowledged: {len(set(numbers(told, 'outcome')))}, lost: {lost_outcomes}")
    print(f"records twice: {twice}")
    print(f"resumed to the end, the set {'equals' if same else 'DIFFERS FROM'} that of an uninterrupted run")
    return lost_replies + lost_outcomes + twice + paid_again + (not same)


def main() -> None:
    """Read the command line and measure; exit code 1 if anything was lost, doubled or different."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--moments", type=int, default=50)
    parser.add_argument("--items", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=None, help="where to write; a temporary folder by default")
    parser.add_argument("--child", type=Path, default=None, help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.child is not None:
        try:
            child(words.child, words.items, loud=True)
        except StoreError as error:
            sys.exit(str(error))
        return
    with tempfile.TemporaryDirectory(dir=words.folder) as scratch:
        sys.exit(1 if measure(Path(scratch), words.moments, words.items, words.seed) else 0)


if __name__ == "__main__":
    main()

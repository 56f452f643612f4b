"""A disk that is full or broken, and a process that is killed."""

import asyncio
import errno
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from simia.errors import DiskFull, StoreError
from simia.store import Manifest, Run, Stream
from simia.store.append_file import AppendFile
from simia.store.atomic import disk, write_atomically
from simia.store.commit import GroupCommit
from simia.types import ChatReply, Kept, Usage

_FILL = """
import asyncio, resource, sys
from pathlib import Path
from simia.errors import DiskFull
from simia.store import Manifest, Run
from simia.types import Kept, ChatReply

async def fill(run):
    n = 0
    while True:
        await run.stream("s").append(n, "k", Kept(ChatReply(text="x" * 700, model="m")))
        n += 1
        print(n, flush=True)

resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
with Run.create(Path(sys.argv[1]), Manifest.model_validate_json(sys.argv[2])) as run:
    try:
        asyncio.run(fill(run))
    except DiskFull as error:
        print(error)
"""

_WRITE = """
import asyncio, sys
from pathlib import Path
from simia.store import Manifest, Run
from simia.types import Kept, Usage

async def work(run):
    stream = run.stream("s")
    n = stream.counts().seen
    while True:
        await stream.append(n, f"key-{n}", Kept(Usage(prompt_tokens=n)))
        print(n, flush=True)
        n += 1
        await asyncio.sleep(0)
        if n % 50 == 0:
            await stream.commit()

manifest = Manifest.model_validate_json(sys.argv[2])
folder = Path(sys.argv[1])
with (Run.resume if (folder / "run.json").exists() else Run.create)(folder, manifest) as run:
    asyncio.run(work(run))
"""


@contextmanager
def _largest_file(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_says_so_and_keeps_what_was_acknowledged(tmp_path: Path, manifest: Manifest) -> None:
    command = [sys.executable, "-c", _FILL, str(tmp_path), manifest.model_dump_json()]
    *acknowledged, message = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert "every acknowledged record is safe" in message
    assert "--resume" in message
    assert (tmp_path / "streams" / "s.jsonl").read_bytes().endswith(b"}\n")
    with Run.resume(tmp_path, manifest) as run:
        assert run.stream("s").counts().kept == int(acknowledged[-1])
        asyncio.run(run.stream("s").append(int(acknowledged[-1]), "k", Kept(ChatReply(text="more", model="m"))))


def test_a_half_written_line_is_cut_off_at_once(tmp_path: Path) -> None:
    file = AppendFile(tmp_path / "f", writable=True)
    file.write(b"whole\n")
    with _largest_file(10), pytest.raises(DiskFull, match=os.strerror(errno.EFBIG)):
        file.write(b"longer than four bytes\n")
    assert (tmp_path / "f").read_bytes() == b"whole\n"
    file.write(b"again\n")
    assert (tmp_path / "f").read_bytes() == b"whole\nagain\n"


def test_a_device_without_space_is_a_full_disk() -> None:
    with (
        pytest.raises(DiskFull, match="No space left on device"),
        disk(Path("/dev/full"), "write"),
        open("/dev/full", "wb", buffering=0) as file,
    ):
        file.write(b"x")


def test_what_cannot_be_written_leaves_the_old_small_file(tmp_path: Path) -> None:
    path = tmp_path / "meter.json"
    write_atomically(path, b"old")
    with _largest_file(2), pytest.raises(DiskFull, match=r"meter\.json"):
        write_atomically(path, b"newer")
    assert [file.name for file in tmp_path.iterdir()] == ["meter.json"]
    assert path.read_bytes() == b"old"


def test_a_pass_on_a_full_disk_stops_and_its_stream_stays_closed(tmp_path: Path) -> None:
    stream = Stream(tmp_path / "s.jsonl", GroupCommit(), writable=True)
    stream.append_now(0, "a", Kept(Usage()))
    with _largest_file(2), pytest.raises(DiskFull):
        stream.flush()
    with pytest.raises(DiskFull):
        stream.commit_now()
    assert (tmp_path / "s.jsonl").read_bytes() == b""


def test_a_failed_sync_is_final(tmp_path: Path) -> None:
    async def work() -> None:
        commit = GroupCommit()
        file = AppendFile(tmp_path / "f", writable=True)
        file.write(b"x\n")
        file.close()
        commit.wrote(file)
        with pytest.raises(StoreError, match="could not sync"):
            await commit.commit()
        with pytest.raises(StoreError, match="could not sync"):
            await Stream(tmp_path / "s", commit, writable=True).append(0, "a", Kept(Usage()))
        with pytest.raises(StoreError, match="could not sync"):
            commit.close()

    asyncio.run(work())


def test_records_reach_the_disk_without_being_asked_for(tmp_path: Path) -> None:
    commit = GroupCommit(every_s=0.01)
    file = AppendFile(tmp_path / "f", writable=True)
    file.write(b"x\n")
    commit.wrote(file)
    deadline = time.monotonic() + 10
    while file.dirty and time.monotonic() < deadline:
        time.sleep(0.005)
    assert not file.dirty
    commit.close()


def test_many_records_are_committed_before_the_time_is_up(tmp_path: Path) -> None:
    commit = GroupCommit(every_s=3600, records=10)
    file = AppendFile(tmp_path / "f", writable=True)
    for _ in range(10):
        file.write(b"x\n")
        commit.wrote(file)
    deadline = time.monotonic() + 10
    while file.dirty and time.monotonic() < deadline:
        time.sleep(0.005)
    assert not file.dirty
    commit.close()


@pytest.mark.slow
def test_a_killed_writer_loses_nothing_it_acknowledged(tmp_path: Path, manifest: Manifest) -> None:
    draw = random.Random(7)
    acknowledged: list[int] = []
    for _ in range(6):
        command = [sys.executable, "-c", _WRITE, str(tmp_path), manifest.model_dump_json()]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            acknowledged.append(int(writer.stdout.readline()))
            time.sleep(draw.uniform(0, 0.1))
            writer.send_signal(signal.SIGKILL)
            acknowledged += [int(line) for line in writer.stdout if line.endswith("\n")]
    with Run.resume(tmp_path, manifest) as run:
        found = [ordinal for ordinal, _, _ in run.stream("s").kept(Usage)]
    assert set(acknowledged) <= set(found)
    assert found == list(range(len(found)))
    assert (tmp_path / "streams" / "s.jsonl").read_bytes().count(b"\n") == len(found)

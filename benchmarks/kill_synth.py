"""``kill -9`` of ``simia synth`` at random moments: what is lost, what is paid twice, whether the end is the same.

    python benchmarks/kill_synth.py [--kills 50] [--count 1500] [--seed 1] [--folder DIR]

The command is the real one, ``python -m simia synth shop ...``, in a process group of its own, with standard input from
/dev/null and no terminal, against ``simia.models.mock_server`` in another process (50 ms a reply, which depends on the
request's body only), 50 requests in flight. One run is left alone, and its stages are timed. Then runs are begun,
killed with SIGKILL and gone on with by ``--resume``. Of ten kills of a run folder seven wait until a stage shows in the
folder and then for a part, drawn uniformly, of the time that it takes; three fall anywhere. Each is counted under the
stage that the files tell it fell into: ``start`` is the process before it has written anything. After its ten kills,
or once it ends before its kill, a run is gone on with to its end and compared with the one that was left alone.

Printed, in one line:

- lost: whole lines of the streams and of the reply log that were on disk after a kill and are not at the end.
- twice: lines with the ordinal, the request or the world of another line of the same file.
- asked beyond: requests that the endpoint counted, less those of a run that is left alone; and the most that one kill
  cost: requests asked in the life of one process, less the replies that it wrote down. A kill may cost the requests
  that are in flight, so more than 50 at one kill is a fault.
- whether every outcome under its key, every exported byte, and the requests and tokens of ``meter.json`` are those of
  the run that was left alone, and no other file stays in the folder.

Exit code 1 if anything is lost, doubled, paid again beyond what was in flight, or different. Replies are fenced JSON,
so no schema is sent (``simulate.structured=false``): the client would learn from the order of the replies that this
endpoint ignores it. Their ids are random, so the pass ``grounded_ids``, which would drop all of them, is left out.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from simia.synthesis.postprocess import PASSES
from workload import write_replies, write_seeds

STAGES = ("start", "prefilter", "generate", "postprocess", "export")
_AIMS = ("start", "prefilter", "any", "generate", "any", "generate", "generate", "any", "postprocess", "export")
_GROWING = ("replies.jsonl", "worlds.jsonl", "streams/prefilter.jsonl", "streams/generate.jsonl")
_STREAMS = ("prefilter", "generate", "postprocess")
_PASSES = json.dumps([name for name in PASSES if name not in ("strip_reasoning", "grounded_ids")])
_SEEDS = 1000
_IN_FLIGHT = 50
_LATENCY = "fixed:0.05"
_LONGEST_S = 600.0
_LOOK_EVERY_S = 0.002


class Endpoint:
    """The mock endpoint and what it counted."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url

    def stats(self) -> dict[str, Any]:
        """Its figures."""
        with urllib.request.urlopen(self.base_url.removesuffix("/v1") + "/stats", timeout=30) as answer:
            figures: dict[str, Any] = json.loads(answer.read())
        return figures

    def asked(self) -> int:
        """Requests so far, once it has noticed that every client is gone: the one connection left is this one."""
        while (figures := self.stats())["connections"] > 1:
            time.sleep(0.01)
        return int(figures["requests"])


@contextmanager
def endpoint(home: Path) -> Iterator[Endpoint]:
    """The mock server in a process of its own."""
    command = [sys.executable, "-m", "simia.models.mock_server", str(home / "replies.jsonl"), "--latency", _LATENCY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            yield Endpoint(server.stdout.readline().strip())
        finally:
            server.terminate()


class Life:
    """One process that works on a run folder, from its start to its end or its kill."""

    def __init__(self, home: Path, folder: Path, base_url: str, count: int) -> None:
        self._folder = folder
        self._sizes = {name: _size(folder / name) for name in _GROWING}
        self._told = home / "told.txt"
        command = [sys.executable, "-m", "simia", "synth", "shop", f"count={count}", "simulate.structured=false"]
        command += [f"seeds.source={home / 'seeds.jsonl'}", "model.name=mock", f"model.base_url={base_url}"]
        command += [f"model.max_in_flight={_IN_FLIGHT}", f"postprocess.passes={_PASSES}", "--run", str(folder)]
        command += ["--resume"] if (folder / "run.json").exists() else []
        self.began_ns = time.time_ns()
        with self._told.open("wb") as told:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=told, stderr=told, start_new_session=True
            )

    def ended(self) -> bool:
        """Whether the process has come to its end, in good order.

        Raises:
            SystemExit: it failed, or has taken too long; what it said is in the message.
        """
        code = self._process.poll()
        if code is None and time.time_ns() - self.began_ns > _LONGEST_S * 1e9:
            self.kill()
            raise SystemExit(f"simia synth took longer than {_LONGEST_S:g} s: {self._told.read_text()}")
        if code:
            raise SystemExit(f"simia synth ended with exit code {code}: {self._told.read_text()}")
        return code == 0

    def stage(self) -> str:
        """The last stage that this process has written anything of."""
        folder, sizes = self._folder, self._sizes
        if any(_changed_ns(path) > self.began_ns for path in (folder / "export").rglob("*.*")):
            return "export"
        if _changed_ns(folder / "streams" / "postprocess.jsonl") > self.began_ns:
            return "postprocess"
        if any(_size(folder / name) > sizes[name] for name in ("replies.jsonl", "streams/generate.jsonl")):
            return "generate"
        name = "streams/prefilter.jsonl"
        return "prefilter" if _size(folder / name) > sizes[name] else "start"

    def wait_for(self, stage: str) -> bool:
        """Wait until ``stage``, or a later one, shows; False if the process ended before."""
        while not self.ended():
            if STAGES.index(self.stage()) >= STAGES.index(stage):
                return True
            time.sleep(_LOOK_EVERY_S)
        return False

    def wait_s(self, seconds: float) -> bool:
        """Wait so long; False if the process ended before."""
        until = time.monotonic() + seconds
        while not self.ended():
            left = until - time.monotonic()
            if left <= 0:
                return True
            time.sleep(min(left, _LOOK_EVERY_S))
        return False

    def kill(self) -> bool:
        """Kill the process group; whether it was still at work."""
        os.killpg(self._process.pid, signal.SIGKILL)
        return self._process.wait() == -signal.SIGKILL


@dataclass
class Tally:
    """What was seen over all runs."""

    stages: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    early: int = 0
    torn: int = 0
    acknowledged: int = 0
    lost: int = 0
    twice: int = 0
    beyond: int = 0
    most_at_once: int = 0
    differences: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Whole:
    """The run that nobody killed: its folder, the requests that it asked, seconds by stage."""

    folder: Path
    asked: int
    lengths_s: dict[str, float]


def run_whole(home: Path, mock: Endpoint, count: int) -> Whole:
    """Make it, and look at when its stages begin."""
    folder = home / "whole"
    life = Life(home, folder, mock.base_url, count)
    began = {"start": time.monotonic()}
    for stage in STAGES[1:]:
        if not life.wait_for(stage):
            raise SystemExit(f"the stage {stage} was too short to be seen: raise --count")
        began[stage] = time.monotonic()
    while not life.ended():
        time.sleep(_LOOK_EVERY_S)
    ends = [*list(began.values())[1:], time.monotonic()]
    return Whole(folder, mock.asked(), {name: end - began[name] for name, end in zip(STAGES, ends, strict=True)})


def kill_and_resume(
    home: Path, mock: Endpoint, whole: Whole, count: int, draw: random.Random, kills: int, tally: Tally
) -> None:
    """One run folder: up to ``kills`` kills, then to its end, then compared."""
    folder = home / f"killed-{tally.runs}"
    tally.runs += 1
    before = asked = mock.asked()
    on_disk: set[tuple[str, bytes]] = set()
    for aim in _AIMS[:kills]:
        life = Life(home, folder, mock.base_url, count)
        replies = len(_lines(folder / "replies.jsonl"))
        if not (_wait_for_moment(life, aim, whole.lengths_s, draw) and life.kill()):
            tally.early += 1
            break
        tally.stages[life.stage()] += 1
        tally.torn += any(path.read_bytes()[-1:] not in (b"", b"\n") for path in folder.rglob("*.jsonl"))
        on_disk.update((name, line) for name in _GROWING for line in _lines(folder / name))
        asked, earlier = mock.asked(), asked
        cost = asked - earlier - (len(_lines(folder / "replies.jsonl")) - replies)
        tally.most_at_once = max(tally.most_at_once, cost)
    life = Life(home, folder, mock.base_url, count)
    while not life.ended():
        time.sleep(_LOOK_EVERY_S)
    tally.beyond += mock.asked() - before - whole.asked
    tally.acknowledged += len(on_disk)
    tally.lost += len(on_disk - {(name, line) for name in _GROWING for line in _lines(folder / name)})
    tally.twice += sum(_twice(folder / name) for name in (*_GROWING, "streams/postprocess.jsonl"))
    tally.differences += [f"{what} of {folder.name}" for what in differences(folder, whole.folder)]


def _wait_for_moment(life: Life, aim: str, lengths_s: dict[str, float], draw: random.Random) -> bool:
    """Wait as ``aim`` says; False if the process ended before. A run's share of ``generate`` is left to later kills."""
    share_s = lengths_s["generate"] / 5
    if aim == "any":
        return life.wait_s(draw.uniform(0, lengths_s["start"] + share_s))
    return life.wait_for(aim) and life.wait_s(draw.uniform(0, share_s if aim == "generate" else lengths_s[aim]))


def differences(folder: Path, whole: Path) -> list[str]:
    """What of one finished run is not as in the other."""
    found = [f"outcomes of {name}" for name in _STREAMS if _outcomes(folder, name) != _outcomes(whole, name)]
    if _contents(folder / "export") != _contents(whole / "export"):
        found.append("export")
    if _usage(folder) != _usage(whole):
        found.append("usage")
    if _names(folder) != _names(whole):
        found.append("names of files")
    return found


def _outcomes(folder: Path, name: str) -> dict[int, bytes]:
    """The whole line, with its key, by ordinal; the last line of an ordinal counts."""
    return {orjson.loads(line)["n"]: line for line in _lines(folder / "streams" / f"{name}.jsonl")}


def _contents(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _names(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*")}


def _usage(folder: Path) -> tuple[int, dict[str, int]]:
    meter = orjson.loads((folder / "meter.json").read_bytes())
    return meter["requests"], meter["usage"]


def _twice(path: Path) -> int:
    records = [orjson.loads(line) for line in _lines(path)]
    return len(records) - len({record.get("n", record.get("id")) for record in records})


def _lines(path: Path) -> list[bytes]:
    """The whole lines of a file, none where there is no file."""
    return [] if not path.exists() else [line for line in path.read_bytes().splitlines(True) if line.endswith(b"\n")]


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _changed_ns(path: Path) -> int:
    """When a file was written last; 0 where there is none, which may come between two looks."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def report(tally: Tally, whole: Whole, count: int) -> str:
    """The line of figures."""
    stages = ", ".join(f"{stage} {tally.stages[stage]}" for stage in STAGES)
    end = "EQUALS the uninterrupted run" if not tally.differences else "DIFFERS: " + ", ".join(tally.differences)
    return (
        f"killed {tally.stages.total()} times ({stages}) in {tally.runs} runs of {count}, {tally.early} runs ended "
        f"before their kill, {tally.torn} kills tore a file; records on disk after a kill: {tally.acknowledged}, lost: "
        f"{tally.lost}, twice: {tally.twice}; asked beyond {tally.runs} x {whole.asked} requests: {tally.beyond}, at "
        f"most {tally.most_at_once} at one kill with {_IN_FLIGHT} in flight; the end {end}"
    )


def measure(home: Path, kills: int, count: int, seed: int) -> bool:
    """Kill, resume, compare, print; whether all is well."""
    draw = random.Random(seed)
    tally = Tally()
    write_seeds(home / "seeds.jsonl", _SEEDS)
    write_replies(home / "replies.jsonl", 2 * count)
    with endpoint(home) as mock:
        whole = run_whole(home, mock, count)
        while (left := kills - tally.stages.total()) > 0:
            kill_and_resume(home, mock, whole, count, draw, left, tally)
    print(report(tally, whole, count))
    faults = (tally.lost, tally.twice, tally.differences, tally.most_at_once > _IN_FLIGHT)
    return not any(faults)


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--count", type=int, default=1500, help="conversations of each run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=None, help="where the runs go; kept if named, and must be new")
    args = parser.parse_args()
    home = (args.folder or Path(tempfile.mkdtemp(prefix="simia-kill-"))).resolve()
    if args.folder is not None and home.exists():
        parser.error(f"{home} exists: name a folder that does not, or remove it")
    home.mkdir(parents=True, exist_ok=True)
    try:
        well = measure(home, args.kills, args.count, args.seed)
    finally:
        if args.folder is None:
            shutil.rmtree(home, ignore_errors=True)
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()

"""A synthesis run end to end against a mock endpoint on loopback: seeds, prompts, requests, parsing, persistence.

    python benchmarks/synthesis.py [--count 5000] [--in-flight 200] [--latency 0] [--fault-rate 0.05] [--outage 20:30]

The endpoint is ``simia.models.mock_server`` in a process of its own; the run is another process, so that its CPU time
and its peak of resident memory are its own. Prints one line: conversations a second by span (first request to last
outcome), CPU per conversation over that of starting up (a run of ``--baseline`` conversations is taken first and
subtracted), peak memory, what was delivered, and after an outage how long full speed took to come back. The prompt has
20 KB; with ``--structured`` each request also carries the JSON Schema of its reply, as a run does by default.
"""

import argparse
import heapq
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from simia.cli.stopping import run_loop
from simia.models.mock_faults import Latency
from simia.pipeline import Silent
from simia.synthesis.cast import choose_cast
from simia.synthesis.recipe import read_recipe
from simia.synthesis.run import synthesise
from simia.types import Outcome, Value
from workload import write_replies, write_seeds

_SEEDS = 200
_REPLIES = 512


class _Clock(Silent):
    """Notes when outcomes of the stage ``generate`` come, by whole seconds."""

    def __init__(self) -> None:
        self.begun = 0.0
        self.ended = 0.0
        self.by_second: dict[int, int] = {}

    def started(self, stage: str, total: int | None, done: object) -> None:
        if stage == "generate":
            self.begun = time.monotonic()

    def settled(self, stage: str, key: str, outcome: Outcome[Value] | Outcome[bytes]) -> None:
        if stage == "generate":
            self.ended = time.monotonic()
            second = int(self.ended - self.begun)
            self.by_second[second] = self.by_second.get(second, 0) + 1


def run_once(base_url: str, seeds: Path, folder: Path, args: argparse.Namespace) -> None:
    """The measured process: one run, its figures as JSON on standard output."""
    words = [f"count={args.count}", f"seeds.source={seeds}", "model.name=mock", f"model.base_url={base_url}"]
    words += [f"model.max_in_flight={args.in_flight}", "model.timeout_s=60"]
    words += [f"simulate.structured={str(args.structured).lower()}"]
    recipe = read_recipe("shop", words)
    clock = _Clock()
    before = resource.getrusage(resource.RUSAGE_SELF)
    summary = run_loop(
        synthesise(recipe, choose_cast(recipe, {}), folder, stages=("prefilter", "generate"), observer=clock)
    )
    after = resource.getrusage(resource.RUSAGE_SELF)
    counts = summary.stages["generate"]
    figures = {
        "kept": counts.kept,
        "dropped": counts.dropped_total,
        "failed": counts.failed,
        "span_s": clock.ended - clock.begun,
        "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "peak_mb": after.ru_maxrss / 1024,
        "by_second": clock.by_second,
    }
    print(json.dumps(figures))


def main() -> None:
    """Start the endpoint, take the baseline and the run, print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--baseline", type=int, default=1000, help="0 reports CPU with the start of the run")
    parser.add_argument("--in-flight", type=int, default=200)
    parser.add_argument("--latency", default="0")
    parser.add_argument("--fault-rate", default="0")
    parser.add_argument("--mock-seed", type=int, default=0, help="of latencies and faults")
    parser.add_argument("--outage", default=None)
    parser.add_argument("--structured", action="store_true", help="send the reply's JSON Schema with each request")
    parser.add_argument("--folder", type=Path, default=None, help="where the run folders go; kept if named")
    parser.add_argument("--run", nargs=3, metavar=("URL", "SEEDS", "FOLDER"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        run_once(args.run[0], Path(args.run[1]), Path(args.run[2]), args)
        return
    home = args.folder or Path(tempfile.mkdtemp(prefix="simia-bench-"))
    home.mkdir(parents=True, exist_ok=True)
    write_seeds(home / "seeds.jsonl", _SEEDS)
    write_replies(home / "replies.jsonl", _REPLIES)
    try:
        base = _measured(home, args, args.baseline) if args.baseline else {"cpu_s": 0.0, "kept": 0}
        figures = _measured(home, args, args.count)
    finally:
        if args.folder is None:
            shutil.rmtree(home, ignore_errors=True)
    made = figures["kept"] - base["kept"]
    print(
        f"{args.count} conversations, {args.in_flight} in flight, latency {args.latency}, faults {args.fault_rate}, "
        f"outage {args.outage or 'none'}: kept {figures['kept']}, dropped {figures['dropped']}, failed "
        f"{figures['failed']}; {figures['kept'] / figures['span_s']:.1f} conv/s over {figures['span_s']:.1f} s; "
        f"{1000 * (figures['cpu_s'] - base['cpu_s']) / made:.3f} ms CPU per conversation; "
        f"peak {figures['peak_mb']:.0f} MB"
    )
    if args.outage:
        print(_recovery(figures["by_second"], args.outage))
    elif float(args.fault_rate) == 0 and Latency.read(args.latency).mean_s > 0:
        drawn, usual = _bound(args, args.mock_seed), [_bound(args, seed) for seed in range(99)]
        print(
            f"a client that takes no time would make {drawn:.1f} conv/s of these latencies, and {median(usual):.1f} "
            f"({min(usual):.1f} to {max(usual):.1f}) of those of other seeds"
        )


def _measured(home: Path, args: argparse.Namespace, count: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "simia.models.mock_server", str(home / "replies.jsonl")]
    command += ["--latency", args.latency, "--fault-rate", args.fault_rate, "--seed", str(args.mock_seed)]
    if args.outage:
        command += ["--outage", args.outage]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        url = next(word for word in line.split() if word.startswith("http"))
        run = home / f"run-{count}-{os.getpid()}"
        command = [sys.executable, __file__, "--count", str(count), "--in-flight", str(args.in_flight)]
        command += ["--structured"] if args.structured else []
        command += ["--run", url, str(home / "seeds.jsonl"), str(run)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        shutil.rmtree(run, ignore_errors=True)
        figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return figures
    finally:
        server.terminate()
        server.wait()


def _bound(args: argparse.Namespace, seed: int) -> float:
    """Conversations a second if only the endpoint took time: each place takes the next latency when it is free."""
    latency, rng = Latency.read(args.latency), random.Random(seed)
    places = [0.0] * args.in_flight
    for _ in range(args.count):
        heapq.heapreplace(places, places[0] + latency.draw(rng))
    return float(args.count / max(places))


def _recovery(by_second: dict[str, int], outage: str) -> str:
    start, length = (float(part) for part in outage.split(":")[:2])
    rates = {int(second): count for second, count in by_second.items()}
    before = [rates.get(second, 0) for second in range(5, int(start))]
    full = sum(before) / max(1, len(before))
    end = int(start + length)
    after = [rates.get(second, 0) for second in range(end, end + 15)]
    back = next((n for n, rate in enumerate(after) if rate >= 0.9 * full), None)
    return f"before the outage {full:.0f} conv/s; in the 15 s after it {after}; 90 % of full speed after {back} s"


if __name__ == "__main__":
    main()

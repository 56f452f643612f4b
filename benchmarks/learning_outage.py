"""A training whose simulator goes away for a minute in the middle: what becomes of its steps and its rewards.

``python benchmarks/learning_outage.py [--start 20] [--length 60] [--steps 60]`` needs the extra ``trl``. Each run is
``simia train grpo tiny`` as a user starts it, over a mock endpoint in a process of its own that plays the tools of the
lamps and answers every request with status 500 during the outage: once with retries that outlast it (the default), once
with retries for a third of it, so that episodes are masked and played again.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from statistics import median

from rollout_endpoint import endpoint
from simia.environment.episodes import EpisodeLog
from simia.store import Run
from simia.train.curves import read_curves
from simia.train.tiny import make_tiny
from simia.worlds import load

_WORLD = "lamps"


def train(url: str, agent: Path, folder: Path, steps: int, retry_for_s: float) -> None:
    """One training of ``steps`` steps."""
    command = [sys.executable, "-m", "simia", "train", "grpo", "tiny", "--quiet", "--run", str(folder)]
    words = ["model.name=mock", f"model.base_url={url}", f"model.retry_for_s={retry_for_s}", f"agent.model={agent}"]
    words += [f"learn.steps={steps}", "evaluation.tasks=0", f"learn.checkpoint_every={steps}"]
    subprocess.run([*command, *words], check=True, stdout=subprocess.DEVNULL)


def tell(folder: Path, label: str, steps: int) -> None:
    """What became of it, on one line."""
    rows = read_curves(folder / "curves.csv")
    seconds = [row["step_s"] for step, row in rows.items() if step]
    blamed: Counter[str] = Counter()
    with Run.read(folder) as run:
        unanswered = {record.episode for record in run.calls if record.error}
        scored = zeros = 0
        for _, episode in EpisodeLog(run).iterate():
            if episode.reward is None:
                blamed[episode.attributed_to.value] += 1
                continue
            scored += 1
            zeros += episode.id in unanswered and episode.reward.value == 0
    print(
        f"retries for {label}: {len(seconds)} of {steps} steps done; {scored + blamed.total():,} episodes, masked in "
        f"the end {dict(blamed)}, played again {sum(row.get('reruns', 0) for row in rows.values()):.0f}; scored 0 with "
        f"an unanswered call {zeros}; a step took {median(seconds):.1f} s, the longest {max(seconds):.1f} s; at most "
        f"{max(row.get('masked', 0.0) for row in rows.values()):.0%} of a step masked",
        flush=True,
    )


def main() -> None:
    """Run both and print one line each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--start", type=float, default=20.0, help="seconds from the first request to the outage")
    parser.add_argument("--length", type=float, default=60.0, help="seconds it lasts")
    parser.add_argument("--steps", type=int, default=60)
    words = parser.parse_args()
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    with tempfile.TemporaryDirectory(prefix="simia-outage-") as scratch:
        agent = Path(scratch) / "agent"
        make_tiny(load(_WORLD), agent, steps=200)
        for label, retry_for_s in (("900 s, the default", 900.0), (f"{words.length / 3:g} s", words.length / 3)):
            folder = Path(scratch) / f"run-{retry_for_s:g}"
            with endpoint(_WORLD, 1, outage=f"{words.start:g}:{words.length:g}") as url:
                train(url, agent, folder, words.steps, retry_for_s)
            tell(folder, label, words.steps)


if __name__ == "__main__":
    main()

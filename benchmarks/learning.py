"""Does an agent learn? The tiny one, in a simulated world and in the executable one, over three seeds.

``python benchmarks/learning.py [--seeds 3] [--out DIR]`` needs the extra ``trl``. Each run is ``simia train grpo tiny``
as a user starts it, in a process of its own. The simulator is a program that errs in one change of ten; what is learned
with it is examined on held-out tasks in both worlds, beside what is learned in the executable world itself. The tiny
model is made once a run, before the first step: ``step s`` are the steps alone, ``whole s`` everything.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean

from simia.report.step_chart import Series, standalone, step_chart
from simia.train.curves import read_curves

KINDS = {
    "simulated": ["environment.dynamics=tracked"],
    "executable": ["environment.dynamics=executable"],
}


def run(kind: str, seed: int, folder: Path) -> float:
    """Seconds that the whole command took."""
    command = [sys.executable, "-m", "simia", "train", "grpo", "tiny", f"seed={seed}", *KINDS[kind], "--quiet"]
    began = time.monotonic()
    subprocess.run([*command, "--run", str(folder)], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def main() -> None:
    """Run all and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="keep the runs and draw the curves here")
    options = parser.parse_args()
    out = options.out or Path(tempfile.mkdtemp(prefix="simia-learning-"))
    out.mkdir(parents=True, exist_ok=True)
    curves: dict[str, list[Series]] = {kind: [] for kind in KINDS}
    print("trained in   seed  reward: first 10, last 10   executable world: before, after   step s  whole s")
    for kind in KINDS:
        for seed in range(options.seeds):
            folder = out / f"{kind}-{seed}"
            took = run(kind, seed, folder)
            rows = read_curves(folder / "curves.csv")
            rewards = [(step, row["reward"]) for step, row in sorted(rows.items()) if "reward" in row]
            values = [reward for _, reward in rewards]
            # Trained in the executable world, the environment of the training is the executable one.
            column = "executed_success" if kind == "simulated" else "trained_success"
            steps = sum(row.get("step_s", 0.0) for row in rows.values())
            print(
                f"{kind:<11} {seed:>5}  {mean(values[:10]):>16.3f} {mean(values[-10:]):>8.3f}  "
                f"{rows[0][column]:>25.1%} {rows[max(rows)][column]:>6.1%}  {steps:>7.0f} {took:>8.0f}",
                flush=True,
            )
            curves[kind].append(Series(f"seed {seed}", rewards, over=10))
    for kind, series in curves.items():
        drawing = step_chart(f"Mean reward while training in the {kind} world", series, low=0.0, high=1.0)
        (out / f"learning-{kind}.svg").write_text(standalone(drawing), encoding="utf-8")
    print(f"runs and curves: {out}")


if __name__ == "__main__":
    main()

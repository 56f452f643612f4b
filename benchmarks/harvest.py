"""How many transitions a CPU second are harvested from simia's own worlds.

    python benchmarks/harvest.py [--tasks 300] [--write]

All of it: tasks are drawn, calls executed and perturbed, copies looked for. With ``--write`` each transition goes to a
JSON Lines file as well. Prints each world and the sum.
"""

import argparse
import tempfile
import time
from pathlib import Path

from simia import worlds
from simia.bench.collect import Walk, harvest
from simia.bench.transitions import write_transitions


def main() -> None:
    """Harvest every world once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=300)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    total, spent = 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name in worlds.names():
            world = worlds.load(name)
            began = time.process_time()
            found = harvest(name, world, map(Walk.gold, world.tasks(arguments.tasks, 0)))
            if arguments.write:
                count = write_transitions(Path(folder) / f"{name}.jsonl", found)
            else:
                count = sum(1 for _ in found)
            took = time.process_time() - began
            total, spent = total + count, spent + took
            print(f"{name:<12} {count:7,} transitions  {count / took:8,.0f} a CPU second")
    print(f"{'all':<12} {total:7,} transitions  {total / spent:8,.0f} a CPU second")


if __name__ == "__main__":
    main()

"""The environment of reinforcement learning under measure: what it costs, and what many episodes at once ask of it.

    python benchmarks/rollouts.py overhead [--rounds 20]
    python benchmarks/rollouts.py latency [--rounds 5]        # with TRL's rollouts where the extra trl is installed
    python benchmarks/rollouts.py thousand [--count 1000] [--latency 0.5]
    python benchmarks/rollouts.py outage [--full]
    python benchmarks/rollouts.py prefix [--model embedded] [--world lamps --world library]

``overhead``: microseconds per step without a model's latency, of executable and simulated tools, beside the world's own
code. ``latency``: wall time of 16 rollouts over a simulator that takes half a second, against the slowest alone.
``thousand``: so many episodes at once through the whole stack of a run against a mock endpoint in another process: peak
resident memory of this side, episodes a second. ``outage``: steps of groups of episodes while that endpoint is away
for six seconds, or with ``--full`` for sixty: what is masked, played again and lost. ``prefix``: the share of an
episode's prompt tokens that a model on this machine computes, by its server's own count.

Without an argument all but ``prefix`` run, in short forms.
"""

import argparse

from rollout_crowd import outage, thousand
from rollout_latency import latency
from rollout_prefix import prefix
from rollout_time import overhead

_SHORT = ("overhead", "latency", "thousand", "outage")


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("measure", nargs="?", choices=[*_SHORT, "prefix"], help="all but prefix if left out")
    parser.add_argument("--rounds", type=int, default=5, help="of overhead and latency")
    parser.add_argument("--count", type=int, default=1000, help="episodes at once")
    parser.add_argument("--latency", default="fixed:0.5", help="of the endpoint, as for simia models mock")
    parser.add_argument("--full", action="store_true", help="an outage of 60 s instead of 6 s")
    parser.add_argument("--model", default="embedded", help="embedded or gguf:PATH")
    parser.add_argument("--world", action="append", help="of prefix; may be given again")
    words = parser.parse_args()
    wanted = _SHORT if words.measure is None else (words.measure,)
    if "overhead" in wanted:
        overhead(words.rounds)
    if "latency" in wanted:
        latency(words.rounds)
    if "thousand" in wanted:
        thousand(words.count, words.latency)
    if "outage" in wanted:
        start_s, length_s = (20.0, 60.0) if words.full else (4.0, 6.0)
        outage(start_s, length_s)
    if "prefix" in wanted:
        prefix(words.model, words.world or ("lamps",))


if __name__ == "__main__":
    main()

"""What it costs to score one step: apply the predicted changes, compare whole states, sort the changes.

    python benchmarks/scoring.py [--rounds 15]

States of about 5 KB and 208 KB, four true changes, a prediction with three of them and an invented one. Timed in turn
within each round, so that a slow moment of the machine hits all alike; printed are medians of CPU time, and ratios to
the plain step.

- ``score``: :func:`simia.bench.score.score` on a sample, as a run does: states share what no change touches
- ``score, parsed``: the same on a true next state that was parsed on its own and shares nothing
- ``released rule``: :func:`simia.bench.published.published_verdict`, which copies, applies and diffs as the reference
- ``plain step``: a hand-written diff without strictness, twice, after a copying apply: what one would write first
- ``deepdiff``: that package on both states, where it is installed
"""

import argparse
import copy
import random
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import orjson

from simia.bench.prediction import Prediction
from simia.bench.published import published_verdict
from simia.bench.sample import Sample
from simia.bench.score import score, score_states
from simia.types import Put, State, StateDelta, ToolCall


def state(orders: int) -> State:
    """A shop's orders, about 265 bytes each."""
    rng = random.Random(1)
    return {
        "orders": {
            f"#W{number}": {
                "status": "pending",
                "user": f"u{number % 7}",
                "total": round(rng.random() * 100, 2),
                "items": [{"sku": f"s{place}", "quantity": place, "returned": False} for place in range(4)],
                "address": {"street": "Harbour Row 12", "city": "Bristol", "postcode": "BS1 4QA"},
            }
            for number in range(orders)
        },
        "today": "2025-01-01",
        "next_number": 5,
    }


def plain_diff(before: State, after: State, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """The changes by key, as one writes it first: ``True`` equals ``1`` here."""
    found = [((*path, key), None) for key in before if key not in after]
    for key, value in after.items():
        old = before.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            found += plain_diff(old, value, (*path, key))
        elif key not in before or old != value:
            found.append(((*path, key), value))
    return found


def plain_step(before: State, changes: tuple[Put, ...], after: State) -> bool:
    """Copy what a change touches, apply, diff both ways."""
    predicted = dict(before)
    for change in changes:
        here = predicted
        for key in change.path[:-1]:
            here[key] = dict(here[key])
            here = here[key]
        here[change.path[-1]] = change.value
    return plain_diff(before, predicted) == plain_diff(before, after)


def cases(orders: int) -> dict[str, Callable[[], object]]:
    """The steps to be timed."""
    before = state(orders)
    after = orjson.loads(orjson.dumps(before))
    for number in range(4):
        after["orders"][f"#W{number}"]["status"] = "cancelled"
    truth = StateDelta.between(before, after)
    made = tuple(change for change in truth.changes[:3] if isinstance(change, Put))
    changes = (*made, Put(path=("orders", "#W9", "status"), value="shipped"))
    prediction = Prediction(observation="{}", is_error=False, changes=changes)

    def scored() -> object:
        # A sample remembers its true next state; a run scores each sample once, so each call gets a new one.
        sample = Sample(
            id="1",
            world="shop",
            origin="gold",
            call=_CALL,
            state=before,
            observation="{}",
            is_error=False,
            delta=truth,
        )
        return score(sample, prediction)

    def scored_parsed() -> object:
        return score_states(before, StateDelta(changes=changes).apply(before), after)

    sample = Sample(
        id="1", world="shop", origin="gold", call=_CALL, state=before, observation="{}", is_error=False, delta=truth
    )
    found: dict[str, Callable[[], object]] = {
        "plain step": lambda: plain_step(before, changes, after),
        "score": scored,
        "score, parsed": scored_parsed,
        "released rule": lambda: published_verdict(sample, prediction),
    }
    try:
        from deepdiff import DeepDiff
    except ImportError:
        return found
    predicted = StateDelta(changes=changes).apply(copy.deepcopy(before))
    return {**found, "deepdiff": lambda: DeepDiff(predicted, after)}


_CALL = ToolCall(id="call_1", name="cancel_orders", arguments={})


def main() -> None:
    """Time every case, in turn, and print medians."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    rounds: int = parser.parse_args().rounds
    for orders, repeats in ((18, 400), (745, 12)):
        steps = cases(orders)
        times: dict[str, list[float]] = {name: [] for name in steps}
        for _ in range(rounds):
            for name, step in steps.items():
                count = max(1, repeats // 40) if name in ("released rule", "deepdiff") else repeats
                began = time.process_time()
                for _ in range(count):
                    step()
                times[name].append((time.process_time() - began) / count * 1e6)
        size = len(orjson.dumps(state(orders)))
        plain = median(times["plain step"])
        print(f"state of {size / 1000:.1f} KB, {rounds} rounds")
        for name, values in times.items():
            low, high = min(values), max(values)
            middle = median(values)
            print(f"  {name:<14} {middle:10.1f} us  ({low:.1f} to {high:.1f})  {middle / plain:6.2f} x plain")


if __name__ == "__main__":
    main()

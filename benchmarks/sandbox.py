"""What it costs to run a stranger's class in a process of its own.

    python benchmarks/sandbox.py [--calls 5000]

The class has three tools over a table of 40 rows (about 3 KB of state). Every call sends the state there and gets the
changes back. Printed are the start of the process, calls a second of wall time, and how long it takes until code that
never ends is stopped, beyond its limit of one second, and the next call is answered.
"""

import argparse
import time
from statistics import median

from simia.errors import SandboxViolation
from simia.types import ToolCall
from simia.worlds.sandbox import Limits, SandboxedWorld

SOURCE = '''
class Stock:
    """A table of goods."""

    def __init__(self):
        self.goods = {}
        self.log = []

    def take(self, key: str, count: int) -> dict:
        """Take some."""
        row = self.goods.get(key)
        if row is None or row["count"] < count:
            return {"success": False, "error": f"not enough of {key}"}
        row["count"] -= count
        self.log.append(key)
        return {"success": True, "left": row["count"]}

    def total(self) -> dict:
        """All there is."""
        return {"success": True, "data": sum(row["count"] for row in self.goods.values())}

    def hang(self) -> dict:
        """Never answer."""
        while True:
            pass
'''
STATE = {
    "goods": {f"G-{number}": {"name": f"thing number {number}", "count": 99, "shelf": "B"} for number in range(40)},
    "log": [],
}


def main() -> None:
    """Start, call, hang."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=5000)
    calls = parser.parse_args().calls
    began = time.perf_counter()
    limits = Limits(seconds=1.0)
    with SandboxedWorld("stock", SOURCE, "Stock", licence="Apache-2.0", limits=limits) as world:
        world.run(STATE, ToolCall(id="c", name="total", arguments={}))
        print(f"first answer after {1000 * (time.perf_counter() - began):.0f} ms; walls: {', '.join(world.walls)}")
        for name, arguments in (("take", {"key": "G-7", "count": 2}), ("total", {})):
            call = ToolCall(id="c", name=name, arguments=arguments)
            rates = []
            for _ in range(5):
                began = time.perf_counter()
                for _ in range(calls // 5):
                    world.run(STATE, call)
                rates.append(calls / 5 / (time.perf_counter() - began))
            print(f"{name:<6} {median(rates):7,.0f} calls a second ({min(rates):,.0f} to {max(rates):,.0f})")
        spent = []
        for _ in range(5):
            began = time.perf_counter()
            try:
                world.run(STATE, ToolCall(id="c", name="hang", arguments={}))
            except SandboxViolation:
                world.run(STATE, ToolCall(id="c", name="total", arguments={}))
                spent.append(time.perf_counter() - began - 1.0)
        print(f"stopped and ready again {1000 * median(spent):.0f} ms after the limit, {len(spent)} of 5 times")


if __name__ == "__main__":
    main()

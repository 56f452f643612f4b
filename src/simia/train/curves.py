"""The curves of a training run: a CSV file that grows by a row a step, and is cut back where a run goes on earlier."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path

from simia.store import disk, write_atomically

COLUMNS = (
    "step",
    "reward",
    "reward_std",
    "success",
    "turns",
    "masked",
    "masked_simulator",
    "masked_user",
    "masked_judge",
    "masked_infrastructure",
    "truncated",
    "reruns",
    "agent_tokens",
    "prompt_tokens",
    "cached_tokens",
    "simulator_tokens",
    "cost",
    "environment_s",
    "step_s",
    "loss",
    "grad_norm",
    "kl",
    "entropy",
    "clipped",
    "learning_rate",
    "trained_success",
    "trained_masked",
    "executed_success",
    "executed_masked",
)
"""What a row holds. ``reward`` and ``success`` are means over scored episodes; ``masked`` with its parts and
``truncated`` are shares of all that were played. ``prompt_tokens`` to ``cost`` are of the models behind the
environment, of this step; ``trained_success`` and ``executed_success`` of held-out tasks, in the environment of the
training and in the executable world, beside the share of them that could not be scored. An empty cell says that nothing
was measured.
"""


class Curves:
    """The rows of ``path``, by step. A row is on the disk when :meth:`put` returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[int, dict[str, float]] = read_curves(path) if path.exists() else {}

    def put(self, step: int, values: Mapping[str, float | None]) -> None:
        """Add ``values`` to the row of ``step``; None values are left out.

        Raises:
            StoreError: the file cannot be written.
        """
        row = self.rows.setdefault(step, {})
        row.update({name: value for name, value in values.items() if value is not None and value == value})
        self._write()

    def cut(self, last: int) -> None:
        """Forget every row after the step ``last``: the run goes on from there.

        Raises:
            StoreError: the file cannot be written.
        """
        if any(step > last for step in self.rows):
            self.rows = {step: row for step, row in self.rows.items() if step <= last}
            self._write()

    def _write(self) -> None:
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        for step in sorted(self.rows):
            cells = {name: f"{value:.6g}" for name, value in self.rows[step].items() if name in COLUMNS}
            writer.writerow({**cells, "step": str(step)})
        write_atomically(self.path, text.getvalue().encode())


def read_curves(path: Path) -> dict[int, dict[str, float]]:
    """The rows of a file of curves, by step; empty cells are left out.

    Raises:
        StoreError: the file cannot be read.
    """
    with disk(path, "read"):
        lines = path.read_text(encoding="utf-8").splitlines()
    rows: dict[int, dict[str, float]] = {}
    for row in csv.DictReader(lines):
        cells = {name: float(value) for name, value in row.items() if name and value and name != "step"}
        rows[int(row["step"])] = cells
    return rows

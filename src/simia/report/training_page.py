"""The page of a training run: its curves, what was masked and why, and the recipe."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson

from simia import __version__
from simia.errors import ConfigError
from simia.report.page import Panel, document
from simia.report.step_chart import Series, step_chart
from simia.store import Manifest, Run, write_atomically
from simia.train.curves import read_curves
from simia.train.grpo import CURVES

_BLAMED = ("simulator", "user", "judge", "infrastructure")


def write_page(folder: Path) -> Path:
    """Write ``report.html`` into the folder of a training run, which may still be going on.

    Raises:
        ConfigError: the run has no curves yet.
        StoreError: there is no run, or the page cannot be written.
    """
    path = folder / "report.html"
    write_atomically(path, training_page(folder).encode())
    return path


def training_page(folder: Path) -> str:
    """The page as text.

    Raises:
        ConfigError: the run has no curves yet.
        StoreError: there is no run.
    """
    if not (folder / CURVES).exists():
        raise ConfigError(f"{folder} has no {CURVES}: it is no training run, or has not made its first step")
    with Run.read(folder) as run:
        manifest = run.manifest
    rows = read_curves(folder / CURVES)
    return document(
        "training",
        {},
        title=manifest.run,
        lead=_lead(rows),
        version=__version__,
        facts=_facts(manifest, rows),
        panels=_panels(rows),
        config=orjson.dumps(manifest.config, option=orjson.OPT_INDENT_2).decode(),
    )


def _lead(rows: Mapping[int, Mapping[str, float]]) -> str:
    steps = [step for step, row in rows.items() if "reward" in row]
    if not steps:
        return "No step has ended yet."
    rewards = [rows[step]["reward"] for step in sorted(steps)]
    tenth = max(1, len(rewards) // 10)
    early, late = sum(rewards[:tenth]) / tenth, sum(rewards[-tenth:]) / tenth
    if tenth == 1:
        return f"{len(rewards):,} steps; reward {rewards[0]:.2f} in the first, {rewards[-1]:.2f} in the last."
    return f"{len(rewards):,} steps; mean reward {early:.2f} over the first {tenth}, {late:.2f} over the last {tenth}."


def _facts(manifest: Manifest, rows: Mapping[int, Mapping[str, float]]) -> list[tuple[str, list[str]]]:
    config = manifest.config
    environment, learn = config["environment"], config["learn"]
    facts = [
        ("agent", [str(config["agent"]["model"])]),
        ("environment", [f"{environment['world'] or environment['seeds']}, {environment['dynamics']}"]),
        ("played by", [manifest.model]),
        ("a step", [f"{learn['groups']} groups of {learn['group_size']} episodes"]),
        ("begun", [manifest.created]),
    ]
    for name, told in (
        ("trained", "held-out tasks, same environment"),
        ("executed", "held-out tasks, executable world"),
    ):
        found = [(step, row[f"{name}_success"]) for step, row in sorted(rows.items()) if f"{name}_success" in row]
        if found:
            facts.append((told, [f"{share:.0%} after step {step:,}" for step, share in found]))
    cost = sum(row.get("cost", 0.0) for row in rows.values())
    if cost:
        facts.append(("cost of the environment", [f"${cost:.2f}"]))
    return facts


def _panels(rows: Mapping[int, Mapping[str, float]]) -> list[Panel]:
    masked = [_series(rows, f"masked_{party}", party, over=1) for party in _BLAMED]
    wanted = [
        ("Reward", "mean over scored episodes", [_series(rows, "reward", "reward")], 0.0, 1.0),
        (
            "Success",
            "share of scored episodes with a reward of 1, and of held-out tasks",
            [
                _series(rows, "success", "training"),
                _series(rows, "trained_success", "held out, same environment", over=1),
                _series(rows, "executed_success", "held out, executable world", over=1),
            ],
            0.0,
            1.0,
        ),
        ("Masked episodes", "share of all, by whose fault it was", masked, 0.0, 1.0),
        ("Turns", "of the agent in an episode", [_series(rows, "turns", "turns")], 0.0, None),
        ("Tokens of the agent", "in an episode", [_series(rows, "agent_tokens", "tokens")], 0.0, None),
        (
            "Tokens of the environment",
            "asked and answered in a step",
            [_series(rows, "prompt_tokens", "prompt"), _series(rows, "simulator_tokens", "reply")],
            0.0,
            None,
        ),
        ("Cost of the environment", "US dollars a step", [_series(rows, "cost", "cost")], 0.0, None),
        (
            "Seconds",
            "a step, and its rollouts",
            [_series(rows, "step_s", "step"), _series(rows, "environment_s", "rollouts")],
            0.0,
            None,
        ),
        ("Loss", "", [_series(rows, "loss", "loss")], None, None),
        ("Length of the gradient", "before clipping", [_series(rows, "grad_norm", "gradient")], 0.0, None),
        ("Entropy", "of the agent's tokens", [_series(rows, "entropy", "entropy")], 0.0, None),
        ("KL divergence", "from the first weights", [_series(rows, "kl", "KL")], 0.0, None),
    ]
    panels = []
    for title, note, series, low, high in wanted:
        drawn = [one for one in series if any(value for _, value in one.points)]
        if drawn:
            panels.append(Panel(title, note, step_chart(title, drawn, low=low, high=high)))
    return panels


def _series(rows: Mapping[int, Mapping[str, float]], column: str, name: str, over: int = 5) -> Series:
    points: Sequence[tuple[int, float]] = [(step, row[column]) for step, row in sorted(rows.items()) if column in row]
    return Series(name, points, over)

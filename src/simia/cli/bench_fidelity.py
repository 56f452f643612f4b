"""``simia bench fidelity``: how true the conversations of a synthesis run are."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simia.cli.console import examples, result, result_facts, result_json, result_table
from simia.cli.runs import open_run

if TYPE_CHECKING:
    from simia.bench.fidelity import Fidelity


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(
        rich_help_panel="Data",
        epilog=examples(
            "simia bench fidelity runs/first --world shop",
            "simia bench fidelity runs/retail --world tau2:retail --json",
        ),
    )(fidelity)


def fidelity(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a simia synth run.", show_default=False)],
    world: Annotated[str, typer.Option(help="The executable world that the run is about.", show_default=False)],
    limit: Annotated[
        int | None, typer.Option(min=1, help="Check at most so many conversations.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every call.")] = False,
) -> None:
    """Execute every call of a run's conversations in an executable world, and say how true they are."""
    from dataclasses import asdict

    from simia.bench.fidelity import check_run
    from simia.worlds.door import open_world

    open_run(run).close()
    found = check_run(run, open_world(world), limit=limit, with_texts=as_json)
    if as_json:
        result_json({"world": found.world, "trajectories": [asdict(one) for one in found.trajectories]})
        return
    _show_fidelity(found)


def _show_fidelity(found: "Fidelity") -> None:
    from simia.bench.leaderboard import interval_text, rate_text

    started = found.started()
    words = {"own": "their own initial state", "seed": "their seed's", "nowhere": "none that fits: not executed"}
    result_facts(
        [
            ("conversations", f"{len(found.trajectories):,} with {len(found.calls):,} calls"),
            ("started from", ", ".join(f"{words[key]} {count:,}" for key, count in sorted(started.items()))),
            ("calls that fit", f"{interval_text(found.valid)} of all, malformed ones included"),
            ("accepted", f"{interval_text(found.accepted)} by the world"),
            ("errors agree", interval_text(found.errors)),
            ("observations", f"{interval_text(found.observations)} right"),
            ("states", f"{interval_text(found.states)} right, after each call"),
            ("faithful", f"{interval_text(found.faithful)} of the conversations, to the end"),
            (
                "first divergence",
                "-" if found.median_divergence is None else f"call {found.median_divergence:g} (median)",
            ),
            *(("stopped", f"{count:,} calls by {why}; none after them") for why, count in found.stopped.items()),
        ]
    )
    result()
    rows = [
        (tool, str(fit.count), rate_text(fit), str(accepted.count), rate_text(accepted), rate_text(observed))
        for tool, (fit, accepted, observed) in found.by_tool().items()
    ]
    result_table(("tool", "calls", "fit", "executed", "accepted", "observation right"), rows, numbers=range(1, 6))

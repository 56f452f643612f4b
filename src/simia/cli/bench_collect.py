"""``simia bench collect``: transitions of executable worlds, from gold calls, from perturbed ones, from an agent's."""

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simia.cli.bench_data import PANEL, SeedOption, opened_worlds, say_count
from simia.cli.console import examples, result, result_table, say
from simia.cli.files import ForceOption, demand_free
from simia.cli.synth import MaxCostOption
from simia.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simia.bench.collect import Walk
    from simia.bench.sample import Sample
    from simia.worlds import World


def add_to(app: typer.Typer) -> None:
    """Register ``collect``."""
    app.command(
        rich_help_panel=PANEL,
        epilog=examples(
            "simia bench collect transitions.jsonl bank airline --tasks 500",
            "simia bench collect transitions.parquet tau2:retail --perturb wrong_id --perturb repeated",
            "simia bench collect rollouts.jsonl bank --rollouts gpt-4.1-mini --tasks 50 --max-cost 1",
        ),
    )(collect)


def collect(
    file: Annotated[Path, typer.Argument(help="The file to write, *.jsonl or *.parquet.", show_default=False)],
    worlds: Annotated[list[str], typer.Argument(metavar="WORLD...", help="Executable worlds; see simia world ls.")],
    tasks: Annotated[int, typer.Option(min=1, help="Tasks to walk in each world.")] = 200,
    perturb: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="Only these perturbations: wrong_id, other_id, elsewhere, repeated, look, missing_argument, "
            "wrong_type, unknown_tool; or [cyan]none[/cyan]. Without it the first five.",
        ),
    ] = None,
    rollouts: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Let this model act in each task as well; its replies are kept in *.replies.jsonl beside FILE.",
            show_default=False,
        ),
    ] = None,
    max_cost: MaxCostOption = None,
    seed: SeedOption = 0,
    force: ForceOption = False,
) -> None:
    """Harvest transitions: state, call, observation and changes, as the executable worlds have them."""
    from simia.bench.collect import WELL_FORMED, Seen, harvest
    from simia.bench.explore import walks_of
    from simia.bench.perturb import KINDS
    from simia.bench.strata import group_of
    from simia.bench.transitions import write_transitions
    from simia.cli.progress import usage_line

    demand_free(file, force=force)
    kinds = WELL_FORMED if perturb is None else tuple(kind for kind in perturb if kind != "none")
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise ConfigError(f"no perturbation {', '.join(unknown)}; there are {', '.join(KINDS)}, and none")

    opened = opened_worlds(worlds)
    actor = None if rollouts is None else _Actor(rollouts, max_cost, seed, file)

    by_origin: Counter[tuple[str, str]] = Counter()

    def harvested() -> "Iterator[Sample]":
        for name, world in opened.items():
            count = 0
            seen = Seen()
            sources: list[Iterator[Walk]] = [walks_of(world, tasks, seed)]
            if actor is not None:
                sources.append(actor.walks(world, tasks))
            for source in sources:
                for sample in harvest(name, world, source, seed=seed, kinds=kinds, seen=seen):
                    count += 1
                    by_origin[sample.origin, group_of(sample)] += 1
                    yield sample
            say_count(name, count)
            for reason, times in sorted(seen.stopped.items()):
                say(f"{name}: {times:,} calls were left out: {reason}")

    count = write_transitions(file, harvested())
    _show_origins(by_origin)
    usage = usage_line(None if actor is None else actor.meter.totals(), max_cost)
    if usage:
        result(f"used: {usage}")
    result(f"{file}: {count:,} transitions")


class _Actor:
    """An agent model that acts in worlds. Its replies are kept beside the file that is written, so that the same
    command never pays for one twice.
    """

    def __init__(self, model: str, max_cost: float | None, seed: int, file: Path) -> None:
        from simia.bench.baselines import PREFIX
        from simia.models.cast import Cast
        from simia.models.choose import choose_model
        from simia.models.meter import Meter
        from simia.models.settings import ModelSettings

        if model.startswith(PREFIX):
            raise ConfigError(f"{model} is no agent: name a model for --rollouts")
        chosen = choose_model(None, settings=ModelSettings(name=model, max_cost=max_cost), env=os.environ)
        self._cast = Cast({"model": chosen})
        self._cast.demand_prices()
        self._seed = seed
        self._replies = file.with_name(f"{file.stem}.replies.jsonl")
        self.meter = Meter(None)
        say(f"model: {self._cast.reasons[0]}")

    def walks(self, world: "World", tasks: int) -> "Iterator[Walk]":
        from simia.bench.rollout import acted, with_calls
        from simia.cli.stopping import run_loop

        drawn = world.tasks(tasks, self._seed)
        acting = acted(self._cast, world, drawn, seed=self._seed, meter=self.meter, replies=self._replies)
        walks = run_loop(acting)
        idle = sum(not walk.calls for walk in walks)
        if idle:
            say(f"{world.spec.name}: in {idle:,} of {len(walks):,} tasks the agent made no call")
        yield from with_calls(walks)


def _show_origins(counts: "Counter[tuple[str, str]]") -> None:
    """A table of how calls came about and what came of them."""
    from simia.bench.strata import GROUP_WORDS, GROUPS

    groups = [group for group in GROUPS if any(found == group for _, found in counts)]
    origins = sorted({origin for origin, _ in counts})
    rows = [(origin, *(f"{counts[origin, group]:,}" for group in groups)) for origin in origins]
    header = ("origin", *(GROUP_WORDS[group] for group in groups))
    result_table(header, rows, numbers=range(1, len(header)))

"""The commands of ``simia bench`` that make data: suites, transitions, training pairs."""

import os
import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simia.cli.console import examples, result, result_table, say
from simia.cli.files import ForceOption, demand_free
from simia.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simia.bench.collect import Walk
    from simia.bench.sample import Sample
    from simia.bench.sampling import Drawn
    from simia.worlds import World

WorldsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="WORLD...", help="Executable worlds; see simia world ls.")
]
SeedOption = Annotated[int, typer.Option(help="The random seed.")]
QuotaOption = Annotated[
    list[str] | None, typer.Option(metavar="CELL=COUNT", help="Set a cell's quota; may be given several times.")
]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    panel = "Data"
    app.command(
        rich_help_panel=panel,
        epilog=examples(
            "simia bench build mine.jsonl.gz bank airline --scale 0.25",
            "simia bench build retail.jsonl.gz tau2:retail --quota 7-12=0 --name retail",
            "simia bench build mine.jsonl.gz --from transitions.jsonl",
        ),
    )(build)
    app.command(
        rich_help_panel=panel, epilog=examples("simia bench convert 9.choice_final_combined.json released.jsonl.gz")
    )(convert)
    app.command(
        rich_help_panel=panel,
        epilog=examples(
            "simia bench collect transitions.jsonl bank airline --tasks 500",
            "simia bench collect transitions.parquet tau2:retail --perturb wrong_id --perturb repeated",
            "simia bench collect rollouts.jsonl bank --rollouts gpt-4.1-mini --tasks 50",
        ),
    )(collect)
    app.command(
        rich_help_panel=panel,
        epilog=examples(
            "simia bench sft data/simulator",
            "simia bench sft data/simulator library campus tau2:retail --mix complex=4000 --format trl",
        ),
    )(sft)


def build(
    file: Annotated[Path, typer.Argument(help="The suite file to write, *.jsonl.gz.", show_default=False)],
    worlds: WorldsArgument = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Draw from a file of simia bench collect; without WORLD it is read twice.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="The suite's name; without it the file's.", show_default=False)
    ] = None,
    version: Annotated[str, typer.Option(help="The suite's version.")] = "1",
    seed: SeedOption = 0,
    tasks: Annotated[int, typer.Option(min=1, help="Tasks to walk in each world.")] = 400,
    scale: Annotated[float, typer.Option(min=0.001, help="Multiply all quotas.")] = 1.0,
    quota: QuotaOption = None,
    max_state: Annotated[int, typer.Option(min=100, help="Leave out states of more bytes.")] = 16_000,
    force: ForceOption = False,
) -> None:
    """Make a suite from executable worlds, with the published quotas; without WORLD from those of simbench-400.

    The same worlds and seed give the same file.
    """
    from simia import worlds as ours
    from simia.bench.build import SuitePlan
    from simia.bench.build import build as make
    from simia.bench.strata import PUBLISHED, scaled, with_quotas
    from simia.bench.suite import SUFFIX, write_suite
    from simia.bench.transitions import read_transitions

    _demand_suite_file(file, force=force)
    if worlds:
        names = worlds
    else:
        names = list(ours.BENCHMARK) if source is None else sorted({one.world for one in read_transitions(source)})
    built = make(
        SuitePlan(
            name=name or file.name.removesuffix(SUFFIX),
            version=version,
            seed=seed,
            tasks=tasks,
            cells=with_quotas(scaled(PUBLISHED, scale), quota or ()),
            max_state=max_state,
        ),
        _opened(names),
        _say_count,
        harvested=None if source is None else read_transitions(source),
    )
    digest = write_suite(file, built.head, built.episodes, built.samples)
    _show_cells(built.head.quotas, built.drawn)
    result(f"{file}: {len(built.samples)} samples, SHA-256 {digest}")


def convert(
    source: Annotated[Path, typer.Argument(help="A file of the released EnvSimBench.", show_default=False)],
    file: Annotated[Path, typer.Argument(help="The suite file to write, *.jsonl.gz.", show_default=False)],
    licence: Annotated[
        str, typer.Option(help="The licence of the data, as an SPDX identifier.")
    ] = "LicenseRef-unknown",
    force: ForceOption = False,
) -> None:
    """Make a suite of a file in the format that EnvSimBench was released in."""
    from simia.bench.released import read_released
    from simia.bench.suite import write_suite

    _demand_suite_file(file, force=force)
    suite = read_released(source, licence)
    digest = write_suite(file, suite.head, suite.episodes, suite.samples)
    result(f"{file}: {len(suite.samples)} samples of {len(suite.head.worlds)} environments, SHA-256 {digest}")
    say(f"measure with: simia bench run --suite {shlex.quote(str(file))} --model NAME --run DIR")


def collect(
    file: Annotated[Path, typer.Argument(help="The file to write, *.jsonl or *.parquet.", show_default=False)],
    worlds: Annotated[list[str], typer.Argument(metavar="WORLD...", help="Executable worlds; see simia world ls.")],
    tasks: Annotated[int, typer.Option(min=1, help="Tasks to walk in each world.")] = 200,
    perturb: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND", help="Only these perturbations; [cyan]none[/cyan] for gold calls alone."),
    ] = None,
    rollouts: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Let this model act in each task as well.", show_default=False),
    ] = None,
    seed: SeedOption = 0,
    force: ForceOption = False,
) -> None:
    """Harvest transitions: state, call, observation and changes, as the executable worlds have them."""
    from simia.bench.collect import WELL_FORMED, Seen, harvest
    from simia.bench.explore import walks_of
    from simia.bench.perturb import KINDS
    from simia.bench.strata import group_of
    from simia.bench.transitions import write_transitions

    demand_free(file, force=force)
    kinds = WELL_FORMED if perturb is None else tuple(kind for kind in perturb if kind != "none")
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise ConfigError(f"no perturbation {', '.join(unknown)}; there are {', '.join(KINDS)}, and none")

    opened = _opened(worlds)

    by_origin: Counter[tuple[str, str]] = Counter()

    def harvested() -> "Iterator[Sample]":
        for name, world in opened.items():
            count = 0
            seen = Seen()
            sources: list[Iterator[Walk]] = [walks_of(world, tasks, seed)]
            if rollouts is not None:
                sources.append(_rolled_out(world, rollouts, tasks, seed, file))
            for source in sources:
                for sample in harvest(name, world, source, seed=seed, kinds=kinds, seen=seen):
                    count += 1
                    by_origin[sample.origin, group_of(sample)] += 1
                    yield sample
            _say_count(name, count)

    count = write_transitions(file, harvested())
    _show_origins(by_origin)
    result(f"{file}: {count:,} transitions")


def sft(
    folder: Annotated[Path, typer.Argument(help="The folder to write.", show_default=False)],
    worlds: WorldsArgument = None,
    tasks: Annotated[int, typer.Option(min=1, help="Tasks to walk in each world.")] = 2000,
    mix: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CELL=COUNT",
            help="Set a cell of the mixture: failure, no_change, simple, complex; the others stay Balance2's.",
        ),
    ] = None,
    scale: Annotated[float, typer.Option(min=0.001, help="Multiply the mixture.")] = 1.0,
    formats: Annotated[
        list[str] | None, typer.Option("--format", help="Export formats, as in export.formats of simia synth.")
    ] = None,
    seed: SeedOption = 0,
    force: ForceOption = False,
) -> None:
    """Write training data for a simulator: prompt and right answer, from training worlds only; without WORLD from all
    of simia's own. The worlds of the benchmark are held out.
    """
    from simia import worlds as ours
    from simia.bench.pairs import PairPlan, demand_training, write_pairs
    from simia.bench.strata import BALANCE2, scaled, with_quotas
    from simia.synthesis.export import ExportSettings, check_formats

    demand_free(folder, force=force)
    names = worlds or list(ours.TRAINING)
    demand_training(tuple(names))
    chosen = tuple(formats or PairPlan.export.formats)
    check_formats(chosen)
    plan = PairPlan(
        seed=seed,
        tasks=tasks,
        cells=with_quotas(scaled(BALANCE2, scale), mix or ()),
        export=ExportSettings(formats=chosen, name=PairPlan.export.name),
    )
    pairs = write_pairs(plan, _opened(names), folder, _say_count)
    _show_cells({cell.name: cell.count for cell in plan.cells}, pairs.drawn)
    for file in pairs.files:
        result(str(folder / file.path))
    result(str(folder / "README.md"))


def _demand_suite_file(file: Path, *, force: bool) -> None:
    from simia.bench.suite import SUFFIX

    if not file.name.endswith(SUFFIX):
        raise ConfigError(f"a suite is called *{SUFFIX}, not {file.name}")
    demand_free(file, force=force)


def _opened(names: "list[str] | tuple[str, ...]") -> "dict[str, World]":
    from simia.worlds.door import open_world

    return {name: open_world(name) for name in names}


def _rolled_out(world: "World", model: str, tasks: int, seed: int, file: Path) -> "Iterator[Walk]":
    """The replies are kept beside ``file``, so that the same command never pays for one twice."""
    from simia.bench.rollout import rollouts, with_calls
    from simia.cli.stopping import run_loop
    from simia.models.cast import Cast
    from simia.models.choose import choose_model
    from simia.models.meter import Meter
    from simia.models.settings import ModelSettings
    from simia.simulate import SimulateSettings
    from simia.store.replies import kept_replies

    cast = Cast({"model": choose_model(None, settings=ModelSettings(name=model), env=os.environ)})
    say(f"model: {cast.reasons[0]}")

    async def walked() -> "list[Walk]":
        with kept_replies(file.with_name(f"{file.stem}.replies.jsonl")) as replies:
            async with cast.opened(Meter(None), replies) as models:
                settings = SimulateSettings(seed=seed).for_model(is_small=cast.is_small)
                drawn = world.tasks(tasks, seed)
                return await rollouts(models["model"], world, drawn, settings=settings, in_flight=cast.in_flight)

    walks = run_loop(walked())
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


def _show_cells(quotas: dict[str, int], drawn: "Drawn") -> None:
    rows = [
        (cell, str(quotas[cell]), str(sum(by_world.values())), str(len(by_world)), str(drawn.offered_by_cell[cell]))
        for cell, by_world in drawn.worlds_by_cell.items()
    ]
    result_table(("cell", "quota", "drawn", "worlds", "offered"), rows, numbers=(1, 2, 3, 4))
    for cell, missing in drawn.short_by_cell.items():
        say(f"{cell}: {missing:,} fewer than the quota; more --tasks or other worlds may have them")


def _say_count(world: str, count: int) -> None:
    say(f"{world}: {count:,} transitions")

"""The commands of ``simia bench`` that make data of executable worlds: suites and training pairs."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simia.cli.console import examples, result, result_table, say
from simia.cli.files import ForceOption, demand_free
from simia.errors import ConfigError

if TYPE_CHECKING:
    from simia.bench.sampling import Drawn
    from simia.worlds import World

PANEL = "Data"
"""Where the help lists these commands."""

WorldsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="WORLD...", help="Executable worlds; see simia world ls.")
]
SeedOption = Annotated[int, typer.Option(help="The random seed.")]
QuotaOption = Annotated[
    list[str] | None, typer.Option(metavar="CELL=COUNT", help="Set a cell's quota; may be given several times.")
]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(
        rich_help_panel=PANEL,
        epilog=examples(
            "simia bench build mine.jsonl.gz bank airline --scale 0.25",
            "simia bench build retail.jsonl.gz tau2:retail --quota 7-12=0 --name retail",
            "simia bench build mine.jsonl.gz --from transitions.jsonl",
        ),
    )(build)
    app.command(
        rich_help_panel=PANEL, epilog=examples("simia bench convert 9.choice_final_combined.json released.jsonl.gz")
    )(convert)
    app.command(
        rich_help_panel=PANEL,
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
    scale: Annotated[float, typer.Option(min=0.001, help="Multiply all quotas; they are rounded.")] = 1.0,
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
        opened_worlds(names),
        say_count,
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
    scale: Annotated[float, typer.Option(min=0.001, help="Multiply the mixture; cells are rounded.")] = 1.0,
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
    pairs = write_pairs(plan, opened_worlds(names), folder, say_count)
    _show_cells({cell.name: cell.count for cell in plan.cells}, pairs.drawn)
    for file in pairs.files:
        result(str(folder / file.path))
    result(str(folder / "README.md"))


def _demand_suite_file(file: Path, *, force: bool) -> None:
    from simia.bench.suite import SUFFIX

    if not file.name.endswith(SUFFIX):
        raise ConfigError(f"a suite is called *{SUFFIX}, not {file.name}")
    demand_free(file, force=force)


def _show_cells(quotas: dict[str, int], drawn: "Drawn") -> None:
    rows = [
        (cell, str(quotas[cell]), str(sum(by_world.values())), str(len(by_world)), str(drawn.offered_by_cell[cell]))
        for cell, by_world in drawn.worlds_by_cell.items()
    ]
    result_table(("cell", "quota", "drawn", "worlds", "offered"), rows, numbers=(1, 2, 3, 4))
    for cell, missing in drawn.short_by_cell.items():
        say(f"{cell}: {missing:,} fewer than the quota; more --tasks or other worlds may have them")


def opened_worlds(names: "list[str] | tuple[str, ...]") -> "dict[str, World]":
    """Executable worlds by the names that the user gave.

    Raises:
        ConfigError: there is none of a name, or its package is missing.
    """
    from simia.worlds.door import open_world

    return {name: open_world(name) for name in names}


def say_count(world: str, count: int) -> None:
    """Tell how much a world gave."""
    say(f"{world}: {count:,} transitions")

"""``simia world``: a domain of one's own as a folder, and the worlds that are executed."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simia.cli.console import examples, result, result_facts, result_json, result_table, result_text, say
from simia.cli.errors import ExitCode
from simia.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from simia.seeds.world_folder import Finding
    from simia.types import WorldSpec

app = typer.Typer(
    no_args_is_help=True,
    help="Make a world of your own, look at those there are, play in them: [cyan]new[/cyan], [cyan]check[/cyan], "
    "[cyan]ls[/cyan], [cyan]show[/cyan], [cyan]play[/cyan].",
)


@app.command(epilog=examples("simia world new worlds/mine", "simia world new worlds/mine --name my-shop"))
def new(
    folder: Annotated[Path, typer.Argument(help="The folder to make.", show_default=False)],
    name: Annotated[
        str | None, typer.Option(help="The world's name; without it the folder's.", show_default=False)
    ] = None,
) -> None:
    """Make a world folder with a small working example in it, to write over."""
    from simia.seeds.world_folder import scaffold

    name = name or folder.resolve().name
    for path in scaffold(folder, name):
        result(str(path))
    place = shlex.quote(str(folder))
    say("write over these files: first tools.json and policy.md, then seeds.jsonl")
    say(f"then: simia world check {place} && simia synth {place} --run runs/{name}")


@app.command(epilog=examples("simia world check worlds/mine", "simia world check bank", "simia world check mine.py"))
def check(
    world: Annotated[
        str, typer.Argument(help="A world folder, or an executable world: a name, or a .py file.", show_default=False)
    ],
    tasks: Annotated[int, typer.Option(min=1, help="Tasks to try in an executable world.")] = 50,
    seed: Annotated[int, typer.Option(help="The random seed that draws them.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say everything that is wrong with a world. Exit code 1 if anything would keep it from being used.

    An executable world is walked along its tasks and beside them, here and in a fresh process.
    """
    if _is_executable(world):
        _check_executable(world, tasks, seed, as_json=as_json)
        return
    folder = _folder_of(world)
    found = list(_folder_findings(folder))
    if as_json:
        result_json([_as_json(finding) for finding in found])
    else:
        _tell_findings(str(folder), found)
    _end(found)


@app.command(name="ls", epilog=examples("simia world ls"))
def list_(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List the executable worlds and the bundled seed worlds."""
    rows = list(_offers())
    if as_json:
        result_json([{"name": name, "kind": kind, "about": about} for name, kind, about in rows])
    else:
        result_table(("world", "kind", "about"), rows)


@app.command(
    epilog=examples("simia world show bank", "simia world show bundled:shop", "simia world show worlds/mine"),
)
def show(
    source: Annotated[
        str, typer.Argument(help="An executable world, bundled:NAME, or a world folder.", show_default=False)
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print a world's policy, tools and laws."""
    world = _world_of(source)
    if as_json:
        result_json(world.model_dump(mode="json"))
        return
    from simia.cli.world_text import show_spec

    show_spec(world)


@app.command(
    epilog=examples("simia world play bank", "simia world play shop --task 3", "simia world play bank < calls.txt")
)
def play(
    name: Annotated[str, typer.Argument(help="An executable world: a name, or a .py file.", show_default=False)],
    seed: Annotated[int, typer.Option(help="The random seed that draws the tasks.")] = 0,
    task: Annotated[int, typer.Option(min=0, help="Which of the tasks, from 0.")] = 0,
) -> None:
    """Do a task in an executable world yourself, call by call, and see what each one changes."""
    from simia.cli.world_play import play as begin
    from simia.worlds.door import open_world
    from simia.worlds.play import task_at

    world = open_world(name)
    begin(world, task_at(world, seed, task))


def _check_executable(name: str, tasks: int, seed: int, *, as_json: bool) -> None:
    from dataclasses import asdict

    from simia.worlds.check import examine
    from simia.worlds.door import open_world

    checked = examine(open_world(name), tasks, seed, name=name)
    figures = checked.figures
    sizes = sorted(figures.changes.items())
    if as_json:
        told = {**asdict(figures), "changes": {str(size): count for size, count in sizes}}
        result_json({"findings": [_as_json(finding) for finding in checked.findings], "figures": told})
    else:
        drawn = f", and {figures.drawn:,} calls drawn where a task has none" if figures.drawn else ""
        result_facts(
            [
                ("tasks", f"{figures.tasks:,} with {figures.calls - figures.drawn:,} gold calls" + drawn),
                ("other calls", f"{figures.others:,} tried, of which {figures.refused:,} were refused"),
                ("changes", ", ".join(f"{size} in {count}" for size, count in sizes) + " of these calls"),
                ("states", f"{figures.state_median:,} bytes in the middle, {figures.state_largest:,} at most"),
                ("need nothing", ", ".join(figures.without_arguments) or "-"),
                ("never gold", ", ".join(figures.unused) or "-"),
            ]
        )
        result()
        _tell_findings(name, checked.findings)
    _end(checked.findings)


def _tell_findings(name: str, found: "Sequence[Finding]") -> None:
    for finding in found:
        result_text(f"{finding.severity:<7}  {finding.where}: {finding.problem}; {finding.remedy}")
    errors = sum(finding.severity == "error" for finding in found)
    result(f"{name}: {_counted(errors, 'error')}, {_counted(len(found) - errors, 'warning')}")


def _end(found: "Sequence[Finding]") -> None:
    if any(finding.severity == "error" for finding in found):
        raise typer.Exit(ExitCode.SOME_FAILED)


def _as_json(finding: "Finding") -> dict[str, Any]:
    return {
        "severity": finding.severity,
        "where": finding.where,
        "problem": finding.problem,
        "remedy": finding.remedy,
    }


def _folder_findings(folder: Path) -> "Iterator[Finding]":
    from simia.seeds.world_folder import Finding, check_world
    from simia.synthesis.prefilter import broken_rule

    found = check_world(folder, broken_rule)
    yield from found
    if (folder / "recipe.toml").is_file() and not any(finding.where == "recipe.toml" for finding in found):
        for problem, remedy in _recipe_problems(folder):
            yield Finding("error", "recipe.toml", problem, remedy)


def _recipe_problems(folder: Path) -> "Iterator[tuple[str, str]]":
    """What is wrong with the folder's recipe, whatever model will be chosen, each with what to do."""
    from simia.errors import ExtraMissing, SimiaError
    from simia.synthesis.export import check_formats
    from simia.synthesis.postprocess import Postprocess
    from simia.synthesis.recipe import read_recipe
    from simia.synthesis.sources import fingerprint

    try:
        recipe = read_recipe(str(folder), [])
    except SimiaError as error:
        yield str(error), "correct the key"
        return
    worlds: dict[str, WorldSpec] = {}
    is_own = recipe.seeds.source == str(folder.expanduser().resolve())  # checked with the rest of the folder
    for demand in (
        lambda: None if is_own else fingerprint(recipe.seeds),
        lambda: Postprocess(recipe.postprocess, worlds.__getitem__),
        lambda: check_formats(recipe.export.formats),
    ):
        try:
            demand()
        except ExtraMissing as error:
            yield str(error), "or leave it out"
        except SimiaError as error:
            yield str(error), "correct the key"


def _world_of(source: str) -> "WorldSpec":
    from simia.seeds.world_folder import is_world_folder, read_world

    if _is_executable(source):
        from simia.worlds.door import open_world

        return open_world(source).spec
    folder = _folder_of(source)
    if not is_world_folder(folder):
        raise ConfigError(f"{folder} is no world folder (no world.toml): make one with simia world new {source}")
    return read_world(folder)


def _folder_of(source: str) -> Path:
    from simia.seeds import bundled_names
    from simia.seeds.front_door import BUNDLED

    name = source.removeprefix("bundled:")
    if name != source:
        if name not in bundled_names():
            raise ConfigError(f"no bundled world {name!r}; there are {', '.join(bundled_names())}")
        return BUNDLED / name
    folder = Path(source).expanduser()
    if not folder.exists():
        raise ConfigError(
            f"{source} is neither a folder nor an executable world: make a folder with simia world new {source}, or "
            "take a name from simia world ls"
        )
    return folder


def _is_executable(source: str) -> bool:
    """Whether ``source`` names an executable world and not a folder. A world folder of the same name goes first."""
    from simia.seeds.world_folder import is_world_folder
    from simia.worlds.door import known_names

    if is_world_folder(Path(source).expanduser()):
        return False
    packages = tuple({name.partition(":")[0] + ":" for name in known_names() if ":" in name})
    is_file = source.partition("#")[0].endswith((".py", ".json"))
    return is_file or source in known_names() or source.startswith(packages)


def _offers() -> "Iterator[tuple[str, str, str]]":
    """Name, kind and a line about every world that a command can open by name."""
    from importlib import import_module
    from importlib.util import find_spec

    from simia import worlds
    from simia.seeds import bundled_names
    from simia.worlds.door import known_names

    for kind, names in (("benchmark", worlds.BENCHMARK), ("training", worlds.TRAINING)):
        for name in names:
            about = (import_module(f"simia.worlds.{name}").__doc__ or "").partition("\n")[0]
            yield name, kind, about
    for name in known_names():
        package, _, inside = name.partition(":")
        if inside:
            has_it = any(find_spec(module) for module in _MODULES.get(package, (package,)))
            yield name, f"extra {package}", "installed" if has_it else f"pip install 'simia[{package}]'"
    for name in bundled_names():
        yield f"bundled:{name}", "seeds", f"seed conversations of the world {name}, for simia synth {name}"


_MODULES = {"bfcl": ("bfcl", "bfcl_eval")}
"""The modules of an extra that has another name."""


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"

"""``simia world``: a domain of one's own as a folder."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simia.cli.console import examples, result, result_facts, result_json, result_table, result_text, say
from simia.cli.errors import ExitCode
from simia.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simia.types import JsonObject, WorldSpec

app = typer.Typer(
    no_args_is_help=True, help="Make a world of your own: [cyan]new[/cyan], [cyan]check[/cyan], [cyan]show[/cyan]."
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


@app.command(epilog=examples("simia world check worlds/mine"))
def check(
    folder: Annotated[Path, typer.Argument(help="A world folder.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say everything that is wrong with a world folder. Exit code 1 if anything would keep it from being used."""
    from simia.seeds.world_folder import check_world
    from simia.synthesis.prefilter import broken_rule

    found = [
        {"severity": finding.severity, "where": finding.where, "problem": finding.problem, "remedy": finding.remedy}
        for finding in check_world(folder, broken_rule)
    ]
    if (folder / "recipe.toml").is_file() and not any(finding["where"] == "recipe.toml" for finding in found):
        found += [
            {"severity": "error", "where": "recipe.toml", "problem": problem, "remedy": remedy}
            for problem, remedy in _recipe_problems(folder)
        ]
    errors = sum(finding["severity"] == "error" for finding in found)
    if as_json:
        result_json(found)
    else:
        for finding in found:
            result(f"{finding['severity']:<7}  {finding['where']}: {finding['problem']}; {finding['remedy']}")
        result(f"{folder}: {_counted(errors, 'error')}, {_counted(len(found) - errors, 'warning')}")
    if errors:
        raise typer.Exit(ExitCode.SOME_FAILED)


@app.command(epilog=examples("simia world show bundled:shop", "simia world show worlds/mine"))
def show(
    source: Annotated[str, typer.Argument(help="bundled:NAME, or a world folder.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print a world's policy, tools and laws."""
    world = _world_of(source)
    if as_json:
        result_json(world.model_dump(mode="json"))
        return
    result_facts(
        [
            ("world", f"{world.name} ({world.licence})"),
            ("state", "tracked" if world.state_schema is not None else "not tracked"),
            ("laws", ", ".join(law.name for law in world.invariants) or "-"),
        ]
    )
    result()
    result_text(world.policy)
    result()
    rows = [(tool.name, _arguments(tool.parameters), tool.description) for tool in world.tools]
    result_table(("tool", "arguments", "what it does"), rows)


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
    from simia.seeds import bundled_names
    from simia.seeds.front_door import BUNDLED
    from simia.seeds.world_folder import is_world_folder, read_world

    name = source.removeprefix("bundled:")
    if source.startswith("bundled:"):
        if name not in bundled_names():
            raise ConfigError(f"no bundled world {name!r}; there are {', '.join(bundled_names())}")
        return read_world(BUNDLED / name)
    folder = Path(source).expanduser()
    if not is_world_folder(folder):
        raise ConfigError(f"{folder} is no world folder (no world.toml): make one with simia world new {source}")
    return read_world(folder)


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _arguments(schema: "JsonObject") -> str:
    required = schema.get("required", ())
    names = [name if name in required else f"[{name}]" for name in schema.get("properties", {})]
    return ", ".join(names)

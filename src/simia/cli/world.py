"""``simia world``: a domain of one's own as a folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simia.cli.console import examples, result, result_json, result_table
from simia.errors import ConfigError

if TYPE_CHECKING:
    from simia.types import JsonObject, WorldSpec

app = typer.Typer(
    no_args_is_help=True, help="Make a world of your own: [cyan]new[/cyan], [cyan]check[/cyan], [cyan]show[/cyan]."
)


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
    result(f"world      {world.name} ({world.licence})")
    result(f"state      {'tracked' if world.state_schema is not None else 'not tracked'}")
    result(f"laws       {', '.join(law.name for law in world.invariants) or '-'}")
    result()
    for line in world.policy.splitlines():
        result(line)
    result()
    rows = [(tool.name, _arguments(tool.parameters), tool.description) for tool in world.tools]
    result_table(("tool", "arguments", "what it does"), rows)


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


def _arguments(schema: "JsonObject") -> str:
    required = schema.get("required", ())
    names = [name if name in required else f"[{name}]" for name in schema.get("properties", {})]
    return ", ".join(names)

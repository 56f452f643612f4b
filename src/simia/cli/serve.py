"""``simia serve``: an environment for agents and trainers that speak another protocol."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simia.cli.console import examples, say
from simia.cli.resuming import all_words
from simia.cli.synth import MaxCostOption, ModelOption
from simia.errors import ConfigError, ExtraMissing

if TYPE_CHECKING:
    import asyncio
    import socket

    from simia.environment.recipe import ArenaRecipe
    from simia.models.cast import Cast
    from simia.worlds import World

app = typer.Typer(
    no_args_is_help=True,
    help="Serve an environment to agents and trainers: [cyan]openenv[/cyan], [cyan]mcp[/cyan].",
)

RecipeArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[RECIPE]",
        help="A .toml file with the table environment, and maybe model, roles and seed. Not needed with --world.",
        show_default=False,
    ),
]
WordsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[KEY=VALUE]",
        help="Settings, for example environment.dynamics=executable environment.user=one_request.",
    ),
]
WorldOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Take the tasks of this executable world (simia world ls).", show_default=False),
]
RunOption = Annotated[
    Path | None,
    typer.Option(
        "--run",
        metavar="DIR",
        help="Keep every episode and every call of a model in this run folder; one that was begun with the same "
        "settings is gone on with.",
        show_default=False,
    ),
]


@app.command(
    epilog=examples(
        "simia serve openenv --world library environment.dynamics=executable environment.user=one_request",
        "simia serve openenv --world library --model gpt-4.1-mini --max-cost 5 --run runs/served",
        "simia serve openenv arena.toml --host 0.0.0.0 --port 8000 --sessions 128",
    )
)
def openenv(
    recipe: RecipeArgument = None,
    words: WordsArgument = None,
    world: WorldOption = None,
    host: Annotated[
        str, typer.Option(help="The address to listen at. Whoever reaches it can spend what the models cost.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 takes a free one.")] = 8000,
    sessions: Annotated[int, typer.Option(min=1, help="So many sessions may be open at once.")] = 64,
    run: RunOption = None,
    model: ModelOption = None,
    max_cost: MaxCostOption = None,
) -> None:
    """Serve episodes by OpenEnv: one for each WebSocket session, with tools, user and reward.

    Needs the extra openenv. Ctrl-C ends it: open episodes are cut off and kept as masked.
    """
    try:
        from simia.environment.adapters.openenv import openenv_app, serve_openenv
    except ImportError as cause:
        raise ExtraMissing("openenv", f"serving by OpenEnv ({cause})") from cause
    from simia.cli.stopping import run_until_stopped
    from simia.environment.serving_run import open_episodes

    settings = _recipe(recipe, words, world, model, max_cost)
    cast, opened = _players(settings)

    async def work(stop: "asyncio.Event") -> None:
        async with open_episodes(settings, cast, opened, run) as episodes:
            with _listening(host, port) as listener:
                served = openenv_app(episodes, sessions=sessions)
                say(f"serving {len(episodes.arena.tasks):,} tasks at {_address(listener)}; Ctrl-C ends it")
                await serve_openenv(served, listener, stop)

    run_until_stopped(work)


@app.command(
    epilog=examples(
        "simia serve mcp --world lamps environment.dynamics=executable environment.user=one_request --task lamps:0:0",
        "simia serve mcp arena.toml --task airline:0:3 --seed 7 --run runs/served",
    )
)
def mcp(
    recipe: RecipeArgument = None,
    words: WordsArgument = None,
    world: WorldOption = None,
    task: Annotated[
        str | None, typer.Option(metavar="ID", help="The task of the one episode.", show_default=False)
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Episodes with the same task and seed have the same draws.", show_default=False),
    ] = None,
    run: RunOption = None,
    model: ModelOption = None,
    max_cost: MaxCostOption = None,
) -> None:
    """Serve the tools of one episode by MCP, over standard input and output.

    Needs the extra mcp. MCP has no turns of a user: with environment.user=one_request the server tells the task to the
    agent, otherwise whoever drives the agent does. When the connection ends the episode is judged, and kept with --run.
    """
    try:
        from simia.environment.adapters.mcp import mcp_recipe, serve_mcp
    except ImportError as cause:
        raise ExtraMissing("mcp", f"serving by MCP ({cause})") from cause
    from simia.cli.stopping import run_until_stopped
    from simia.environment.serving_run import open_episodes

    settings, tells_task = mcp_recipe(_recipe(recipe, words, world, model, max_cost))
    cast, opened = _players(settings)

    async def work(stop: "asyncio.Event") -> None:
        async with open_episodes(settings, cast, opened, run) as episodes:
            if task is None:
                some = ", ".join(list(episodes.arena.tasks)[:3])
                raise ConfigError(f"no task is named: add --task ID, for example one of {some}")
            seat = episodes.begin(task, seed)
            await serve_mcp(seat, stop, tells_task=tells_task)
            if seat.episode is not None:
                reward = seat.episode.reward
                came_to = "masked" if reward is None else f"reward {reward.value:g}"
                say(f"episode {seat.episode.id}: {came_to}")

    run_until_stopped(work)


def _recipe(
    recipe: str | None, words: list[str] | None, world: str | None, model: str | None, max_cost: float | None
) -> "ArenaRecipe":
    from simia.config import checked, read_toml, with_overrides
    from simia.environment.recipe import ArenaRecipe

    settings = list(words or [])
    if recipe is not None and "=" in recipe:  # without a recipe the first setting stands in its place
        settings.insert(0, recipe)
        recipe = None
    if recipe is None and world is None and not any(word.startswith("environment.") for word in settings):
        raise ConfigError("nothing to serve: name a recipe (a .toml file), or a world, for example --world library")
    begun = {} if recipe is None else read_toml(Path(recipe).expanduser())
    given = all_words(settings, model, max_cost, **{"environment.world": world})
    return checked(ArenaRecipe, with_overrides(begun, given), recipe or "simia serve")


def _players(recipe: "ArenaRecipe") -> "tuple[Cast | None, World | None]":
    from simia.environment.recipe import choose_players, world_of
    from simia.worlds.door import open_world

    opened = world_of(recipe, open_world)
    cast = choose_players(recipe, os.environ, opened)
    for reason in () if cast is None else cast.reasons:
        say(f"model: {reason}")
    return cast, opened


def _listening(host: str, port: int) -> "socket.socket":
    import socket

    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as cause:
        raise ConfigError(f"cannot listen at {host}, port {port}: {cause}; take another --host or --port") from cause


def _address(listener: "socket.socket") -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

"""The command ``simia``: parse, build, call the rooms below, print.

Only typer is imported at the start; each command imports its rooms when it runs, so that ``--help`` is quick.
"""

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from simia import __version__
from simia.cli import bench, episode, models, reward, runs, seeds, serve, settings, synth, train, world
from simia.cli.console import examples
from simia.cli.errors import ExitCode, exit_code_of, tell, tell_os_error
from simia.errors import SimiaError


class _OneLineErrors(TyperGroup):
    """The root group: simia's own errors end here."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except SimiaError as error:
            if ctx.params.get("debug"):
                raise
            tell(error)
            raise typer.Exit(exit_code_of(error)) from error
        except BrokenPipeError:
            raise
        except OSError as error:
            if ctx.params.get("debug"):
                raise
            tell_os_error(error)
            raise typer.Exit(ExitCode.SOME_FAILED) from error
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            raise typer.Exit(ExitCode.INTERRUPTED) from None


app = typer.Typer(
    name="simia",
    cls=_OneLineErrors,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"simia {__version__}")
        raise typer.Exit


@app.callback(
    epilog=examples("simia synth shop count=20 --run runs/first", "simia runs show runs/first --html first.html"),
)
def root(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Make training data for tool-using agents in worlds that need no environment engineering.

    Exit codes: 0 done; 1 items failed, nothing was kept, a check found errors, or the run stopped early; 2 wrong usage
    or settings; 130 interrupted.
    """


synth.add_to(app)
settings.add_to(app)
app.add_typer(seeds.app, name="seeds")
app.add_typer(runs.app, name="runs")
app.add_typer(world.app, name="world")
app.add_typer(bench.app, name="bench")
app.add_typer(episode.app, name="episode")
app.add_typer(reward.app, name="reward")
app.add_typer(serve.app, name="serve")
app.add_typer(models.app, name="models")
app.add_typer(train.app, name="train")


def main() -> None:
    """The entry point of the console script."""
    app()


if __name__ == "__main__":
    main()

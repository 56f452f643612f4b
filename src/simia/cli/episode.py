"""``simia episode``: what happened in the episodes of a run."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simia.cli.console import examples, is_terminal, result, result_facts, result_json, result_table, say
from simia.cli.files import write_text
from simia.cli.runs import JsonOption, RunArgument, open_run
from simia.errors import ConfigError

if TYPE_CHECKING:
    from simia.report.episode_list import EpisodeList, Order
    from simia.report.episode_text import Line, Tone
    from simia.store import Run
    from simia.types import Episode, Party

app = typer.Typer(no_args_is_help=True, help="Look at the episodes of an agent: [cyan]ls[/cyan], [cyan]show[/cyan].")

_WIDE = 130  # columns of a terminal that has room for why an episode ended
_STYLES: "dict[Tone, str]" = {
    "": "",
    "head": "bold",
    "faint": "dim",
    "user": "bold magenta",
    "agent": "bold cyan",
    "kept": "green",
    "dropped": "yellow",
    "failed": "red",
}


@app.command(
    "ls",
    epilog=examples(
        "simia episode ls runs/grpo",
        "simia episode ls runs/grpo --worst --limit 10",
        "simia episode ls runs/grpo --masked --party simulator",
    ),
)
def list_episodes(
    run: RunArgument,
    masked: Annotated[bool, typer.Option("--masked", help="Only those without a reward.")] = False,
    party: Annotated[
        str | None,
        typer.Option(
            metavar="PARTY",
            help="Only those whose end is the doing of agent, simulator, user, judge or infrastructure.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="So many at most: the last ones, unless --worst or --best.")] = 50,
    worst: Annotated[bool, typer.Option("--worst", help="Those with the lowest reward, lowest first.")] = False,
    best: Annotated[bool, typer.Option("--best", help="Those with the highest reward, highest first.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the episodes of a run that are over, and count what became of all of them."""
    from simia.environment.episodes import EpisodeLog
    from simia.report.episode_list import list_episodes

    if worst and best:
        raise ConfigError("--worst and --best exclude each other: give one of them")
    if masked and (worst or best):
        raise ConfigError("masked episodes have no reward to order them by: leave --masked, or --worst and --best, out")
    order: Order = "worst" if worst else "best" if best else "latest"
    with open_run(run) as opened:
        found = list_episodes(EpisodeLog(opened), limit=limit, order=order, masked=masked, party=_party(party))
    if as_json:
        result_json({"counts": found.counts.as_json(), "episodes": [row.as_json() for row in found.rows]})
        return
    _print_list(run, found)


@app.command(
    epilog=examples(
        "simia episode show runs/grpo lamps-3/0/1",
        "simia episode show runs/grpo lamps-3/0/1 --calls",
        "simia episode show runs/grpo lamps-3/0/1 --html episode.html",
    )
)
def show(
    run: RunArgument,
    episode_id: Annotated[
        str, typer.Argument(metavar="ID", help="Its id, or enough of the beginning or the end of it.")
    ],
    calls: Annotated[
        bool, typer.Option("--calls", help="Tell every call of a model, with the last message of its prompt.")
    ] = False,
    prompts: Annotated[bool, typer.Option("--prompts", help="The same with whole prompts and replies.")] = False,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write one self-contained page to this file.", show_default=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Tell one episode from its first message to its reward: calls, faults, changes of the state, votes."""
    from simia.environment.episodes import EpisodeLog

    with open_run(run) as opened:
        episode = EpisodeLog(opened).find(episode_id)
        if html is not None:
            from simia.report.episode_page import render_episode_page

            text = render_episode_page(opened, episode)
            write_text(html, text)
            result(f"page written to {html} ({len(text.encode()) / 1e3:,.0f} kB)")
        elif as_json:
            _print_json(opened, episode, calls=calls or prompts, prompts=prompts)
        else:
            from simia.report.episode_text import episode_lines

            _print_lines(episode_lines(opened, episode, calls=calls, prompts=prompts))


def _party(name: str | None) -> "Party | None":
    from simia.types import Party

    if name is None:
        return None
    try:
        return Party(name)
    except ValueError:
        raise ConfigError(f"no party {name!r}; there are {', '.join(Party)}") from None


def _print_list(run: Path, found: "EpisodeList") -> None:
    from simia.cli.world_text import width
    from simia.report.episode_list import HEADER, NARROW, NUMBERS, counts_words

    if not found.counts.kept and not found.counts.failed:
        result(f"no episode of {run} is over yet")
        return
    result_facts(counts_words(found.counts))
    result()
    if not found.rows:
        result("none of them fits")
        return
    columns = NARROW if is_terminal(sys.stdout) and width() < _WIDE else range(len(HEADER))
    rows = [row.cells for row in found.rows]
    result_table(
        [HEADER[place] for place in columns],
        [[cells[place] for place in columns] for cells in rows],
        numbers=[place for place, column in enumerate(columns) if column in NUMBERS],
    )
    if found.fitting > len(found.rows):
        say(f"{len(found.rows):,} of {found.fitting:,} are shown; --limit shows more")


def _print_json(run: "Run", episode: "Episode", *, calls: bool, prompts: bool) -> None:
    """The episode, its calls in their order, and the messages of their prompts, each once under its content id."""
    from simia.report.episode_record import record_of

    print(record_of(run, episode, calls=calls, prompts=prompts).model_dump_json(indent=2), flush=True)


def _print_lines(lines: "Iterable[Line]") -> None:
    """Each line with its colours on a terminal, where it wraps in its column; elsewhere as plain text."""
    if not is_terminal(sys.stdout):
        for line in lines:
            result(line.text.rstrip())
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, markup=False, highlight=False, emoji=False)
    for line in lines:
        label, tone = line.label
        said = Text.assemble(*((_shown(part), _STYLES[tone]) for part, tone in line.parts))
        hang = line.indent + len(label)
        opening = Text(" " * line.indent + label, _STYLES[tone])
        for part in said.wrap(console, max(console.width - hang, 20)) or [said]:
            console.print(opening + part, soft_wrap=True)
            opening = Text(" " * hang)


def _shown(text: str) -> str:
    """``text`` without control characters, with which a model could write over what stands above it."""
    return "".join(sign if sign.isprintable() else " " for sign in text)

"""``simia seeds``: look at seeds, and turn them into one format."""

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simia.cli.console import examples, result, result_facts, result_json, result_table, say
from simia.cli.errors import ExitCode
from simia.cli.files import ForceOption, demand_free, writing
from simia.errors import RecordError

if TYPE_CHECKING:
    from simia.types import JsonObject, Seed

app = typer.Typer(no_args_is_help=True, help="Look at seeds: [cyan]inspect[/cyan], [cyan]convert[/cyan].")

SourceArgument = Annotated[
    str,
    typer.Argument(
        help="bundled:NAME, tau2:airline|retail|telecom, a seed file (JSON, JSON Lines or Parquet), a folder of "
        "OfficeBench, or a world folder.",
        show_default=False,
    ),
]
FormatOption = Annotated[str, typer.Option(help="The format of a file; [cyan]auto[/cyan] recognises it by its keys.")]
LimitOption = Annotated[int | None, typer.Option(min=1, help="Read at most so many seeds.", show_default=False)]
_MOST_BAD_SAID = 5
_MOST_TOOLS_SAID = 40


class _BadRecords:
    """Says the first bad records and counts all, by reason."""

    def __init__(self) -> None:
        self.reasons: Counter[str] = Counter()

    def __call__(self, error: RecordError) -> None:
        if self.reasons.total() < _MOST_BAD_SAID:
            say(f"bad record: {error}")
        elif self.reasons.total() == _MOST_BAD_SAID:
            say("bad record: more follow; they are counted at the end")
        self.reasons[error.reason] += 1


class _Survey:
    """What the seeds of a source are like."""

    def __init__(self) -> None:
        self.seeds = 0
        self.worlds: Counter[str] = Counter()
        self.licences: Counter[str] = Counter()
        self.messages: Counter[int] = Counter()
        self.tools: Counter[str] = Counter()
        self.declared: set[str] = set()
        self.with_state = 0

    def add(self, seed: "Seed") -> None:
        from simia.types import AssistantMessage

        self.seeds += 1
        self.worlds[seed.world.name] += 1
        self.licences[seed.licence] += 1
        self.messages[len(seed.reference)] += 1
        self.with_state += seed.initial_state is not None
        self.declared.update(tool.name for tool in seed.world.tools)
        for message in seed.reference:
            if isinstance(message, AssistantMessage):
                self.tools.update(call.name for call in message.tool_calls)

    def as_json(self, bad: Counter[str]) -> "JsonObject":
        return {
            "seeds": self.seeds,
            "worlds": dict(self.worlds),
            "licences": dict(self.licences),
            "messages": {str(length): self.messages[length] for length in sorted(self.messages)},
            "calls_by_tool": dict(self.tools.most_common()),
            "declared_tools": sorted(self.declared),
            "with_initial_state": self.with_state,
            "bad_records": dict(bad.most_common()),
        }


@app.command(epilog=examples("simia seeds inspect bundled:shop", "simia seeds inspect trajectories.json --limit 100"))
def inspect(
    source: SourceArgument,
    format: FormatOption = "auto",  # noqa: A002 - the option's name
    limit: LimitOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Count what is in a seed source: worlds, licences, lengths, tools, and bad records by reason."""
    from simia.report.funnel import quantile
    from simia.seeds import read
    from simia.seeds.front_door import format_of
    from simia.seeds.sharegpt import APIGEN_MT, APIGEN_MT_LICENCE

    bad, survey = _BadRecords(), _Survey()
    for seed in read(source, format=format, limit=limit, on_bad=bad):
        survey.add(seed)
    if as_json:
        result_json(survey.as_json(bad.reasons))
        return
    spelling = format_of(source) if format == "auto" else format
    if format == "auto" and spelling == APIGEN_MT:
        say(
            f"note: taken for APIGen-MT by its keys, hence {APIGEN_MT_LICENCE}; for a file of your own: --format "
            "sharegpt, in a run seeds.format=sharegpt seeds.licence=..."
        )
    lengths = survey.messages
    calls = survey.tools.total()
    result_facts(
        [
            ("seeds", f"{survey.seeds:,}, {survey.with_state:,} with an initial state"),
            ("worlds", _counted(survey.worlds)),
            ("licences", _counted(survey.licences)),
            ("format", spelling),
            (
                "messages",
                f"median {quantile(lengths, 0.5)}, from {min(lengths, default=0)} to {max(lengths, default=0)}",
            ),
            ("tools", f"{len(survey.declared):,} declared, {len(survey.tools):,} called, {calls:,} calls"),
            ("bad", f"{bad.reasons.total():,} records"),
        ]
    )
    if survey.tools:
        result()
        rows = [(name, f"{count:,}") for name, count in survey.tools.most_common(_MOST_TOOLS_SAID)]
        result_table(("tool", "calls"), rows, numbers=(1,))
        if len(survey.tools) > _MOST_TOOLS_SAID:
            result(f"and {len(survey.tools) - _MOST_TOOLS_SAID:,} more; --json has them all")
    if bad.reasons:
        result()
        result_table(("records", "why bad"), [(f"{n:,}", why) for why, n in bad.reasons.most_common(20)], numbers=(0,))


@app.command(
    epilog=examples(
        "simia seeds convert trajectories.json seeds.jsonl", "simia seeds convert bundled:shop worlds/mine/"
    )
)
def convert(
    source: SourceArgument,
    out: Annotated[
        str,
        typer.Argument(
            help="The file to write, JSON Lines; or, with a / at its end, the world folder.", show_default=False
        ),
    ],
    format: FormatOption = "auto",  # noqa: A002 - the option's name
    limit: LimitOption = None,
    force: ForceOption = False,
) -> None:
    """Write seeds in what every simia command reads: a file of chat-completions messages and tools, or a world folder.

    A file has one record a line, each with policy and tools. A folder holds one world and everything about it: its
    name, the shape of its state and its laws too.

    Exit code 1 if some records could not be read; the others are written.
    """
    from simia.seeds import read
    from simia.seeds.conversion import write_file, write_folder

    path = Path(out)
    is_folder = out.endswith(("/", os.sep)) or path.is_dir()
    demand_free(path, force=force)
    bad = _BadRecords()
    seeds = read(source, format=format, limit=limit, on_bad=bad)
    with writing(path):
        written = write_folder(path, seeds) if is_folder else write_file(path, seeds)
    result(f"{written.seeds:,} seeds written to {out}, {bad.reasons.total():,} bad records left out")
    if written.lost:
        say(f"a file does not hold the {_listed(written.lost)} of the world: a folder does, with a / after its name")
    if bad.reasons:
        raise typer.Exit(ExitCode.SOME_FAILED)


def _listed(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _counted(counts: Counter[str]) -> str:
    shown = [f"{name or '(none)'} {count:,}" for name, count in counts.most_common(8)]
    return ", ".join(shown) + (f" and {len(counts) - 8:,} more" if len(counts) > 8 else "")

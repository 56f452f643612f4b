"""``simia runs``: what run folders hold."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simia.cli.console import examples, result, result_facts, result_json, result_table, say
from simia.cli.files import write_text
from simia.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from simia.report import Funnel
    from simia.store import Manifest, Run
    from simia.types import JsonObject

app = typer.Typer(no_args_is_help=True, help="Look at runs: [cyan]ls[/cyan], [cyan]show[/cyan], [cyan]diff[/cyan].")

RunArgument = Annotated[Path, typer.Argument(help="The folder of a run.", show_default=False)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_ABSENT = "absent"


@app.command("ls", epilog=examples("simia runs ls runs"))
def list_runs(
    folder: Annotated[Path, typer.Argument(help="Where to look; runs may be two folders deep.")] = Path("runs"),
    as_json: JsonOption = False,
) -> None:
    """List the runs below a folder."""
    if not folder.is_dir():
        raise ConfigError(f"no folder {folder}: name the one that holds your runs")
    found = [_summary(path) for path in _run_folders(folder)]
    if as_json:
        result_json(found)
        return
    if not found:
        result(f"no runs below {folder}")
        return
    rows = [
        (
            run["folder"],
            run["created"][:16].replace("T", " "),
            run["model"],
            run["state"],
            *(f"{run[name]:,}" if name in run else "?" for name in ("asked", "kept", "failed")),
            run.get("cost", "?"),
        )
        for run in found
    ]
    header = ("run", "created", "model", "state", "asked", "kept", "failed", "cost")
    result_table(header, rows, numbers=(4, 5, 6, 7))
    for run in found:
        if "error" in run:
            say(f"{run['folder']}: {run['error']}")


@app.command(epilog=examples("simia runs show runs/first", "simia runs show runs/first --html first.html"))
def show(
    run: RunArgument,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write one self-contained page to this file.", show_default=False)
    ] = None,
    most_shown: Annotated[int, typer.Option(min=0, help="So many items at most are in the page's list.")] = 500,
    as_json: JsonOption = False,
) -> None:
    """Say what a run is made from, what came through and why the rest did not; with --html as a page to browse."""
    from simia.report import read_funnel, render_run_page

    with open_run(run) as opened:
        if _is_bench(run):
            raise ConfigError(f"{run} is a run of simia bench run: see simia bench report {shlex.quote(str(run))}")
        if html is not None:
            text = render_run_page(opened, most_shown=most_shown)
            write_text(html, text)
            result(f"page written to {html} ({len(text.encode()) / 1e3:,.0f} kB)")
            return
        funnel = read_funnel(opened)
        if as_json:
            result_json(_as_json(opened, funnel))
            return
        _print_run(opened, funnel)


@app.command(epilog=examples("simia runs diff runs/first runs/second"))
def diff(
    a: Annotated[Path, typer.Argument(help="The folder of one run.", show_default=False)],
    b: Annotated[Path, typer.Argument(help="The folder of another.", show_default=False)],
    as_json: JsonOption = False,
) -> None:
    """Name the settings, prompts, seeds and counts in which two runs differ."""
    from simia.report import read_funnel

    with open_run(a) as first, open_run(b) as second:
        settings = [
            (key, _at(first.manifest.model_dump(mode="json"), key), _at(second.manifest.model_dump(mode="json"), key))
            for key in first.manifest.differences(second.manifest)
        ]
        left, right = _counts(read_funnel(first)), _counts(read_funnel(second))
    counts = [(key, left.get(key, 0), right.get(key, 0)) for key in sorted(left.keys() | right.keys())]
    counts = [row for row in counts if row[1] != row[2]]
    if as_json:
        result_json({key: {"a": old, "b": new} for key, old, new in [*settings, *counts]})
        return
    if not settings and not counts:
        result("no difference")
        return
    rows = [(key, _short(old), _short(new)) for key, old, new in [*settings, *counts]]
    result_table(("what", str(a), str(b)), rows)


def open_run(folder: Path) -> "Run":
    """The run in ``folder``, to look at.

    Raises:
        ConfigError: there is none.
        CorruptStream: its ``run.json`` cannot be read.
    """
    from simia.store import Run

    if not (folder / "run.json").is_file():
        what = "holds no run (no run.json)" if folder.exists() else "does not exist"
        raise ConfigError(f"{folder} {what}: name the folder that was given to --run; simia runs ls lists them")
    return Run.read(folder)


def _is_bench(folder: Path) -> bool:
    from simia.bench.run import SUITE_FILE

    return (folder / SUITE_FILE).is_file()


def _run_folders(folder: Path) -> Iterator[Path]:
    marks = {*folder.glob("run.json"), *folder.glob("*/run.json"), *folder.glob("*/*/run.json")}
    return (mark.parent for mark in sorted(marks))


def _summary(folder: Path) -> "JsonObject":
    """One row of the list. A folder that cannot be read is a row too, so that it does not hide the others."""
    from simia.report import read_funnel
    from simia.report.usage import cost_text, read_totals
    from simia.store import Run, is_locked

    try:
        with Run.read(folder) as run:
            funnel = read_funnel(run)
            totals = read_totals(run)
            asked, kept, is_done = run.manifest.config.get("count", 0), 0, funnel.is_finished
            if _is_bench(folder):
                asked, kept = run.manifest.config.get("limit", 0), sum(stage.kept for stage in funnel.stages[:1])
                is_done = kept >= asked
            elif is_done:
                kept = funnel.delivered
            return {
                "folder": str(folder),
                "run": run.manifest.run,
                "created": run.manifest.created,
                "model": run.manifest.model,
                "state": "running" if is_locked(folder) else "done" if is_done else "stopped",
                "asked": asked,
                "kept": kept,
                "failed": sum(sum(stage.failed.values()) for stage in funnel.stages),
                "cost": "-" if totals is None else "no price" if totals.cost is None else cost_text(totals.cost),
            }
    except StoreError as error:
        return {"folder": str(folder), "created": "", "model": "", "state": "unreadable", "error": str(error)}


def _print_run(run: "Run", funnel: "Funnel") -> None:
    from simia.report import read_licences
    from simia.report.charts import count_text, share_text
    from simia.report.usage import read_totals, usage_facts

    manifest = run.manifest
    result_facts(
        [
            ("run", f"{manifest.run}, made by simia {manifest.version}, begun {manifest.created}"),
            ("model", _model_words(manifest)),
            ("seeds", ", ".join(manifest.seeds) or "-"),
            ("licences", ", ".join(read_licences(run)) or "-"),
            *((name.lower(), ", ".join(values)) for name, values in usage_facts(read_totals(run))),
        ]
    )
    if not funnel.stages:
        result("no stage has an outcome yet")
        return
    result()
    rows = [(step.label, count_text(step.count), share_text(step.share)) for step in funnel.steps]
    result_table(("funnel", "items", "share"), rows, numbers=(1, 2))
    reasons = [(stage.name, rule, count_text(count)) for stage in funnel.stages for rule, count in stage.reasons]
    reasons += [
        (stage.name, f"failed: {error}", count_text(count))
        for stage in funnel.stages
        for error, count in sorted(stage.failed.items())
    ]
    if reasons:
        result()
        result_table(("stage", "why not kept", "items"), reasons, numbers=(2,))


def _model_words(manifest: "Manifest") -> str:
    if manifest.model_reason.startswith(manifest.model):
        return manifest.model_reason or "-"
    return f"{manifest.model} ({manifest.model_reason})"


def _as_json(run: "Run", funnel: "Funnel") -> "JsonObject":
    from simia.report import read_licences

    return {
        "folder": str(run.folder),
        "manifest": run.manifest.model_dump(mode="json"),
        "licences": read_licences(run),
        "meter": run.load_meter(),
        "stages": [
            {
                "name": stage.name,
                "seen": stage.seen,
                "kept": stage.kept,
                "dropped": dict(stage.reasons),
                "failed": dict(stage.failed),
            }
            for stage in funnel.stages
        ],
    }


def _counts(funnel: "Funnel") -> dict[str, int]:
    counts: dict[str, int] = {}
    for stage in funnel.stages:
        counts[f"{stage.name}: kept"] = stage.kept
        counts |= {f"{stage.name}: dropped {rule}": count for rule, count in stage.dropped.items()}
        counts |= {f"{stage.name}: failed {error}": count for error, count in stage.failed.items()}
    return counts


def _at(manifest: "JsonObject", dotted: str) -> Any:
    """The value at a dotted key. Keys may hold dots themselves, so the longest key that fits is taken first."""
    if dotted in manifest:
        return manifest[dotted]
    for key, value in manifest.items():
        if dotted.startswith(f"{key}.") and isinstance(value, dict):
            found = _at(value, dotted[len(key) + 1 :])
            if found is not _ABSENT:
                return found
    return _ABSENT


def _short(value: Any) -> str:
    import orjson

    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return text if len(text) <= 60 else f"{text[:57]}..."

"""What a run shows while it works: a live drawing on a terminal, a plain line now and then in a log."""

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from simia.cli.board import Board, StageProgress
from simia.cli.console import is_terminal, say, saying_through
from simia.models.adaptive import AdaptiveLimit
from simia.models.meter import Meter, MeterTotals
from simia.report.charts import share_text
from simia.report.usage import cost_text

if TYPE_CHECKING:
    from rich.console import RenderableType

LINE_EVERY_S = 5.0
_MOST_SILENT = 5  # spans between lines without news; then a line says that the run is alive
_FINISHED = -1
_DRAWS_PER_S = 4
_MOST_REASONS = 3

Note = Callable[[], str]


class ModelSide:
    """The model's side of a run, as one line; empty until :meth:`watch` was told what to look at."""

    def __init__(self, max_cost: float | None = None) -> None:
        self._max_cost = max_cost
        self._watched: tuple[Meter, AdaptiveLimit] | None = None

    def watch(self, meter: Meter, limit: AdaptiveLimit) -> None:
        """Look at these from now on."""
        self._watched = (meter, limit)

    def __call__(self) -> str:
        """Speed, tokens and cost so far, and how many requests are out."""
        if self._watched is None:
            return ""
        meter, limit = self._watched
        parts = [usage_line(meter.totals(), self._max_cost)]
        if meter.in_flight:
            parts.append(f"{meter.in_flight:,} in flight")
        if limit.phase == "away":
            parts.append("the endpoint does not answer: trying again")
        return ", ".join(part for part in parts if part)


@contextmanager
def shown(board: Board, note: Note, *, quiet: bool, line_every_s: float = LINE_EVERY_S) -> Iterator[None]:
    """Show ``board`` on stderr while the block runs: live on a terminal, as lines elsewhere, not at all if ``quiet``.

    ``note`` gives the line below the stages.
    """
    if quiet:
        yield
    elif is_terminal(sys.stderr):
        with _live(board, note):
            yield
    else:
        with _lines(board, note, line_every_s):
            yield


def stage_line(stage: StageProgress, now_s: float) -> str:
    """``generate: 45/100 done, 40 kept, 4 dropped (unreadable_reply 4), 1 failed (ModelTimeout 1), 3:20 left``."""
    of = "" if stage.total is None else f"/{stage.total:,}"
    parts = [f"{stage.name}: {stage.done:,}{of} done", f"{stage.kept:,} kept"]
    for word, reasons in (("dropped", stage.dropped), ("failed", stage.failed)):
        if reasons:
            parts.append(f"{reasons.total():,} {word} ({reasons_text(reasons)})")
    left_s = stage.left_s(now_s)
    if stage.finished_s is not None:
        how = "stopped after" if stage.is_interrupted else "finished in"
        parts.append(f"{how} {clock_text(stage.finished_s - stage.started_s)}")
    elif stage.waiting:
        parts.append(stage.waiting)
    elif left_s is not None:
        parts.append(f"{clock_text(left_s)} left")
    return ", ".join(parts)


def usage_line(totals: MeterTotals | None, max_cost: float | None = None) -> str:
    """``234 tokens/s, 12,345 tokens in (80 % cached), 3,444 out, $0.12 of $5.00``; empty before the first answer."""
    if totals is None or not totals.requests:
        return ""
    usage = totals.usage
    parts = [] if totals.tokens_per_s is None else [f"{totals.tokens_per_s:,.0f} tokens/s"]
    cached = f" ({share_text(usage.cached_tokens / usage.prompt_tokens)} cached)" if usage.cached_tokens else ""
    parts.append(f"{usage.prompt_tokens:,} tokens in{cached}, {usage.completion_tokens:,} out")
    parts.append(cost_text(totals.cost) + ("" if max_cost is None else f" of ${max_cost:,.2f}"))
    return ", ".join(parts)


def reasons_text(reasons: Counter[str]) -> str:
    """The most frequent reasons with their counts."""
    shown_ones = [f"{name} {count:,}" for name, count in reasons.most_common(_MOST_REASONS)]
    return ", ".join(shown_ones) + (", ..." if len(reasons) > _MOST_REASONS else "")


def clock_text(seconds: float) -> str:
    """``0:07``, ``12:34``, ``3:04:05``."""
    minutes, second = divmod(max(round(seconds), 0), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour}:{minute:02}:{second:02}" if hour else f"{minute}:{second:02}"


@contextmanager
def _lines(board: Board, note: Note, every_s: float) -> Iterator[None]:
    over = threading.Event()
    said: dict[str, int] = {}

    def say_news(*, alive: bool = False) -> bool:
        """Whether there was anything to say; ``alive`` says where an unfinished stage stands, news or not."""
        news = False
        for stage in board.stages():
            mark = stage.done if stage.finished_s is None else _FINISHED
            if said.get(stage.name) != mark or stage.waiting or (alive and mark != _FINISHED):
                said[stage.name] = mark
                say(stage_line(stage, board.now_s()))
                news = True
        if news and (line := note()):
            say(line)
        return news

    def work() -> None:
        silent = 0
        while not over.wait(every_s):
            silent = 0 if say_news(alive=silent >= _MOST_SILENT) else silent + 1

    thread = threading.Thread(target=work, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        say_news()


@contextmanager
def _live(board: Board, note: Note) -> Iterator[None]:
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    with (
        Live(
            get_renderable=lambda: _drawing(board, note()),
            console=console,
            refresh_per_second=_DRAWS_PER_S,
            vertical_overflow="crop",
            redirect_stdout=False,
            redirect_stderr=False,
        ),
        saying_through(console.print),
    ):
        yield


def _drawing(board: Board, note: str) -> "RenderableType":
    """Two or three lines a stage, none of which wraps."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    now_s = board.now_s()
    name_width = max((len(stage.name) for stage in board.stages()), default=0)
    parts: list[RenderableType] = []
    for stage in board.stages():
        grid = Table.grid(padding=(0, 1), expand=True)
        grid.add_column(width=name_width, no_wrap=True)
        grid.add_column(ratio=1, min_width=6)
        grid.add_column(no_wrap=True, justify="right")
        counted = f"{stage.done:,}" + ("" if stage.total is None else f"/{stage.total:,}")
        left_s = stage.left_s(now_s)
        spent = f"{clock_text((stage.finished_s or now_s) - stage.started_s)}"
        when = spent if left_s is None else f"{spent}, {clock_text(left_s)} left"
        bar = ProgressBar(
            total=None if stage.total is None and stage.finished_s is None else max(stage.total or stage.done, 1),
            completed=stage.done,
            pulse=stage.total is None and stage.finished_s is None,
        )
        grid.add_row(Text(stage.name, style="bold"), bar, Text(f"{counted}  {when}"))
        parts.append(grid)
        indent = " " * (name_width + 1)
        detail = Text(indent, no_wrap=True, overflow="ellipsis")
        detail.append(f"kept {stage.kept:,}", style="green")
        if stage.dropped:
            detail.append(f"  dropped {stage.dropped.total():,}: {reasons_text(stage.dropped)}", style="yellow")
        parts.append(detail)
        if stage.failed:
            failed = f"{indent}failed {stage.failed.total():,}: {reasons_text(stage.failed)}"
            parts.append(Text(failed, style="red", no_wrap=True, overflow="ellipsis"))
        if stage.waiting:
            parts.append(Text(f"{indent}{stage.waiting}", style="dim", no_wrap=True, overflow="ellipsis"))
    if note:
        parts.append(Text(note, style="dim", no_wrap=True, overflow="ellipsis"))
    return Group(*parts)

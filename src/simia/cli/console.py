"""Where output goes: results to stdout, everything about the work to stderr; plain text where nobody sees colours."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from simia.cli.errors import one_line


def is_terminal(stream: Any) -> bool:
    """Whether ``stream`` shows colours and moves a cursor; ``TERM=dumb`` does not."""
    return bool(stream.isatty()) and os.environ.get("TERM", "") != "dumb"


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


_sinks: list[Callable[[str], None]] = [_to_stderr]


def say(line: str) -> None:
    """One line about the work, on stderr, or above whatever :func:`saying_through` has put there."""
    _sinks[-1](one_line(line))


@contextmanager
def saying_through(sink: Callable[[str], None]) -> Iterator[None]:
    """Give the lines of :func:`say` to ``sink`` for a while: a live drawing must move out of their way."""
    _sinks.append(sink)
    try:
        yield
    finally:
        _sinks.remove(sink)


def result(line: str = "") -> None:
    """One line of the result, on stdout. Control characters, which data may hold, are taken out."""
    print(_printable(line), flush=True)


def result_json(value: Any) -> None:
    """``value`` as indented JSON on stdout."""
    import orjson

    print(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode(), flush=True)


def result_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = ()) -> None:
    """A table on stdout. Columns in ``numbers`` are right-aligned.

    On a terminal long cells fold; elsewhere each row is one line, for ``grep`` and ``awk``.
    """
    cells = [[_printable(cell) for cell in row] for row in rows]
    if is_terminal(sys.stdout):
        _draw(header, cells, numbers, header=True)
        return
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    for row in (list(header), *cells):
        aligned = [
            cell.rjust(width) if place in numbers else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        result("  ".join(aligned).rstrip())


def result_facts(facts: Sequence[tuple[str, str]]) -> None:
    """Names and values on stdout, the values below one another; on a terminal long ones wrap in their column."""
    width = max(len(name) for name, _ in facts)
    if is_terminal(sys.stdout):
        _draw(("", ""), [[name, _printable(value)] for name, value in facts], (), header=False)
        return
    for name, value in facts:
        result(f"{name:<{width}}  {value}")


def result_text(text: str) -> None:
    """Text of several lines on stdout, which wraps between words on a terminal."""
    lines = "\n".join(_printable(line) for line in text.splitlines())
    if is_terminal(sys.stdout):
        from rich.console import Console

        Console(file=sys.stdout, markup=False, highlight=False, emoji=False).print(lines)
    else:
        print(lines, flush=True)


def examples(*commands: str) -> str:
    """The end of a command's help: each example on a line of its own."""
    return "\n\n".join(
        ["[dim]Examples:[/dim]" if len(commands) > 1 else "[dim]Example:[/dim]"]
        + [f"[cyan]{command}[/cyan]" for command in commands]
    )


def _draw(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int], *, header: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", show_header=header, padding=(0, 2, 0, 0))
    for place, name in enumerate(columns):
        table.add_column(name, justify="right" if place in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(file=sys.stdout).print(table)


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in text)

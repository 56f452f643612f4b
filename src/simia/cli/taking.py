"""A command that fills a run folder: shown while it works, and how it leaves where it could not do all."""

import shlex
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import typer

from simia.cli.console import say
from simia.cli.errors import ExitCode, exit_code_of, tell
from simia.cli.resuming import without_ceiling
from simia.errors import ConfigError, CorruptStream, CostCeilingReached, ManifestMismatch, RunLocked, SimiaError

if TYPE_CHECKING:
    from simia.models.meter import MeterTotals

T = TypeVar("T")


@dataclass(frozen=True)
class Taking:
    """A run in ``folder`` that begins now, and the command ``again`` that goes on with it.

    ``kept`` says what is in the folder after an error (``what was answered``), ``kept_at_once`` after a second Ctrl-C,
    where that is something else.
    """

    folder: Path
    again: list[str]
    kept: str
    kept_at_once: str = ""
    began_s: float = field(default_factory=time.monotonic)

    def run(self, work: Callable[..., Coroutine[Any, Any, T]], max_cost: float | None, *, quiet: bool) -> T:
        """What ``work`` comes to, shown meanwhile. It is called with ``observer``, ``stop`` and ``watch``.

        Raises:
            SimiaError, typer.Exit: see :meth:`telling`.
        """
        from simia.cli.board import Board
        from simia.cli.progress import ModelSide, shown
        from simia.cli.stopping import Aborted, run_until_stopped

        board, model_side = Board(), ModelSide(max_cost)
        try:
            with self.telling(), shown(board, model_side, quiet=quiet):
                return run_until_stopped(lambda stop: work(observer=board, stop=stop, watch=model_side.watch))
        except Aborted:
            if self._is_begun:
                kept = self.kept_at_once or self.kept
                say(f"stopped at once; {kept} is in {self.folder}; go on with: {shlex.join(self.again)}")
            else:
                say("stopped at once; nothing was made")
            raise typer.Exit(ExitCode.INTERRUPTED) from None

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Tell an error of the block with the way to go on, and leave with its exit code.

        Raises:
            RunLocked, ManifestMismatch, ConfigError: as they are; there is nothing to go on with.
            typer.Exit: any other error was told.
        """
        try:
            yield
        except (RunLocked, ManifestMismatch, ConfigError):
            raise
        except CostCeilingReached as error:
            self.leave_at_ceiling(error)
        except SimiaError as error:
            tell(error)
            if self._is_begun and not isinstance(error, CorruptStream):
                say(f"{self.kept} is in {self.folder}; go on with: {shlex.join(self.again)}")
            raise typer.Exit(exit_code_of(error)) from error

    def leave_at_ceiling(self, error: CostCeilingReached) -> NoReturn:
        """The money ended the run before its time."""
        tell(error)
        again = shlex.join(without_ceiling(self.again))
        say(f"go on with a higher ceiling in the place of USD: {again} --max-cost USD")
        raise typer.Exit(exit_code_of(error)) from error

    def leave_stopped(self, where: str = "stopped") -> NoReturn:
        """Somebody ended the run before its time."""
        say(f"{where}; go on with: {shlex.join(self.again)}")
        raise typer.Exit(ExitCode.INTERRUPTED)

    def leave_failed(self, what: str) -> NoReturn:
        """The run came to its end, but ``what`` (``3 items failed``) may be tried again."""
        say(f"{what}; try them again with: {shlex.join(self.again)}")
        raise typer.Exit(ExitCode.SOME_FAILED)

    @property
    def took_s(self) -> float:
        """Seconds from its beginning to now."""
        return time.monotonic() - self.began_s

    def took_text(self, totals: "MeterTotals | None") -> str:
        """``took 0:12; used: 234 tokens/s, 12,345 tokens in, 3,444 out, $0.12``."""
        from simia.cli.progress import clock_text, usage_line

        usage = usage_line(totals)
        return f"took {clock_text(self.took_s)}" + (f"; used: {usage}" if usage else "")

    @property
    def _is_begun(self) -> bool:
        return (self.folder / "run.json").exists()

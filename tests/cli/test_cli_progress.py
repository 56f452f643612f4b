"""What a run shows while it works."""

import io
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simia.cli.board import Board
from simia.cli.console import saying_through
from simia.cli.progress import ModelSide, clock_text, reasons_text, shown, stage_line, usage_line
from simia.models.adaptive import AdaptiveLimit
from simia.models.meter import Meter
from simia.store import Counts
from simia.types import Dropped, Failed, Kept, ToolSpec

VALUE = ToolSpec(name="t", parameters={})


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def board_after(clock: Clock, seconds: float, *, done: Counts | None = None, total: int | None = 10) -> Board:
    """Three items settled in ``seconds``: kept, dropped, failed."""
    board = Board(clock)
    board.started("generate", total, done or Counts(0, 0, 0))
    board.settled("generate", "a", Kept(VALUE))
    board.settled("generate", "b", Dropped("unknown_tool", "no tool 'refund'"))
    board.settled("generate", "c", Failed("ModelTimeout", "no answer"))
    clock.now += seconds
    return board


def line_of(board: Board) -> str:
    return stage_line(board.stages()[0], board.now_s())


def test_a_line_says_done_kept_dropped_by_rule_failed_and_time_left() -> None:
    board = board_after(Clock(), 30)

    assert line_of(board) == (
        "generate: 3/10 done, 1 kept, 1 dropped (unknown_tool 1), 1 failed (ModelTimeout 1), 1:10 left"
    )


def test_time_left_counts_only_what_was_settled_since_the_resumption() -> None:
    board = board_after(Clock(), 30, done=Counts(4, 4, 0), total=10)

    assert board.stages()[0].left_s(30.0) == pytest.approx(30.0)


def test_what_failed_before_the_resumption_is_not_done() -> None:
    board = Board(Clock())
    board.started("generate", 10, Counts(4, 3, 1))

    assert board.stages()[0].done == 3


def test_an_unknown_total_gives_no_time_left() -> None:
    assert line_of(board_after(Clock(), 30, total=None)) == (
        "generate: 3 done, 1 kept, 1 dropped (unknown_tool 1), 1 failed (ModelTimeout 1)"
    )


def test_a_finished_stage_says_how_long_it_took() -> None:
    clock = Clock()
    board = board_after(clock, 65)
    board.finished("generate", Counts(3, 1, 1, {"unknown_tool": 1}))

    assert line_of(board).endswith("finished in 1:05")


def test_a_stage_that_was_interrupted_says_that_it_was_stopped() -> None:
    clock = Clock()
    board = board_after(clock, 65)
    board.finished("generate", Counts(3, 1, 1, {"unknown_tool": 1}, interrupted=True))

    assert line_of(board).endswith("stopped after 1:05")


def test_no_time_is_left_while_one_item_after_another_fails() -> None:
    board = board_after(Clock(), 30, total=20)
    for number in range(5):
        board.settled("generate", str(number), Failed("ServerFailed", "gone"))
    assert board.stages()[0].left_s(30.0) is None

    board.settled("generate", "d", Kept(VALUE))
    assert board.stages()[0].left_s(30.0) is not None


def test_a_waiting_stage_says_for_what() -> None:
    board = board_after(Clock(), 1)
    board.waiting("generate", 7, "a stop was asked for")

    assert line_of(board).endswith("7 in flight, a stop was asked for")


def test_only_the_most_frequent_reasons_are_named() -> None:
    assert reasons_text(Counter(a=4, b=3, c=2, d=1)) == "a 4, b 3, c 2, ..."


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (65, "1:05"), (3725, "1:02:05"), (-3, "0:00")])
def test_a_span_is_written_as_on_a_clock(seconds: float, text: str) -> None:
    assert clock_text(seconds) == text


def test_usage_says_speed_tokens_and_the_ceiling() -> None:
    usage = {"prompt_tokens": 2000, "cached_tokens": 500, "completion_tokens": 300}
    totals = Meter({"requests": 2, "usage": usage, "cost": 0.25, "active_s": 10.0}).totals()

    assert usage_line(totals, 5.0) == "30 tokens/s, 2,000 tokens in (25 % cached), 300 out, $0.25 of $5.00"


def test_nothing_is_said_of_usage_before_the_first_answer() -> None:
    assert usage_line(Meter().totals()) == ""


def test_an_outage_is_said() -> None:
    side, limit = ModelSide(), AdaptiveLimit(4)
    limit.phase = "away"
    side.watch(Meter(), limit)

    assert side() == "the endpoint does not answer: trying again"


def test_in_a_log_there_are_plain_lines_without_control_characters(capfd: pytest.CaptureFixture[str]) -> None:
    board = board_after(Clock(), 1)
    board.settled("generate", "d", Dropped("odd\x1b[31m\nrule", ""))

    with shown(board, lambda: "12 tokens/s", quiet=False):
        pass

    lines = capfd.readouterr().err.splitlines()
    assert lines[1] == "12 tokens/s"
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)


def test_in_a_log_a_stage_without_news_says_now_and_then_that_it_is_alive(capfd: pytest.CaptureFixture[str]) -> None:
    with shown(board_after(Clock(), 1), lambda: "", quiet=False, line_every_s=0.005):
        time.sleep(0.2)

    assert 1 < len(capfd.readouterr().err.splitlines()) < 15


def test_quiet_shows_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with shown(board_after(Clock(), 1), lambda: "12 tokens/s", quiet=True):
        pass

    assert capfd.readouterr().err == ""


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_on_a_terminal_no_line_is_wider_than_it(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    for name, value in {"COLUMNS": columns, "LINES": "30", "TERM": "xterm", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    board = board_after(Clock(), 1)
    for rule in ("a_rule_with_a_rather_long_name", "another_rule_with_a_long_name", "a_third_rule_of_that_kind"):
        board.settled("generate", rule, Dropped(rule, ""))

    with shown(board, lambda: "12 tokens/s, " * 9, quiet=False):
        pass

    drawn = [line for line in terminal.getvalue().replace("\r", "\n").split("\n") if "\x1b" not in line]
    assert any("kept 1" in line for line in drawn)
    assert max(map(len, drawn)) <= int(columns)


def test_lines_move_above_a_live_drawing() -> None:
    from simia.cli.console import say

    heard: list[str] = []

    with saying_through(heard.append):
        say("a line\nwith a break")

    assert heard == ["a line with a break"]


def test_a_run_in_a_log_begins_with_the_model_and_why(
    simia: Callable[..., Any], serve: Callable[..., Any], world: Path
) -> None:
    endpoint = serve()

    ended = simia("synth", str(world), "--run", "run")

    assert ended.err.splitlines()[0] == f"model: tiny at {endpoint.base_url}, from OPENAI_BASE_URL"
    assert all(line.isprintable() for line in ended.err.splitlines() + ended.out.splitlines())


def test_a_quiet_run_still_says_what_came_of_it(
    simia: Callable[..., Any], serve: Callable[..., Any], world: Path
) -> None:
    serve()

    ended = simia("synth", str(world), "--run", "run", "--quiet")

    assert ended.err == ""
    assert ended.out.splitlines()[0].startswith("prefilter kept 3 of 3; generate kept 6 of 6; postprocess kept 6 of 6")
    assert "run/export/trl/train.jsonl" in ended.out.splitlines()

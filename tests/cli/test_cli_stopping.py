"""Ctrl-C, in a process of its own, because signals belong to processes."""

import asyncio
import fcntl
import os
import signal
import subprocess
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simia.cli.main import main
from simia.cli.stopping import Aborted, run_until_stopped

Start = Callable[..., "subprocess.Popen[str]"]


def wait_for(condition: Callable[[], bool], seconds: float = 20) -> None:
    """Until ``condition`` holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def lines_of(stream: Path) -> list[str]:
    return stream.read_text().splitlines() if stream.exists() else []


@pytest.fixture
def generated() -> Path:
    return Path("run/streams/generate.jsonl")


def begin(start_simia: Start, serve: Callable[..., Any], world: Path, generated: Path) -> "subprocess.Popen[str]":
    """A run of many slow conversations, of which the first are written."""
    from simia.models.mock_faults import Latency

    serve(latency=Latency(0.3))
    process = start_simia("synth", str(world), "count=500", "model.max_in_flight=2", "--run", "run")
    wait_for(lambda: len(lines_of(generated)) >= 2)
    return process


def test_the_first_ctrl_c_finishes_cleanly_and_prints_the_command_to_go_on(
    start_simia: Start, serve: Callable[..., Any], world: Path, generated: Path
) -> None:
    process = begin(start_simia, serve, world, generated)

    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)

    assert process.returncode == 130
    assert "stopping: what is in flight has 20 s to finish" in err
    assert f"go on with: simia synth {world} count=500 model.max_in_flight=2 --run run --resume" in err
    assert f"generate kept {len(lines_of(generated))} of {len(lines_of(generated))}" in out
    assert "Traceback" not in err


def test_sigterm_stops_as_cleanly_as_ctrl_c(
    start_simia: Start, serve: Callable[..., Any], world: Path, generated: Path
) -> None:
    process = begin(start_simia, serve, world, generated)

    process.terminate()
    _, err = process.communicate(timeout=20)

    assert process.returncode == 130
    assert "go on with:" in err


def test_the_second_ctrl_c_stops_at_once(start_simia: Start, serve: Callable[..., Any], world: Path) -> None:
    from simia.models.mock_faults import Faults

    endpoint = serve(faults=Faults(1.0, ("stall",)))
    process = start_simia("synth", str(world), "--run", "run")
    wait_for(lambda: endpoint.server.in_flight == 6)

    os.killpg(process.pid, signal.SIGINT)
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=10)

    assert process.returncode == 130
    assert "stopped at once" in err
    assert "go on with: simia synth" in err
    assert "Traceback" not in err


def test_the_second_ctrl_c_ends_a_pass_that_waits_for_nothing() -> None:
    async def work(stop: asyncio.Event) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        wait_for(stop.is_set)
        os.kill(os.getpid(), signal.SIGINT)
        wait_for(lambda: False)

    with pytest.raises(Aborted):
        run_until_stopped(work)


def test_the_command_that_was_printed_finishes_the_run(
    start_simia: Start, serve: Callable[..., Any], world: Path, simia: Callable[..., Any], generated: Path
) -> None:
    from simia.models.mock_faults import Latency

    endpoint = serve(latency=Latency(0.2))
    process = start_simia("synth", str(world), "count=8", "model.max_in_flight=1", "--run", "run")
    wait_for(lambda: len(lines_of(generated)) >= 2)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=20)
    before = lines_of(generated)

    ended = simia("synth", str(world), "count=8", "model.max_in_flight=1", "--run", "run", "--resume")

    assert ended.code == 0
    assert "generate kept 8 of 8" in ended.out
    assert lines_of(generated)[: len(before)] == before
    assert endpoint.server.stats()["requests"] == 8


def test_a_command_without_a_run_is_interrupted_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    fifo = tmp_path / "seeds.jsonl"
    os.mkfifo(fifo)
    monkeypatch.setattr("sys.argv", ["simia", "seeds", "inspect", str(fifo)])
    threading.Thread(target=_interrupt_whoever_reads, args=(fifo,), daemon=True).start()

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 130
    assert capfd.readouterr().err.strip() == "interrupted"


def _interrupt_whoever_reads(fifo: Path) -> None:
    """A pipe can be written to only once somebody opened it for reading, who waits for more after the first byte."""
    while True:
        try:
            pipe = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.01)
        else:
            break
    os.write(pipe, b"{")
    while fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)) != bytes(4):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

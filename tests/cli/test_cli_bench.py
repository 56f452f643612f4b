"""``simia bench``: what its commands print, what they refuse, and that a run survives whatever ends it."""

import csv
import fcntl
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from simia import worlds
from simia.bench.build import SuitePlan, build
from simia.bench.strata import PUBLISHED, scaled
from simia.bench.suite import read_suite, write_suite
from simia.formats import exchanges
from simia.models.mock_faults import Faults, Latency
from simia.seeds import read

Simia = Callable[..., Any]
Start = Callable[..., "subprocess.Popen[str]"]

SUCCESS = json.dumps({"is_error": False, "observation": {"success": True}, "changes": []})
PRICES = "[models.tiny]\ninput = 1.0\noutput = 2.0\n"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite of 24 samples of two worlds."""
    path = tmp_path_factory.mktemp("suites") / "small.jsonl.gz"
    plan = SuitePlan(name="small", tasks=8, examples=1, drift=1, cells=scaled(PUBLISHED, 0.06))
    made = build(plan, {name: worlds.load(name) for name in ("bank", "shop")})
    write_suite(path, made.head, made.episodes, made.samples)
    return path


@pytest.fixture
def suite(small: Path, tmp_path: Path) -> str:
    """The same in the working directory, as the words that name it."""
    shutil.copy(small, tmp_path / "small.jsonl.gz")
    return "small.jsonl.gz"


@pytest.fixture
def count(small: Path) -> int:
    return len(read_suite(small).samples)


@pytest.fixture
def nothing(simia: Simia, suite: str) -> Path:
    """A finished run of a baseline that followed an episode of each world."""
    words = ("--model", "baseline:do-nothing", "--suite", suite, "--drift", "1")
    assert simia("bench", "run", *words, "--run", "nothing").code == 0
    return Path("nothing")


def answers(folder: str) -> dict[int, str]:
    """The line of each sample; the last of an ordinal counts."""
    path = Path(folder) / "streams/answers.jsonl"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return {json.loads(line)["n"]: line for line in lines if line.endswith("\n")}


def wait_for(condition: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


def the_error_in(ended: Any) -> str:
    lines = [line for line in ended.err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, ended.err
    assert "Traceback" not in ended.err
    return str(lines[0])


COMMANDS = ("run", "report", "show", "build", "convert", "collect", "sft", "fidelity")


def test_help_names_every_command(simia: Simia) -> None:
    ended = simia("bench", "--help")

    assert ended.code == 0
    assert all(f" {name} " in ended.out for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_has_an_example(simia: Simia, command: str) -> None:
    ended = simia("bench", command, "--help")

    assert ended.code == 0
    assert f"simia bench {command}" in ended.out.split("Example")[1]


# run


def test_a_baseline_is_measured_without_a_model(simia: Simia, suite: str, count: int) -> None:
    ended = simia("bench", "run", "--model", "baseline:oracle", "--suite", suite, "--run", "run")

    row = next(line for line in ended.out.splitlines() if line.startswith("oracle"))
    assert ended.code == 0
    assert row.split()[1:5] == ["constrained", str(count), "100.0", "%"]
    assert "run: run (simia bench report run --html bench.html)" in ended.out
    assert ended.err.startswith("model: the baseline oracle\n")


def test_a_model_is_asked_every_sample_once(simia: Simia, serve: Simia, suite: str, count: int) -> None:
    endpoint = serve(lambda body: SUCCESS)

    ended = simia("bench", "run", "--suite", suite, "--run", "run")

    assert ended.code == 0
    assert endpoint.server.stats()["requests"] == count
    assert "used: " in ended.out
    assert "answers: " in ended.err


def test_answers_that_make_no_sense_are_told_by_their_word(simia: Simia, serve: Simia, suite: str, count: int) -> None:
    serve(lambda body: "no json")

    ended = simia("bench", "run", "--suite", suite, "--run", "run")

    assert ended.code == 0
    assert f"answers that could not be read or applied: unreadable {count}" in ended.err


def test_a_quiet_run_says_only_its_result(simia: Simia, suite: str) -> None:
    ended = simia("bench", "run", "--model", "baseline:echo", "--suite", suite, "--run", "run", "--quiet")

    assert ended.err == ""
    assert "Leaderboard" in ended.out


def test_settings_may_be_words(simia: Simia, suite: str) -> None:
    words = ("limit=5", "setting=tracked", "name=mine")

    ended = simia("bench", "run", *words, "--model", "baseline:echo", "--suite", suite, "--run", "run")

    recorded = json.loads(Path("run/run.json").read_text())
    assert ended.code == 0
    assert (recorded["run"], recorded["config"]["limit"], recorded["config"]["setting"]) == ("mine", 5, "tracked")


def test_the_hidden_setting_has_no_config_match(simia: Simia, serve: Simia, suite: str) -> None:
    serve(lambda body: SUCCESS)

    ended = simia("bench", "run", "--suite", suite, "--setting", "hidden", "--run", "run")

    row = next(line for line in ended.out.splitlines() if line.startswith("tiny"))
    assert ended.code == 0
    assert row.split()[3] == "-"


def test_samples_that_nobody_answered_end_with_one_and_are_tried_again(
    simia: Simia, serve: Simia, suite: str, count: int
) -> None:
    words = ("bench", "run", "model.retry_for_s=0", "--suite", suite, "--run", "run")
    serve(lambda body: SUCCESS, faults=Faults(0.5, ("500",)))
    first = simia(*words)
    failed = count - len([line for line in answers("run").values() if '"kept"' in line])
    endpoint = serve(lambda body: SUCCESS)
    second = simia(*words, "--resume")

    assert first.code == 1
    assert 0 < failed < count
    assert f"{count - failed} of {count}" in first.out
    assert f"answers failed {failed} times with ServerFailed, for example " in first.err
    assert f"{failed} samples were not answered; try them again with: simia {' '.join(words)} --resume" in first.err
    assert second.code == 0
    assert endpoint.server.stats()["requests"] == failed


def test_the_ceiling_ends_with_one_and_says_how_to_go_on(simia: Simia, serve: Simia, suite: str, count: int) -> None:
    serve(lambda body: SUCCESS)
    Path("prices.toml").write_text(PRICES)
    words = ("bench", "run", "model.prices=prices.toml", "model.max_in_flight=1", "--suite", suite, "--run", "run")

    ended = simia(*words, "--max-cost", "0.01")
    again = simia(*words, "--max-cost", "5", "--resume")

    assert ended.code == 1
    assert (
        f"go on with a higher ceiling in the place of USD: simia {' '.join(words)} --resume --max-cost USD" in ended.err
    )
    assert again.code == 0
    assert len(answers("run")) == count


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--model", "baseline:echo"), "no folder for the run: add --run DIR"),
        (("--model", "baseline:echo", "--resume"), "no folder for the run: add --run DIR"),
        (
            ("--model", "baseline:echo", "--run", "new", "--resume"),
            "new holds no run to go on with: leave --resume out",
        ),
        (("--model", "baseline:best", "--run", "new"), "no baseline 'best'; there are baseline:oracle"),
        (("--model", "baseline:echo", "--setting", "open", "--run", "new"), "should be 'constrained', 'tracked' or"),
        (("--model", "baseline:echo", "limits=5", "--run", "new"), "limits: unknown key (known: boxed, drift, limit"),
        (("--model", "baseline:echo", "max_tokens=7", "--run", "new"), "max_tokens: "),
        (("--model", "baseline:echo", "--suite", "nowhere", "--run", "new"), "no suite 'nowhere': give a file of"),
        (("--model", "gguf:nowhere.gguf", "--run", "new"), "check the path after gguf:"),
    ],
)
def test_a_run_that_cannot_be_meant_is_refused(simia: Simia, suite: str, words: tuple[str, ...], told: str) -> None:
    given = words if "--suite" in words else (*words, "--suite", suite)

    ended = simia("bench", "run", *given)

    assert ended.code == 2
    assert told in the_error_in(ended)
    assert not Path("new").exists()


def test_a_folder_that_holds_a_run_is_not_begun_anew(simia: Simia, suite: str, nothing: Path) -> None:
    ended = simia("bench", "run", "--model", "baseline:echo", "--suite", suite, "--run", str(nothing))

    assert ended.code == 2
    assert "nothing holds a run already: add --resume to go on with it" in the_error_in(ended)


def test_another_setting_may_not_go_on_with_a_run(simia: Simia, suite: str, nothing: Path) -> None:
    words = ("--model", "baseline:do-nothing", "--suite", suite, "--drift", "1", "--run", str(nothing), "--resume")

    ended = simia("bench", "run", *words, "--setting", "tracked")

    assert ended.code == 2
    assert 'config.setting: was "constrained", now "tracked"' in the_error_in(ended)


def test_another_suite_may_not_go_on_with_a_run(simia: Simia, suite: str, nothing: Path) -> None:
    simia("bench", "build", "other.jsonl.gz", "bank", "--tasks", "4", "--scale", "0.05")

    words = ("--model", "baseline:do-nothing", "--drift", "1", "--run", str(nothing), "--resume")
    ended = simia("bench", "run", *words, "--suite", "other.jsonl.gz")

    assert ended.code == 2
    assert "seeds.suite has changed" in the_error_in(ended)


def test_a_run_goes_on_although_its_suite_has_gone(simia: Simia, suite: str, count: int) -> None:
    words = ("bench", "run", "--model", "baseline:echo", "--suite", suite, "--run", "run")
    simia(*words, "--limit", "5")
    Path(suite).unlink()

    ended = simia(*words, "--resume", "--limit", "0")

    assert ended.code == 0
    assert len(answers("run")) == count


def test_a_run_that_is_gone_on_with_asks_no_more_than_it_was_begun_for(simia: Simia, suite: str) -> None:
    words = ("bench", "run", "--model", "baseline:echo", "--suite", suite, "--run", "run")
    simia(*words, "--limit", "5")

    assert simia(*words, "--resume").code == 0
    assert len(answers("run")) == 5


def test_a_run_is_gone_on_with_by_its_folder_alone(simia: Simia, suite: str) -> None:
    words = ("bench", "run", "--model", "baseline:echo", "--suite", suite, "--setting", "tracked", "temperature=0.5")
    simia(*words, "--limit", "5", "--run", "run")

    ended = simia("bench", "run", "--run", "run", "--resume", "--limit", "6")

    assert ended.code == 0
    assert len(answers("run")) == 6


def test_an_option_goes_before_a_word(simia: Simia, suite: str) -> None:
    words = ("bench", "run", "--model", "baseline:echo", "--suite", suite, "--run", "run")

    assert simia(*words, "--limit", "3", "limit=9").code == 0
    assert len(answers("run")) == 3


def test_a_missing_key_leaves_no_folder(simia: Simia, serve: Simia, suite: str) -> None:
    serve(lambda body: SUCCESS, key="right")

    ended = simia("bench", "run", "--suite", suite, "--run", "run")

    assert ended.code == 2
    assert "OPENAI_API_KEY" in the_error_in(ended)
    assert not Path("run").exists()


def test_an_unreachable_endpoint_leaves_no_folder(simia: Simia, suite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")

    ended = simia("bench", "run", "--suite", suite, "--run", "run")

    assert ended.code == 1
    assert "cannot reach http://127.0.0.1:9/v1" in the_error_in(ended)
    assert not Path("run").exists()


# --dry-run


def test_an_estimate_asks_nothing_and_writes_nothing(simia: Simia, serve: Simia, suite: str, count: int) -> None:
    endpoint = serve()

    ended = simia("bench", "run", "--suite", suite, "--drift", "1", "--run", "run", "--dry-run")

    facts = {line[:11].strip(): line[11:].strip() for line in ended.out.splitlines()}
    assert ended.code == 0
    assert facts["samples"] == f"{count} of small"
    assert facts["drift"].startswith("2 episodes with ")
    assert "no model was asked, nothing was written" in ended.err
    assert endpoint.server.stats()["requests"] == 0
    assert not Path("run").exists()


def test_an_estimate_has_the_cost_of_the_users_prices(simia: Simia, serve: Simia, suite: str) -> None:
    serve()
    Path("prices.toml").write_text("[models.tiny]\ninput = 1000000.0\noutput = 0.0\n")

    ended = simia("bench", "run", "model.prices=prices.toml", "--suite", suite, "--dry-run")

    tokens = next(line for line in ended.out.splitlines() if line.startswith("tokens in")).split()[3].rstrip(",")
    assert any(line.split() == ["cost", f"${tokens}.00"] for line in ended.out.splitlines())


def test_an_estimate_says_what_a_run_still_lacks(simia: Simia, suite: str, count: int) -> None:
    words = ("bench", "run", "--model", "baseline:echo", "--suite", suite, "--run", "run")
    simia(*words, "--limit", "5")

    ended = simia(*words, "--resume", "--dry-run", "--limit", "0")

    assert ended.code == 0
    assert f"samples     {count - 5} of small" in ended.out
    assert len(answers("run")) == 5


def test_an_estimate_refuses_what_the_run_would_refuse(simia: Simia, suite: str, nothing: Path) -> None:
    words = ("--model", "baseline:do-nothing", "--suite", suite, "--run", str(nothing), "--resume", "temperature=1")

    rehearsed, run = (simia("bench", "run", *words, *how) for how in (("--dry-run",), ()))

    assert (rehearsed.code, run.code) == (2, 2)
    assert the_error_in(rehearsed) == the_error_in(run)


# what ends a run before its time


def test_the_first_ctrl_c_finishes_cleanly_and_the_printed_command_goes_on(
    start_simia: Start, serve: Simia, simia: Simia, suite: str, count: int
) -> None:
    endpoint = serve(lambda body: SUCCESS, latency=Latency(0.2))
    words = ("bench", "run", "model.max_in_flight=2", "--suite", suite, "--run", "run")
    process = start_simia(*words)
    wait_for(lambda: len(answers("run")) >= 2)

    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    before = answers("run")
    ended = simia(*words, "--resume")

    assert process.returncode == 130
    assert f"stopped; go on with: simia {' '.join(words)} --resume" in err
    assert f"{len(before)} of {count}" in out
    assert "Traceback" not in err
    assert ended.code == 0
    assert answers("run").items() >= before.items()
    assert endpoint.server.stats()["requests"] == count


def test_the_second_ctrl_c_stops_at_once(start_simia: Start, serve: Simia, suite: str) -> None:
    endpoint = serve(lambda body: SUCCESS, faults=Faults(1.0, ("stall",)))
    process = start_simia("bench", "run", "--suite", suite, "--run", "run", "model.max_in_flight=4")
    wait_for(lambda: endpoint.server.in_flight == 4)

    os.killpg(process.pid, signal.SIGINT)
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=10)

    assert process.returncode == 130
    assert "stopped at once; what was answered is in run; go on with: simia bench run" in err
    assert "Traceback" not in err


@pytest.fixture(scope="module")
def replies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the mock endpoint says: a text that depends on the request alone."""
    path = tmp_path_factory.mktemp("replies") / "replies.jsonl"
    lines = [json.dumps(json.dumps({"is_error": False, "observation": n, "changes": []})) for n in range(50)]
    path.write_text("\n".join([*lines, '"no json"']) + "\n")
    return path


@pytest.fixture
def mock(start_simia: Start, replies: Path) -> str:
    """The address of ``simia models mock`` in a process of its own, which takes 30 ms for a reply."""
    process = start_simia("models", "mock", str(replies), "--latency", "fixed:0.03")
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("answered", [0, 5, 17])
def test_a_run_that_was_killed_and_resumed_equals_one_that_was_not(
    start_simia: Start, simia: Simia, mock: str, suite: str, count: int, answered: int
) -> None:
    model = ("model.name=mock", f"model.base_url={mock}", "model.max_in_flight=2")
    words = ("bench", "run", *model, "structured=false", "--suite", suite, "--drift", "1", "--quiet")

    process = start_simia(*words, "--run", "run")
    wait_for(lambda: Path("run/run.json").exists() and len(answers("run")) >= answered)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = answers("run")
    resumed = simia(*words, "--run", "run", "--resume")
    whole = simia(*words, "--run", "whole")

    assert len(before) < count
    assert (resumed.code, whole.code) == (0, 0)
    assert answers("run").items() >= before.items()
    assert answers("run") == answers("whole")
    for name in ("streams/drift.jsonl", "suite.jsonl.gz"):
        one, other = (Path(folder, name).read_bytes().splitlines() for folder in ("run", "whole"))
        assert sorted(one) == sorted(other)
    assert {path.name for path in Path("run").iterdir()} == {path.name for path in Path("whole").iterdir()}
    counted = [json.loads(Path(folder, "meter.json").read_text()) for folder in ("run", "whole")]
    assert counted[0]["requests"] == counted[1]["requests"]
    assert counted[0]["usage"] == counted[1]["usage"]


# report


def test_runs_are_compared(simia: Simia, suite: str, nothing: Path) -> None:
    simia("bench", "run", "--model", "baseline:oracle", "--suite", suite, "--run", "oracle")

    ended = simia("bench", "report", "nothing", "oracle")

    titles = ("Leaderboard", "Config Match by number of changes", "Pairs", "Drift by step", "By the released rule")
    assert ended.code == 0
    assert [line for line in ended.out.splitlines() if line in titles] == list(titles)
    assert ended.out.index("\noracle ") < ended.out.index("\ndo nothing ")


def test_runs_without_drift_show_none(simia: Simia, suite: str) -> None:
    simia("bench", "run", "--model", "baseline:oracle", "--suite", suite, "--run", "oracle")

    assert "Drift" not in simia("bench", "report", "oracle").out


def test_a_report_needs_nothing_but_the_folder(simia: Simia, suite: str, nothing: Path) -> None:
    Path(suite).unlink()

    assert simia("bench", "report", "nothing").code == 0


def test_a_report_is_written_as_markdown_csv_and_page(simia: Simia, nothing: Path) -> None:
    names = ("out/bench.md", "out/bench.csv", "out/bench.html")

    ended = simia("bench", "report", "nothing", "--markdown", names[0], "--csv", names[1], "--html", names[2])

    assert ended.code == 0
    assert ended.out.splitlines()[-3:] == list(names)
    markdown, table, page = (Path(name).read_text() for name in names)
    assert markdown.startswith("### Leaderboard\n\n| simulator | setting |")
    assert "### Drift by step" in markdown
    assert next(csv.DictReader(table.splitlines()))["simulator"] == "do nothing"
    assert page.startswith("<!doctype html>")


def test_two_outputs_in_one_file_are_refused_before_anything_is_written(simia: Simia, nothing: Path) -> None:
    ended = simia("bench", "report", "nothing", "--csv", "out", "--html", "./out")

    assert ended.code == 2
    assert the_error_in(ended) == "error: two of --html, --markdown and --csv name one file: give each its own"
    assert not Path("out").exists()


def test_a_run_that_is_named_twice_stands_there_once(simia: Simia, nothing: Path) -> None:
    assert simia("bench", "report", "nothing", "./nothing").out == simia("bench", "report", "nothing").out


def test_the_terminal_says_what_went_wrong(simia: Simia, nothing: Path) -> None:
    rows = simia("bench", "report", "nothing").out.splitlines()

    assert any(row.startswith("- missed ") for row in rows)
    assert any(row.startswith("wrong error flag ") for row in rows)


def test_runs_of_several_suites_are_told_apart_in_every_output(simia: Simia, nothing: Path) -> None:
    simia("bench", "build", "other.jsonl.gz", "bank", "--tasks", "4", "--scale", "0.05", "--version", "2")
    simia("bench", "run", "--model", "baseline:oracle", "--suite", "other.jsonl.gz", "--run", "other")

    ended = simia("bench", "report", "nothing", "other", "--markdown", "bench.md", "--csv", "bench.csv")
    rows = csv.DictReader(Path("bench.csv").read_text().splitlines())

    warning = "The runs were not measured on the same suite: their rates do not compare."
    assert ended.code == 0
    assert {(row["suite"], row["version"]) for row in rows} >= {("other", "2")}
    for text in (ended.out, Path("bench.md").read_text()):
        assert warning in text
        assert "other 2" in text
        assert "Pairs" not in text


@pytest.mark.parametrize("columns", [80, 200])
def test_no_line_of_a_report_is_wider_than_the_terminal(nothing: Path, columns: int) -> None:
    ours, theirs = os.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    command = [sys.executable, "-m", "simia", "bench", "report", str(nothing)]
    env = os.environ | {"TERM": "xterm", "COLUMNS": str(columns), "NO_COLOR": "1"}
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, env=env) as process:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # the other end is closed
            while chunk := os.read(ours, 65536):
                shown += chunk
    os.close(ours)

    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode()).splitlines()
    heads = [line for line in lines if line.startswith("simulator ") and "Config Match" not in line]
    assert process.returncode == 0
    assert max(map(len, lines)) <= columns
    assert any("unusable" in line for line in heads) is (columns == 80)


@pytest.mark.parametrize(
    ("folder", "told"),
    [("nowhere", "nowhere does not exist: name the folder"), ("synth", "synth is no run of simia bench run")],
)
def test_what_is_no_run_of_the_benchmark_is_told(
    simia: Simia, serve: Simia, world: Path, folder: str, told: str
) -> None:
    serve()
    simia("synth", str(world), "--run", "synth", "--limit", "1")

    ended = simia("bench", "report", folder)

    assert ended.code == 2
    assert told in the_error_in(ended)


# show and build


def test_a_suite_is_shown_with_its_cells_from_easy_to_hard(simia: Simia, suite: str, count: int) -> None:
    ended = simia("bench", "show", suite)

    cells = [line.split()[0] for line in ended.out.splitlines()[4:]]
    assert ended.code == 0
    assert f"samples  {count} in 2 worlds, 4 episodes" in ended.out
    assert cells == [cell.name for cell in PUBLISHED]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "no suite 'mine.jsonl.gz': give a file of simia bench build"),
        (b'{"a": 1}\n', "mine.jsonl.gz is no suite of simia: its first line is no head"),
    ],
)
def test_what_is_no_suite_is_told(simia: Simia, content: bytes | None, told: str) -> None:
    if content is not None:
        Path("mine.jsonl.gz").write_bytes(content)

    ended = simia("bench", "show", "mine.jsonl.gz")

    assert ended.code == 2
    assert told in the_error_in(ended)


def test_a_suite_is_built_and_the_same_again(simia: Simia) -> None:
    words = ("bank", "shop", "--tasks", "4", "--scale", "0.05", "--name", "mine")

    one, two = (simia("bench", "build", f"{name}.jsonl.gz", *words) for name in ("one", "two"))

    assert (one.code, two.code) == (0, 0)
    assert Path("one.jsonl.gz").read_bytes() == Path("two.jsonl.gz").read_bytes()
    assert one.out.splitlines()[-1].startswith("one.jsonl.gz: ")
    assert "bank: " in one.err
    assert read_suite(Path("one.jsonl.gz")).head.name == "mine"


def test_a_quota_can_be_set_and_what_is_short_is_said(simia: Simia) -> None:
    words = ("--tasks", "2", "--scale", "0.05", "--quota", "7-12=0", "--quota", "failure=900")

    ended = simia("bench", "build", "mine.jsonl.gz", "bank", *words)

    quotas = read_suite(Path("mine.jsonl.gz")).head.quotas
    assert ended.code == 0
    assert quotas["failure"] == 900
    assert "7-12" not in quotas
    assert "fewer than the quota; more --tasks or other worlds may have them" in ended.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("mine.json", "bank"), "a suite is called *.jsonl.gz, not mine.json"),
        (("mine.jsonl.gz", "atlantis"), "no world 'atlantis'; there are "),
        (("mine.jsonl.gz", "bank", "--quota", "8=3"), "'8=3' is no quota: write CELL=COUNT with a cell of failure"),
    ],
)
def test_a_suite_that_cannot_be_meant_is_refused(simia: Simia, words: tuple[str, ...], told: str) -> None:
    ended = simia("bench", "build", *words, "--tasks", "1")

    assert ended.code == 2
    assert told in the_error_in(ended)
    assert list(Path().glob("mine*")) == []


# collect and convert


def test_transitions_are_collected_and_a_suite_drawn_from_them(simia: Simia) -> None:
    collected = simia("bench", "collect", "found.jsonl", "bank", "--tasks", "4")
    built = simia("bench", "build", "mine.jsonl.gz", "--from", "found.jsonl", "--tasks", "4", "--scale", "0.05")

    lines = Path("found.jsonl").read_text().splitlines()
    assert (collected.code, built.code) == (0, 0)
    origin, *_, last = collected.out.splitlines()
    assert origin.split()[:2] == ["origin", "refused"]
    assert last == f"found.jsonl: {len(lines)} transitions"
    assert {"group", "size", "state", "delta"} <= json.loads(lines[0]).keys()
    assert set(read_suite(Path("mine.jsonl.gz")).head.worlds) == {"bank"}


def test_a_suite_is_drawn_from_parquet_and_leaves_out_what_nobody_would_be_asked(simia: Simia) -> None:
    simia("bench", "collect", "found.parquet", "bank", "--tasks", "4", "--perturb", "unknown_tool")
    built = simia("bench", "build", "mine.jsonl.gz", "--from", "found.parquet", "--tasks", "4")

    assert built.code == 0
    assert {sample.origin for sample in read_suite(Path("mine.jsonl.gz")).samples} == {"gold"}


@pytest.mark.parametrize(
    "words", [("build", "old.jsonl.gz", "bank"), ("collect", "old.jsonl.gz", "bank"), ("sft", "old", "library")]
)
def test_what_is_there_is_not_written_over(simia: Simia, words: tuple[str, ...]) -> None:
    Path("old").mkdir()
    Path("old", "file").touch()
    Path("old.jsonl.gz").write_text("mine")

    ended = simia("bench", *words)

    assert ended.code == 2
    assert the_error_in(ended) == f"error: {words[1]} exists: take another name, or --force to replace it"
    assert Path("old.jsonl.gz").read_text() == "mine"


def test_a_run_of_another_command_is_not_gone_on_with(simia: Simia) -> None:
    simia("bench", "run", "--model", "baseline:echo", "--run", "r")

    ended = simia("synth", "shop", "--run", "r", "--resume")

    assert ended.code == 2
    told = "error: r holds a run of simia bench run, which simia synth cannot go on with: check --run"
    assert the_error_in(ended) == told


def test_more_episodes_than_the_suite_has_are_told(simia: Simia) -> None:
    ended = simia("bench", "run", "--model", "baseline:oracle", "--limit", "1", "--drift", "9", "--run", "r")

    assert "fewer than 9 episodes to measure drift on: airline 4, bank 4" in ended.err
    assert "Drift by step" in ended.out


def test_a_suite_is_drawn_without_holding_the_transitions(simia: Simia) -> None:
    simia("bench", "collect", "found.jsonl", "bank", "--tasks", "4")
    lines = Path("found.jsonl").read_bytes()
    Path("found.jsonl").write_bytes(lines * (20_000_000 // len(lines)))
    words = ("--from", "found.jsonl", "--scale", "0.05")
    simia("bench", "build", "warm.jsonl.gz", *words)

    tracemalloc.start()
    ended = simia("bench", "build", "mine.jsonl.gz", *words)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert ended.code == 0
    assert peak < 10_000_000


def test_harvested_transitions_of_some_worlds_need_all_of_them_named(simia: Simia) -> None:
    simia("bench", "collect", "found.jsonl", "bank", "shop", "--tasks", "2")

    ended = simia("bench", "build", "mine.jsonl.gz", "bank", "--from", "found.jsonl")

    assert ended.code == 2
    assert "the transitions are of 'shop' too: name it among the worlds" in the_error_in(ended)


@pytest.mark.parametrize(
    ("perturb", "origins"),
    [
        (("--perturb", "none"), {"gold"}),
        (("--perturb", "repeated"), {"gold", "perturbed:repeated"}),
        (("--perturb", "unknown_tool"), {"gold", "perturbed:unknown_tool"}),
    ],
)
def test_only_the_perturbations_that_are_named_are_tried(
    simia: Simia, perturb: tuple[str, ...], origins: set[str]
) -> None:
    simia("bench", "collect", "found.jsonl", "bank", "--tasks", "4", *perturb)

    assert {json.loads(line)["origin"] for line in Path("found.jsonl").read_text().splitlines()} == origins


def test_a_baseline_acts_in_no_world(simia: Simia) -> None:
    ended = simia("bench", "collect", "found.jsonl", "bank", "--rollouts", "baseline:oracle")

    assert the_error_in(ended) == "error: baseline:oracle is no agent: name a model for --rollouts"


def test_what_an_agent_does_is_collected_and_paid_for_once(simia: Simia, serve: Simia) -> None:
    world = worlds.load("bank")
    tasks = list(world.tasks(3))

    def act(body: dict[str, Any]) -> str:
        messages = body["messages"]
        task = next(task for task in tasks if task.instruction in messages[1]["content"])
        made = sum(message["role"] == "assistant" for message in messages)
        if made == len(task.gold):
            return json.dumps({"say": "Done."})
        call = task.gold[made]
        return json.dumps({"calls": [{"name": call.name, "arguments": call.arguments}]})

    endpoint = serve(act)
    words = ("bench", "collect", "found.jsonl", "bank", "--tasks", "3", "--perturb", "none", "--rollouts", "tiny")

    first = simia(*words)
    asked = endpoint.server.stats()["requests"]
    found = Path("found.jsonl").read_bytes()
    refused = simia(*words)
    second = simia(*words, "--force")

    assert (first.code, refused.code, second.code) == (0, 2, 0)
    assert refused.err == "error: found.jsonl exists: take another name, or --force to replace it\n"
    assert asked == endpoint.server.stats()["requests"] > 3
    assert Path("found.jsonl").read_bytes() == found
    assert Path("found.replies.jsonl").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("found.txt", "bank"), "found.txt: transitions are written to a .jsonl or a .parquet file"),
        (("found.jsonl", "atlantis"), "no world 'atlantis'; there are "),
        (("found.jsonl", "bank", "--perturb", "shout"), "no perturbation shout; there are wrong_id, "),
    ],
)
def test_a_collection_that_cannot_be_meant_is_refused(simia: Simia, words: tuple[str, ...], told: str) -> None:
    ended = simia("bench", "collect", *words, "--tasks", "1")

    assert ended.code == 2
    assert told in the_error_in(ended)
    assert list(Path().glob("found*")) == []


RELEASED = {
    "env_code": "class Env:\n    def set(self, key, value): ...",
    "task_info": {"env_id": "env_1", "task": "Set it."},
    "step_detail": {
        "action": {"name": "set", "arguments": {"key": "a", "value": 2}},
        "observation": {"success": True},
        "config_before": {"a": 1},
        "config_after": {"a": 2},
    },
}


def test_a_released_file_becomes_a_suite_that_can_be_run(simia: Simia) -> None:
    Path("released.json").write_text(json.dumps([RELEASED]))

    converted = simia("bench", "convert", "released.json", "released.jsonl.gz")
    run = simia("bench", "run", "--suite", "released.jsonl.gz", "--model", "baseline:do-nothing", "--run", "run")

    assert (converted.code, run.code) == (0, 0)
    assert converted.out.startswith("released.jsonl.gz: 1 samples of 1 environments, SHA-256 ")
    assert "simia bench run --suite released.jsonl.gz" in converted.err
    assert any(line.split()[:4] == ["do", "nothing", "constrained", "1"] for line in run.out.splitlines())


def test_an_oracle_of_a_world_that_cannot_be_had_is_refused(simia: Simia) -> None:
    Path("released.json").write_text(json.dumps([RELEASED]))
    simia("bench", "convert", "released.json", "released.jsonl.gz")

    ended = simia("bench", "run", "--suite", "released.jsonl.gz", "--model", "baseline:oracle", "--run", "run")

    assert ended.code == 2
    assert "no world 'env_1'" in the_error_in(ended)
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("content", "target", "told"),
    [
        (json.dumps([RELEASED]), "out.json", "a suite is called *.jsonl.gz"),
        ("{", "out.jsonl.gz", "released.json is neither JSON nor JSON Lines"),
        ("[]", "out.jsonl.gz", "released.json holds no sample"),
        ('[{"a": 1}]', "out.jsonl.gz", "neither step_detail nor trajectory"),
    ],
)
def test_a_file_that_is_none_of_the_released_is_refused(simia: Simia, content: str, target: str, told: str) -> None:
    Path("released.json").write_text(content)

    ended = simia("bench", "convert", "released.json", target)

    assert ended.code == 2
    assert told in the_error_in(ended)
    assert not Path(target).exists()


# sft


def test_training_pairs_are_written_with_their_card(simia: Simia) -> None:
    words = ("library", "--tasks", "20", "--scale", "0.005", "--format", "prompt-completion")

    ended = simia("bench", "sft", "pairs", *words)

    lines = Path("pairs/prompt-completion/train.jsonl").read_text().splitlines()
    assert ended.code == 0
    assert ended.out.splitlines()[-2:] == ["pairs/prompt-completion/train.jsonl", "pairs/README.md"]
    assert json.loads(lines[0]).keys() == {"prompt", "completion"}
    assert f"{len(lines)} transitions of tool environments" in Path("pairs/README.md").read_text()


def test_the_mixture_can_be_set(simia: Simia) -> None:
    mixture = ("--mix", "failure=1", "--mix", "no_change=2", "--mix", "simple=3", "--mix", "complex=0")

    ended = simia("bench", "sft", "pairs", "library", "--tasks", "20", *mixture)

    assert ended.code == 0
    assert len(Path("pairs/prompt-completion/train.jsonl").read_text().splitlines()) == 6


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("library", "bank"), "bank: simulators are measured on these worlds"),
        (("library", "--format", "parchment"), "no export format 'parchment'; there are: "),
        (("library", "--mix", "hard=3"), "'hard=3' is no quota: write CELL=COUNT with a cell of failure"),
        (("atlantis",), "no world 'atlantis'; there are "),
    ],
)
def test_training_pairs_that_cannot_be_meant_are_refused(simia: Simia, words: tuple[str, ...], told: str) -> None:
    ended = simia("bench", "sft", "pairs", *words, "--tasks", "1")

    assert ended.code == 2
    assert told in the_error_in(ended)
    assert not Path("pairs").exists()


# fidelity


@pytest.fixture
def shop_run(simia: Simia, serve: Simia) -> str:
    """A run of simia synth that says its seeds again, word by word."""
    seeds = list(read("bundled:shop"))

    def parrot(body: dict[str, Any]) -> str:
        text = "".join(message["content"] for message in body["messages"])
        return next(
            json.dumps(exchanges.render(seed.task, seed.reference))
            for seed in seeds
            if json.dumps(seed.task, ensure_ascii=False)[1:-1] in text
        )

    serve(parrot)
    assert simia("synth", "shop", "count=4", "--run", "shop", "--until", "generate").code == 0
    return "shop"


def test_conversations_are_executed(simia: Simia, shop_run: str) -> None:
    ended = simia("bench", "fidelity", shop_run, "--world", "shop")

    assert ended.code == 0
    assert "conversations     4 with " in ended.out
    assert "started from      their seed's 4" in ended.out
    assert "observations      100.0 % (" in ended.out
    assert any(line.startswith("find_customer ") for line in ended.out.splitlines())


def test_every_executed_call_is_told_as_json(simia: Simia, shop_run: str) -> None:
    told = json.loads(simia("bench", "fidelity", shop_run, "--world", "shop", "--limit", "2", "--json").out)

    assert told["world"] == "shop"
    assert len(told["trajectories"]) == 2
    assert all(call["observation_match"] for one in told["trajectories"] for call in one["calls"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("shop", "--world", "bank"), "shop is about shop, with tools that the world 'bank' does not have"),
        (("shop", "--world", "atlantis"), "no world 'atlantis'; there are "),
        (("nowhere", "--world", "shop"), "nowhere does not exist: name the folder"),
    ],
)
def test_a_check_that_cannot_be_meant_is_refused(
    simia: Simia, shop_run: str, words: tuple[str, ...], told: str
) -> None:
    ended = simia("bench", "fidelity", *words)

    assert ended.code == 2
    assert told in the_error_in(ended)


def test_a_run_of_the_benchmark_has_no_conversation(simia: Simia, nothing: Path) -> None:
    ended = simia("bench", "fidelity", str(nothing), "--world", "bank")

    assert ended.code == 2
    assert "holds no conversation that was kept: give a run of simia synth" in the_error_in(ended)


def test_runs_show_of_a_benchmark_run_names_the_command_that_reports_it(simia: Simia, nothing: Path) -> None:
    shown = simia("runs", "show", str(nothing))

    assert shown.code == 2
    assert "simia bench report nothing" in the_error_in(shown)


def test_runs_ls_counts_the_answers_of_a_benchmark_run(simia: Simia, nothing: Path, count: int) -> None:
    (listed,) = json.loads(simia("runs", "ls", ".", "--json").out)

    assert (listed["state"], listed["asked"], listed["kept"]) == ("done", count, count)

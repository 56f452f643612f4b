"""``simia reward calibrate``: what it prints and writes, what it refuses, and that nothing is paid twice."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simia.environment.reward.calibration_run import read_calibration

Simia = Callable[..., Any]

PASS = json.dumps({"evidence": "the log", "reason": "It is done.", "rule": "T", "passes": True})
SMALL = ("--world", "lamps", "--tasks", "1", "--votes", "1")
PRICES = "[models.tiny]\ninput = 1.0\noutput = 2.0\n"


def verdicts(folder: str) -> list[dict[str, Any]]:
    lines = (Path(folder) / "streams/verdicts.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_the_help_has_an_example(simia: Simia) -> None:
    ended = simia("reward", "calibrate", "--help")

    assert ended.code == 0
    assert "simia reward calibrate" in ended.out.split("Example")[1]


def test_every_episode_is_judged_once_a_vote(simia: Simia, serve: Simia) -> None:
    endpoint = serve(lambda body: PASS)

    ended = simia("reward", "calibrate", "--world", "lamps", "--tasks", "2", "--votes", "2", "--run", "run")

    assert ended.code == 0
    assert endpoint.server.stats()["requests"] == 2 * 9 * 2
    assert len(verdicts("run")) == 18


def test_the_tables_are_printed(simia: Simia, serve: Simia) -> None:
    serve(lambda body: PASS)

    ended = simia("reward", "calibrate", *SMALL, "--run", "run")

    claim = next(line for line in ended.out.splitlines() if line.startswith("claim"))
    assert "The judge against executable truth" in ended.out
    assert "100 % (1/1)" in claim
    assert "used: " in ended.out
    assert "verdicts: " in ended.err


def test_a_quiet_run_says_only_its_result(simia: Simia, serve: Simia) -> None:
    serve(lambda body: PASS)

    assert simia("reward", "calibrate", *SMALL, "--run", "run", "--quiet").err == ""


def test_figures_and_tables_are_written_to_files(simia: Simia, serve: Simia) -> None:
    serve(lambda body: PASS)

    ended = simia("reward", "calibrate", *SMALL, "--run", "run", "--json", "out/j.json", "--markdown", "out/j.md")

    figures = json.loads(Path("out/j.json").read_text())
    assert ended.code == 0
    assert (figures["judge"], figures["episodes"], figures["kinds"]["claim"]["false_passes"]["hits"]) == ("tiny", 9, 1)
    assert Path("out/j.md").read_text().startswith("### The judge against executable truth")


def test_a_judge_without_a_verdict_is_measured_too(simia: Simia, serve: Simia) -> None:
    serve(lambda body: "I cannot say.")

    ended = simia("reward", "calibrate", *SMALL, "--run", "run", "judge.max_repairs=0", "--json", "j.json")

    figures = json.loads(Path("j.json").read_text())
    assert ended.code == 0
    assert (figures["masked"], figures["unreadable_votes"]["value"]) == (9, 1.0)


def test_a_resumed_run_asks_nothing_twice_and_needs_no_settings_again(simia: Simia, serve: Simia) -> None:
    endpoint = serve(lambda body: PASS)
    simia("reward", "calibrate", *SMALL, "--run", "run")

    ended = simia("reward", "calibrate", "--run", "run", "--resume")

    assert ended.code == 0
    assert endpoint.server.stats()["requests"] == 9


def test_a_finished_run_can_be_read_without_a_model(simia: Simia, serve: Simia) -> None:
    serve(lambda body: PASS)
    simia("reward", "calibrate", *SMALL, "--run", "run", "--json", "j.json")

    figures = json.loads(Path("j.json").read_text())
    assert figures == {"judge": "tiny", **read_calibration(Path("run")).as_json()}


def test_a_resumed_run_may_take_more_tasks(simia: Simia, serve: Simia) -> None:
    endpoint = serve(lambda body: PASS)
    simia("reward", "calibrate", "--world", "lamps", "--world", "bank", "--tasks", "1", "--votes", "1", "--run", "run")

    ended = simia("reward", "calibrate", "--run", "run", "--resume", "--tasks", "2")

    assert ended.code == 0
    assert endpoint.server.stats()["requests"] == 2 * 2 * 9
    assert len({verdict["n"] for verdict in verdicts("run")}) == 2 * 2 * 9


def test_an_answer_that_was_paid_for_is_on_disk_before_it_is_read(simia: Simia, serve: Simia) -> None:
    endpoint = serve(lambda body: PASS)
    simia("reward", "calibrate", *SMALL, "--run", "run")
    (Path("run") / "streams/verdicts.jsonl").unlink()

    ended = simia("reward", "calibrate", "--run", "run", "--resume")

    assert ended.code == 0
    assert len(verdicts("run")) == 9
    assert endpoint.server.stats()["requests"] == 9


def test_a_run_of_other_settings_is_not_gone_on_with(simia: Simia, serve: Simia) -> None:
    serve(lambda body: PASS)
    simia("reward", "calibrate", *SMALL, "--run", "run")

    ended = simia("reward", "calibrate", "--run", "run", "--resume", "--votes", "3")

    assert ended.code == 2
    assert "config.judge.votes: was 1, now 3" in ended.err


def test_a_run_of_another_command_is_not_gone_on_with(simia: Simia, serve: Simia) -> None:
    serve(lambda body: PASS)
    simia("reward", "calibrate", *SMALL, "--run", "run")

    ended = simia("bench", "run", "--run", "run", "--resume")

    assert ended.code == 2
    assert "holds a run of simia reward calibrate, which simia bench run cannot go on with" in ended.err


def test_a_ceiling_ends_the_run_and_keeps_what_was_judged(simia: Simia, serve: Simia) -> None:
    serve(lambda body: PASS)
    Path("prices.toml").write_text(PRICES)
    words = (*SMALL, "--run", "run", "model.prices=prices.toml", "model.max_in_flight=1")

    ended = simia("reward", "calibrate", *words, "--max-cost", "0.005")

    assert ended.code == 1
    assert "go on with a higher ceiling in the place of USD" in ended.err
    assert 0 < len(verdicts("run")) < 9


def test_a_dry_run_asks_and_writes_nothing(simia: Simia, serve: Simia) -> None:
    endpoint = serve(lambda body: PASS)

    ended = simia("reward", "calibrate", "--world", "lamps", "--tasks", "2", "--dry-run")

    assert ended.code == 0
    assert "requests    54" in ended.out
    assert endpoint.server.stats()["requests"] == 0
    assert not list(Path().glob("*/run.json"))


def test_a_dry_run_of_a_run_tells_what_it_lacks(simia: Simia, serve: Simia) -> None:
    serve(lambda body: PASS)
    simia("reward", "calibrate", *SMALL, "--run", "run")

    ended = simia("reward", "calibrate", "--run", "run", "--resume", "--tasks", "3", "--dry-run")

    assert "requests    18" in ended.out


def test_the_run_is_shown_as_any_other(simia: Simia, serve: Simia) -> None:
    serve(lambda body: PASS)
    simia("reward", "calibrate", *SMALL, "--run", "run")

    ended = simia("runs", "show", "run")

    assert ended.code == 0
    assert "verdicts" in ended.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no folder for the run: add --run DIR"),
        (("--run", "run", "--resume"), "run holds no run to go on with"),
        (("--run", "run", "--world", "nowhere"), "no world 'nowhere'"),
        (("--run", "run", "--world", "bank", "--world", "bank"), "worlds: name one world or more, each once"),
        (("--run", "run", "judge.votse=1"), "judge.votse: unknown key"),
        (("--run", "run", "--json", "a", "--markdown", "a"), "--json and --markdown name one file"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_asked(
    simia: Simia, serve: Simia, words: tuple[str, ...], said: str
) -> None:
    endpoint = serve(lambda body: PASS)

    ended = simia("reward", "calibrate", *words)

    assert ended.code == 2
    assert said in ended.err
    assert endpoint.server.stats()["requests"] == 0
    assert not Path("run").exists()

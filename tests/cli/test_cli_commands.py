"""What the commands print when all is well."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simia.store.lock import RunLock

Simia = Callable[..., Any]


@pytest.fixture
def done(simia: Simia, serve: Simia, world: Path) -> Path:
    """A finished run."""
    serve()
    assert simia("synth", str(world), "--run", "runs/first").code == 0
    return Path("runs/first")


def test_help_names_every_command(simia: Simia) -> None:
    ended = simia("--help")

    assert ended.code == 0
    for name in ("synth", "prefilter", "generate", "postprocess", "export", "seeds", "runs", "world", "models"):
        assert f" {name} " in ended.out


COMMANDS = (
    "synth, prefilter, generate, postprocess, export, seeds inspect, seeds convert, runs ls, runs show, runs diff, "
    "world new, world check, world ls, world show, world play, models ls, models check, models pull, settings"
)


@pytest.mark.parametrize("command", COMMANDS.split(", "))
def test_the_help_of_a_command_has_an_example(simia: Simia, command: str) -> None:
    ended = simia(*command.split(), "--help")

    assert ended.code == 0
    assert f"simia {command}" in ended.out.split("Example")[1]


def test_the_version_is_printed(simia: Simia) -> None:
    assert simia("--version").out.startswith("simia 0.")


def test_help_imports_no_room() -> None:
    code = "import sys, simia.cli.main; print([m for m in sys.modules if m.split('.')[0] in sys.argv[1:]])"

    heavy = subprocess.run(
        [sys.executable, "-c", code, "pydantic", "orjson", "aiohttp", "rich", "uvloop", "jinja2", "asyncio"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert heavy.stdout.strip() == "[]"


def test_an_estimate_asks_nothing_and_writes_nothing(simia: Simia, serve: Simia, world: Path) -> None:
    endpoint = serve()

    ended = simia("synth", str(world), "--run", "run", "--dry-run")

    assert ended.code == 0
    assert "conversations  6 from 3 seeds" in ended.out
    assert endpoint.server.stats()["requests"] == 0
    assert not Path("run").exists()


def test_an_estimate_has_the_cost_of_the_users_prices(simia: Simia, serve: Simia, world: Path) -> None:
    serve()
    Path("prices.toml").write_text("[models.tiny]\ninput = 1000000.0\noutput = 0.0\n")

    ended = simia("synth", str(world), f"model.prices={Path('prices.toml').resolve()}", "--dry-run")

    tokens = next(line for line in ended.out.splitlines() if line.startswith("tokens in")).split()[3].rstrip(",")
    assert f"cost           ${tokens}.00" in ended.out


def test_a_limit_makes_fewer_conversations(simia: Simia, serve: Simia, world: Path) -> None:
    serve()

    assert "generate kept 2 of 2" in simia("synth", str(world), "--run", "run", "--limit", "2").out


def test_a_limit_never_makes_more(simia: Simia, serve: Simia, world: Path) -> None:
    serve()

    assert "generate kept 6 of 6" in simia("synth", str(world), "--run", "run", "--limit", "50").out


def test_the_stages_one_by_one_make_what_synth_makes(simia: Simia, serve: Simia, world: Path) -> None:
    serve()
    simia("synth", str(world), "--run", "run", "--until", "prefilter")

    codes = [simia(stage, "run").code for stage in ("generate", "postprocess", "export")]

    assert codes == [0, 0, 0]
    assert len(Path("run/export/trl/train.jsonl").read_text().splitlines()) == 6


def test_resuming_a_finished_run_asks_nothing_again(simia: Simia, serve: Simia, world: Path, done: Path) -> None:
    endpoint = serve()

    ended = simia("synth", str(world), "--run", str(done), "--resume")

    assert ended.code == 0
    assert endpoint.server.stats()["requests"] == 0


def test_runs_are_listed_with_what_they_kept(simia: Simia, done: Path) -> None:
    header, row = simia("runs", "ls").out.splitlines()

    assert header.split() == ["run", "created", "model", "state", "asked", "kept", "failed", "cost"]
    assert row.split()[0] == "runs/first"
    assert row.split()[3:8] == ["tiny", "done", "6", "6", "0"]


def test_a_run_that_is_being_written_is_listed_as_running(simia: Simia, done: Path) -> None:
    lock = RunLock(done)
    try:
        assert " running " in simia("runs", "ls").out
    finally:
        lock.release()


def test_a_run_that_cannot_be_read_does_not_hide_the_others(simia: Simia, done: Path) -> None:
    broken = Path("runs/broken")
    broken.mkdir()
    (broken / "run.json").write_text("{")

    ended = simia("runs", "ls")

    assert ended.code == 0
    assert "runs/first" in ended.out
    assert "unreadable" in ended.out
    assert "is no manifest" in ended.err


def test_a_run_is_shown_with_its_funnel(simia: Simia, done: Path) -> None:
    out = simia("runs", "show", str(done)).out

    assert "licences    MIT" in out
    assert "Trajectories kept              6  100 %" in out


def test_a_run_is_shown_as_json(simia: Simia, done: Path) -> None:
    shown = json.loads(simia("runs", "show", str(done), "--json").out)

    assert [(stage["name"], stage["kept"]) for stage in shown["stages"]] == [
        ("prefilter", 3),
        ("generate", 6),
        ("postprocess", 6),
    ]
    assert shown["licences"] == ["MIT"]


def test_a_run_is_shown_as_a_page(simia: Simia, done: Path) -> None:
    ended = simia("runs", "show", str(done), "--html", "page/first.html")

    assert ended.code == 0
    assert "<title>depot · simia run</title>" in Path("page/first.html").read_text()


def test_a_page_replaces_an_older_one(simia: Simia, done: Path) -> None:
    Path("first.html").write_text("old")

    simia("runs", "show", str(done), "--html", "first.html", "--most-shown", "2")

    assert "2 of 6 items" in Path("first.html").read_text()


def test_two_runs_differ_in_settings_and_counts(simia: Simia, world: Path, done: Path) -> None:
    simia("synth", str(world), "count=4", "--run", "runs/second")

    differences = json.loads(simia("runs", "diff", str(done), "runs/second", "--json").out)

    assert differences["config.count"] == {"a": 6, "b": 4}
    assert differences["generate: kept"] == {"a": 6, "b": 4}


def test_a_run_does_not_differ_from_itself(simia: Simia, done: Path) -> None:
    assert simia("runs", "diff", str(done), str(done)).out == "no difference\n"


def test_seeds_are_counted(simia: Simia, world: Path) -> None:
    counted = json.loads(simia("seeds", "inspect", str(world), "--json").out)

    assert counted["seeds"] == 3
    assert counted["worlds"] == {"depot": 3}
    assert counted["licences"] == {"MIT": 3}
    assert counted["calls_by_tool"] == {"get_order": 3}


def test_bad_records_are_counted_by_reason(simia: Simia, world: Path) -> None:
    with (world / "seeds.jsonl").open("a") as file:
        file.write("{\n{\n")

    ended = simia("seeds", "inspect", str(world))

    assert "bad       2 records" in ended.out
    assert "seeds.jsonl:4" in ended.err


def test_converted_seeds_are_the_same_seeds(simia: Simia, world: Path) -> None:
    from simia.seeds import read

    ended = simia("seeds", "convert", str(world), "out/seeds.jsonl")

    assert ended.code == 0
    before, after = list(read(str(world))), list(read("out/seeds.jsonl"))
    assert [seed.reference for seed in after] == [seed.reference for seed in before]
    assert [(seed.id, seed.task, seed.licence, seed.world.policy, seed.world.tools) for seed in after] == [
        (seed.id, seed.task, seed.licence, seed.world.policy, seed.world.tools) for seed in before
    ]


def test_converting_leaves_bad_records_out_and_says_so_by_its_exit_code(simia: Simia, world: Path) -> None:
    with (world / "seeds.jsonl").open("a") as file:
        file.write("{\n")

    ended = simia("seeds", "convert", str(world), "seeds.jsonl")

    assert ended.code == 1
    assert "3 seeds written to seeds.jsonl, 1 bad records left out" in ended.out


def test_converting_never_replaces_a_file_unasked(simia: Simia, world: Path) -> None:
    Path("seeds.jsonl").write_text("mine")

    ended = simia("seeds", "convert", str(world), "seeds.jsonl")

    assert ended.code == 2
    assert Path("seeds.jsonl").read_text() == "mine"


def test_a_conversion_that_fails_leaves_no_file(simia: Simia, world: Path) -> None:
    (world / "seeds.jsonl").write_text("{\n")

    assert simia("seeds", "convert", str(world), "out.jsonl").code == 2
    assert [path.name for path in Path().iterdir() if "out.jsonl" in path.name] == []


def test_models_are_listed_where_they_come_from(simia: Simia, serve: Simia) -> None:
    endpoint = serve(model="tiny")

    offers = json.loads(simia("models", "ls", "--json").out)

    assert offers["endpoint"] == {"address": endpoint.base_url, "models": ["tiny"], "note": ""}
    assert offers["ollama"]["note"] == "nothing answers"
    assert offers["embedded"]["models"] == ["SmolLM2-135M-Instruct"]


def test_a_model_is_checked_with_one_small_request(simia: Simia, serve: Simia) -> None:
    endpoint = serve(lambda body: "ready", model="tiny")

    ended = simia("models", "check")

    assert ended.err == f"model: tiny (tiny at {endpoint.base_url}, from OPENAI_BASE_URL)\n"
    assert ended.out.startswith("tiny answered in ")
    assert ended.out.endswith(": 'ready'\n")
    assert endpoint.server.stats()["requests"] == 1


def test_the_mock_endpoint_explains_itself(simia: Simia) -> None:
    ended = simia("models", "mock", "--help")

    assert ended.code == 0
    assert ended.out.startswith("usage: simia models mock [-h]")
    assert "--fault-rate" in ended.out
    assert "mock_server" not in ended.out


def test_the_help_of_model_names_every_form(simia: Simia) -> None:
    out = simia("synth", "--help").out

    assert all(form in out for form in ("embedded", "gguf:PATH", "cassette:FILE"))


@pytest.mark.parametrize(
    ("stage", "setting"),
    [
        ("prefilter", "model.max_in_flight=8"),
        ("generate", "count=200"),
        ("postprocess", "dedup.near=0.8"),
        ("export", "export.reasoning=strip"),
    ],
)
def test_the_setting_that_the_help_of_a_stage_names_is_one_that_it_takes(
    simia: Simia, done: Path, stage: str, setting: str
) -> None:
    assert setting in simia(stage, "--help").out
    assert simia(stage, str(done), setting).code == 0


def test_several_models_are_told_each_with_its_roles(simia: Simia, serve: Simia, world: Path) -> None:
    judge, main = serve(model="large"), serve(model="tiny")
    words = ["prefilter.judge=true", "roles.judge.name=large", f"roles.judge.base_url={judge.base_url}"]

    ended = simia("synth", str(world), *words, "--dry-run")

    assert ended.err.splitlines()[:2] == [
        f"model: tiny at {main.base_url}, from OPENAI_BASE_URL",
        f"judge: large at {judge.base_url}, from base_url in the settings",
    ]

"""Bad input and faults: one clear line with what to do, the right exit code, and nothing lost."""

import json
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simia.store import Manifest, Run

Simia = Callable[..., Any]


def streams_of(folder: Path) -> dict[str, set[str]]:
    """Which lines each stream holds, without their order."""
    return {path.stem: set(path.read_text().splitlines()) for path in (folder / "streams").glob("*.jsonl")}


def the_error_in(ended: Any) -> str:
    """The one line that tells the error; nothing but it may begin so, and no traceback may stand beside it."""
    lines = [line for line in ended.err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, ended.err
    assert "Traceback" not in ended.err
    return str(lines[0])


def test_a_missing_key_is_named_by_its_variable(simia: Simia, serve: Simia, world: Path) -> None:
    serve(key="right")

    ended = simia("synth", str(world), "--run", "run")

    assert ended.code == 2
    assert "OPENAI_API_KEY" in the_error_in(ended)
    assert not Path("run").exists()


def test_a_wrong_key_is_refused_and_never_repeated(
    simia: Simia, serve: Simia, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(key="right")
    monkeypatch.setenv("OPENAI_API_KEY", "wrong-and-secret")

    ended = simia("synth", str(world), "--run", "run")

    assert ended.code == 2
    assert "OPENAI_API_KEY" in the_error_in(ended)
    assert "wrong-and-secret" not in ended.err + ended.out


def test_an_unreachable_endpoint_is_named(simia: Simia, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")

    ended = simia("synth", str(world), "--run", "run")

    assert ended.code == 1
    assert "cannot reach http://127.0.0.1:9/v1" in the_error_in(ended)
    assert "is the server running?" in ended.err


def test_a_model_that_does_not_exist_is_named_with_those_that_do(simia: Simia, serve: Simia, world: Path) -> None:
    serve(model="tiny")

    ended = simia("synth", str(world), "--run", "run", "--model", "huge")

    assert ended.code == 2
    assert "it does not list this name (tiny)" in ended.err
    assert "does not serve the model 'huge': check --model" in the_error_in(ended)
    assert not Path("run").exists()
    assert simia("synth", str(world), "--run", "run", "--model", "tiny").code == 0


@pytest.mark.parametrize("structured", ["json_object", "off"])
def test_a_server_without_structured_output_is_served_all_the_same(
    simia: Simia, serve: Simia, world: Path, structured: str
) -> None:
    serve(structured=structured)

    ended = simia("synth", str(world), "--run", "run")

    assert ended.code == 0
    assert "generate kept 6 of 6" in ended.out


def test_a_run_whose_prompts_exceed_the_context_keeps_nothing_and_says_why(
    simia: Simia, serve: Simia, world: Path
) -> None:
    serve(context=50)

    ended = simia("synth", str(world), "--run", "run")

    assert ended.code == 1
    assert "generate kept 0 of 6, 6 dropped (context_overflow 6)" in ended.out
    assert "generate kept nothing; 6 times context_overflow, for example seed-0#0:" in ended.err
    assert "maximum context length is 50 tokens" in ended.err
    assert "lower simulate.exemplar_chars or simulate.max_tokens in a new --run; for a model that simia" in ended.err


def test_a_full_disk_ends_the_run_and_loses_nothing(simia: Simia, serve: Simia, world: Path) -> None:
    serve()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (7000, hard))
    try:
        full = simia("synth", str(world), "model.max_in_flight=1", "--run", "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    saved = streams_of(Path("run"))["generate"]

    resumed = simia("synth", str(world), "model.max_in_flight=1", "--run", "run", "--resume")

    assert full.code == 1
    assert "free some space there, then go on with --resume" in the_error_in(full)
    assert f"go on with: simia synth {world} model.max_in_flight=1 --run run --resume" in full.err
    assert resumed.code == 0
    assert saved
    assert saved <= streams_of(Path("run"))["generate"]


def test_an_empty_seeds_file_is_named(simia: Simia, serve: Simia, world: Path) -> None:
    serve()
    (world / "seeds.jsonl").write_text("")

    ended = simia("synth", str(world), "--run", "run")

    assert ended.code == 2
    assert "seeds.jsonl is empty: a seed file needs at least one record" in the_error_in(ended)


def test_a_missing_seeds_file_is_named(simia: Simia, serve: Simia, world: Path) -> None:
    serve()

    ended = simia("synth", str(world), "seeds.source=nowhere.jsonl", "--run", "run")

    assert ended.code == 2
    assert "nowhere.jsonl" in the_error_in(ended)


def test_seeds_in_an_unknown_format_are_refused(simia: Simia, serve: Simia, world: Path, tmp_path: Path) -> None:
    serve()
    (tmp_path / "odd.jsonl").write_text('{"question": "?", "answer": "!"}\n')

    ended = simia("synth", str(world), f"seeds.source={tmp_path / 'odd.jsonl'}", "--run", "run")

    assert ended.code == 2
    assert "odd.jsonl" in the_error_in(ended)


def test_a_format_that_nobody_knows_is_refused(simia: Simia, tmp_path: Path) -> None:
    (tmp_path / "odd.jsonl").write_text("{}\n")

    ended = simia("seeds", "inspect", "odd.jsonl", "--format", "parchment")

    assert ended.code == 2
    assert "parchment" in the_error_in(ended)


def test_one_bad_record_is_named_and_the_run_goes_on(simia: Simia, serve: Simia, world: Path) -> None:
    serve()
    with (world / "seeds.jsonl").open("a") as file:
        file.write('{"messages": "none"}\n')

    ended = simia("synth", str(world), "--run", "run")

    assert ended.code == 0
    assert "prefilter kept 3 of 4, 1 dropped" in ended.out
    assert "seeds.jsonl:4" in Path("run/streams/prefilter.jsonl").read_text()


def test_a_tool_schema_that_is_none_is_named(simia: Simia, serve: Simia, world: Path) -> None:
    serve()
    tool = {"name": "get_order", "parameters": {"type": "objekt"}}
    (world / "tools.json").write_text(json.dumps([tool]))

    ended = simia("synth", str(world), "--run", "run")

    assert ended.code == 2
    assert "tools.json" in the_error_in(ended)
    assert "get_order" in the_error_in(ended)


def test_a_run_of_another_configuration_is_refused_with_the_keys_that_differ(
    simia: Simia, serve: Simia, world: Path
) -> None:
    serve()
    simia("synth", str(world), "--run", "run")
    before = streams_of(Path("run"))

    ended = simia("synth", str(world), "seed=7", "--run", "run", "--resume")

    assert ended.code == 2
    assert "config.seed: was 0, now 7" in the_error_in(ended)
    assert streams_of(Path("run")) == before


def test_a_run_is_never_begun_twice_in_one_folder(simia: Simia, serve: Simia, world: Path) -> None:
    serve()
    simia("synth", str(world), "--run", "run")

    ended = simia("synth", str(world), "--run", "run")

    assert ended.code == 2
    assert "add --resume to go on with it" in the_error_in(ended)


def test_a_folder_without_a_run_cannot_be_resumed(simia: Simia, world: Path) -> None:
    ended = simia("synth", str(world), "--run", "run", "--resume")

    assert ended.code == 2
    assert "leave --resume out" in the_error_in(ended)


def test_a_second_process_on_one_run_is_refused(simia: Simia, serve: Simia, world: Path) -> None:
    serve()
    simia("synth", str(world), "--run", "run")
    with Run.read(Path("run")) as run:
        manifest: Manifest = run.manifest

    with Run.resume(Path("run"), manifest):
        ended = simia("postprocess", "run")

    assert ended.code == 2
    assert "run" in the_error_in(ended)
    assert simia("postprocess", "run").code == 0


def test_a_cost_ceiling_ends_the_run_and_a_higher_one_finishes_it(simia: Simia, serve: Simia, world: Path) -> None:
    endpoint = serve()
    prices = Path("prices.toml")
    prices.write_text("[models.tiny]\ninput = 1.0\noutput = 2.0\n")
    words = ["synth", str(world), f"model.prices={prices.resolve()}", "model.max_in_flight=1", "--run", "run"]

    stopped = simia(*words, "--max-cost", "0.02")
    asked = endpoint.server.stats()["requests"]
    resumed = simia(*words, "--max-cost", "9", "--resume")

    assert stopped.code == 1
    assert "resume with a higher --max-cost" in the_error_in(stopped)
    assert resumed.code == 0
    assert "generate kept 6 of 6" in resumed.out
    assert 0 < asked < 6
    assert endpoint.server.stats()["requests"] == 6


def test_a_ceiling_without_a_price_is_refused_before_anything_is_asked(simia: Simia, serve: Simia, world: Path) -> None:
    endpoint = serve()

    ended = simia("synth", str(world), "--run", "run", "--max-cost", "1")

    assert ended.code == 2
    assert "no price is known for the model 'tiny'" in the_error_in(ended)
    assert endpoint.server.stats()["requests"] == 0


def test_a_stage_before_its_input_says_which_stage_to_run(simia: Simia, serve: Simia, world: Path) -> None:
    serve()
    simia("synth", str(world), "--run", "run", "--until", "prefilter")

    ended = simia("postprocess", "run")

    assert ended.code == 2
    assert "run the stage generate first" in the_error_in(ended)


def test_a_recipe_that_does_not_exist_is_told_with_those_that_do(simia: Simia) -> None:
    ended = simia("synth", "shoop", "--run", "run")

    assert ended.code == 2
    assert "office, shop" in the_error_in(ended)


def test_an_unknown_setting_is_told_with_those_that_are_known(simia: Simia, world: Path) -> None:
    ended = simia("synth", str(world), "plan.cuont=3", "--run", "run")

    assert ended.code == 2
    assert "plan.cuont: unknown key (known:" in the_error_in(ended)


def test_a_word_that_is_no_setting_is_refused(simia: Simia, world: Path) -> None:
    ended = simia("synth", str(world), "fifty", "--run", "run")

    assert ended.code == 2
    assert the_error_in(ended).endswith("write key=value, for example seed=1")
    assert simia("synth", str(world), "count=50", "--run", "run", "--dry-run", "--model", "embedded").code == 0


def test_synth_without_a_folder_says_how_to_name_one(simia: Simia, world: Path) -> None:
    ended = simia("synth", str(world))

    assert ended.code == 2
    assert "add --run DIR" in the_error_in(ended)


def test_a_file_that_cannot_be_written_is_named(simia: Simia, serve: Simia, world: Path) -> None:
    serve()
    simia("synth", str(world), "--run", "run")
    Path("page").mkdir()

    ended = simia("runs", "show", "run", "--html", "page")

    assert ended.code == 1
    assert "page" in the_error_in(ended)


def test_a_folder_without_a_run_is_named(simia: Simia) -> None:
    Path("empty").mkdir()

    ended = simia("runs", "show", "empty")

    assert ended.code == 2
    assert "empty holds no run" in the_error_in(ended)


def test_debug_shows_the_traceback(simia: Simia) -> None:
    with pytest.raises(Exception, match="does not exist"):
        simia("--debug", "runs", "show", "nowhere")


def test_an_unknown_command_is_wrong_usage(simia: Simia) -> None:
    assert simia("sing").code == 2


def test_a_corrupt_stream_is_told_with_its_file(simia: Simia, serve: Simia, world: Path) -> None:
    serve()
    simia("synth", str(world), "--run", "run")
    stream = Path("run/streams/generate.jsonl")
    lines = stream.read_text().splitlines(keepends=True)
    stream.write_text("".join([lines[0], "garbage\n", *lines[1:]]))

    ended = simia("runs", "show", "run")

    assert ended.code == 1
    assert "generate.jsonl cannot be read" in the_error_in(ended)


def test_a_lost_export_is_made_again_without_any_model(
    simia: Simia, serve: Simia, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve().close()
    monkeypatch.delenv("OPENAI_BASE_URL")
    serve()
    simia("synth", str(world), "--run", "run")
    before = Path("run/export/trl/train.jsonl").read_bytes()
    shutil.rmtree("run/export")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")

    ended = simia("export", "run")

    assert ended.code == 0
    assert Path("run/export/trl/train.jsonl").read_bytes() == before

"""Going on with a run: what may change in between, what may not, and what a command in vain leaves behind."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simia.models.mock_faults import Faults

Simia = Callable[..., Any]

PRICES = "[models.tiny]\ninput = 1.0\noutput = 2.0\n"


def recorded(key: str) -> Any:
    """The setting ``key`` in the manifest of the run in ``run``."""
    value = json.loads(Path("run/run.json").read_text())["config"]
    for part in key.split("."):
        value = value[part]
    return value


def records(target: str = "trl") -> int:
    return len(Path(f"run/export/{target}/train.jsonl").read_text().splitlines())


@pytest.fixture
def done(simia: Simia, serve: Simia, world: Path) -> Any:
    """A finished run in ``run``; gives its endpoint."""
    endpoint = serve()
    assert simia("synth", str(world), "--run", "run").code == 0
    return endpoint


def test_a_run_inside_its_world_folder_goes_on(simia: Simia, serve: Simia, world: Path) -> None:
    serve()
    simia("synth", str(world), "--run", str(world / "runs/mine"), "--until", "prefilter")

    assert simia("synth", str(world), "--run", str(world / "runs/mine"), "--resume").code == 0


def test_a_run_goes_on_after_its_project_was_moved(simia: Simia, world: Path, done: Any, tmp_path: Path) -> None:
    moved = tmp_path / "moved/library"
    moved.parent.mkdir()
    shutil.move(world, moved)

    assert simia("synth", str(moved), "--run", "run", "--resume").code == 0


def test_conversations_are_added_although_the_seed_files_are_gone(simia: Simia, world: Path, done: Any) -> None:
    shutil.rmtree(world)

    assert simia("generate", "run", "count=8").code == 0


def test_seeds_that_are_gone_are_asked_for_by_the_stage_that_reads_them(
    simia: Simia, world: Path, done: Any, tmp_path: Path
) -> None:
    shutil.move(world, tmp_path / "moved")

    lost, found = simia("prefilter", "run"), simia("prefilter", "run", "seeds.source=moved")

    assert lost.code == 2
    assert (
        f"there are no seeds at {world}: check the path, or say where they are now with seeds.source=PATH" in lost.err
    )
    assert found.code == 0


def test_a_run_from_other_seeds_is_refused(simia: Simia, world: Path, done: Any) -> None:
    seeds = world / "seeds.jsonl"
    seeds.write_text(seeds.read_text().replace("S2", "S9"))

    ended = simia("synth", str(world), "--run", "run", "--resume")

    assert ended.code == 2
    assert "seeds.seeds.jsonl has changed" in ended.err


def test_a_stage_reaches_the_model_as_the_run_did(
    simia: Simia, serve: Simia, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = serve(key="open-sesame")
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.setenv("MY_KEY", "open-sesame")
    words = [f"model.base_url={endpoint.base_url}", "model.api_key_env=MY_KEY", "model.timeout_s=77"]
    assert simia("synth", str(world), *words, "--run", "run", "--until", "prefilter").code == 0

    ended = simia("generate", "run")

    assert ended.code == 0
    assert recorded("model.timeout_s") == 77
    assert "open-sesame" not in Path("run/run.json").read_text()


def test_a_stage_keeps_the_ceiling_of_the_run_until_it_gets_another(simia: Simia, serve: Simia, world: Path) -> None:
    serve()
    Path("prices.toml").write_text(PRICES)
    simia(
        "synth", str(world), "model.prices=prices.toml", "--max-cost", "0.001", "--run", "run", "--until", "prefilter"
    )

    stopped, resumed = simia("generate", "run"), simia("generate", "run", "--max-cost", "9")

    assert stopped.code == 1
    assert "--max-cost" in stopped.err
    assert resumed.code == 0
    assert recorded("model.max_cost") == 9


def test_a_format_can_be_added_after_the_run(simia: Simia, done: Any) -> None:
    asked = done.server.stats()["requests"]

    ended = simia("export", "run", 'export.formats=["trl", "openai"]')

    assert ended.code == 0
    assert records("openai") == records("trl") == 6
    assert recorded("export.formats") == ["trl", "openai"]
    assert done.server.stats()["requests"] == asked


@pytest.mark.parametrize("name", ["../../../evil", "my set/x"])
def test_a_data_set_is_never_written_outside_its_run(simia: Simia, done: Any, name: str) -> None:
    before = {path for path in Path().rglob("*") if path.is_file()}

    ended = simia("export", "run", f"export.name={name}", 'export.formats=["llamafactory"]')

    assert ended.code == 2
    assert "export.name: String should match pattern" in ended.err
    assert {path for path in Path().rglob("*") if path.is_file()} == before


def test_a_renamed_data_set_leaves_nothing_of_the_old_name(simia: Simia, done: Any) -> None:
    words = ["export", "run", 'export.formats=["llamafactory"]']

    assert simia(*words).code == simia(*words, "export.name=second").code == 0
    assert sorted(path.name for path in Path("run/export/llamafactory").iterdir()) == [
        "dataset_info.json",
        "second_hermes.jsonl",
        "second_sharegpt.jsonl",
    ]


def test_copies_can_be_judged_anew_after_the_run(simia: Simia, world: Path, done: Any) -> None:
    assert simia("postprocess", "run", "dedup.near=0.9").code == 0
    assert recorded("dedup.near") == 0.9
    assert simia("synth", str(world), "dedup.near=0.8", "--run", "run", "--resume").code == 0
    assert recorded("dedup.near") == 0.8


def test_a_stage_refuses_a_setting_that_another_one_uses(simia: Simia, done: Any) -> None:
    ended = simia("export", "run", "dedup.near=0.9")

    assert ended.code == 2
    assert "give it to simia postprocess" in ended.err
    assert recorded("dedup.near") != 0.9


def test_what_was_made_by_a_setting_is_not_renamed_by_a_resume_that_does_not_make_it(
    simia: Simia, world: Path, done: Any
) -> None:
    simia("synth", str(world), "dedup.near=0.9", "--run", "run", "--resume", "--until", "generate")

    assert recorded("dedup.near") != 0.9


@pytest.mark.parametrize(
    "command", [("synth", "{world}", "count=9", "--run", "run", "--resume"), ("generate", "run", "count=9")]
)
def test_a_run_can_grow(simia: Simia, world: Path, done: Any, command: tuple[str, ...]) -> None:
    asked = done.server.stats()["requests"]

    ended = simia(*(word.format(world=world) for word in command))

    assert ended.code == 0
    assert "generate kept 9 of 9" in ended.out
    assert done.server.stats()["requests"] == asked + 3
    assert recorded("count") == 9


def test_a_run_cannot_shrink(simia: Simia, done: Any) -> None:
    ended = simia("generate", "run", "count=5")

    assert ended.code == 2
    assert "config.count: was 6, now 5" in ended.err


def test_a_stage_refuses_what_would_make_it_another_run(simia: Simia, done: Any) -> None:
    ended = simia("generate", "run", "simulate.temperature=0.5")

    assert ended.code == 2
    assert "config.simulate.temperature: was 1.0, now 0.5" in ended.err


def test_a_rehearsal_says_whether_a_run_can_be_gone_on_with(simia: Simia, world: Path, done: Any) -> None:
    before = Path("run/run.json").read_bytes()

    same = simia("synth", str(world), "count=7", "--run", "run", "--resume", "--dry-run")
    other = simia("synth", str(world), "seed=7", "--run", "run", "--resume", "--dry-run")

    assert (same.code, other.code) == (0, 2)
    assert "config.seed: was 0, now 7" in other.err
    assert Path("run/run.json").read_bytes() == before


def test_a_rehearsal_estimates_what_a_run_still_lacks(simia: Simia, world: Path, done: Any) -> None:
    whole = simia("synth", str(world), "--run", "run", "--resume", "--dry-run")
    grown = simia("synth", str(world), "count=8", "--run", "run", "--resume", "--dry-run")

    assert "6 of 6 made: no model would be asked" in whole.out
    assert "made           6 conversations, cost so far" in grown.out
    assert "conversations  2 from" in grown.out


def empty_the_seeds(world: Path) -> None:
    (world / "seeds.jsonl").write_text("")


def break_a_schema(world: Path) -> None:
    (world / "tools.json").write_text('[{"name": "get_order", "parameters": {"type": "objekt"}}]')


def rename_the_tool(world: Path) -> None:
    tools = world / "tools.json"
    tools.write_text(tools.read_text().replace("get_order", "find_order"))


def nothing(world: Path) -> None:
    """Leave the world as it is."""


IN_VAIN = [
    (empty_the_seeds, ()),
    (break_a_schema, ()),
    (rename_the_tool, ()),
    (nothing, ("--max-cost", "5")),
    (nothing, ("model.prices=nowhere.toml",)),
    (nothing, ('export.formats=["trl", "parchment"]',)),
    (nothing, ('postprocess.passes=["polish"]',)),
]


@pytest.mark.parametrize(("spoil", "words"), IN_VAIN)
def test_a_command_in_vain_leaves_no_folder_and_the_corrected_one_begins(
    simia: Simia, serve: Simia, world: Path, spoil: Callable[[Path], None], words: tuple[str, ...]
) -> None:
    endpoint = serve()
    sound = {path: path.read_bytes() for path in world.iterdir()}
    spoil(world)

    failed = simia("synth", str(world), *words, "--run", "run")
    for path, content in sound.items():
        path.write_bytes(content)
    asked = endpoint.server.stats()["requests"]
    gone = not Path("run").exists()
    corrected = simia("synth", str(world), "--run", "run")

    assert failed.code == 2
    assert asked == 0
    assert gone
    assert corrected.code == 0


@pytest.mark.parametrize("words", [words for _, words in IN_VAIN if words])
def test_a_rehearsal_refuses_what_the_run_would_refuse(
    simia: Simia, serve: Simia, world: Path, words: tuple[str, ...]
) -> None:
    serve()

    rehearsed, run = (simia("synth", str(world), *words, *how) for how in (("--dry-run",), ("--run", "run")))

    assert (rehearsed.code, run.code) == (2, 2)
    assert rehearsed.err == run.err


@pytest.mark.parametrize(
    ("words", "told"), [(("--until", "polish"), "no stage 'polish'"), (("--resume",), "add --run DIR")]
)
def test_a_rehearsal_refuses_a_command_that_cannot_be_meant(
    simia: Simia, serve: Simia, world: Path, words: tuple[str, ...], told: str
) -> None:
    serve()

    ended = simia("synth", str(world), "--dry-run", *words)

    assert ended.code == 2
    assert told in ended.err


def test_a_rehearsal_may_name_the_folder_of_another_run(simia: Simia, world: Path, done: Any) -> None:
    assert simia("synth", str(world), "--run", "run", "--dry-run", "--quiet").code == 0


def test_the_reason_why_no_seed_passed_comes_with_an_example(simia: Simia, serve: Simia, world: Path) -> None:
    serve()
    rename_the_tool(world)

    ended = simia("synth", str(world), "--run", "run")

    assert "no seed passed the prefilter (3 unknown_tool; for example seed-0:" in ended.err


def test_a_ceiling_without_a_price_is_told_how_to_give_one(simia: Simia, serve: Simia, world: Path) -> None:
    serve()

    ended = simia("synth", str(world), "--run", "run", "--max-cost", "5")
    Path("prices.toml").write_text(ended.err.split("one line like ")[1].split(" into a file")[0])
    told = simia("synth", str(world), "--run", "run", "--max-cost", "5", "model.prices=prices.toml")

    assert "leave --max-cost (max_cost) out" in ended.err
    assert "model.prices=prices.toml" in ended.err
    assert told.code == 0


def test_what_was_made_below_the_ceiling_is_exported(simia: Simia, serve: Simia, world: Path) -> None:
    serve()
    Path("prices.toml").write_text(PRICES)
    words = ["model.prices=prices.toml", "model.max_in_flight=1", "count=20", "--run", "run"]

    ended = simia("synth", str(world), *words, "--max-cost", "0.02")

    assert ended.code == 1
    assert 0 < records() < 20
    again = f"simia synth {world} {' '.join(words)} --resume --max-cost USD"
    assert f"go on with a higher ceiling in the place of USD: {again}" in ended.err


def test_a_run_that_kept_nothing_names_no_training_files(simia: Simia, serve: Simia, world: Path) -> None:
    serve(lambda body: "no conversation")

    ended = simia("synth", str(world), "--run", "run")

    assert ended.code == 1
    assert "no training files: no conversation was kept" in ended.out
    assert "train.jsonl" not in ended.out
    assert "0 of 0" not in ended.out
    assert "generate kept nothing; 6 times" in ended.err


def test_failed_items_are_explained_by_an_example(simia: Simia, serve: Simia, world: Path) -> None:
    serve(faults=Faults(1.0, ("500",)))

    ended = simia("synth", str(world), "model.retry_for_s=0", "--run", "run")

    assert ended.code == 1
    assert "generate failed 6 times with ServerFailed, for example seed-" in ended.err
    assert "500" in ended.err
    assert "6 items failed; try them again with: simia synth" in ended.err


def test_what_would_fail_again_is_not_advised_to_be_tried_again(simia: Simia, serve: Simia, world: Path) -> None:
    serve(context=10)

    ended = simia("synth", str(world), "--run", "run")

    assert ended.code == 1
    assert "try them again" not in ended.err


@pytest.mark.parametrize("words", [("runs", "show"), ("export",), ("generate",)])
def test_a_folder_that_is_no_run_is_wrong_usage(simia: Simia, words: tuple[str, ...]) -> None:
    ended = simia(*words, "nothere")

    assert ended.code == 2
    assert "nothere does not exist: name the folder that was given to --run" in ended.err
    assert "--resume" not in ended.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('name = "x"\n[seeds]\nsource = "x.jsonl"\n[plan]\nseed = 3\n', "set seed, not plan.seed"),
        ('name = "x"\n[seeds]\nsource = "x.jsonl"\n[simulate]\nseed = 3\n', "set seed, not simulate.seed"),
        ('name = "x"\nseeds = "x.jsonl"\n', "seeds: a table, so set its keys"),
        ('name = "x"\nroles = 3\n[seeds]\nsource = "x.jsonl"\n', "roles: a table, so set its keys"),
        ('name = "x"\nmodel = "gpt"\n[seeds]\nsource = "x.jsonl"\n', "model: a table, so set its keys"),
    ],
)
def test_a_malformed_recipe_is_told_in_one_line(simia: Simia, text: str, told: str) -> None:
    Path("odd.toml").write_text(text)

    ended = simia("synth", "odd.toml", "--run", "run")

    assert ended.code == 2
    assert told in ended.err
    assert "Traceback" not in ended.err


def test_nothing_is_made_while_the_judge_of_the_seeds_fails_unless_it_is_asked_for(
    simia: Simia, serve: Simia, world: Path
) -> None:
    judge = serve(faults=Faults(1.0, ("500",)))
    maker = serve()
    words = ["prefilter.judge=true", f"roles.judge.base_url={judge.base_url}", "roles.judge.retry_for_s=0"]

    ended = simia("synth", str(world), *words, "--run", "run")

    assert ended.code == 1
    assert "no conversation was asked for, because 3 seeds failed in the prefilter" in ended.err
    assert "simia generate run" in ended.err
    assert maker.server.stats()["requests"] == 0

"""Recipes of training runs: the bundled one is sound, and what cannot be meant is told by its key."""

from pathlib import Path

import pytest

from simia.errors import ConfigError
from simia.train.beginning import manifest_of
from simia.train.recipe import bundled_recipes, read_recipe, recipe_of


def test_every_bundled_recipe_can_be_read_and_reads_back_from_a_run() -> None:
    for name in bundled_recipes():
        recipe = read_recipe(name, [])
        assert type(recipe).model_validate(recipe.recorded()) == recipe


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("learn.micro_batch=5", "micro_batch"),
        ("learn.floor=9", "floor"),
        ("learn.turn_tokens=100000", "turn_tokens"),
        ("learn.stepz=3", "unknown key"),
        ("environment.dynamics=dreamt", "environment.dynamics"),
        ("environment.reward.parts={taste = 1.0}", "no part taste"),
    ],
)
def test_what_cannot_be_meant_is_told_by_its_key(word: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read_recipe("tiny", [word])


def test_no_recipe_is_refused_with_the_bundled_ones() -> None:
    with pytest.raises(ConfigError, match="one of tiny"):
        read_recipe("tinny", [])


def test_a_folder_of_the_same_name_does_not_hide_a_bundled_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tiny").mkdir()
    monkeypatch.chdir(tmp_path)

    assert read_recipe("tiny", []).name == "tiny"


def test_a_model_beside_the_recipe_is_found_from_anywhere(tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "mine.toml").write_text('name = "mine"\n[environment]\nworld = "lamps"\n[agent]\nmodel = "agent"\n')

    assert read_recipe(str(tmp_path / "mine.toml"), []).agent.model == str(tmp_path / "agent")


def test_a_name_of_a_hub_stays_a_name(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'name = "m"\n[environment]\nworld = "lamps"\n[agent]\nmodel = "Qwen/Qwen3-0.6B"\n'
    )

    assert read_recipe(str(tmp_path / "mine.toml"), []).agent.model == "Qwen/Qwen3-0.6B"


def test_a_folder_of_the_name_of_a_model_is_not_taken_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny").mkdir()
    (tmp_path / "Qwen").mkdir()

    assert read_recipe("tiny", []).agent.model == "tiny"
    assert read_recipe("tiny", ["agent.model=tiny"]).agent.model == "tiny"
    recorded = read_recipe("tiny", []).recorded() | {"agent": {"model": "Qwen"}}
    assert recipe_of(recorded, ["seed=1"]).agent.model == "Qwen"


def test_a_model_in_a_folder_may_be_named_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent").mkdir()

    assert read_recipe("tiny", ["agent.model=agent"]).agent.model == str((tmp_path / "agent").resolve())


def test_fewer_tasks_than_a_step_plays_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"a step plays 8 different tasks .* not 4"):
        read_recipe("tiny", ["environment.tasks=4"])


def test_a_training_on_seeds_is_made_from_all_of_them_and_carries_their_licences() -> None:
    judged = ["environment.reward.parts={judge=1.0}", "learn.groups=2", "learn.micro_batch=4"]
    config = {"name": "n", "environment": {"seeds": "bundled:shop", "tasks": 3}, "agent": {"model": "some/model"}}
    three = manifest_of(recipe_of(config, judged), None, None)
    two = manifest_of(recipe_of(config, [*judged, "environment.tasks=2"]), None, None)

    assert three.licences
    assert three.seeds.keys() == {"bundled:shop"}
    assert three.seeds != two.seeds

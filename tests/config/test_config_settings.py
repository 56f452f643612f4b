"""Settings from TOML and words, and randomness that depends on nothing but its names."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from simia.config import Settings, checked, read_toml, rng_for, with_overrides
from simia.errors import ConfigError


class PlanSettings(Settings):
    count: int = 3


class RecipeSettings(Settings):
    name: str
    plan: PlanSettings = PlanSettings()


words = st.text("abc", min_size=1, max_size=3)


@given(seed=st.integers(), item=st.text(max_size=8), attempt=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_an_attempt_draws_the_same_every_time(seed: int, item: str, attempt: int) -> None:
    assert rng_for(seed, item, attempt).random() == rng_for(seed, item, attempt).random()


def test_the_numbers_are_the_same_on_every_machine() -> None:
    assert [rng_for(7, "shop/3", 1).randrange(1000) for _ in range(2)] == [302, 302]


def test_each_of_seed_item_and_attempt_changes_the_numbers() -> None:
    drawn = [rng_for(*names).random() for names in ((1, "a", 0), (2, "a", 0), (1, "b", 0), (1, "a", 1))]
    assert len(set(drawn)) == 4


def test_neighbouring_names_do_not_run_together() -> None:
    assert rng_for(1, "1", 1).random() != rng_for(11, "", 1).random()


@given(table=words, key=words, value=st.integers(-9, 9) | st.booleans() | st.sampled_from(["plain", "a b", "x=y"]))
@settings(max_examples=60, deadline=None)
def test_a_word_sets_its_key(table: str, key: str, value: Any) -> None:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    assert with_overrides({}, [f"{table}.{key}={text}"]) == {table: {key: value}}


def test_a_word_leaves_the_settings_as_they_were() -> None:
    before = {"plan": {"count": 3, "more": 1}}
    assert with_overrides(before, ["plan.count=5"]) == {"plan": {"count": 5, "more": 1}}
    assert before == {"plan": {"count": 3, "more": 1}}


def test_the_last_word_wins() -> None:
    assert with_overrides({}, ["a=1", "a=2"]) == {"a": 2}


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", 3), ("1.5", 1.5), ("true", True), ('"3"', "3"), ("[1, 2]", [1, 2]), ("qwen", "qwen"), ("", "")],
)
def test_a_value_is_read_as_toml_else_as_text(text: str, value: Any) -> None:
    assert with_overrides({}, [f"a={text}"]) == {"a": value}


@pytest.mark.parametrize("word", ["plan", "=3"])
def test_a_word_that_sets_nothing_is_refused(word: str) -> None:
    with pytest.raises(ConfigError, match="is no setting: write key=value, for example seed=1"):
        with_overrides({}, [word])


def test_a_word_cannot_walk_through_a_value() -> None:
    with pytest.raises(ConfigError, match="'name' is a value, not a table"):
        with_overrides({"name": "x"}, ["name.first=y"])


def test_settings_are_checked() -> None:
    assert checked(RecipeSettings, {"name": "x", "plan": {"count": 5}}, "recipe.toml").plan.count == 5


def test_an_unknown_key_is_named_with_the_known_ones() -> None:
    with pytest.raises(ConfigError) as raised:
        checked(RecipeSettings, {"name": "x", "plan": {"cuont": 5}}, "recipe.toml")
    assert str(raised.value) == "recipe.toml: plan.cuont: unknown key (known: count)"


def test_every_wrong_key_stands_in_one_line() -> None:
    with pytest.raises(ConfigError) as raised:
        checked(RecipeSettings, {"plan": {"count": "many"}}, "recipe.toml")
    message = str(raised.value)
    assert "name: missing" in message
    assert "plan.count: " in message
    assert "\n" not in message


def test_settings_are_frozen() -> None:
    plan = PlanSettings()
    with pytest.raises(ValidationError, match="frozen"):
        plan.count = 4  # type: ignore[misc]


def test_a_toml_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "recipe.toml"
    file.write_text('name = "x"\n[plan]\ncount = 5\n', encoding="utf-8")
    assert read_toml(file) == {"name": "x", "plan": {"count": 5}}


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no file .*gone\.toml: check the path"):
        read_toml(tmp_path / "gone.toml")


@pytest.mark.parametrize("content", [b"name = ", b"\xff\xfe"])
def test_a_file_that_is_no_toml_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "recipe.toml"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=r"recipe\.toml is no TOML"):
        read_toml(file)


def test_a_folder_is_no_recipe(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        read_toml(tmp_path)

"""The reference of the settings says what their models say."""

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from simia.bench.settings import BenchSettings
from simia.config import Settings
from simia.environment.limits import Limits
from simia.environment.settings import EnvironmentSettings
from simia.report.reference import prose, sections
from simia.report.reference_page import markdown
from simia.simulate import SimulateSettings
from simia.simulate.settings import SMALL
from simia.synthesis.postprocess import PASSES
from simia.synthesis.recipe import Recipe
from simia.train.recipe import LearnSettings

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
SECTIONS = {section.name: section for section in sections()}
OTHERS = ("bench", "calibrate", "grpo")
SETTINGS = {
    setting.key: setting
    for name, section in SECTIONS.items()
    if name.partition(".")[0] not in OTHERS
    for setting in section.settings
}
BENCH = {setting.key: setting for setting in SECTIONS["bench"].settings}


def keys_of(group: str) -> set[str]:
    sections = (section for name, section in SECTIONS.items() if name.partition(".")[0] == group)
    return {setting.key for section in sections for setting in section.settings}


def test_the_page_in_docs_is_what_the_settings_say_today() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown(), (
        "write it anew: python -m simia.report.reference_page > docs/settings.md"
    )


def test_every_key_that_a_recipe_takes_is_told() -> None:
    assert set(_keys(Recipe, "")) == {key for key in SETTINGS if not key.startswith("models.")}


def test_every_key_of_a_benchmark_run_is_told_and_its_model_once() -> None:
    assert set(BENCH) == set(BenchSettings.model_fields)
    assert BENCH["setting"].values == "one of constrained, tracked, hidden"
    assert BENCH["model"].values == "the keys of model, as model.name"
    assert BENCH["temperature"].default == "0"


def test_every_key_of_a_training_run_is_told() -> None:
    for table, prefix in (
        (EnvironmentSettings, "environment."),
        (LearnSettings, "learn."),
        (Limits, "environment.limits."),
    ):
        plain = {key for key in _keys(table, prefix) if key.count(".") == prefix.count(".")}
        assert plain <= keys_of("grpo")
    assert {"environment.faults.kind", "agent.lora.rank", "evaluation.every"} <= keys_of("grpo")


def test_every_key_of_a_calibration_is_told() -> None:
    assert {"worlds", "tasks", "judge.votes"} <= keys_of("calibrate")


def test_no_key_is_told_that_a_user_may_not_set() -> None:
    assert "seed" in SETTINGS
    assert not {"plan.seed", "simulate.seed"} & set(SETTINGS)


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("name", "letters, digits, `_`, `.`, `-`"),
        ("seed", "whole number"),
        ("count", "whole number >= 1"),
        ("seeds.source", "text"),
        ("model.max_in_flight", "whole number 1 to 10000"),
        ("model.timeout_s", "number > 0"),
        ("model.prices", "a path"),
        ("prefilter.judge", "true or false"),
        ("plan.personas", "list of texts, at least 1"),
        ("simulate.mode", "one of trajectory, turns"),
        ("dedup.near", "number 0.3 to 1"),
        ("dedup.permutations", "whole number 32 to 512, a multiple of 32"),
        ("export.formats", "list of trl, trl-parquet, prompt-completion, openai, llamafactory, llama3, at least 1"),
        ("roles.judge", "the keys of model, as roles.judge.name"),
    ],
)
def test_the_values_are_in_the_users_words(key: str, values: str) -> None:
    assert SETTINGS[key].values == values


@pytest.mark.parametrize(
    ("key", "default"),
    [
        ("name", "required"),
        ("seeds.limit", "none"),
        ("seeds.format", "auto"),
        ("prefilter.judge", "false"),
        ("model.timeout_s", "600"),
        ("dedup.near", "0.85"),
        ("export.formats", '["trl", "llamafactory"]'),
        ("postprocess.passes", "all but strip_reasoning"),
    ],
)
def test_a_default_is_spelled_as_it_is_typed(key: str, default: str) -> None:
    assert SETTINGS[key].default == default


def test_a_long_list_stands_below_the_table() -> None:
    (title, passes), *others = SECTIONS["postprocess"].lists

    assert title == "Values of `postprocess.passes`"
    assert [line.partition(":")[0] for line in passes] == [f"`{name}`" for name in PASSES]
    assert others == []
    assert [title for title, _ in SECTIONS["plan"].lists] == [
        f"Default of `plan.{key}`" for key in ("formulations", "personas", "reasonings")
    ]


def test_a_section_comes_before_the_tables_in_it() -> None:
    names = list(SECTIONS)

    assert names[0] == "recipe"
    assert names[names.index("plan") :][:3] == ["plan", "plan.outcomes", "plan.difficulties"]
    assert names[-1] == "prices"


def test_every_section_says_what_it_is_for() -> None:
    assert [section.name for section in SECTIONS.values() if not section.prose] == []


def test_a_docstring_becomes_paragraphs_without_sphinxs_marks() -> None:
    docstring = """What :func:`make` makes of
    a ``key``.

    See :py:data:`~simia.config.Name` and "words".
    """

    assert prose(docstring) == ("What `make` makes of a `key`.", 'See `simia.config.Name` and "words".')


def test_no_prose_has_marks_of_sphinx_left() -> None:
    for section in SECTIONS.values():
        for text in (*section.prose, *(item for _, items in section.lists for item in items)):
            assert "``" not in text
            assert not re.search(r":\w+:`", text)


def test_every_row_of_the_page_has_three_cells() -> None:
    rows = [line for line in markdown().splitlines() if line.startswith("|")]

    settings = sum(len(section.settings) for section in sections())
    assert len(rows) == settings + 2 * len(SECTIONS)
    assert {row.count("|") for row in rows} == {4}


def test_the_page_keeps_the_width_of_the_house() -> None:
    assert [line for line in markdown().splitlines() if len(line) > 120 and not line.startswith("|")] == []


def _keys(model: type[BaseModel], prefix: str) -> list[str]:
    """The keys of a model and of the tables in it; a table that may be absent is one key."""
    keys = []
    for name, field in model.model_fields.items():
        annotation: Any = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, Settings):
            keys += _keys(annotation, f"{prefix}{name}.")
        elif not field.exclude:
            keys.append(prefix + name)
    return keys


def test_what_a_small_model_gets_is_told_as_it_is() -> None:
    told = " ".join((SimulateSettings.__doc__ or "").split())
    assert all(str(value) in told for value in SMALL.values())

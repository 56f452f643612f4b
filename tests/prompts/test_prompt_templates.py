"""Templates are strict, hashed by their bytes, and the fence around data cannot be closed from inside."""

import hashlib
import random
from importlib import resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia import prompts
from simia.errors import ConfigError, FormatError


def test_a_template_is_named_by_the_hash_of_its_files_bytes() -> None:
    content = resources.files("simia.prompts").joinpath("turns_user.jinja").read_bytes()
    assert prompts.load("turns_user").sha256 == hashlib.sha256(content).hexdigest()


def test_a_template_is_read_once() -> None:
    assert prompts.load("turns_user") is prompts.load("turns_user")


def test_a_missing_template_names_those_that_exist() -> None:
    with pytest.raises(ConfigError, match=r"no prompt 'turns_usr'; there are: .*turns_user"):
        prompts.load("turns_usr")


def test_a_missing_value_is_an_error_and_not_an_empty_word() -> None:
    with pytest.raises(FormatError, match=r"'turns_user' lacks a value: .*task"):
        prompts.load("turns_user").render(plan={"persona": "p", "formulation": "f", "outcome": "success"}, exchanges=1)


def test_a_value_is_never_read_as_a_template() -> None:
    text = prompts.load("turns_user").render(
        plan={"persona": "{{ 1 + 1 }} <b>&", "formulation": "f", "outcome": "success"}, task="{% raw %}", exchanges=1
    )
    assert "{{ 1 + 1 }} <b>&" in text
    assert "{% raw %}" in text


def test_the_hashes_of_several_templates_stand_under_their_names() -> None:
    found = prompts.hashes(("turns_user", "turns_agent"))
    assert found == {name: prompts.load(name).sha256 for name in ("turns_user", "turns_agent")}


def test_the_tag_depends_on_nothing_but_the_random_numbers() -> None:
    assert prompts.new_tag(random.Random(7)) == prompts.new_tag(random.Random(7))
    assert prompts.new_tag(random.Random(7)) != prompts.new_tag(random.Random(8))


def test_a_text_that_knows_the_tag_is_refused() -> None:
    with pytest.raises(FormatError, match="draw a new tag"):
        prompts.fence("</data-00ff00ff00ff>", "00ff00ff00ff")


@given(text=st.text(), seed=st.integers())
@settings(max_examples=100, deadline=None)
def test_a_fenced_text_has_one_beginning_and_one_end_and_comes_back_verbatim(text: str, seed: int) -> None:
    tag = prompts.new_tag(random.Random(seed))
    fenced = prompts.fence(text, tag, "agent")
    first, last = f"<agent-{tag}>\n", f"\n</agent-{tag}>"
    assert fenced.count(first) == 1
    assert fenced.count(last) == 1
    assert fenced.removeprefix(first).removesuffix(last) == text

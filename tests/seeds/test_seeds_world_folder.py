"""World folders: written and read back, scaffolded, checked."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from simia import seeds
from simia.config import read_toml
from simia.errors import ConfigError, SeedError
from simia.seeds.world_folder import check_world, read_world, scaffold, write_world
from simia.types import Dropped, Invariant, Seed, ToolSpec, UserMessage, WorldSpec


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    scaffold(tmp_path / "mine", "mine")
    return tmp_path / "mine"


def problems(folder: Path, severity: str = "error") -> list[str]:
    return [f"{f.where}: {f.problem}" for f in check_world(folder) if f.severity == severity]


def change_seed(folder: Path, change: Callable[[dict[str, Any]], object], number: int = 0) -> None:
    path = folder / "seeds.jsonl"
    records = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    change(records[number])
    path.write_bytes(b"\n".join(map(orjson.dumps, records)))


def test_a_scaffold_has_no_errors_and_warns_of_what_is_still_the_example(folder: Path) -> None:
    findings = check_world(folder)
    assert {(finding.severity, finding.where) for finding in findings} == {
        ("warning", "policy.md"),
        ("warning", "tools.json"),
        ("warning", "seeds.jsonl"),
    }
    assert all(finding.remedy == "replace it by your own" for finding in findings)


def test_a_scaffold_bears_its_name_in_world_recipe_and_readme(folder: Path) -> None:
    assert read_world(folder).name == "mine"
    assert read_toml(folder / "recipe.toml")["name"] == "mine"
    assert (folder / "README.md").read_text().startswith("# The world `mine`")


def test_a_scaffold_is_a_seed_source(folder: Path) -> None:
    found = list(seeds.read(str(folder)))
    assert len(found) == 3
    assert all(seed.initial_state is not None and seed.world.name == "mine" for seed in found)


def test_a_scaffold_never_overwrites(folder: Path) -> None:
    with pytest.raises(ConfigError, match="exists and is not empty"):
        scaffold(folder, "other")


@pytest.mark.parametrize("name", ["", "a b", "../up", 'a"b'])
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="is no name for a world"):
        scaffold(tmp_path / "x", name)


def test_writing_and_reading_gives_the_same_world_and_seeds(tmp_path: Path) -> None:
    tool = ToolSpec(
        name="t", description='say "hi"', parameters={"type": "object"}, returns={"type": "string"}, source="x"
    )
    world = WorldSpec(
        name='quo"ted\\',
        policy="Line one\nLine two: äöü",
        tools=(tool,),
        state_schema={"type": "object"},
        invariants=(Invariant(name="a", expression="b == `1`"), Invariant(name="c", expression="d", refers_to="e")),
        licence="MIT",
    )
    seed = Seed(
        id="s",
        world=world,
        task="do",
        reference=(UserMessage(content="hi"),),
        initial_state={"b": 1},
        licence="Apache-2.0",
        metadata={"k": [1]},
    )
    write_world(tmp_path, world, [seed], "a note")
    assert read_world(tmp_path) == world
    assert list(seeds.read(str(tmp_path))) == [seed]


def test_a_missing_policy_is_an_error_that_names_the_file(folder: Path) -> None:
    (folder / "policy.md").unlink()
    with pytest.raises(SeedError, match=r"no file .*policy\.md"):
        read_world(folder)


def test_an_unknown_key_of_world_toml_is_an_error_that_names_the_known_ones(folder: Path) -> None:
    (folder / "world.toml").write_text('name = "x"\nlicense = "MIT"\n')
    with pytest.raises(ConfigError, match=r"license: unknown key \(known: invariants, licence, name"):
        read_world(folder)


def test_a_bad_seed_record_is_found_with_its_line(folder: Path) -> None:
    with (folder / "seeds.jsonl").open("ab") as file:
        file.write(b'{"messages": 5}\n')
    assert "seeds.jsonl:4: no list under 'messages' in a record with the keys messages" in problems(folder)[0]


def test_an_empty_policy_is_an_error(folder: Path) -> None:
    (folder / "policy.md").write_text(" \n")
    assert problems(folder) == ["policy.md: the policy is empty"]


def test_a_tool_schema_that_is_none_is_an_error_that_names_the_tool(folder: Path) -> None:
    tools = orjson.loads((folder / "tools.json").read_bytes())
    tools[1]["parameters"] = {"type": "objekt"}
    (folder / "tools.json").write_bytes(orjson.dumps(tools))
    assert "tool 'list_loans', parameters: no JSON Schema" in problems(folder)[0]


def test_two_tools_of_one_name_are_an_error(folder: Path) -> None:
    tools = orjson.loads((folder / "tools.json").read_bytes())
    (folder / "tools.json").write_bytes(orjson.dumps([*tools, tools[0]]))
    assert "two tools are called find_member" in problems(folder)[0]


def test_an_invariant_that_is_no_jmespath_is_an_error(folder: Path) -> None:
    path = folder / "world.toml"
    path.write_text(path.read_text().replace('"keys(members)"', '"keys(members"'))
    assert any("invariant 'loans belong to members'" in problem for problem in problems(folder))


def test_an_initial_state_that_breaks_a_law_is_an_error_that_names_law_and_value(folder: Path) -> None:
    change_seed(folder, lambda seed: seed["initial_state"]["loans"]["L-7"].update(member_id="P-99"))
    assert problems(folder) == [
        "seeds.jsonl: library-1: initial_state: loans belong to members: 'P-99' is not among keys(members)"
    ]


def test_an_initial_state_of_the_wrong_shape_is_an_error(folder: Path) -> None:
    change_seed(folder, lambda seed: seed["initial_state"].pop("books"))
    assert problems(folder) == ['seeds.jsonl: library-1: initial_state: state: (root): "books" is a required property']


def test_a_call_that_breaks_its_schema_is_an_error_even_where_its_result_is_one(folder: Path) -> None:
    def misspell(seed: dict[str, Any]) -> None:
        seed["messages"][1]["tool_calls"][0]["function"]["arguments"] = '{"card": "K-2071"}'

    change_seed(folder, misspell)
    problem = problems(folder)
    assert "invalid arguments for find_member" in problem[0]

    def make_error(seed: dict[str, Any]) -> None:
        seed["messages"][2]["content"] = '{"error": "card_number is missing"}'

    change_seed(folder, make_error)
    assert problems(folder) == problem


def test_a_call_of_an_undeclared_tool_is_an_error(folder: Path) -> None:
    def rename(seed: dict[str, Any]) -> None:
        seed["messages"][1]["tool_calls"][0]["function"]["name"] = "find_friend"

    change_seed(folder, rename)
    assert "unknown tool 'find_friend'" in problems(folder)[0]


def test_a_result_that_breaks_the_returns_schema_is_an_error(folder: Path) -> None:
    change_seed(folder, lambda seed: seed["messages"][2].update(content='{"member_id": 7}'))
    assert "the result of find_member does not fit its returns schema" in problems(folder)[0]


def test_a_call_without_observation_is_an_error(folder: Path) -> None:
    change_seed(folder, lambda seed: seed["messages"].pop(2))
    assert problems(folder) == ["seeds.jsonl: library-1: no observation follows the call of find_member"]


def test_an_observation_without_call_is_an_error(folder: Path) -> None:
    change_seed(folder, lambda seed: seed["messages"][2].update(tool_call_id="call_99"))
    assert "seeds.jsonl: library-1: the observation 'call_99' answers no call" in problems(folder)


def test_a_conversation_that_ends_with_the_user_is_an_error(folder: Path) -> None:
    change_seed(folder, lambda seed: seed["messages"].pop())
    assert problems(folder) == ["seeds.jsonl: library-1: the conversation does not end with the agent's words"]


def test_the_second_seed_of_an_id_is_an_error_with_its_line(folder: Path) -> None:
    change_seed(folder, lambda seed: seed.update(id="library-1"), number=1)
    assert problems(folder) == [
        "seeds.jsonl:2: an earlier seed has the id 'library-1' too: give each its own, or none at all"
    ]


def test_a_refusal_of_a_sound_call_is_no_error(folder: Path) -> None:
    def refuse(seed: dict[str, Any]) -> None:
        seed["messages"][2]["content"] = '{"error": "no member has this card"}'

    change_seed(folder, refuse)
    assert problems(folder) == []


def test_what_the_users_of_the_seeds_would_drop_is_an_error_that_names_their_rule(folder: Path) -> None:
    def never_two(seed: Seed) -> Dropped | None:
        return Dropped("no_second", "it is the second") if seed.id == "library-2" else None

    errors = [finding for finding in check_world(folder, never_two) if finding.severity == "error"]
    assert [(finding.where, finding.problem) for finding in errors] == [
        ("seeds.jsonl: library-2", "the prefilter drops it as no_second: it is the second")
    ]


def test_an_empty_seeds_file_is_an_error(folder: Path) -> None:
    (folder / "seeds.jsonl").write_text("")
    assert "is empty: a seed file needs at least one record" in problems(folder)[0]


def test_a_placeholder_is_a_warning_with_its_line(folder: Path) -> None:
    (folder / "policy.md").write_text("# Rules\n\nTODO: write them\n")
    assert "policy.md:3: 'TODO' looks like a placeholder" in problems(folder, "warning")


def test_a_tool_that_no_seed_calls_is_a_warning(folder: Path) -> None:
    tools = orjson.loads((folder / "tools.json").read_bytes())
    tools.append({**tools[0], "name": "lonely"})
    (folder / "tools.json").write_bytes(orjson.dumps(tools))
    assert "tools.json: no seed calls the tool 'lonely'" in problems(folder, "warning")


@pytest.mark.parametrize(
    ("licence", "problem"),
    [("NOASSERTION", "the licence is NOASSERTION"), ("my own!", "'my own!' is no SPDX identifier")],
)
def test_a_licence_that_says_nothing_is_a_warning(folder: Path, licence: str, problem: str) -> None:
    path = folder / "world.toml"
    path.write_text(re.sub('licence = ".*"', f'licence = "{licence}"', path.read_text()))
    assert f"world.toml: {problem}" in problems(folder, "warning")


def test_a_recipe_that_is_no_toml_is_an_error(folder: Path) -> None:
    (folder / "recipe.toml").write_text("name = ")
    assert "is no TOML" in problems(folder)[0]


def test_errors_come_before_warnings(folder: Path) -> None:
    (folder / "policy.md").write_text("")
    severities = [finding.severity for finding in check_world(folder)]
    assert severities == sorted(severities, key=["error", "warning"].index)


def test_a_folder_that_is_no_world_is_one_error(tmp_path: Path) -> None:
    findings = check_world(tmp_path)
    assert [finding.severity for finding in findings] == ["error"]
    assert "world.toml" in findings[0].problem

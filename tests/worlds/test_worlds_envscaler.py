"""Environments in the style of EnvScaler, from files. Those beside this file were written for these tests."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simia.errors import ConfigError, RecordError, SandboxViolation, SeedError, SimiaError
from simia.types import State, ToolCall, Transition
from simia.worlds.envscaler import read_worlds
from simia.worlds.sandbox import SandboxedWorld

FOLDER = Path(__file__).parent / "envscaler"
ENVIRONMENTS = FOLDER / "environments.json"
SCENARIOS = FOLDER / "scenarios.json"


@pytest.fixture(scope="module")
def worlds() -> Iterator[dict[str, SandboxedWorld]]:
    found = {world.spec.name: world for world in read_worlds(ENVIRONMENTS, SCENARIOS)}
    yield found
    for world in found.values():
        world.close()


def do(world: SandboxedWorld, state: State, name: str, **arguments: Any) -> tuple[Transition, State]:
    return world.run(state, ToolCall(id="call_1", name=name, arguments=arguments))


def first_state(world: SandboxedWorld) -> State:
    return next(world.initial_states())


def written(tmp_path: Path, value: Any, name: str = "environments.json") -> Path:
    path = tmp_path / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def environment(code: str = "class One:\n    def act(self): ...\n", **fields: Any) -> dict[str, Any]:
    return {"env_id": "env_1", "env_class_name": "One", "env_class_code": code, **fields}


def test_an_environment_becomes_a_world(worlds: dict[str, SandboxedWorld]) -> None:
    assert list(worlds) == ["env_1_sft", "env_2_rl"]
    spec = worlds["env_1_sft"].spec
    assert spec.licence == "Apache-2.0"
    assert spec.policy.startswith("Members of a neighbourhood")
    assert spec.policy.endswith(
        "Rules:\n- A tool is lent to one member at a time.\n- A member has at most two open loans."
    )
    assert list(spec.tool) == ["search_tools", "get_member", "borrow_tool", "return_tool"]
    assert spec.tool["borrow_tool"].description.startswith("Lend a tool to a member, and charge the fee.\n\nReturns:")
    assert spec.tool["borrow_tool"].parameters == {
        "type": "object",
        "properties": {
            "member_id": {"type": "string", "description": "The member who borrows."},
            "tool_id": {"type": "string", "description": "The tool."},
            "days": {"type": "integer", "description": "For how many days, 14 at most."},
        },
        "required": ["member_id", "tool_id", "days"],
        "additionalProperties": False,
    }


def test_a_scenario_gives_states_and_tasks_that_have_no_gold(worlds: dict[str, SandboxedWorld]) -> None:
    world = worlds["env_1_sft"]
    assert list(world.tasks()) == []
    tasks = list(world.tasks(without_gold=True))
    assert [task.id for task in tasks] == ["env_1_sft:20250101_1", "env_1_sft:20250101_2"]
    assert tasks[0].instruction == "Ada wants the drill for three days. Lend it to her."
    assert tasks[0].gold == ()
    assert tasks[0].initial_state == tasks[1].initial_state  # the second is JSON text
    assert [task.id for task in world.tasks(1, without_gold=True)] == ["env_1_sft:20250101_1"]
    assert list(world.initial_states()) == [task.initial_state for task in tasks]


def test_a_list_of_configurations_gives_states_alone(worlds: dict[str, SandboxedWorld]) -> None:
    assert list(worlds["env_2_rl"].tasks(without_gold=True)) == []
    assert first_state(worlds["env_2_rl"])["tank_litres"] == 12


def test_a_tool_changes_the_state_as_its_code_says(worlds: dict[str, SandboxedWorld]) -> None:
    world = worlds["env_1_sft"]
    transition, state = do(world, first_state(world), "borrow_tool", member_id="M-1", tool_id="T-1", days=3)
    loan_id = json.loads(transition.observation)["loan_id"]
    assert state["loans"][loan_id]["due"] == "2025-01-04"
    assert state["members"]["M-1"]["balance"] == 12.5
    assert state["tools"]["T-1"]["available"] is False
    assert transition.delta is not None
    assert transition.delta.size == 3
    again, _ = do(world, state, "borrow_tool", member_id="M-1", tool_id="T-1", days=1)
    assert again.is_error
    assert again.observation == '{"success":false,"error":"Tool is lent out"}'


def test_containers_of_the_constructor_survive_from_call_to_call(worlds: dict[str, SandboxedWorld]) -> None:
    world = worlds["env_2_rl"]
    _, state = do(world, first_state(world), "read_sensor", bed_id="south")
    _, state = do(world, state, "read_sensor", bed_id="south")
    assert len(state["readings"]["south"]) == 2
    assert state["alarms"] == ["south"]


def test_an_exception_of_a_method_is_an_observation(worlds: dict[str, SandboxedWorld]) -> None:
    world = worlds["env_2_rl"]
    transition, _ = do(world, first_state(world), "water_bed", bed_id="west", litres=1)
    assert transition.observation == """{"error":"KeyError: 'west'"}"""


def test_the_source_of_a_tool_has_helpers_and_constants(worlds: dict[str, SandboxedWorld]) -> None:
    source = worlds["env_1_sft"].source_of("borrow_tool")
    assert source is not None
    for part in ("MAX_DAYS = 14", "MAX_LOANS = 2", "def _round_money", "def _open_loans", "def borrow_tool"):
        assert part in source
    assert "def return_tool" not in source


def test_a_file_may_be_a_list_or_lines(tmp_path: Path) -> None:
    first, second = environment(), environment(env_id="env_2", licence="MIT", constraints_rules="Be kind.")
    for text in (json.dumps([first, second]), f"{json.dumps(first)}\n{json.dumps(second)}\n"):
        found = list(read_worlds(written(tmp_path, text), licence="CC-BY-4.0"))
        assert [(world.spec.name, world.spec.licence) for world in found] == [("env_1", "CC-BY-4.0"), ("env_2", "MIT")]
        assert found[1].spec.policy == "Rules:\n- Be kind."


def test_a_plain_module_is_a_world_with_its_states() -> None:
    (world,) = read_worlds(FOLDER / "parcel_locker.py", licence="Apache-2.0")
    with world:
        assert world.spec.name == "parcel_locker"
        assert world.spec.policy.startswith("A courier lays parcels into lockers")
        assert world.spec.tool["lay_in"].parameters["properties"]["parcel"]["description"] == "its number, such as P-1"
        first, second = world.initial_states()
        assert do(world, second, "lay_in", parcel="P-9", size="large")[1]["lockers"]["B1"]["parcel"] == "P-9"
        transition, state = do(world, first, "take_out", parcel="P-7")
        assert transition.observation == '{"success":true,"message":"locker A2 is open"}'
        assert state["opened"] == ["P-7"]


def test_the_states_of_a_module_may_stand_beside_it(tmp_path: Path) -> None:
    path = written(tmp_path, "class One:\n    x = 1\n    def act(self):\n        return self.x\n", "one.py")
    written(tmp_path, [{"x": 5}], "one.json")
    (world,) = read_worlds(path)
    with world:
        assert [do(world, state, "act")[0].observation for state in world.initial_states()] == ["5"]


def test_a_module_without_states_starts_as_its_constructor_leaves_it(tmp_path: Path) -> None:
    code = "class One:\n    def __init__(self):\n        self.rows = {'a': 1}\n    def act(self): ...\n"
    (world,) = read_worlds(written(tmp_path, code, "one.py"))
    assert list(world.initial_states()) == [{"rows": {"a": 1}}]


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (environment(env_class_code=None), "'env_class_code' is no text: None"),
        (environment(env_class_name="Two"), "has no class 'Two'; it has One"),
        (environment("class One:\n  def act(self)\n"), "is no Python"),
        (
            environment("class One:\n    def __init__(self):\n        1 / 0\n    def act(self): ...\n"),
            "ZeroDivisionError",
        ),
        (environment("import os\nclass One:\n    def act(self): ...\n"), "was stopped (imports: import os)"),
        (environment(constraints_rules=3), "'constraints_rules' a list of texts"),
        ({"env_1": 3}, "'env_1' is no environment: 3"),
    ],
)
def test_a_bad_environment_is_told_with_its_place(tmp_path: Path, record: Any, words: str) -> None:
    path = written(tmp_path, [record, environment(env_id="good")])
    with pytest.raises(RecordError) as caught:
        list(read_worlds(path))
    assert words in str(caught.value)
    bad: list[RecordError] = []
    assert [world.spec.name for world in read_worlds(path, on_bad=bad.append)] == ["good"]
    assert [(error.file, error.line) for error in bad] == [(str(path), 1)]


def test_an_environment_that_stands_twice_is_bad(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="'env_1' stands twice"):
        list(read_worlds(written(tmp_path, [environment(), environment()])))


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"task": "x", "init_config": {}}, "'env_id' is no text"),
        ({"env_id": "env_1", "task": "x", "init_config": "{"}, "'init_config' is text, and no JSON"),
        ({"env_id": "env_1", "task": "x", "init_config": [1]}, "'init_config' is no object"),
        ({"env_id": "env_1", "init_config": {}}, "'task' is no text"),
        ({"env_id": "env_1", "init_config_list": 3}, "'init_config_list' is no list"),
    ],
)
def test_a_bad_scenario_is_told_with_its_place(tmp_path: Path, record: Any, words: str) -> None:
    environments = written(tmp_path, [environment()])
    scenarios = written(tmp_path, [record], "scenarios.json")
    with pytest.raises(RecordError) as caught:
        list(read_worlds(environments, scenarios))
    assert words in str(caught.value)


def test_scenarios_of_other_environments_are_refused(tmp_path: Path) -> None:
    scenarios = written(tmp_path, [{"env_id": "env_9", "task": "x", "init_config": {}}], "scenarios.json")
    with pytest.raises(SeedError, match="the scenarios name 'env_9', the environments are 'env_1'"):
        list(read_worlds(written(tmp_path, [environment()]), scenarios))


@pytest.mark.parametrize(
    ("name", "text", "error", "words"),
    [
        ("environments.json", "", SeedError, "is empty"),
        ("environments.json", "[3]", RecordError, "not an object"),
        ("one.py", "x = 1\n", ConfigError, "has to hold one class with public methods, and holds none"),
        ("one.py", "class A:\n  def a(self): ...\nclass B:\n  def b(self): ...\n", ConfigError, "holds A, B"),
        ("one.py", "class A\n", ConfigError, "is no Python"),
        ("one.py", "import os\nclass A:\n  def a(self): ...\n", SandboxViolation, "import os"),
        ("one.py", "INITIAL_STATES = [dict(a=1)]\nclass A:\n  def a(self): ...\n", ConfigError, "is no literal"),
        ("one.py", "INITIAL_STATES = [3]\nclass A:\n  def a(self): ...\n", ConfigError, "is no list of objects"),
        ("one.py", "INITIAL_STATES = [{1: 2}]\nclass A:\n  def a(self): ...\n", ConfigError, "keys that are text"),
        ("one.py", "INITIAL_STATES = [{'a': {1}}]\nclass A:\n  def a(self): ...\n", ConfigError, "is no JSON"),
    ],
)
def test_a_bad_file_is_refused_with_the_reason(
    tmp_path: Path, name: str, text: str, error: type[SimiaError], words: str
) -> None:
    with pytest.raises(error) as caught:
        list(read_worlds(written(tmp_path, text, name)))
    assert words in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for name in ("environments.json", "one.py"):
        with pytest.raises(ConfigError, match=r"no file .*check the path"):
            list(read_worlds(tmp_path / name))


def test_a_plain_module_takes_no_file_of_scenarios() -> None:
    with pytest.raises(ConfigError, match="write states beside its class"):
        list(read_worlds(FOLDER / "parcel_locker.py", SCENARIOS))


def test_broken_states_beside_a_module_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "class One:\n    def act(self): ...\n", "one.py")
    beside = written(tmp_path, "[{", "one.json")
    with pytest.raises(ConfigError, match=f"{beside}: no JSON"):
        list(read_worlds(path))

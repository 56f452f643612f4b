"""Reading the layout of the released EnvSimBench, from files that are written here."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from simia.bench.prediction import Prediction
from simia.bench.published import published_verdict
from simia.bench.released import read_released
from simia.bench.sample import Sample
from simia.bench.score import score
from simia.bench.suite import SUFFIX, Suite, read_suite, write_suite
from simia.errors import ConfigError, StoreError
from simia.types import Put, Remove, StateDelta

CODE = "class Lamp:\n    def switch(self, name): ...\n"
BEFORE = {"lamps": {"desk": {"on": False}, "hall": {"on": True}}}
AFTER = {"lamps": {"desk": {"on": True}, "hall": {"on": True}}}


def step(**changed: Any) -> dict[str, Any]:
    return {
        "action": {"name": "switch", "arguments": {"name": "desk"}},
        "observation": {"type": "tool", "content": "{'success': True, 'on': ['desk', None]}"},
        "config_before": BEFORE,
        "config_after": AFTER,
        "config_change": {"change_count": 1},
        **changed,
    }


def record(**changed: Any) -> dict[str, Any]:
    return {"env_code": CODE, "task_info": {"env_id": "env_7", "task": "Light."}, "step_detail": step(), **changed}


def reading(tmp_path: Path, content: Any, name: str = "9.choice.json") -> Suite:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_released(path)


def sample_of(tmp_path: Path, **changed: Any) -> Sample:
    (sample,) = reading(tmp_path, [record(step_detail=step(**changed))]).samples
    return sample


def test_a_record_is_a_sample(tmp_path: Path) -> None:
    sample = sample_of(tmp_path)
    assert (sample.world, sample.origin, sample.state, sample.state_after) == ("env_7", "released", BEFORE, AFTER)
    assert (sample.call.name, sample.call.arguments) == ("switch", {"name": "desk"})
    assert sample.delta == StateDelta(changes=(Put(path=("lamps", "desk", "on"), value=True),))


def test_an_environment_is_a_world_whose_tools_have_its_whole_code(tmp_path: Path) -> None:
    other = step(action={"name": "list", "arguments": {}})
    suite = reading(tmp_path, [record(), record(step_detail=other), record(task_info={"env_id": "env_8"})])
    assert {name: list(world.tool) for name, world in suite.head.worlds.items()} == {
        "env_7": ["switch", "list"],
        "env_8": ["switch"],
    }
    assert {tool.source for world in suite.head.worlds.values() for tool in world.tools} == {CODE}


def test_an_environment_without_a_name_is_called_after_its_code(tmp_path: Path) -> None:
    suite = reading(tmp_path, [record(task_info=None), record(task_info={}, env_code=CODE + "#")])
    assert len(suite.head.worlds) == 2


def test_lines_of_json_are_read_as_an_array_is(tmp_path: Path) -> None:
    records = [record(), record(task_info={"env_id": "env_8"})]
    lines = "\n\n".join(map(json.dumps, records)) + "\n"
    assert reading(tmp_path, lines).samples == reading(tmp_path, records).samples


def test_a_single_record_is_read(tmp_path: Path) -> None:
    assert len(reading(tmp_path, record()).samples) == 1


def test_every_step_of_a_trajectory_is_a_sample(tmp_path: Path) -> None:
    walk = {"env_code": CODE, "trajectory": [step(), {"role": "user"}, "text", step(config_before=AFTER)]}
    assert [sample.size for sample in reading(tmp_path, [walk]).samples] == [1, 0]


def test_a_question_that_stands_twice_is_asked_once(tmp_path: Path) -> None:
    twice = reading(tmp_path, [record(), record(step_detail=step(observation="other")), record()])
    assert [sample.observation for sample in twice.samples] == ['{"success":true,"on":["desk",null]}']
    assert twice.head.quotas == {"1": 1}
    assert twice.head.worlds_by_cell == {"1": {"env_7": 1}}


@pytest.mark.parametrize(
    ("content", "observation"),
    [
        ("{'success': True, 'message': \"it's on\"}", '{"success":true,"message":"it\'s on"}'),
        ("[{'id': 1}, {'id': 2}]", '[{"id":1},{"id":2}]'),
        ("(1, 2)", "[1,2]"),
        ("True", "true"),
        ("None", "null"),
        ('{"success": true}', '{"success": true}'),
        ("Error: no lamp", "Error: no lamp"),
        ("'quoted'", "'quoted'"),
        ("{'a': {1, 2}}", "{'a': {1, 2}}"),
        ("{'path': '\\d'}", '{"path":"\\\\d"}'),
        ("", ""),
        ({"success": True}, '{"success":true}'),
        (None, "null"),
    ],
)
def test_an_observation_in_python_is_spelled_in_json(tmp_path: Path, content: Any, observation: str) -> None:
    assert sample_of(tmp_path, observation={"type": "tool", "content": content}).observation == observation


def test_an_observation_may_stand_alone(tmp_path: Path) -> None:
    assert sample_of(tmp_path, observation="done").observation == "done"


@pytest.mark.parametrize(
    ("content", "is_error"),
    [
        ("{'success': False, 'error': 'no'}", True),
        ("{'success': True}", False),
        ("{'success': 0}", False),
        ("{}", False),
        ("False", False),
    ],
)
def test_a_call_failed_where_its_success_is_false(tmp_path: Path, content: str, is_error: bool) -> None:
    assert sample_of(tmp_path, observation={"content": content}).is_error is is_error


@pytest.mark.parametrize(
    "action", [{"action": "switch", "args": {"name": "x"}}, {"name": "switch", "args": {"name": "x"}}]
)
def test_action_and_arguments_may_have_their_other_names(tmp_path: Path, action: dict[str, Any]) -> None:
    call = sample_of(tmp_path, action=action).call
    assert (call.name, call.arguments) == ("switch", {"name": "x"})


@pytest.mark.parametrize("text", ['{"name": "x"}', "{'name': 'x'}", '```json\n{"name": "x"}\n```'])
def test_arguments_may_be_text(tmp_path: Path, text: str) -> None:
    assert sample_of(tmp_path, action={"name": "switch", "arguments": text}).call.arguments == {"name": "x"}


def test_a_call_without_arguments_has_none(tmp_path: Path) -> None:
    assert sample_of(tmp_path, action={"name": "switch", "arguments": None}).argument_count == 0


def test_a_key_that_goes_away_is_a_removal(tmp_path: Path) -> None:
    sample = sample_of(tmp_path, config_after={"lamps": {"hall": {"on": True}}})
    assert sample.delta.changes == (Remove(path=("lamps", "desk")),)


def test_samples_are_counted_by_published_cell_and_world(tmp_path: Path) -> None:
    unchanged = step(config_after=BEFORE)
    suite = reading(tmp_path, [record(), record(step_detail=unchanged, task_info={"env_id": "env_8"})])
    assert suite.head.quotas == {"1": 1, "no_change/1": 1}
    assert suite.head.worlds_by_cell == {"1": {"env_7": 1}, "no_change/1": {"env_8": 1}}


def test_a_suite_says_where_it_is_from(tmp_path: Path) -> None:
    suite = reading(tmp_path, [record()], "9.choice.json")
    assert (suite.head.name, suite.head.made_by, suite.head.licence) == (
        "9.choice",
        "EnvSimBench",
        "LicenseRef-unknown",
    )
    assert suite.sha256 == hashlib.sha256((tmp_path / "9.choice.json").read_bytes()).hexdigest()


def test_the_licence_is_what_the_user_says(tmp_path: Path) -> None:
    reading(tmp_path, [record()])
    suite = read_released(tmp_path / "9.choice.json", "MIT")
    assert {suite.head.licence, *(world.licence for world in suite.head.worlds.values())} == {"MIT"}


def test_what_was_read_can_be_written_as_a_suite(tmp_path: Path) -> None:
    suite = reading(tmp_path, [record()])
    write_suite(tmp_path / f"s{SUFFIX}", suite.head, suite.episodes, suite.samples)
    assert read_suite(tmp_path / f"s{SUFFIX}").samples == suite.samples


def test_the_true_answer_in_json_is_right_by_both_rules(tmp_path: Path) -> None:
    sample = sample_of(tmp_path)
    shown = '{"on":["desk",null],"success":true}'
    answer = Prediction(observation=shown, is_error=False, changes=sample.delta.changes)
    ours, released = score(sample, answer), published_verdict(sample, answer)
    assert (ours.feedback_match, ours.config_match) == (True, True)
    assert (released.feedback_match, released.config_match) == (True, True)


def test_the_true_answer_in_python_is_right_by_the_released_rule_only(tmp_path: Path) -> None:
    sample = sample_of(tmp_path)
    answer = Prediction(observation="{'success': True, 'on': ['desk', None]}", changes=sample.delta.changes)
    assert published_verdict(sample, answer).feedback_match
    assert not score(sample, answer).feedback_match


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("not JSON", r"is neither JSON nor JSON Lines: "),
        ('[{"env_code": 1}, ', r"is neither JSON nor JSON Lines: "),
        ("", r"holds no sample: give the JSON file of the released EnvSimBench"),
        ([], r"holds no sample: give the JSON file of the released EnvSimBench"),
        ([{**record(), "step_detail": {}}], r"holds no sample"),
        ("3", r"sample 1: no JSON object"),
        ([record(), [1]], r"sample 2: no JSON object"),
        ([record(), {"env_code": CODE}], r"sample 2: neither step_detail nor trajectory: is it a file of the released"),
        ([{"env_code": CODE, "trajectory": "x"}], r"sample 1: neither step_detail nor trajectory"),
        ([record(env_code=None)], r"sample 1: env_code, config_before and config_after are needed"),
        ([record(step_detail=step(config_before=None))], r"sample 1: env_code, config_before and config_after"),
        ([record(step_detail=step(config_after=[1]))], r"sample 1: env_code, config_before and config_after"),
        (
            [record(step_detail=step(action={"name": "switch", "arguments": "all"}))],
            r"sample 1: the arguments of 'switch' are no object",
        ),
        (
            [record(step_detail=step(action={"name": "switch", "arguments": [1]}))],
            r"sample 1: the arguments of 'switch' are no object",
        ),
        ([record(step_detail=step(action={"arguments": {}}))], r"sample 1: the action has no name"),
    ],
)
def test_a_file_of_another_layout_says_what_is_wrong_and_where(tmp_path: Path, content: Any, reason: str) -> None:
    with pytest.raises(ConfigError, match=rf"9\.choice\.json.*{reason}"):
        reading(tmp_path, content)


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        read_released(tmp_path / "none.json")


def test_two_codes_of_one_environment_are_two_worlds(tmp_path: Path) -> None:
    suite = reading(tmp_path, [record(), record(env_code=CODE.replace("class", "# changed\nclass", 1))])
    assert sorted({sample.world for sample in suite.samples}) == ["env_7", "env_7~2"]
    one, other = suite.head.worlds.values()
    assert one.tools != other.tools

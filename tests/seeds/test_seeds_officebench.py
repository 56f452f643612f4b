"""OfficeBench checkouts: tasks, and what the runner wrote."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from simia import seeds
from simia.errors import RecordError, SeedError
from simia.types import AssistantMessage, Seed, ToolMessage, UserMessage

TASK = {
    "username": "Alice",
    "date": "2020-05-01",
    "weekday": "Friday",
    "time": "10:00 AM",
    "task": "Write the total of budget.xlsx to total.txt",
    "evaluation": [{"function": "evaluate_file_exist", "args": {"file": "data/total.txt"}}],
}
PROMPT = (
    "##Task: Write the total of budget.xlsx to total.txt\n##History:\n"
    " - Step 0: {'app': 'system', 'action': 'switch_app', 'target_app': 'excel'} -> [Successfully switched]\n"
    " - Step 1: {'app': 'excel', 'action': 'read_file', 'file_path': 'b.xlsx'} -> [(1, 1): Total\\n(1, 2): [42]]\n"
    " - Step 2: nonsense -> [Malformed action! You must follow the given action format!]\n"
    "##Current apps: excel\n##Command:"
)
HISTORY = [
    ["sys", "##Task: x\n##Available apps: []", "<think>Excel first.</think>\n<answer>{\"app\": \"system\", \"action\": "
     "\"switch_app\", \"target_app\": \"excel\"}</answer>"],
    ["sys", PROMPT, "{'app': 'excel', 'action': 'read_file', 'file_path': 'b.xlsx'}"],
    ["sys", PROMPT, "nonsense"],
    ["sys", PROMPT, '{"app": "system", "action": "finish_task", "answer": "42"}'],
]  # fmt: skip


def checkout(folder: Path, history: Any = None, env: Any = None) -> Path:
    task = folder / "tasks" / "2-21"
    (task / "subtasks").mkdir(parents=True)
    for number in (0, 2, 10):
        (task / "subtasks" / f"{number}.json").write_bytes(orjson.dumps(TASK))
    if history is not None:
        output = task / "outputs" / "0" / "model_tag"
        output.mkdir(parents=True)
        (output / "llm_history.json").write_bytes(orjson.dumps(history))
        if env is not None:
            (output / "env_history.json").write_bytes(orjson.dumps(env))
    return folder


def first(folder: Path) -> Seed:
    return next(seeds.read(str(folder)))


def test_a_checkout_gives_one_seed_per_subtask_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    found = list(seeds.read(str(checkout(tmp_path))))
    assert [seed.id for seed in found] == [f"officebench:2-21/{number}" for number in (0, 2, 10)]


@pytest.mark.parametrize("inside", [".", "tasks", "tasks/2-21"])
def test_the_checkout_its_tasks_and_one_task_can_be_read(tmp_path: Path, inside: str) -> None:
    assert len(list(seeds.read(str(checkout(tmp_path) / inside)))) == 3


def test_the_user_says_who_and_when_and_what(tmp_path: Path) -> None:
    seed = first(checkout(tmp_path))
    assert seed.reference == (UserMessage(content=seed.task),)
    assert seed.task == (
        "Today is 2020-05-01 (Friday), 10:00 AM. I am Alice. Write the total of budget.xlsx to total.txt"
    )


def test_the_evaluation_travels_in_the_metadata(tmp_path: Path) -> None:
    assert first(checkout(tmp_path)).metadata["evaluation"] == TASK["evaluation"]


def test_the_actions_of_a_run_become_tool_calls_with_their_observations(tmp_path: Path) -> None:
    reference = first(checkout(tmp_path, HISTORY)).reference
    switched, observed, read, table = reference[1:5]
    assert isinstance(switched, AssistantMessage)
    assert isinstance(observed, ToolMessage)
    assert isinstance(read, AssistantMessage)
    assert isinstance(table, ToolMessage)
    assert (switched.reasoning, switched.tool_calls[0].name) == ("Excel first.", "system_switch_app")
    assert read.tool_calls[0].arguments == {"file_path": "b.xlsx"}
    assert table.content == "(1, 1): Total\n(1, 2): [42]"


def test_every_action_of_a_run_is_a_declared_tool(tmp_path: Path) -> None:
    seed = first(checkout(tmp_path, HISTORY))
    names = {call.name for m in seed.reference if isinstance(m, AssistantMessage) for call in m.tool_calls}
    assert names <= set(seed.world.tool)


def test_the_answer_of_finish_task_is_what_the_agent_says_last(tmp_path: Path) -> None:
    last = first(checkout(tmp_path, HISTORY)).reference[-1]
    assert last == AssistantMessage(content="42")


def test_an_action_that_cannot_be_read_is_kept_verbatim(tmp_path: Path) -> None:
    broken, observed = first(checkout(tmp_path, HISTORY)).reference[5:7]
    assert isinstance(broken, AssistantMessage)
    assert isinstance(observed, ToolMessage)
    assert broken.malformed_calls[0].text == "nonsense"
    assert observed.is_error


def test_the_environments_history_has_the_observations_where_it_is_there(tmp_path: Path) -> None:
    env = [["a", "one"], ["b", "two"], ["c", "three"], ["d", "Task finished"]]
    observed = [m.content for m in first(checkout(tmp_path, HISTORY, env)).reference if isinstance(m, ToolMessage)]
    assert observed == ["one", "two", "three"]


def test_a_history_by_itself_is_read_with_the_task_of_its_prompt(tmp_path: Path) -> None:
    checkout(tmp_path, HISTORY)
    path = tmp_path / "tasks/2-21/outputs/0/model_tag/llm_history.json"
    assert first(path).task == "Write the total of budget.xlsx to total.txt"


def test_a_broken_history_is_named_and_the_other_subtasks_are_read(tmp_path: Path) -> None:
    bad: list[RecordError] = []
    found = list(seeds.read(str(checkout(tmp_path, [["only", "two"]])), on_bad=bad.append))
    assert [seed.id for seed in found] == ["officebench:2-21/2", "officebench:2-21/10"]
    assert bad[0].reason == "the history is no list of [system, prompt, response]"


def test_a_folder_without_tasks_is_refused_when_the_format_is_named(tmp_path: Path) -> None:
    with pytest.raises(SeedError, match="is no OfficeBench checkout"):
        next(seeds.read(str(tmp_path), format="officebench"))

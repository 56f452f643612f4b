"""The rules of the file system, each by one call."""

from typing import Any

import orjson
import pytest

from simia.config import rng_for
from simia.types import State, ToolCall
from simia.worlds.files import FilesWorld

FILES = FilesWorld()


def file(owner: str, mode: str, content: str = "x") -> State:
    return {"owner": owner, "mode": mode, "modified": "2025-06-01", "content": content}


@pytest.fixture
def state() -> State:
    return {
        "today": "2025-06-30",
        "user": "mira",
        "users": ["root", "mira", "leon"],
        "working_directory": "/home/mira",
        "file_quota": 8,
        "next_number": 7,
        "directories": {
            "/": {"owner": "root", "mode": "755"},
            "/home": {"owner": "root", "mode": "755"},
            "/home/mira": {"owner": "mira", "mode": "755"},
            "/home/mira/logs": {"owner": "mira", "mode": "755"},
            "/home/leon": {"owner": "leon", "mode": "700"},
            "/shared": {"owner": "leon", "mode": "777"},
        },
        "files": {
            "/home/mira/todo.txt": file("mira", "644", "rope\ntape"),
            "/home/mira/logs/a.log": file("mira", "600"),
            "/home/mira/logs/b.log": file("mira", "644"),
            "/home/mira/logs/keep.txt": file("mira", "644"),
            "/shared/prices.txt": file("leon", "644", "rope 5"),
            "/shared/diary.txt": file("leon", "600", "rope"),
        },
        "trash": {},
    }


def do(state: State, name: str, **arguments: Any) -> tuple[Any, State]:
    transition, after = FILES.run(state, ToolCall(id="call_1", name=name, arguments=arguments))
    return orjson.loads(transition.observation), after


def test_a_pattern_removes_the_files_that_match_in_its_directory_and_no_others(state: State) -> None:
    result, after = do(state, "rm", pattern="logs/*.log")
    assert result["removed"] == {"/home/mira/logs/a.log": "T-7", "/home/mira/logs/b.log": "T-8"}
    assert "/home/mira/logs/keep.txt" in after["files"]
    assert after["next_number"] == 9


def test_what_was_removed_comes_back_as_it_was(state: State) -> None:
    _, after = do(state, "rm", pattern="logs/*")
    _, again = do(after, "restore_trash")
    assert again["files"] == state["files"]
    assert again["trash"] == {}


def test_a_file_whose_place_is_taken_stays_in_the_trash(state: State) -> None:
    _, after = do(state, "rm", pattern="logs/*.log")
    _, after = do(after, "write", path="logs/a.log", content="new")
    result, again = do(after, "restore_trash")
    assert result == {"restored": ["/home/mira/logs/b.log"], "left_in_trash": ["T-7"]}
    assert again["files"]["/home/mira/logs/a.log"]["content"] == "new"


def test_nothing_is_removed_if_one_of_the_files_may_not_be_written(state: State) -> None:
    result, after = do(state, "rm", pattern="/shared/*.txt")
    assert result["error"] == "mira may not write /shared/diary.txt"
    assert after == state


def test_a_directory_moves_with_all_that_is_in_it(state: State) -> None:
    _, after = do(state, "mv", source="logs", target="/home/mira/old")
    assert "/home/mira/old" in after["directories"]
    assert after["files"]["/home/mira/old/a.log"] == state["files"]["/home/mira/logs/a.log"]
    assert not [path for path in after["files"] if path.startswith("/home/mira/logs")]


def test_a_directory_is_not_moved_into_itself(state: State) -> None:
    result, _ = do(state, "mv", source="logs", target="logs/deeper")
    assert "cannot be moved" in result["error"]


def test_the_working_directory_is_not_moved_away(state: State) -> None:
    result, _ = do(state, "mv", source=".", target="/shared/mira")
    assert "cannot be moved" in result["error"]


def test_a_rename_never_overwrites(state: State) -> None:
    _, after = do(state, "write", path="logs/a.txt", content="")
    result, _ = do(after, "rename_many", path="logs", find=".log", replacement=".txt")
    assert result["error"] == "/home/mira/logs/a.txt exists"


def test_a_copy_belongs_to_who_copies_and_keeps_its_mode(state: State) -> None:
    _, after = do(state, "cp", pattern="/shared/prices.txt", target=".")
    copy = after["files"]["/home/mira/prices.txt"]
    assert copy == {"owner": "mira", "mode": "644", "modified": "2025-06-30", "content": "rope 5"}


def test_the_trash_counts_against_the_quota(state: State) -> None:
    _, after = do(state, "rm", pattern="logs/*.log")
    result, _ = do(after, "cp", pattern="logs/keep.txt", target=".")
    assert "error" not in result
    result, _ = do({**after, "file_quota": 6}, "cp", pattern="logs/keep.txt", target=".")
    assert result["error"] == "7 files are more than the quota of 6"


def test_a_mode_is_set_for_all_below_and_only_what_had_another_is_named(state: State) -> None:
    result, after = do(state, "chmod_tree", path="logs", mode="600")
    assert result["changed"] == ["/home/mira/logs", "/home/mira/logs/b.log", "/home/mira/logs/keep.txt"]
    assert after["files"]["/home/mira/todo.txt"]["mode"] == "644"


def test_a_mode_is_set_by_the_owner_only(state: State) -> None:
    result, _ = do(state, "chmod_tree", path="/shared/prices.txt", mode="777")
    assert result["error"] == "/shared/prices.txt belongs to leon, not to mira"


def test_a_search_finds_lines_below_the_working_directory_that_the_user_may_read(state: State) -> None:
    at_home, _ = do(state, "grep", text="rope")
    everywhere, _ = do({**state, "working_directory": "/"}, "grep", text="rope")
    assert [(row["path"], row["number"]) for row in at_home] == [("/home/mira/todo.txt", 1)]
    assert [row["path"] for row in everywhere] == ["/home/mira/todo.txt", "/shared/prices.txt"]


def test_missing_directories_above_are_made_as_well(state: State) -> None:
    result, _ = do(state, "mkdir", path="a/../b/c")
    assert result["made"] == ["/home/mira/b", "/home/mira/b/c"]


def test_every_drawn_file_lies_in_a_directory() -> None:
    for seed in range(30):
        drawn = FILES.initial_state(rng_for(seed, "files"))
        assert {path.rpartition("/")[0] for path in drawn["files"]} <= set(drawn["directories"])

"""What the tasks of every executable world must be, and what its tools must offer."""

import json
import os
import subprocess
import sys
from collections import Counter

import pytest

from simia import worlds
from simia.seeds.invariants import broken, violations
from simia.worlds.digest import digests

WORLDS = {name: worlds.load(name) for name in worlds.names()}
NAMES = sorted(WORLDS)
SEED = 3
every_world = pytest.mark.parametrize("name", NAMES)
measuring_world = pytest.mark.parametrize("name", sorted({*worlds.BENCHMARK, *worlds.TRAINING}))


@every_world
def test_no_gold_call_is_refused_and_together_they_reach_the_goal(name: str) -> None:
    world = WORLDS[name]
    for task in world.tasks(60, SEED):
        state = task.initial_state
        assert violations(world.spec, state) == ()
        assert broken(task.goal, state) != ()
        for call in task.gold:
            transition, state = world.run(state, call)
            assert not transition.is_error
        assert broken(task.goal, state) == ()
        assert world.reached(task, task.gold)
        assert not world.reached(task, ())


@measuring_world
def test_gold_calls_have_every_number_of_changes(name: str) -> None:
    sizes: Counter[int] = Counter()
    for task in WORLDS[name].tasks(100, SEED):
        state = task.initial_state
        for call in task.gold:
            transition, state = WORLDS[name].run(state, call)
            assert transition.delta is not None
            sizes[transition.delta.size] += 1
    assert [size for size in range(7) if not sizes[size]] == []
    assert sum(sizes[size] for size in range(7, 13)) >= 5


@measuring_world
def test_every_tool_is_used_by_gold_calls(name: str) -> None:
    used = {call.name for task in WORLDS[name].tasks(200, SEED) for call in task.gold}
    assert used == set(WORLDS[name].spec.tool)


@every_world
def test_a_seed_draws_its_tasks_and_more_of_them_only_adds_some(name: str) -> None:
    tasks = list(WORLDS[name].tasks(8, SEED))
    assert list(WORLDS[name].tasks(5, SEED)) == tasks[:5]
    assert [task.initial_state for task in WORLDS[name].tasks(8, SEED + 1)] != [task.initial_state for task in tasks]
    assert len({task.id for task in tasks}) == 8


@pytest.mark.parametrize("name", sorted({*NAMES} - {"lamps", "office", "shop"}))
def test_there_are_tools_that_need_no_argument(name: str) -> None:
    assert sum(not tool.parameters["required"] for tool in WORLDS[name].spec.tools) >= 2


def test_a_fresh_process_with_other_hashes_in_another_time_zone_does_the_same() -> None:
    code = (
        "import json; from simia import worlds; from simia.worlds.digest import digests; "
        "print(json.dumps({name: digests(worlds.load(name), 6, 3) for name in worlds.names()}))"
    )
    salt = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONHASHSEED": salt, "TZ": "FAR-13:45"},
        capture_output=True,
        check=True,
    )
    assert json.loads(ended.stdout) == {name: digests(WORLDS[name], 6, SEED) for name in NAMES}


@every_world
def test_the_code_of_every_tool_can_be_shown(name: str) -> None:
    world = WORLDS[name]
    for tool in world.spec.tool:
        code = world.source_of(tool)
        assert code is not None
        compile(code, tool, "exec")

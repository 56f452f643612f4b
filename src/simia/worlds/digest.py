"""Whether a world answers alike in another process: hashes of everything it does, tool by tool.

``python -m simia.worlds.digest NAME TASKS SEED`` prints them as JSON.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from itertools import count
from typing import Any

from simia.errors import SimiaError, boundary
from simia.types import State, ToolCall, canonical_json
from simia.worlds.drawn import next_call
from simia.worlds.trials import beginnings, looks, trials
from simia.worlds.world import World

TASKS = "the tasks"
"""The key of the hash over all tasks; every other key is a tool, or what was called like one."""


def digests(world: World, tasks: int, seed: int) -> dict[str, str]:
    """For each tool a hash over all its transitions along the gold calls and beside them, and one over the tasks;
    where a task has no gold calls, along drawn ones.
    """
    hashes: dict[str, Any] = defaultdict(hashlib.sha256)
    for task in beginnings(world, tasks, seed):
        hashes[TASKS].update(task.content_id.encode())
        state = task.initial_state
        for call in looks(world.spec):
            _add(hashes, world, state, call)
        for number in count():
            made = next_call(world.spec, task, state, number, seed)
            if made is None:
                break
            for other in trials(state, made):
                _add(hashes, world, state, other)
            state = _add(hashes, world, state, made)
    return {name: one.hexdigest() for name, one in hashes.items()}


def digests_elsewhere(name: str, tasks: int, seed: int) -> dict[str, str]:
    """The same of the world called ``name`` in a fresh process, which salts its hashes otherwise and is in another
    time zone.

    Raises:
        SimiaError: the process fails; says how.
    """
    salt = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    zone = "EST+5" if os.environ.get("TZ") == "FAR-13:45" else "FAR-13:45"
    ended = subprocess.run(
        [sys.executable, "-m", "simia.worlds.digest", name, str(tasks), str(seed)],
        env=os.environ | {"PYTHONHASHSEED": salt, "TZ": zone},
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        last = ended.stderr.strip().splitlines()[-1:] or [f"exit code {ended.returncode}"]
        raise SimiaError(f"the fresh process ended with {last[0]}")
    found: dict[str, str] = json.loads(ended.stdout)
    return found


def _add(hashes: dict[str, Any], world: World, state: State, call: ToolCall) -> State:
    with boundary(SimiaError, f"run {call.name}"):
        transition, after = world.run(state, call)
    hashes[call.name].update(canonical_json([transition.model_dump(mode="json"), after]))
    return after


def _main(name: str, tasks: str, seed: str) -> None:
    from simia.worlds.door import open_world

    print(json.dumps(digests(open_world(name), int(tasks), int(seed))))


if __name__ == "__main__":
    _main(*sys.argv[1:])

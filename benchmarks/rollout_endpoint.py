"""A mock endpoint that plays agent and tools of an executable world, both rightly: what rollouts are measured against.

    python benchmarks/rollout_endpoint.py WORLD COUNT [--latency 0.5] [--outage 4:6]

prints its base URL and serves until terminated. An agent is known by the tools in its request: it makes the gold calls
of the task that its user speaks of, one a turn, and then says so. Other requests are prompts of a tracked simulator.
"""

import argparse
import asyncio
import signal
import subprocess
import sys
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import orjson
import uvloop

from simia import worlds
from simia.environment.rehearsal import RehearsalModel
from simia.environment.tasks import task_of
from simia.models.mock_faults import Latency, Outage
from simia.models.mock_server import MockServer
from simia.types import ChatRequest, Sampling, SystemMessage, Task, ToolCall, UserMessage, canonical_json
from simia.worlds import World

T = TypeVar("T")

_SAMPLING = Sampling(temperature=0.0, max_tokens=1)
_DRAWN_FOR_ONE = 5  # so many tasks are drawn for each that is told apart by its words alone


def told_apart(world: World, count: int) -> list[Task]:
    """``count`` tasks of ``world``, each done by the same calls as every other task in the same words."""
    drawn = list(world.tasks(_DRAWN_FOR_ONE * count, 0))
    ways: dict[str, set[bytes]] = {}
    for task in drawn:
        ways.setdefault(task.instruction, set()).add(_spelled(task.gold))
    clear = [task_of(world, task) for task in drawn if len(ways[task.instruction]) == 1]
    if len(clear) < count:
        raise SystemExit(f"only {len(clear)} of {len(drawn)} tasks of {world.spec.name} have words of their own")
    return clear[:count]


def _spelled(calls: Sequence[ToolCall]) -> bytes:
    return canonical_json([[call.name, call.arguments] for call in calls])


class Player:
    """Answers both roles from one world."""

    def __init__(self, world: World, tasks: Sequence[Task]) -> None:
        self._tools = RehearsalModel(world)
        self._gold = {task.seed.task: task.gold for task in tasks}

    def __call__(self, body: dict[str, Any]) -> str | dict[str, Any]:
        """The answer to a request's body, as the mock endpoint takes it."""
        return self._agent(body["messages"]) if body.get("tools") else self._tool(body["messages"])

    def _agent(self, messages: list[dict[str, Any]]) -> str | dict[str, Any]:
        gold = self._gold[next(message["content"] for message in messages if message["role"] == "user")]
        turn = sum(message["role"] == "assistant" for message in messages)
        if turn >= len(gold):
            return "It is done."
        function = {"name": gold[turn].name, "arguments": orjson.dumps(gold[turn].arguments).decode()}
        call = {"id": f"call_{turn + 1}", "type": "function", "function": function}
        return {"role": "assistant", "content": "", "tool_calls": [call]}

    def _tool(self, messages: list[dict[str, Any]]) -> str:
        system, user = (message["content"] for message in messages[:2])
        asked = (SystemMessage(content=system), UserMessage(content=user))
        return _at_once(self._tools.complete(ChatRequest(model="mock", messages=asked, sampling=_SAMPLING))).text


def _at_once(work: Coroutine[Any, Any, T]) -> T:
    """What ``work`` returns, which waits for nobody: a responder is no coroutine."""
    try:
        work.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    raise RuntimeError("the rehearsal waited for something")


@contextmanager
def endpoint(world: str, count: int, *, latency: str = "0", outage: str | None = None) -> Iterator[str]:
    """The base URL of such an endpoint in a process of its own, for the length of a ``with`` block."""
    command = [sys.executable, __file__, world, str(count), "--latency", latency]
    command += ["--outage", outage] if outage else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


async def _serve(server: MockServer) -> None:
    stop = asyncio.Event()
    for sign in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(sign, stop.set)
    async with server:
        print(server.base_url, flush=True)
        await stop.wait()


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("world")
    parser.add_argument("count", type=int)
    parser.add_argument("--latency", default="0", help="as for simia models mock")
    parser.add_argument("--outage", default=None, help="START:LENGTH, in seconds from the first request")
    words = parser.parse_args()
    world = worlds.load(words.world)
    server = MockServer(
        Player(world, told_apart(world, words.count)),
        latency=Latency.read(words.latency),
        outage=Outage.read(words.outage) if words.outage else None,
    )
    uvloop.run(_serve(server))


if __name__ == "__main__":
    main()

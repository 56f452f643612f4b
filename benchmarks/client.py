"""CPU per request of the model client, against the mock endpoint in another process.

``python benchmarks/client.py`` asks 20,000 requests of about 20 KB, 200 in flight, replies of about 6.7 KB, once with
the bare endpoint and once with the whole stack (cache, retry, limit, meter), and prints one line for each. Process time
of this process only; the machine may be shared, so wall time is for orientation.
"""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import uvloop

from simia.models.endpoint import EndpointModel
from simia.models.settings import ModelSettings
from simia.models.stack import build_stack
from simia.types import ChatModel, ChatReply, ChatRequest, Sampling, SystemMessage, ToolSpec, UserMessage

SHARED = "You follow the policy of a shop. " * 400
SAMPLING = Sampling(temperature=1.0, max_tokens=4096)
SCHEMA = {"type": "object", "properties": {"task": {"type": "string"}}, "required": ["task"]}
TOOLS = tuple(
    ToolSpec(name=f"tool_{n}", parameters={"type": "object", "properties": {"order_id": {"type": "string"}}})
    for n in range(8)
)


class MemoryJournal:
    """A journal that keeps nothing but the ids: the client is measured, not the disk."""

    def __init__(self) -> None:
        self.ids: set[str] = set()

    def get(self, request_id: str) -> ChatReply | None:
        """Never a reply."""
        return None

    async def put(self, request_id: str, reply: ChatReply) -> None:
        """Note the id."""
        self.ids.add(request_id)


def request(number: int) -> ChatRequest:
    """A request of about 20 KB, two thirds of it shared."""
    own = f"Seed {number}: " + f"A customer of number {number} asks for order {number}. " * 140
    return ChatRequest(
        model="mock",
        messages=(SystemMessage(content=SHARED), UserMessage(content=own)),
        sampling=SAMPLING,
        response_schema=SCHEMA,
        tools=TOOLS,
    )


async def ask(model: ChatModel, count: int, in_flight: int) -> None:
    """Ask ``count`` requests through a sliding window."""
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            reply = await model.complete(request(number))
            assert len(reply.text) > 6000

    async with asyncio.TaskGroup() as group:
        for _ in range(in_flight):
            group.create_task(worker())


async def measure(label: str, base_url: str, count: int, in_flight: int, stacked: bool) -> None:
    """One line of figures."""
    settings = ModelSettings(max_in_flight=in_flight)
    async with EndpointModel("mock", base_url) as endpoint:
        model = build_stack(endpoint, settings, journal=MemoryJournal()) if stacked else endpoint
        await ask(model, in_flight * 2, in_flight)
        cpu, wall = time.process_time(), time.perf_counter()
        await ask(model, count, in_flight)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{label:8} {1000 * cpu / count:.3f} ms CPU/request  {count / wall:,.0f} requests/s  peak {peak:.0f} MB")


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--in-flight", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        replies = Path(folder) / "replies.jsonl"
        texts = [json.dumps({"task": f"{n} " + "the customer wants a refund; " * 230}) for n in range(50)]
        replies.write_text("".join(json.dumps(text) + "\n" for text in texts))
        command = [sys.executable, "-m", "simia.models.mock_server", str(replies)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            assert server.stdout is not None
            base_url = server.stdout.readline().strip()
            try:
                for label, stacked in (("endpoint", False), ("stack", True)):
                    uvloop.run(measure(label, base_url, options.count, options.in_flight, stacked))
            finally:
                server.terminate()


if __name__ == "__main__":
    main()

"""The command line against a mock endpoint on loopback, with a world of its own that is small enough to be quick."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from simia.cli.main import main
from simia.models.mock_server import MockServer, Responder

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "juniper", "kelp", "lark", "maple")
TOOL = {
    "name": "get_order",
    "description": "Looks an order up.",
    "parameters": {
        "type": "object",
        "properties": {"order_id": {"type": "string"}},
        "required": ["order_id"],
        "additionalProperties": False,
    },
}


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


Command = Callable[..., Ended]


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No endpoint and no Ollama of the machine that runs the tests, and a folder of their own."""
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL", "SIMIA_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def _can_be_interrupted() -> Iterator[None]:
    """What starts the tests in the background may have SIGINT ignored, and every process would inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def simia(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Runs the command in this process: ``simia("runs", "ls")``."""

    def run(*words: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["simia", *words])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        return Ended(int(ended.value.code or 0), out, err)

    return run


@pytest.fixture
def start_simia() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Starts the command in a process of its own, in a process group of its own."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str, **env: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-m", "simia.cli.main", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | env,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


class Endpoint:
    """A mock server on a thread of its own."""

    def __init__(self, replies: Responder, **options: Any) -> None:
        self._ready = threading.Event()
        self._replies = replies
        self._options = options
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        async with AsyncExitStack() as stack:
            self.server = await stack.enter_async_context(MockServer(self._replies, **self._options))
            self.base_url = self.server.base_url
            self._ready.set()
            await self._over.wait()

    def close(self) -> None:
        """Stop serving."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join(10)


def sound_replies() -> Responder:
    """Replies that every check lets pass, no two alike: each conversation tells of other words."""
    numbers = count()

    def reply(body: dict[str, Any]) -> str:
        number = next(numbers)
        picked = [WORDS[(number * step + step) % len(WORDS)] for step in (1, 3, 5, 7, 11, 13)]
        order = f"R{number:04d}{picked[0]}"
        story = " ".join(f"{word}{number * 7919 % 9973 + place}" for place, word in enumerate(picked * 4))
        call = {"name": "get_order", "arguments": {"order_id": order}, "result": {"order_id": order, "note": story}}
        exchange = {
            "user": f"Where is my order {order}? It holds {story}.",
            "steps": [{"say": "", "calls": [call]}],
            "reply": f"Your order {order} is on its way with {story}.",
        }
        return json.dumps({"task": f"Ask where order {order} with {story} is.", "exchanges": [exchange]})

    return reply


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Endpoint]]:
    """Starts an endpoint and names it in OPENAI_BASE_URL; sound replies unless others are given."""
    running: list[Endpoint] = []

    def start(replies: Responder | None = None, **options: Any) -> Endpoint:
        endpoint = Endpoint(replies or sound_replies(), **({"model": "tiny"} | options))
        running.append(endpoint)
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.base_url)
        return endpoint

    yield start
    for endpoint in running:
        endpoint.close()


def conversation(number: int) -> dict[str, Any]:
    """A sound record of a seed file."""
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "get_order", "arguments": json.dumps({"order_id": f"S{number}"})},
    }
    return {
        "id": f"seed-{number}",
        "task": f"Ask where order S{number} is.",
        "messages": [
            {"role": "user", "content": f"Hello, where is order S{number}?"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "name": "get_order", "content": '{"status": "sent"}'},
            {"role": "assistant", "content": f"Order S{number} was sent."},
        ],
    }


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A world folder with three seeds and a recipe for six conversations."""
    folder = tmp_path / "depot"
    folder.mkdir()
    (folder / "world.toml").write_text('name = "depot"\nlicence = "MIT"\n')
    (folder / "policy.md").write_text("You help customers of a depot. Look orders up before you answer.\n")
    (folder / "tools.json").write_text(json.dumps([TOOL]))
    (folder / "seeds.jsonl").write_text("".join(json.dumps(conversation(n)) + "\n" for n in range(3)))
    (folder / "recipe.toml").write_text(
        'name = "depot"\ncount = 6\n[seeds]\nsource = "."\n[prefilter]\njudge = false\n[export]\nformats = ["trl"]\n'
    )
    return folder

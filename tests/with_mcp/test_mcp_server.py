"""MCP: the package's own client talks to ``simia serve mcp`` over standard input and output."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from simia import worlds
from simia.environment.episodes import EPISODES
from simia.environment.tasks import world_tasks
from simia.models.mock_server import MockServer
from simia.store import Run
from simia.types import Episode, Party, StopReason, Task

mcp = pytest.importorskip("mcp", reason="needs the extra mcp")
pytestmark = pytest.mark.mcp

T = TypeVar("T")

TASK = "lamps:0:0"
EXECUTED = ("--world", "lamps", "environment.dynamics=executable")
ALONE = (*EXECUTED, "environment.user=one_request")


def the_task() -> Task:
    return next(world_tasks(worlds.load("lamps"), 1))


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "simia.cli.main", "serve", "mcp", *words, "--task", TASK]


async def playing(folder: Path, work: Callable[[Any, Any], Awaitable[T]], *words: str) -> T:
    """What ``work`` makes of a client session and of what the server says of itself."""
    program, *arguments = command(*(words or ALONE), "--run", "run")
    server = mcp.StdioServerParameters(command=program, args=arguments, cwd=folder)
    with (folder / "stderr.txt").open("w") as told:
        client = mcp.stdio_client(server, errlog=told)
        async with client as (read, write), mcp.ClientSession(read, write) as session:
            return await work(session, await session.initialize())


def connected(folder: Path, work: Callable[[Any, Any], Awaitable[T]], *words: str) -> T:
    return asyncio.run(playing(folder, work, *words))


def kept(folder: Path) -> list[Episode]:
    with Run.read(folder / "run") as run:
        return [episode for _, _, episode in run.stream(EPISODES).kept(Episode)]


async def nothing(session: Any, about: Any) -> None:
    return None


def text_of(result: Any) -> str:
    (content,) = result.content
    return str(content.text)


# the tools


def test_the_tools_have_their_schemas_verbatim(tmp_path: Path) -> None:
    async def listed(session: Any, about: Any) -> list[Any]:
        tools = (await session.list_tools()).tools
        return [(tool.name, tool.description, tool.input_schema) for tool in tools]

    assert connected(tmp_path, listed) == [
        (tool.name, tool.description, tool.parameters) for tool in the_task().seed.world.tools
    ]


def test_a_call_is_answered_with_the_text_of_the_tool(tmp_path: Path) -> None:
    async def look(session: Any, about: Any) -> Any:
        return await session.call_tool("look_around", {})

    result = connected(tmp_path, look)
    assert json.loads(text_of(result)) == (the_task().seed.initial_state or {})["lamps"]
    assert result.is_error is False


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("dim", {}, "unknown tool 'dim'"),
        ("turn_on", {"room": 7}, "invalid arguments for turn_on"),
        ("turn_on", {"room": "moon"}, "there is no room 'moon'"),
        ("turn_on", {"room": json.loads("[" * 70 + "]" * 70)}, "nested more than 64 deep"),
    ],
)
def test_a_call_that_is_refused_is_a_result_with_the_flag(
    tmp_path: Path, name: str, arguments: dict[str, Any], said: str
) -> None:
    async def wrong(session: Any, about: Any) -> tuple[Any, Any]:
        return await session.call_tool(name, arguments), await session.call_tool("look_around", {})

    refused, fine = connected(tmp_path, wrong)
    assert refused.is_error is True
    assert said in text_of(refused)
    assert fine.is_error is False


def test_calls_that_come_at_once_are_answered_one_after_another(tmp_path: Path) -> None:
    rooms = ("attic", "cellar", "garage", "hall", "kitchen", "study")

    async def at_once(session: Any, about: Any) -> list[bool]:
        results = await asyncio.gather(*(session.call_tool("turn_on", {"room": room}) for room in rooms))
        return [result.is_error for result in results]

    lamps = (the_task().seed.initial_state or {})["lamps"]
    assert connected(tmp_path, at_once) == [lamps[room] for room in rooms]
    (episode,) = kept(tmp_path)
    assert len(episode.trajectory.messages) == 1 + 2 * len(rooms) + 1


def test_after_a_limit_no_call_is_answered_any_more(tmp_path: Path) -> None:
    async def twice(session: Any, about: Any) -> list[Any]:
        return [await session.call_tool("look_around", {}) for _ in range(2)]

    last, late = connected(tmp_path, twice, *ALONE, "environment.limits.max_turns=1")
    assert (last.is_error, late.is_error) == (False, True)
    assert "over" in text_of(late)
    assert kept(tmp_path)[0].trajectory.stop_reason is StopReason.MAX_TURNS


def test_a_simulator_that_fails_ends_the_episode_with_the_flag(tmp_path: Path) -> None:
    async def look(session: Any, about: Any) -> Any:
        return await session.call_tool("look_around", {})

    async def main() -> Any:
        async with MockServer(lambda body: "I cannot.") as server:
            model = ("model.name=tiny", f"model.base_url={server.base_url}")
            return await playing(tmp_path, look, "--world", "lamps", *model)

    result = asyncio.run(main())
    assert result.is_error is True
    assert kept(tmp_path)[0].attributed_to is Party.SIMULATOR


def test_every_call_of_a_model_is_kept_for_the_episode(tmp_path: Path) -> None:
    async def look(session: Any, about: Any) -> Any:
        return await session.call_tool("look_around", {})

    connected(tmp_path, look, "--world", "lamps", "--model", "rehearsal")

    (episode,) = kept(tmp_path)
    with Run.read(tmp_path / "run") as run:
        assert [record.role for record in run.calls.of(episode.id)] == ["tools"]


# the task


def test_one_request_is_told_in_the_instructions_and_in_a_prompt(tmp_path: Path) -> None:
    async def told(session: Any, about: Any) -> tuple[str, str]:
        assert [prompt.name for prompt in (await session.list_prompts()).prompts] == ["task"]
        (message,) = (await session.get_prompt("task")).messages
        return about.instructions, message.content.text

    seed = the_task().seed
    assert connected(tmp_path, told) == (f"{seed.world.policy.strip()}\n\n{seed.task}", seed.task)


def test_without_one_request_the_server_tells_the_policy_only(tmp_path: Path) -> None:
    async def told(session: Any, about: Any) -> tuple[str, bool]:
        return about.instructions, about.capabilities.prompts is None

    assert connected(tmp_path, told, *EXECUTED) == (the_task().seed.world.policy.strip(), True)


# the end


def test_a_task_that_was_done_is_rewarded_when_the_connection_ends(tmp_path: Path) -> None:
    async def do_it(session: Any, about: Any) -> None:
        for call in the_task().gold:
            await session.call_tool(call.name, call.arguments)

    connected(tmp_path, do_it, *ALONE, "--seed", "3")

    (episode,) = kept(tmp_path)
    assert episode.id == f"{TASK}/3/0"
    assert episode.reward is not None
    assert (episode.reward.value, episode.trajectory.stop_reason) == (1, StopReason.COMPLETED)
    assert f"episode {TASK}/3/0: reward 1" in (tmp_path / "stderr.txt").read_text()


def test_a_second_process_goes_on_with_the_run(tmp_path: Path) -> None:
    for _ in range(2):
        connected(tmp_path, nothing, *ALONE, "--seed", "3")

    assert [(episode.id, episode.reward and episode.reward.value) for episode in kept(tmp_path)] == [
        (f"{TASK}/3/0", 0.0),
        (f"{TASK}/3/1", 0.0),
    ]


def test_nothing_but_the_protocol_is_on_standard_output(tmp_path: Path) -> None:
    ended = subprocess.run(command(*ALONE), cwd=tmp_path, input="", capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_while_its_client_is_silent_and_masks_the_episode(tmp_path: Path, number: int) -> None:
    process = subprocess.Popen(
        command(*ALONE, "--run", "run"), cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        assert '"id":1' in process.stdout.readline()

        process.send_signal(number)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.communicate()
    assert kept(tmp_path)[0].is_masked


def test_a_recipe_is_read_from_a_file_and_changed_by_words(tmp_path: Path) -> None:
    recipe = '[environment]\nworld = "lamps"\ndynamics = "executable"\nuser = "simulated"\n'
    (tmp_path / "arena.toml").write_text(recipe)

    async def told(session: Any, about: Any) -> str:
        return str(about.instructions)

    said = connected(tmp_path, told, "arena.toml", "environment.user=one_request")
    assert said.endswith(the_task().seed.task)


def test_without_a_task_some_are_named(tmp_path: Path) -> None:
    ended = subprocess.run(command(*ALONE)[:-2], cwd=tmp_path, input="", capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    assert f"add --task ID, for example one of {TASK}" in ended.stderr

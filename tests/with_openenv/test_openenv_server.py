"""OpenEnv: its own client plays episodes on a real server."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from simia.cli.main import main
from simia.environment.episodes import EPISODES
from simia.environment.serving import Episodes
from simia.errors import AuthenticationFailed, ConfigError
from simia.models.scripted import ScriptedModel
from simia.store import Run
from simia.types import Episode, Task, WorldSpec

openenv = pytest.importorskip("openenv.core", reason="needs the extra openenv")
pytestmark = pytest.mark.openenv

T = TypeVar("T")
Serve = Callable[..., Any]

TASK = "lamps:0:0"
ALONE = ("--world", "lamps", "environment.dynamics=executable", "environment.user=one_request")


def with_client(url: str, work: Callable[[Any], Awaitable[T]]) -> T:
    async def connected() -> T:
        async with openenv.GenericEnvClient(base_url=url) as client:
            return await work(client)

    return asyncio.run(connected())


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "call_tool", "tool_name": name, "arguments": arguments}


def respond(message: str) -> dict[str, Any]:
    return call("respond_to_user", message=message)


async def solve(client: Any, task: Task, seed: int = 0) -> Any:
    await client.reset(task_id=task.id, seed=seed)
    for gold in task.gold:
        await client.step(call(gold.name, **gold.arguments))
    return await client.step(respond("It is done."))


def fetched(url: str, body: dict[str, Any] | None = None) -> Any:
    request = urllib.request.Request(url, headers={"Content-Type": "application/json"})
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(request, data, timeout=10) as answer:
        return json.load(answer)


# one episode


def test_a_reset_gives_the_policy_and_what_the_user_says(serve: Serve) -> None:
    served = serve()

    async def begin(client: Any) -> Any:
        return await client.reset(task_id=TASK, seed=3)

    result = with_client(served.url, begin)

    seed = served.arena.task(TASK).seed
    assert (result.done, result.reward) == (False, None)
    assert (result.observation["task_id"], result.observation["episode"]) == (TASK, f"{TASK}/3/0")
    assert result.observation["messages"] == [
        {"role": "system", "content": seed.world.policy.strip()},
        {"role": "user", "content": seed.task},
    ]


def test_the_tools_have_their_schemas_verbatim_and_no_reserved_call(serve: Serve) -> None:
    served = serve()

    async def listed(client: Any) -> Any:
        await client.reset(task_id=TASK)
        return (await client.step({"type": "list_tools"})).observation["tools"]

    assert with_client(served.url, listed) == [
        {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
        for tool in served.arena.task(TASK).seed.world.tools
    ]


def test_the_tools_of_the_only_world_are_listed_before_a_reset(serve: Serve) -> None:
    async def listed(client: Any) -> list[str]:
        tools = (await client.step({"type": "list_tools"})).observation["tools"]
        return [tool["name"] for tool in tools]

    assert with_client(serve().url, listed) == [
        "turn_on",
        "turn_off",
        "turn_on_only",
        "look_into",
        "look_around",
    ]


def test_a_call_is_answered_with_the_text_of_the_tool(serve: Serve) -> None:
    served = serve()

    async def look(client: Any) -> Any:
        await client.reset(task_id=TASK)
        return (await client.step(call("look_around"))).observation

    seen = with_client(served.url, look)

    state = served.arena.task(TASK).seed.initial_state
    assert (json.loads(seen["result"]), seen["is_error"], seen["error"]) == (state["lamps"], False, None)


def test_an_episode_that_does_the_task_is_rewarded_at_its_end(serve: Serve) -> None:
    served = serve()

    result = with_client(served.url, lambda client: solve(client, served.arena.task(TASK)))

    ending = result.observation["ending"]
    assert (result.done, result.reward) == (True, 1.0)
    assert (ending["stop_reason"], ending["attributed_to"], ending["is_masked"]) == ("completed", "agent", False)
    assert ending["parts"] == {"state_goal": 1.0}


def test_an_episode_that_does_nothing_is_rewarded_with_zero(serve: Serve) -> None:
    async def give_up(client: Any) -> Any:
        await client.reset(task_id=TASK)
        return await client.step(respond("I would rather not."))

    result = with_client(serve().url, give_up)
    assert (result.done, result.reward, result.observation["ending"]["is_masked"]) == (True, 0.0, False)


def test_a_limit_truncates_and_the_last_call_is_still_answered(serve: Serve) -> None:
    async def look(client: Any) -> Any:
        await client.reset(task_id=TASK)
        return await client.step(call("look_around"))

    result = with_client(serve(limits={"max_turns": 1}).url, look)
    assert result.observation["result"].startswith('{"attic"')
    assert (result.done, result.observation["ending"]["is_truncated"]) == (True, True)


def test_the_user_answers_what_the_agent_says(serve: Serve) -> None:
    turns = ["Turn on the lamp, please.", "The one in the hall."]
    user = ScriptedModel([*({"done": False, "say": say} for say in turns), {"done": True, "say": ""}])

    async def talk(client: Any) -> list[Any]:
        first = await client.reset(task_id=TASK)
        second = await client.step(respond("Which one?"))
        third = await client.step(respond("Goodbye."))
        return [first.observation["messages"][1]["content"], second.observation["result"], third.observation["result"]]

    assert with_client(serve({"user": user}, user="simulated").url, talk) == [*turns, None]


def test_the_state_tells_where_the_session_stands(serve: Serve) -> None:
    async def states(client: Any) -> list[Any]:
        before = await client.state()
        await client.reset(task_id=TASK, episode_id="mine")
        await client.step(call("look_around"))
        return [before, await client.state()]

    assert with_client(serve().url, states) == [
        {"episode_id": None, "step_count": 0, "task_id": None, "is_over": False},
        {"episode_id": "mine", "step_count": 1, "task_id": TASK, "is_over": False},
    ]


def test_the_columns_of_a_trainer_are_ignored_at_a_reset(serve: Serve) -> None:
    async def begin(client: Any) -> Any:
        return await client.reset(task_id=TASK, prompt=[{"role": "user", "content": ""}], answer=42)

    assert with_client(serve().url, begin).observation["task_id"] == TASK


# several


def test_sessions_are_apart_from_each_other(serve: Serve) -> None:
    served = serve()

    async def play(place: int) -> float:
        task = list(served.arena.tasks.values())[place % 3]
        async with openenv.GenericEnvClient(base_url=served.url) as client:
            if place % 2:
                return float((await solve(client, task)).reward)
            await client.reset(task_id=task.id)
            return float((await client.step(respond("No."))).reward)

    async def all_at_once() -> list[float]:
        return await asyncio.gather(*(play(place) for place in range(12)))

    assert asyncio.run(all_at_once()) == [0.0, 1.0] * 6


def test_a_session_plays_one_episode_after_another(serve: Serve) -> None:
    served = serve()

    async def twice(client: Any) -> list[float]:
        return [(await solve(client, served.arena.task(TASK), 5)).reward for _ in range(2)]

    assert with_client(served.url, twice) == [1.0, 1.0]


def test_the_members_of_a_group_get_ids_of_that_group(serve: Serve) -> None:
    async def twice(client: Any) -> list[str]:
        return [(await client.reset(task_id=TASK, seed=5)).observation["episode"] for _ in range(2)]

    assert with_client(serve().url, twice) == [f"{TASK}/5/0", f"{TASK}/5/1"]


def test_there_are_no_more_sessions_than_allowed(serve: Serve) -> None:
    served = serve(sessions=1)

    async def two() -> None:
        async with openenv.GenericEnvClient(base_url=served.url) as first:
            await first.reset()
            async with openenv.GenericEnvClient(base_url=served.url) as second:
                await second.reset()

    with pytest.raises(Exception, match=r"[Cc]apacity"):
        asyncio.run(two())


# what goes wrong


def test_an_unknown_tool_is_an_error_that_the_agent_may_get_over(serve: Serve) -> None:
    async def wrong(client: Any) -> list[Any]:
        await client.reset(task_id=TASK)
        return [await client.step(call("dim", room="hall")), await client.step(call("look_around"))]

    unknown, known = with_client(serve().url, wrong)
    assert unknown.observation["error"]["error_type"] == "tool_not_found"
    assert unknown.observation["result"].startswith('{"error":"unknown tool')
    assert (unknown.done, known.observation["error"]) == (False, None)


@pytest.mark.parametrize("room", [float("nan"), json.loads("[" * 70 + "]" * 70)], ids=["NaN", "deep"])
def test_arguments_that_could_not_be_kept_are_an_error_that_the_agent_may_get_over(serve: Serve, room: Any) -> None:
    async def wrong(client: Any) -> list[Any]:
        await client.reset(task_id=TASK)
        return [await client.step(call("turn_on", room=room)), await client.step(call("look_around"))]

    unread, known = with_client(serve().url, wrong)
    assert unread.observation["error"]["error_type"] == "invalid_args"
    assert "the call could not be read" in unread.observation["error"]["message"]
    assert (unread.done, known.observation["error"]) == (False, None)


def test_arguments_that_do_not_fit_are_an_error_of_their_own_kind(serve: Serve) -> None:
    async def wrong(client: Any) -> Any:
        await client.reset(task_id=TASK)
        return await client.step(call("turn_on", room=7))

    observation = with_client(serve().url, wrong).observation
    assert (observation["error"]["error_type"], observation["is_error"]) == ("invalid_args", True)


def test_what_a_tool_refuses_is_its_result_and_no_error_of_the_protocol(serve: Serve) -> None:
    async def wrong(client: Any) -> Any:
        await client.reset(task_id=TASK)
        return await client.step(call("turn_on", room="moon"))

    observation = with_client(serve().url, wrong).observation
    assert (observation["is_error"], observation["error"]) == (True, None)
    assert "no room" in observation["result"]


@pytest.mark.parametrize("arguments", [{}, {"message": 3}, {"message": "Hi", "to": "them"}])
def test_words_that_are_none_are_no_turn_of_the_agent(serve: Serve, arguments: dict[str, Any]) -> None:
    async def wrong(client: Any) -> tuple[Any, Any]:
        await client.reset(task_id=TASK)
        return await client.step(call("respond_to_user", **arguments)), await client.state()

    result, state = with_client(serve().url, wrong)
    assert result.observation["error"]["error_type"] == "invalid_args"
    assert (result.done, state["step_count"]) == (False, 0)


def test_a_step_without_a_reset_is_an_error_and_the_session_goes_on(serve: Serve) -> None:
    async def early(client: Any) -> tuple[Any, Any]:
        return await client.step(call("look_around")), await client.reset(task_id=TASK)

    early_step, begun = with_client(serve().url, early)
    assert "reset" in early_step.observation["error"]["message"]
    assert begun.observation["error"] is None


def test_a_step_after_the_end_gives_no_second_reward(serve: Serve) -> None:
    served = serve()

    async def late(client: Any) -> Any:
        await solve(client, served.arena.task(TASK))
        return await client.step(call("look_around"))

    result = with_client(served.url, late)
    assert (result.done, result.reward) == (True, None)
    assert "over" in result.observation["error"]["message"]


@pytest.mark.parametrize("wrong", [{"task_id": "lamps:9:9"}, {"seed": "seven"}, {"task_id": 3}, {"index": 99}])
def test_a_reset_that_cannot_be_meant_is_an_error_and_the_session_goes_on(serve: Serve, wrong: dict[str, Any]) -> None:
    async def begin(client: Any) -> tuple[Any, Any]:
        return await client.reset(**wrong), await client.reset(task_id=TASK)

    refused, begun = with_client(serve().url, begin)
    assert refused.observation["error"]["error_type"] == "execution_error"
    assert begun.observation["error"] is None


def test_a_simulator_that_fails_masks_the_episode(serve: Serve) -> None:
    async def look(client: Any) -> Any:
        await client.reset(task_id=TASK)
        return await client.step(call("look_around"))

    served = serve({"tools": ScriptedModel(lambda request: "I cannot.")}, dynamics="tracked")
    result = with_client(served.url, look)

    ending = result.observation["ending"]
    assert (result.done, result.reward) == (True, None)
    assert (ending["is_masked"], ending["attributed_to"]) == (True, "simulator")


def test_a_user_that_fails_at_the_start_masks_the_episode(serve: Serve) -> None:
    async def begin(client: Any) -> Any:
        return await client.reset(task_id=TASK)

    served = serve({"user": ScriptedModel(lambda request: "?")}, user="simulated")
    result = with_client(served.url, begin)
    assert (result.done, result.reward, result.observation["ending"]["attributed_to"]) == (True, None, "user")


def test_what_would_end_a_run_is_an_error_of_one_episode_and_the_server_lives(serve: Serve) -> None:
    user = ScriptedModel(
        [AuthenticationFailed("the key is wrong"), {"done": False, "say": "Turn on the lamp, please."}]
    )

    async def begin(client: Any) -> tuple[Any, Any]:
        return await client.reset(task_id=TASK), await client.reset(task_id=TASK)

    served = serve({"user": user}, user="simulated")
    refused, begun = with_client(served.url, begin)
    assert (refused.done, refused.reward, refused.observation["ending"]["is_masked"]) == (True, None, True)
    assert refused.observation["error"]["message"] == "the key is wrong"
    assert begun.observation["error"] is None


def test_a_world_with_a_tool_of_the_reserved_name_is_refused(serve: Serve) -> None:
    from simia.environment.adapters.openenv import openenv_app

    arena = serve().arena
    task = arena.task(TASK)
    tool = task.seed.world.tools[0].model_copy(update={"name": "respond_to_user"})
    world = WorldSpec(name="talk", policy="", tools=(tool,), licence="MIT")
    talking = task.model_copy(update={"seed": task.seed.model_copy(update={"world": world})})

    async def app() -> None:
        openenv_app(Episodes(arena.with_tasks([talking])))

    with pytest.raises(ConfigError, match="respond_to_user"):
        asyncio.run(app())


# beside the sessions


def test_the_task_api_lists_the_tasks_without_their_texts(serve: Serve) -> None:
    url = serve().url

    assert fetched(f"{url}/simia/splits") == [{"name": "train", "type": "train"}]
    assert fetched(f"{url}/simia/num_tasks", {"split": "train"}) == {"num_tasks": 3}
    assert fetched(f"{url}/simia/tasks", {"split": "train"})["tasks"][2] == {
        "task_id": "lamps:0:2",
        "index": 2,
        "world": "lamps",
    }
    assert fetched(f"{url}/simia/task", {"split": "train", "index": 1})["task"]["task_id"] == "lamps:0:1"
    assert len(fetched(f"{url}/simia/task_range", {"split": "train", "start": 1})["tasks"]) == 2


def test_a_task_that_the_task_api_gave_can_be_reset_to_by_its_index(serve: Serve) -> None:
    async def begin(client: Any) -> Any:
        return await client.reset(split="train", index=2)

    assert with_client(serve().url, begin).observation["task_id"] == "lamps:0:2"


def test_a_task_that_is_not_there_is_a_bad_request(serve: Serve) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        fetched(f"{serve().url}/simia/task", {"split": "train", "index": 9})
    with refused.value:
        assert refused.value.code == 400


def test_a_step_outside_of_a_session_says_what_to_do(serve: Serve) -> None:
    answer = fetched(f"{serve().url}/step", {"action": call("look_around")})
    assert "/ws" in answer["observation"]["error"]["message"]


# the command


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name a recipe"),
        (["arena.toml"], "no file arena.toml"),
        (["--world", "lamps", "environment.dynamcis=executable"], "environment.dynamcis: unknown key"),
        (["environment.user=one_request"], "set one of world=NAME and seeds=SOURCE"),
        (["--world", "no_such_world"], "no world 'no_such_world'"),
        ([*ALONE, "--host", "no.such.host.invalid"], "take another --host or --port"),
    ],
)
def test_what_cannot_be_served_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["simia", "serve", "openenv", *words])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 2
    assert said in capfd.readouterr().err


def test_a_port_that_is_taken_is_told(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    port = serve().url.rpartition(":")[2]
    monkeypatch.setattr(sys, "argv", ["simia", "serve", "openenv", *ALONE, "--port", port])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 2
    assert f"cannot listen at 127.0.0.1, port {port}" in capfd.readouterr().err


def test_the_command_serves_and_keeps_what_was_played(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "simia.cli.main", "serve", "openenv", *ALONE, "--port", "0", "--run", "run"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    )
    assert process.stderr is not None
    try:
        found = re.search(r"http://\S+:\d+", process.stderr.readline())
        assert found is not None

        async def play(client: Any) -> Any:
            await client.reset(task_id=TASK, seed=1)
            await client.step(respond("Goodbye."))
            return await client.reset(task_id=TASK, seed=2)

        with_client(found[0], play)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.communicate()

    with Run.read(tmp_path / "run") as run:
        kept = {key: episode.is_masked for _, key, episode in run.stream(EPISODES).kept(Episode)}
    assert kept == {f"{TASK}/1/0": False, f"{TASK}/2/0": True}

"""Environments of simia in verifiers: its own loader, endpoint and scoring play and judge whole rollouts."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simia.environment.tasks import world_tasks
from simia.errors import ConfigError
from simia.models.mock_connection import error_body
from simia.models.mock_server import MockServer
from simia.types import JsonObject
from simia.worlds import load

vf = pytest.importorskip("verifiers.v1", reason="needs the extra verifiers")
serving = pytest.importorskip("verifiers.v1.serve", reason="needs the extra verifiers")
pytestmark = [pytest.mark.verifiers, pytest.mark.slow]

WORLD = load("lamps")
TASKS = list(world_tasks(WORLD, 3, 5))
FIRST = TASKS[0]
LAMPS = ("environment.world=lamps", "environment.tasks=3", "environment.task_seed=5", "environment.dynamics=executable")
ALONE = (*LAMPS, "environment.user=one_request")
KEY = "KEY_OF_NOBODY"

Answer = tuple[int, JsonObject]
Answering = Callable[[JsonObject], Answer]


def said(message: JsonObject) -> Answer:
    """A whole completion, as strict clients demand it."""
    return 200, {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "mock",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10},
    }


def says(text: str) -> Answer:
    return said({"content": text})


def calls(*spelled: tuple[str, str, str]) -> Answer:
    """Calls by id, name and the text of their arguments."""
    listed = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for call_id, name, arguments in spelled
    ]
    return said({"content": None, "tool_calls": listed})


def results(body: JsonObject) -> list[str]:
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


def solve(body: JsonObject) -> Answer:
    """Does the task in one message with all its calls, then says so."""
    if results(body):
        return says("It is done.")
    asked = next(message["content"] for message in body["messages"] if message["role"] == "user")
    gold = next(task.gold for task in TASKS if task.seed.task == asked)
    return calls(*((call.id, call.name, json.dumps(call.arguments)) for call in gold))


def one_by_one(body: JsonObject) -> Answer:
    """Makes the calls of the first task each in a message of its own, and all under the same id."""
    gold, done = FIRST.gold, len(results(body))
    if done == len(gold):
        return says("It is done.")
    return calls(("call_0", gold[done].name, json.dumps(gold[done].arguments)))


def taskset(*settings: str, **more: Any) -> Any:
    return vf.resolve_env_config({"taskset": {"id": "simia-v1", "settings": list(settings), **more}}).taskset


def environment(*settings: str, agent: JsonObject | None = None, **more: Any) -> Any:
    """The environment as verifiers loads it from a configuration."""
    config = {"taskset": {"id": "simia-v1", "settings": list(settings), **more}, "agent": agent or {}}
    return vf.load_environment(vf.resolve_env_config(config))


def played(answer: Answering, *settings: str, **more: Any) -> Any:
    """The episode of verifiers about the first task, in which ``answer`` plays every model."""

    async def play() -> Any:
        async with MockServer(answer) as server:
            models = (f"model.base_url={server.base_url}", "model.name=mock", "model.retry_for_s=0")
            env = environment(*settings, *models, **more)
            client = vf.EvalClientConfig(base_url=server.base_url, api_key_var=KEY)
            async with env.serving():
                context = vf.ModelContext(model="mock", client=client, sampling=vf.SamplingConfig())
                return await env.run_episode(next(iter(env.taskset)), context)

    return asyncio.run(play())


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "nobody")
    monkeypatch.setenv("OPENAI_API_KEY", "nobody")


def test_tasks_are_those_of_the_environment_with_its_policy_and_without_a_prompt() -> None:
    rows = [task.data for task in vf.load_taskset(taskset(*ALONE))]
    assert [row.id for row in rows] == [task.id for task in TASKS]
    assert [row.description for row in rows] == [task.seed.task for task in TASKS]
    assert {row.system_prompt for row in rows} == {WORLD.spec.policy.strip()}
    assert {row.prompt for row in rows} == {None}


def test_a_task_is_known_by_its_own_id() -> None:
    assert [task.key for task in vf.load_taskset(taskset(*ALONE))] == [task.id for task in TASKS]


def test_settings_come_over_those_of_a_recipe(tmp_path: Path) -> None:
    recipe = tmp_path / "arena.toml"
    recipe.write_text('[environment]\nworld = "lamps"\ntasks = 7\ndynamics = "executable"\n')
    loaded = vf.load_taskset(taskset("environment.tasks=2", recipe=recipe))
    assert len(list(loaded)) == 2


def test_an_unknown_key_is_named() -> None:
    with pytest.raises(ConfigError, match=r"environment\.word"):
        vf.load_taskset(taskset("environment.word=lamps"))


def test_another_harness_which_would_find_no_tools_is_refused() -> None:
    with pytest.raises(ConfigError, match="'null'"):
        environment(*ALONE, agent={"harness": {"id": "null"}})


def test_an_agent_that_does_the_task_is_rewarded() -> None:
    (trace,) = played(solve, *ALONE).traces
    assert trace.ok
    assert trace.stop_condition == "completed"
    assert trace.rewards["simia_reward"].value == 1.0
    assert trace.metrics["by_agent"] == 1.0


def test_an_agent_that_does_nothing_is_scored_with_zero() -> None:
    (trace,) = played(lambda body: says("I will not."), *ALONE).traces
    assert trace.ok
    assert trace.rewards["simia_reward"].value == 0.0


def test_the_agent_sees_the_policy_the_request_and_the_schemas_of_the_tools_as_they_are() -> None:
    asked: list[JsonObject] = []

    def look(body: JsonObject) -> Answer:
        asked.append(body)
        return says("I will not.")

    played(look, *ALONE)
    assert asked[0]["tools"] == [tool.as_openai() for tool in WORLD.spec.tools]
    assert asked[0]["messages"] == [
        {"role": "system", "content": WORLD.spec.policy.strip()},
        {"role": "user", "content": FIRST.seed.task},
    ]


def test_parallel_calls_of_one_message_are_one_turn() -> None:
    (trace,) = played(solve, *ALONE).traces
    assert len(FIRST.gold) == 2
    assert trace.info["simia"]["turns"] == 2


def test_a_rollout_is_one_branch_although_the_endpoint_uses_an_id_again() -> None:
    (trace,) = played(one_by_one, *ALONE).traces
    assert trace.rewards["simia_reward"].value == 1.0
    assert [message.tool_call_id for message in trace.tool_messages] == ["call_0", "call_0"]
    assert trace.num_branches == 1


def test_a_call_that_cannot_be_read_is_explained_and_the_agent_goes_on() -> None:
    def clumsy(body: JsonObject) -> Answer:
        found = results(body)
        return solve({"messages": body["messages"][:2]}) if len(found) == 1 else _stumble(found)

    def _stumble(found: list[str]) -> Answer:
        return says("It is done.") if found else calls(("call_x", "turn_on", '{"room": '))

    (trace,) = played(clumsy, *ALONE).traces
    assert "could not be read" in trace.tool_messages[0].content
    assert trace.rewards["simia_reward"].value == 1.0


def test_the_system_prompt_of_verifiers_takes_the_place_of_the_policy(tmp_path: Path) -> None:
    asked: list[JsonObject] = []

    def look(body: JsonObject) -> Answer:
        asked.append(body)
        return says("I will not.")

    better = tmp_path / "better.txt"
    better.write_text("Be quick.")
    played(look, *ALONE, system_prompt=better)
    assert asked[0]["messages"][0] == {"role": "system", "content": "Be quick."}


def test_a_simulated_user_speaks_until_it_leaves() -> None:
    def both(body: JsonObject) -> Answer:
        if body.get("tools"):
            users = sum(message["role"] == "user" for message in body["messages"])
            return says("In which rooms?") if users == 1 else _act(body)
        turns = sum(message["role"] == "assistant" for message in body["messages"])
        say = ("Please turn on two lamps.", "Those in the attic and in the kitchen.", "")[turns]
        return says(json.dumps({"done": not say, "say": say}))

    def _act(body: JsonObject) -> Answer:
        return (
            says("Both are on.")
            if results(body)
            else solve({"messages": [{"role": "user", "content": FIRST.seed.task}]})
        )

    (trace,) = played(both, *LAMPS).traces
    assert [message.content for message in trace.messages if message.role == "user"] == [
        "Please turn on two lamps.",
        "Those in the attic and in the kitchen.",
    ]
    assert trace.num_branches == 1
    assert trace.rewards["simia_reward"].value == 1.0


def test_an_episode_that_the_simulated_user_spoils_is_an_error_and_no_zero() -> None:
    episode = played(lambda body: says("This is no JSON."), *LAMPS)
    (trace,) = episode.traces
    assert not trace.ok
    assert not episode.ok
    assert trace.last_error.type == "EpisodeMasked"
    assert trace.stop_condition == "user_failed"
    assert trace.rewards == {"simia_reward": None}
    assert (trace.metrics["masked"], trace.metrics["by_user"], trace.metrics["by_agent"]) == (1.0, 1.0, 0.0)


def test_a_limit_of_verifiers_truncates_and_what_was_done_is_scored() -> None:
    (trace,) = played(solve, *ALONE, agent={"max_turns": 1}).traces
    assert trace.ok
    assert trace.is_truncated
    assert trace.info["simia"]["stop"] == "max_turns"
    assert trace.rewards["simia_reward"].value == 1.0


def test_a_conversation_that_outgrows_the_context_is_truncated_and_scored() -> None:
    def full(body: JsonObject) -> Answer:
        long = "This model's maximum context length is 8 tokens."
        return (400, json.loads(error_body(long, "context_length_exceeded"))) if results(body) else solve(body)

    (trace,) = played(full, *ALONE).traces
    assert trace.ok
    assert trace.is_truncated
    assert trace.info["simia"]["stop"] == "context_overflow"


def test_an_agent_that_cannot_be_reached_is_not_scored() -> None:
    (trace,) = played(lambda body: (401, json.loads(error_body("No such key.", "invalid_api_key"))), *ALONE).traces
    assert not trace.ok
    assert trace.last_error.type == "ProviderError"
    assert trace.rewards == {}


def test_a_failure_of_the_endpoint_that_passes_is_tried_again() -> None:
    asked: list[JsonObject] = []

    def shaky(body: JsonObject) -> Answer:
        asked.append(body)
        return (503, json.loads(error_body("Starting.", "unavailable"))) if len(asked) == 1 else solve(body)

    (trace,) = played(shaky, *ALONE).traces
    assert trace.rewards["simia_reward"].value == 1.0


def test_an_environment_server_plays_tasks_that_a_trainer_sends() -> None:
    async def serve() -> Any:
        async with MockServer(solve) as model:
            config = vf.resolve_env_config({"taskset": {"id": "simia-v1", "settings": list(ALONE)}})
            server = serving.EnvServer(config, address="tcp://127.0.0.1:0")
            running = asyncio.create_task(server.run())
            client = serving.EnvClient(address=server.address)
            await client.wait_for_server_startup(timeout=30)
            task = next(iter(vf.load_taskset(config.taskset)))
            endpoint = vf.EvalClientConfig(base_url=model.base_url, api_key_var=KEY)
            episode = await client.run(
                task_data=task.data.model_dump(), client=endpoint, model="mock", sampling=vf.SamplingConfig()
            )
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await client.close()
            return episode

    (trace,) = asyncio.run(serve()).traces
    assert trace.rewards["simia_reward"].value == 1.0


def test_a_recorded_trace_is_scored_again_without_its_episode() -> None:
    (trace,) = played(solve, *ALONE).traces
    (task, *_) = vf.load_taskset(taskset(*ALONE))
    again = vf.WireTrace.model_validate(trace.to_record())
    again.rewards.clear()
    asyncio.run(task.score(again))
    assert again.rewards["simia_reward"].value == 1.0


def test_what_the_models_of_an_environment_answered_is_kept_where_it_is_asked_for(tmp_path: Path) -> None:
    played(lambda body: says('{"done": false, "say": ""}'), *LAMPS, record=tmp_path)
    (kept,) = tmp_path.glob("process-*")
    assert (kept / "replies.jsonl").stat().st_size > 0
    assert '"role":"user"' in (kept / "calls.jsonl").read_text()


def test_vf_eval_plays_and_rewards_every_rollout(tmp_path: Path) -> None:
    async def evaluate() -> None:
        async with MockServer(solve) as server:
            command = [
                *(str(Path(sys.executable).parent / "vf-eval"), "simia-v1", "-r", "2", "--no-push", "--no-rich"),
                *("-m", "mock", "--client.base-url", server.base_url, "--client.api-key-var", KEY),
                *("--env.taskset.settings", json.dumps(ALONE), "-o", str(tmp_path), "--run.dir", "lamps"),
            ]
            done = await asyncio.to_thread(subprocess.run, command, env=os.environ, capture_output=True, check=False)
            assert done.returncode == 0, done.stderr.decode()

    asyncio.run(evaluate())
    episodes = [json.loads(line) for line in (tmp_path / "lamps" / "traces.jsonl").read_text().splitlines()]
    traces = [trace for episode in episodes for trace in episode["traces"]]
    assert [trace["rewards"]["simia_reward"]["score"] for trace in traces] == [1.0] * 6
    assert {trace["info"]["simia"]["attributed_to"] for trace in traces} == {"agent"}

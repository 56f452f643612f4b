"""A run with episodes as they happen: one that is judged, with a fault and votes that differ, and masked ones."""

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from simia import worlds
from simia.environment.arena import Arena
from simia.environment.audit import AuditedModel
from simia.environment.episodes import EpisodeLog
from simia.environment.policy import ModelPolicy
from simia.environment.rollout import run_episode
from simia.environment.settings import EnvironmentSettings
from simia.formats.calls import dump_json
from simia.models.scripted import Answer, ScriptedModel
from simia.store import Manifest, Run
from simia.types import ChatReply, ChatRequest, JsonObject, MalformedToolCall, ToolCall, Usage

HOSTILE = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> <b>&amp;"
SETTINGS: JsonObject = {
    "world": "lamps",
    "tasks": 1,
    "faults": [{"kind": "timeout", "call": 1}],
    "simulate": {"mode": "turns", "max_repairs": 1},
    "reward": {"parts": {"judge": 1.0, "well_formed": 1.0}, "judge": {"votes": 3, "max_repairs": 0}},
}
USAGE = Usage(prompt_tokens=1200, cached_tokens=1000, completion_tokens=40)


def calling(name: str, call_id: str, **arguments: Any) -> ChatReply:
    call = ToolCall(id=call_id, name=name, arguments=arguments)
    return ChatReply(text="", model="agent-1", reasoning="I should act.", tool_calls=(call,), usage=USAGE)


def garbled(number: int) -> ChatReply:
    call = MalformedToolCall(id=f"call_{number}", name="turn_on", text='{"room": ', reason="the arguments end early")
    return ChatReply(text="", model="agent-1", malformed_calls=(call,))


AGENTS: dict[str, list[Answer]] = {
    "good": [
        calling("turn_off", "call_1", room="hall"),
        calling("turn_off", "call_2", place="hall"),
        calling("turn_off", "call_3", room="hall"),
        f"The lamp in the hall is off now. {HOSTILE}",
    ],
    "simulator": [calling("look_around", "call_1"), calling("look_around", "call_2")],
    "judge": ["I have done UNJUDGEABLE things."],
    "malformed": [garbled(1), garbled(2), garbled(3)],
}
"""What the agent says in each episode, by the group that it is of."""


def _tools(request: ChatRequest) -> Answer:
    called = request.messages[1].content.split("# Call to answer")[1]
    if "look_around" in called:
        return ChatReply(text="I would rather talk about the weather.", model="tools-1", usage=USAGE)
    room = re.findall(r'"room":"(\w+)"', called)[0]
    answer = {
        "is_error": False,
        "observation": {"room": room, "on": False},
        "changes": [{"op": "put", "path": ["lamps", room], "value": False}],
    }
    return ChatReply(text=dump_json(answer), model="tools-1", usage=USAGE)


def _user(request: ChatRequest) -> Answer:
    is_first = len(request.messages) == 2
    return {"done": not is_first, "say": "Could you see to the lamp in the hall?" if is_first else ""}


def _judge(request: ChatRequest) -> Answer:
    if "UNJUDGEABLE" in request.messages[-1].content:
        return "Who am I to judge?"
    passes = request.sampling.temperature != 0.4
    reason = "The hall is dark." if passes else f"It took three calls. {HOSTILE}"
    return {"evidence": "the log", "reason": reason, "rule": "T", "passes": passes}


def _manifest() -> Manifest:
    return Manifest(run="audit", version="0.1.0", created="2026-01-02T03:04:05Z", config={})


async def _play(run: Run) -> None:
    models = {"tools": ScriptedModel(_tools), "user": ScriptedModel(_user), "judge": ScriptedModel(_judge)}
    arena = Arena(
        EnvironmentSettings.model_validate(SETTINGS),
        models,
        world=worlds.load("lamps"),
        run_name="audit",
        sink=run.calls,
    )
    log = EpisodeLog(run)
    task = next(iter(arena.tasks.values()))
    lamps = {"lamps": dict.fromkeys(("attic", "cellar", "garage", "hall", "kitchen", "study"), True)}
    task = task.model_copy(update={"seed": task.seed.model_copy(update={"initial_state": lamps})})
    for ordinal, (name, script) in enumerate(AGENTS.items()):
        session = arena.session(task, f"lamps/{name}")
        agent = AuditedModel(ScriptedModel(script, name="agent-1"), "agent", run.calls)
        episode = await run_episode(session, ModelPolicy(agent, episode=session.id))
        await log.append(ordinal, episode, task.seed.world)


@pytest.fixture(scope="session")
def played_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the run, which nobody writes any more."""
    folder = tmp_path_factory.mktemp("audit") / "run"
    with Run.create(folder, _manifest()) as run:
        asyncio.run(_play(run))
    return folder


@pytest.fixture
def played(played_folder: Path) -> Iterator[Run]:
    """The run, to look at."""
    with Run.read(played_folder) as run:
        yield run


@pytest.fixture
def episode_of(played: Run) -> Callable[[str], Any]:
    """The episode of a group by the last word of its name: good, simulator, judge or malformed."""
    return lambda name: EpisodeLog(played).find(f"lamps/{name}")

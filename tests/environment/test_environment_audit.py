"""Every call of a model is on record, with its role, its episode and its prompt: also one that brought nothing."""

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from simia import worlds
from simia.environment import world_tasks
from simia.environment.arena import Arena
from simia.environment.audit import AuditedModel, on_behalf_of
from simia.environment.policy import ModelPolicy
from simia.environment.rollout import run_episode
from simia.environment.settings import EnvironmentSettings
from simia.environment.together import together
from simia.errors import (
    AuthenticationFailed,
    ContextOverflow,
    DiskFull,
    EndpointLost,
    ModelError,
    ModelTimeout,
    RequestRefused,
    ServerFailed,
)
from simia.models.scripted import Answer, ScriptedModel
from simia.store import Manifest, Run
from simia.store.calls import CallRecord
from simia.types import (
    ChatReply,
    ChatRequest,
    Episode,
    Message,
    Sampling,
    StopReason,
    SystemMessage,
    Task,
    ToolCall,
    Usage,
    UserMessage,
)

LAMPS = worlds.load("lamps")
TASK = next(world_tasks(LAMPS, 1))
MANIFEST = Manifest(run="audit", version="1", created="today", config={})
SAMPLING = Sampling(temperature=0.5, max_tokens=9, seed=7)
HELLO: dict[str, Any] = {"done": False, "say": "Please see to the lamps."}
BYE: dict[str, Any] = {"done": True, "say": ""}
SEEN: dict[str, Any] = {
    "is_error": False,
    "observation": (TASK.seed.initial_state or {})["lamps"],
    "changes": [],
}
VERDICT: dict[str, Any] = {"evidence": "an empty log", "reason": "Nothing was done.", "rule": "T", "passes": False}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with Run.create(tmp_path / "run", MANIFEST) as opened:
        yield opened


def looking() -> ChatReply:
    return ChatReply(text="", model="agent-1", tool_calls=(ToolCall(id="call_1", name="look_around", arguments={}),))


def arena_over(run: Run, *, tools: Iterable[Answer], user: Iterable[Answer], judge: Iterable[Answer]) -> Arena:
    settings = EnvironmentSettings.model_validate(
        {
            "world": "lamps",
            "tasks": 1,
            "limits": {"timeout_s": 30},
            "reward": {"parts": {"judge": 1.0}, "judge": {"votes": 2, "max_repairs": 0}},
        }
    )
    models = {"tools": ScriptedModel(tools), "user": ScriptedModel(user), "judge": ScriptedModel(judge)}
    return Arena(settings, models, world=LAMPS, sink=run.calls)


async def played(run: Run, arena: Arena, *agent: Answer, key: str = "lamps/7", task: Task = TASK) -> Episode:
    session = arena.session(task, key)
    model = AuditedModel(ScriptedModel(agent, name="agent-1"), "agent", run.calls)
    return await run_episode(session, ModelPolicy(model, episode=session.id))


def recorded(run: Run) -> list[tuple[str, str, str]]:
    return [(record.episode, record.role, record.error) for record in run.calls]


def request(text: str = "Hello.") -> ChatRequest:
    return ChatRequest(
        model="m", messages=(SystemMessage(content="Be brief."), UserMessage(content=text)), sampling=SAMPLING
    )


# episodes


def test_every_call_of_an_episode_is_on_record_with_its_role_and_its_episode(run: Run) -> None:
    arena = arena_over(run, tools=[SEEN], user=[HELLO, BYE], judge=[VERDICT, VERDICT])

    asyncio.run(played(run, arena, looking(), "It is done."))

    assert recorded(run) == [
        ("lamps/7/0", "user", ""),
        ("lamps/7/0", "agent", ""),
        ("lamps/7/0", "tools", ""),
        ("lamps/7/0", "agent", ""),
        ("lamps/7/0", "user", ""),
        ("lamps/7/0", "judge", ""),
        ("lamps/7/0", "judge", ""),
    ]


def test_an_answer_that_was_refused_is_on_record_as_well(run: Run) -> None:
    arena = arena_over(run, tools=["null", "null", SEEN], user=[HELLO, BYE], judge=[VERDICT, VERDICT])

    asyncio.run(played(run, arena, looking(), "It is done."))

    assert [record.text for record in run.calls.of("lamps/7/0") if record.role == "tools"][:2] == ["null", "null"]


@pytest.mark.parametrize("error", [ServerFailed, ModelTimeout, ContextOverflow, RequestRefused, EndpointLost])
@pytest.mark.parametrize("role", ["tools", "user", "judge", "agent"])
def test_a_call_that_raised_is_on_record_in_every_role(run: Run, role: str, error: type[ModelError]) -> None:
    answers: dict[str, list[Answer]] = {
        "tools": [SEEN],
        "user": [HELLO, BYE],
        "judge": [VERDICT, VERDICT],
        "agent": [looking(), "It is done."],
    }
    answers[role] = [error("no answer")] * 2
    agent = answers.pop("agent")

    asyncio.run(played(run, arena_over(run, **answers), *agent))

    assert ("lamps/7/0", role, f"{error.__name__}: no answer") in recorded(run)


def test_a_call_that_ends_the_run_is_on_record(run: Run) -> None:
    arena = arena_over(run, tools=[AuthenticationFailed("no key")], user=[HELLO], judge=[])

    with pytest.raises(AuthenticationFailed):
        asyncio.run(played(run, arena, looking()))

    assert recorded(run)[-1] == ("lamps/7/0", "tools", "AuthenticationFailed: no key")


def test_a_call_whose_episode_ran_out_of_time_is_on_record(run: Run) -> None:
    async def never(request: ChatRequest) -> Answer:
        await asyncio.sleep(3600)
        raise AssertionError

    settings = EnvironmentSettings.model_validate(
        {"world": "lamps", "tasks": 1, "user": "one_request", "limits": {"timeout_s": 0.2}}
    )
    arena = Arena(settings, {"tools": ScriptedModel(never)}, world=LAMPS, sink=run.calls)

    episode = asyncio.run(played(run, arena, looking()))

    assert episode.trajectory.stop_reason is StopReason.TIMEOUT
    assert recorded(run)[-1] == ("lamps/7/0", "tools", "cancelled before there was an answer")


def test_episodes_at_once_are_told_apart(run: Run) -> None:
    async def all_of_them() -> None:
        await together(
            played(
                run,
                arena_over(run, tools=[SEEN], user=[HELLO, BYE], judge=[VERDICT, VERDICT]),
                looking(),
                "It is done.",
                key=f"group-{number}",
            )
            for number in range(20)
        )

    asyncio.run(all_of_them())

    for number in range(20):
        roles = [record.role for record in run.calls.of(f"group-{number}/0")]
        assert sorted(roles) == ["agent", "agent", "judge", "judge", "tools", "user", "user"]


# what a record holds


def calls_of(run: Run, *answers: Answer, episode: str = "g/0", ask: ChatRequest | None = None) -> list[CallRecord]:
    async def asked() -> None:
        readings = iter(range(0, 1000, 2))
        model = AuditedModel(ScriptedModel(answers), "judge", run.calls, clock=lambda: next(readings))
        with on_behalf_of(episode):
            for _ in answers:
                await model.complete(ask or request())

    asyncio.run(asked())
    return list(run.calls)


def test_a_record_holds_the_whole_prompt_the_draw_the_answer_and_the_usage(run: Run) -> None:
    usage = Usage(prompt_tokens=12, completion_tokens=3)
    reply = ChatReply(text="Yes.", model="big-1", reasoning="Why not?", usage=usage)

    (record,) = calls_of(run, reply)

    assert (record.model, record.text, record.reasoning) == ("big-1", "Yes.", "Why not?")
    assert (record.usage, record.sampling) == (usage, SAMPLING)
    assert record.request == request().content_id
    assert tuple(run.calls.text(message) for message in record.messages) == request().messages


def test_a_record_tells_how_long_the_answer_took(run: Run) -> None:
    assert [record.seconds for record in calls_of(run, "a", "b")] == [2.0, 2.0]


def test_what_prompts_share_is_kept_once(run: Run) -> None:
    calls_of(run, "a", "b", "c")

    assert len((run.folder / "prompts.jsonl").read_bytes().splitlines()) == len(request().messages)


def test_a_call_on_nobodys_behalf_has_no_episode(run: Run) -> None:
    assert calls_of(run, "a", episode="")[0].episode == ""


def test_who_acts_on_behalf_of_an_episode_is_forgotten_behind_the_block(run: Run) -> None:
    async def asked() -> None:
        model = AuditedModel(ScriptedModel(["a", "b"]), "user", run.calls)
        with on_behalf_of("g/0"):
            await model.complete(request())
        await model.complete(request())

    asyncio.run(asked())

    assert [record.episode for record in run.calls] == ["g/0", ""]


# while the run is open


def test_a_record_can_be_read_while_the_run_is_being_written(run: Run) -> None:
    """What a reader finds now is what is left after a kill."""
    calls_of(run, "a")

    with Run.read(run.folder) as reader:
        assert [record.text for record in reader.calls] == ["a"]
        calls_of(run, "b")
        (first, second) = reader.calls
        assert (first.text, second.text) == ("a", "b")
        assert isinstance(reader.calls.text(second.messages[1]), UserMessage)


def test_a_record_that_a_kill_tore_is_cut_off_and_those_before_it_stay(run: Run) -> None:
    calls_of(run, "a", "b")
    run.close()
    file = run.folder / "calls.jsonl"
    file.write_bytes(file.read_bytes()[:-10])

    with Run.resume(run.folder, MANIFEST) as again:
        calls_of(again, "c")
        assert [record.text for record in again.calls] == ["a", "c"]


def test_what_cannot_be_recorded_is_an_error_and_no_silent_call(run: Run) -> None:
    class Full:
        def put(self, record: CallRecord, messages: tuple[Message, ...]) -> None:
            raise DiskFull("no room")

    async def asked() -> None:
        await AuditedModel(ScriptedModel(["a"]), "user", Full()).complete(request())

    with pytest.raises(DiskFull, match="no room"):
        asyncio.run(asked())

"""Episodes played by an agent, one or many at once: their order, what is played again, and that nobody waits."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simia import worlds
from simia.environment import world_tasks
from simia.environment.arena import Arena
from simia.environment.policy import ModelPolicy
from simia.environment.rollout import Group, run_episode, run_group
from simia.environment.session import Session
from simia.environment.settings import EnvironmentSettings
from simia.environment.together import together
from simia.errors import ConfigError, EpisodeMisused, ServerFailed, SimiaError
from simia.formats.calls import calls_of
from simia.models.scripted import ScriptedModel
from simia.types import (
    AssistantMessage,
    ChatReply,
    ChatRequest,
    MalformedToolCall,
    Message,
    Party,
    StopReason,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)

LAMPS = worlds.load("lamps")
TASK = next(world_tasks(LAMPS, 1))
ARENA = Arena(EnvironmentSettings(world="lamps", tasks=1, dynamics="executable", user="one_request"), {}, world=LAMPS)
Make = Callable[[int, int], tuple[Session, "Acting"]]


class Acting:
    """An agent that does the task, does nothing, or whose model is away."""

    def __init__(self, how: str) -> None:
        self.how = how
        self.calls = iter(TASK.gold)

    async def act(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> AssistantMessage:
        if self.how == "away":
            raise ServerFailed("away")
        call = next(self.calls, None) if self.how == "right" else None
        return AssistantMessage(content="Done.") if call is None else AssistantMessage(tool_calls=(call,))


def playing(plays: Sequence[Sequence[str]], made: list[tuple[int, int]] | None = None) -> Make:
    """Members that act so at each attempt, the last way for all that follow; ``made`` is told of each episode."""
    maker = ARENA.group(TASK, "group")

    def make(member: int, attempt: int) -> tuple[Session, Acting]:
        if made is not None:
            made.append((member, attempt))
        ways = plays[member]
        return maker.session(member, attempt), Acting(ways[min(attempt, len(ways) - 1)])

    return make


def group_of(plays: Sequence[Sequence[str]], **settings: int) -> Group:
    return asyncio.run(run_group(playing(plays), len(plays), **settings))


# one episode


def test_an_agent_sees_the_policy_first_then_the_user_then_what_came_of_its_calls() -> None:
    seen: list[tuple[str, ...]] = []

    class Looking(Acting):
        async def act(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> AssistantMessage:
            seen.append(tuple(message.role for message in messages))
            return await super().act(messages, tools)

    asyncio.run(run_episode(ARENA.session(TASK, "g"), Looking("right")))

    assert seen[0] == ("system", "user")
    assert seen[1] == ("system", "user", "assistant", "tool")


def test_an_episode_keeps_what_was_said_without_the_policy() -> None:
    episode = asyncio.run(run_episode(ARENA.session(TASK, "g"), Acting("right")))

    roles = [message.role for message in episode.trajectory.messages]
    assert roles == ["user", *["assistant", "tool"] * len(TASK.gold), "assistant"]


def test_an_episode_that_is_finished_twice_is_judged_once() -> None:
    session = ARENA.session(TASK, "g")

    async def both() -> tuple[object, object]:
        return await run_episode(session, Acting("right")), await session.finish()

    first, second = asyncio.run(both())
    assert first is second


def test_an_episode_that_is_left_in_its_middle_is_masked() -> None:
    async def left() -> Any:
        session = ARENA.session(TASK, "g")
        await session.start()
        return await session.finish()

    episode = asyncio.run(left())
    assert episode.is_masked
    assert (episode.trajectory.stop_reason, episode.attributed_to) == (StopReason.UNAVAILABLE, Party.INFRASTRUCTURE)


def test_an_episode_is_for_one_use() -> None:
    session = ARENA.session(TASK, "g")

    async def twice() -> None:
        await run_episode(session, Acting("right"))
        await run_episode(session, Acting("right"))

    with pytest.raises(EpisodeMisused):
        asyncio.run(twice())


def test_an_error_that_every_episode_would_meet_is_raised() -> None:
    class Unconfigured(Acting):
        async def act(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> AssistantMessage:
            raise ConfigError("no such model")

    with pytest.raises(ConfigError, match="no such model"):
        asyncio.run(run_episode(ARENA.session(TASK, "g"), Unconfigured("right")))


class Repeating:
    """An agent whose endpoint calls every call ``call_0``."""

    def __init__(self, *turns: int) -> None:
        self.turns = iter(turns)

    async def act(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> AssistantMessage:
        look = ToolCall(id="call_0", name="look_around", arguments={})
        cut = MalformedToolCall(id="call_0", name="look_around", text="{", reason="cut")
        count = next(self.turns, 0)
        if not count:
            return AssistantMessage(content="Done.")
        return AssistantMessage(tool_calls=(look,) * count, malformed_calls=(cut,))


@given(st.lists(st.integers(min_value=1, max_value=3), max_size=2))
def test_calls_whose_ids_an_endpoint_repeats_are_told_apart(turns: list[int]) -> None:
    trajectory = asyncio.run(run_episode(ARENA.session(TASK, "g"), Repeating(*turns))).trajectory

    answered = [message.call_id for message in trajectory.messages if isinstance(message, ToolMessage)]
    called = [
        call.id
        for message in trajectory.messages
        if isinstance(message, AssistantMessage)
        for call in calls_of(message)
    ]
    assert answered == called
    assert len(set(called)) == len(called)
    assert len(trajectory.deltas) == sum(turns)


def test_ids_of_calls_that_are_all_different_stay_as_they_are() -> None:
    trajectory = asyncio.run(run_episode(ARENA.session(TASK, "g"), Acting("right"))).trajectory

    assert list(trajectory.deltas) == [call.id for call in TASK.gold]


# groups


@given(st.lists(st.lists(st.sampled_from(["right", "idle", "away"]), min_size=1, max_size=3), min_size=1, max_size=6))
def test_the_members_of_a_group_are_in_their_order_each_as_it_was_last_played(plays: list[list[str]]) -> None:
    group = group_of(plays, reruns=1, floor=0)

    wanted = {"right": 1.0, "idle": 0.0, "away": None}
    lasts = [ways[min(1, len(ways) - 1)] if ways[0] == "away" else ways[0] for ways in plays]
    assert list(group.rewards) == [wanted[how] for how in lasts]
    assert [episode.id.split("/")[1].split("+")[0] for episode in group.episodes] == [str(n) for n in range(len(plays))]


@given(
    st.lists(st.integers(min_value=0, max_value=4), min_size=1, max_size=6),
    st.integers(min_value=0, max_value=3),
    st.integers(min_value=0, max_value=6),
)
def test_masked_members_are_played_again_so_often_and_counted(failures: list[int], reruns: int, floor: int) -> None:
    group = group_of([["away"] * count + ["right"] for count in failures], reruns=reruns, floor=floor)

    assert group.reruns == sum(min(count, reruns) for count in failures)
    assert [episode.is_masked for episode in group.episodes] == [count > reruns for count in failures]
    scored = sum(count <= reruns for count in failures)
    assert group.is_void == (scored < floor)
    assert all(reward is None for reward in group.rewards) == (group.is_void or not scored)


def test_only_who_was_masked_is_played_again() -> None:
    made: list[tuple[int, int]] = []

    asyncio.run(run_group(playing([["right"], ["away", "right"], ["idle"]], made), 3, reruns=2))

    assert made == [(0, 0), (1, 0), (2, 0), (1, 1)]


def test_another_attempt_has_an_id_and_a_provenance_of_its_own() -> None:
    (_, again) = group_of([["right"], ["away", "right"]]).episodes

    assert (again.id, again.group, again.trajectory.provenance.attempt) == ("group/1+1", "group", 1)


def test_a_group_whose_rewards_are_zero_is_not_void() -> None:
    assert group_of([["idle"], ["idle"]]).rewards == (0.0, 0.0)


def test_an_error_of_one_member_leaves_as_itself_and_cancels_the_others() -> None:
    cancelled: list[bool] = []

    class Waiting(Acting):
        async def act(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> AssistantMessage:
            try:
                await asyncio.sleep(3600)
            finally:
                cancelled.append(True)
            raise AssertionError

    class Broken(Acting):
        async def act(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> AssistantMessage:
            await asyncio.sleep(0)
            raise ConfigError("no such model")

    def make(member: int, attempt: int) -> tuple[Session, Acting]:
        return ARENA.group(TASK, "g").session(member, attempt), Broken("right") if member else Waiting("right")

    with pytest.raises(ConfigError):
        asyncio.run(run_group(make, 2))
    assert cancelled == [True]


def test_no_episode_waits_for_another() -> None:
    """Every agent waits until all have begun: played one after another, the first would wait for ever."""
    everybody = asyncio.Barrier(50)

    class Meeting(Acting):
        async def act(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> AssistantMessage:
            if messages[-1].role == "user":
                await everybody.wait()
            return await super().act(messages, tools)

    async def played() -> Group:
        def make(member: int, attempt: int) -> tuple[Session, Acting]:
            return ARENA.group(TASK, "g").session(member, attempt), Meeting("right")

        async with asyncio.timeout(60):
            return await run_group(make, 50)

    assert asyncio.run(played()).rewards == (1.0,) * 50


def test_the_first_error_of_several_at_once_is_raised_in_no_group() -> None:
    async def failing(number: int) -> int:
        raise SimiaError(f"error {number}")

    with pytest.raises(SimiaError, match="error 0"):
        asyncio.run(together(failing(number) for number in range(3)))


# an agent that a model plays


def asked_by(episode: str, *, seed: int = 0) -> ChatRequest:
    model = ScriptedModel(["Done."])
    talk = (SystemMessage(content="Be brief."), UserMessage(content="Hello."))
    asyncio.run(ModelPolicy(model, episode=episode, seed=seed).act(talk, LAMPS.spec.tools))
    return model.requests[0]


def test_a_model_that_acts_is_asked_with_the_talk_and_the_tools_as_they_are() -> None:
    request = asked_by("g/0")

    assert [message.role for message in request.messages] == ["system", "user"]
    assert request.tools == LAMPS.spec.tools


def test_the_draw_of_an_acting_model_depends_on_its_episode_and_the_seed() -> None:
    draws = [asked_by("g/0"), asked_by("g/1"), asked_by("g/0", seed=1)]

    assert len({request.sampling.seed for request in draws}) == 3
    assert asked_by("g/0") == draws[0]


def test_what_a_model_says_beside_its_call_is_part_of_its_turn() -> None:
    call = ToolCall(id="call_1", name="look_around", arguments={})
    model = ScriptedModel([ChatReply(text="One moment.", model="m", reasoning="Look first.", tool_calls=(call,))])

    message = asyncio.run(ModelPolicy(model, episode="g/0").act((UserMessage(content="Hi"),), ()))

    assert message == AssistantMessage(content="One moment.", reasoning="Look first.", tool_calls=(call,))

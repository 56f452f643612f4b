"""An agent that fills the contexts of those who answer it gains nothing: it is refused, cut, or scored as it stands."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from simia import worlds
from simia.environment import world_tasks
from simia.environment.arena import Arena
from simia.environment.rehearsal import RehearsalModel
from simia.environment.rollout import run_episode
from simia.environment.settings import EnvironmentSettings
from simia.errors import ContextOverflow
from simia.models.scripted import Answer, ScriptedModel
from simia.types import (
    AssistantMessage,
    ChatModel,
    ChatRequest,
    Episode,
    Message,
    Party,
    StopReason,
    ToolCall,
    ToolMessage,
    ToolSpec,
)

LAMPS = worlds.load("lamps")
TASK = next(world_tasks(LAMPS, 1))
STATE: dict[str, bool] = (TASK.seed.initial_state or {})["lamps"]
ASKS: Answer = {"done": False, "say": "Please see to the lamps."}
LEAVES: Answer = {"done": True, "say": ""}


class Acting:
    """An agent that sends these messages and then says that it is done."""

    def __init__(self, *script: AssistantMessage) -> None:
        self.script = iter(script)

    async def act(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> AssistantMessage:
        return next(self.script, AssistantMessage(content="It is done."))


def played(*script: AssistantMessage, models: Mapping[str, ChatModel] | None = None, **settings: Any) -> Episode:
    wanted = {"world": "lamps", "tasks": 1, "user": "one_request", **settings}
    known = {"tools": RehearsalModel(LAMPS), **(models or {})}
    arena = Arena(EnvironmentSettings.model_validate(wanted), known, world=LAMPS)
    return asyncio.run(run_episode(arena.session(TASK, "group"), Acting(*script)))


def shown(episode: Episode) -> list[ToolMessage]:
    return [message for message in episode.trajectory.messages if isinstance(message, ToolMessage)]


def outcome(episode: Episode) -> tuple[StopReason, Party, float | None]:
    reward = episode.reward
    return episode.trajectory.stop_reason, episode.attributed_to, None if reward is None else reward.value


def gold() -> tuple[AssistantMessage, ...]:
    return tuple(AssistantMessage(tool_calls=(call,)) for call in TASK.gold)


def switching(room: str, call_id: str = "a") -> ToolCall:
    return ToolCall(id=call_id, name="turn_on", arguments={"room": room})


# tools


def test_of_one_message_as_many_calls_are_answered_as_the_limit_says_and_the_others_are_refused() -> None:
    looks = tuple(ToolCall(id=f"c{n}", name="look_around", arguments={}) for n in range(7))
    model = ScriptedModel(lambda _: {"is_error": False, "observation": STATE, "changes": []})

    episode = played(AssistantMessage(tool_calls=looks), models={"tools": model}, limits={"message_calls": 3})

    assert [message.call_id for message in shown(episode)] == [call.id for call in looks]
    assert [message.is_error for message in shown(episode)] == [False] * 3 + [True] * 4
    assert "one message may hold 3 calls at most" in shown(episode)[-1].content
    assert len(model.requests) == 1


def test_a_call_with_too_long_arguments_is_refused_and_nobody_is_asked() -> None:
    model = ScriptedModel([])

    episode = played(AssistantMessage(tool_calls=(switching("x" * 9000),)), models={"tools": model})

    assert model.requests == []
    assert "the arguments have 9,011 characters, at most 8,000 may be" in shown(episode)[0].content
    assert outcome(episode) == (StopReason.COMPLETED, Party.AGENT, 0.0)


def too_long(request: ChatRequest) -> Answer:
    raise ContextOverflow("12,000 tokens")


@pytest.mark.parametrize(
    ("room", "ended"),
    [
        pytest.param("x" * 7000, (StopReason.CONTEXT_OVERFLOW, Party.AGENT, 0.0), id="the agent's call"),
        pytest.param("barn", (StopReason.SIMULATOR_FAILED, Party.SIMULATOR, None), id="the rest of the prompt"),
    ],
)
def test_a_prompt_of_the_tools_that_is_too_long_is_the_doing_of_whoever_filled_it(
    room: str, ended: tuple[StopReason, Party, float | None]
) -> None:
    calling = AssistantMessage(tool_calls=(switching(room),))

    assert outcome(played(calling, models={"tools": ScriptedModel(too_long)})) == ended


# the user


def test_of_a_long_message_the_user_hears_both_ends() -> None:
    model = ScriptedModel([ASKS, LEAVES])
    talk = AssistantMessage(content="Well, " + "so it is, " * 4000 + "and that is all.")

    episode = played(talk, models={"user": model}, user="simulated")

    heard = model.requests[1].messages[-1].content
    assert len(heard) < 4500
    assert ("Well, so it is" in heard, "and that is all." in heard) == (True, True)
    assert outcome(episode) == (StopReason.COMPLETED, Party.AGENT, 0.0)


def test_what_is_said_beside_many_calls_is_one_turn_and_cut_as_one() -> None:
    model = ScriptedModel([ASKS, LEAVES])
    look = ToolCall(id="c", name="look_around", arguments={})
    beside = [AssistantMessage(content=f"{n} " * 900, tool_calls=(look,)) for n in range(10)]

    played(*beside, models={"user": model}, user="simulated")

    assert len(model.requests[1].messages[-1].content) < 6000


@pytest.mark.parametrize(
    ("said", "ended"),
    [
        pytest.param("word " * 5000, (StopReason.CONTEXT_OVERFLOW, Party.AGENT, 1.0), id="the agent's words"),
        pytest.param("It is done.", (StopReason.USER_FAILED, Party.USER, None), id="the rest of the prompt"),
    ],
)
def test_a_talk_that_is_too_long_for_the_user_is_the_doing_of_whoever_filled_it(
    said: str, ended: tuple[StopReason, Party, float | None]
) -> None:
    """What was reached before is scored: the state is as wanted, but the episode did not come to its end."""
    model = ScriptedModel([ASKS, ContextOverflow("9,000 tokens")])

    episode = played(*gold(), AssistantMessage(content=said), models={"user": model}, user="simulated")

    assert outcome(episode) == ended

"""What failed is asked with another draw when it is played again; what succeeded is asked the same again."""

import asyncio

import pytest

from simia import worlds
from simia.environment import world_tasks
from simia.environment.arena import Arena
from simia.environment.rehearsal import RehearsalModel
from simia.environment.rollout import Group, run_group
from simia.environment.settings import EnvironmentSettings
from simia.models.cached import CachedModel
from simia.models.scripted import Answer, ScriptedModel
from simia.types import (
    AssistantMessage,
    ChatModel,
    ChatReply,
    ChatRequest,
    Message,
    StopReason,
    ToolCall,
    ToolSpec,
    UserMessage,
)

LAMPS = worlds.load("lamps")
TASK = next(world_tasks(LAMPS, 1))
LOOK = ToolCall(id="call_1", name="look_around", arguments={})
LAMPS_NOW = (TASK.seed.initial_state or {})["lamps"]


class Journal:
    """Replies that were paid for, kept over the end of a run."""

    def __init__(self) -> None:
        self.kept: dict[str, ChatReply] = {}

    def get(self, request_id: str) -> ChatReply | None:
        return self.kept.get(request_id)

    async def put(self, request_id: str, reply: ChatReply) -> None:
        self.kept[request_id] = reply


class Looking:
    """An agent that looks around and then says so."""

    def __init__(self) -> None:
        self.script = iter([AssistantMessage(tool_calls=(LOOK,))])

    async def act(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> AssistantMessage:
        return next(self.script, AssistantMessage(content="It is done."))


def arena(model: ChatModel, role: str, journal: Journal) -> Arena:
    settings = {
        "world": "lamps",
        "tasks": 1,
        "user": "simulated" if role == "user" else "one_request",
        "talk": {"max_messages": 1, "max_repairs": 0},
        "simulate": {"max_repairs": 0},
    }
    models: dict[str, ChatModel] = {"tools": RehearsalModel(LAMPS), role: CachedModel(model, journal)}
    return Arena(EnvironmentSettings.model_validate(settings), models, world=LAMPS)


def group_of(played: Arena, *, size: int = 4, reruns: int = 3, key: str = "g") -> Group:
    maker = played.group(TASK, key)
    return asyncio.run(
        run_group(lambda member, attempt: (maker.session(member, attempt), Looking()), size, reruns=reruns)
    )


def failing(times: int, right: Answer) -> ScriptedModel:
    """A model that answers prose to its first ``times`` draws, and to each draw the same again."""
    seen: list[int | None] = []

    async def answer(request: ChatRequest) -> Answer:
        await asyncio.sleep(0)  # long enough for the other members to ask
        if request.sampling.seed not in seen:
            seen.append(request.sampling.seed)
        return "I would rather talk." if seen.index(request.sampling.seed) < times else right

    return ScriptedModel(answer)


SAYS: Answer = {"done": False, "say": "Please see to the lamps."}
SHOWS: Answer = {"is_error": False, "observation": LAMPS_NOW, "changes": []}


def opening(group: Group) -> set[str]:
    return {
        message.content
        for episode in group.episodes
        for message in episode.trajectory.messages
        if isinstance(message, UserMessage)
    }


def test_a_user_who_failed_is_asked_with_another_draw_when_the_group_is_played_again() -> None:
    model = failing(2, SAYS)

    group = group_of(arena(model, "user", Journal()))

    assert [episode.is_masked for episode in group.episodes] == [False] * 4
    assert opening(group) == {"Please see to the lamps."}
    assert (group.reruns, len(model.requests)) == (8, 3)
    assert len({request.messages for request in model.requests}) == 1


def test_a_user_who_always_fails_is_really_asked_at_every_attempt() -> None:
    model = failing(99, SAYS)

    group = group_of(arena(model, "user", Journal()))

    assert {episode.trajectory.stop_reason for episode in group.episodes} == {StopReason.USER_FAILED}
    assert len(model.requests) == 4


def test_a_tool_that_failed_for_one_member_is_asked_with_another_draw_for_the_next() -> None:
    model = failing(1, SHOWS)

    group = group_of(arena(model, "tools", Journal()), reruns=0)

    assert sorted(episode.is_masked for episode in group.episodes) == [False, False, False, True]
    assert len(model.requests) == 2


def test_a_tool_that_failed_in_one_group_is_mended_by_a_rerun_in_every_later_one() -> None:
    model, journal = failing(2, SHOWS), Journal()
    played = arena(model, "tools", journal)

    groups = [group_of(played, size=2, key=key) for key in ("g", "h")]

    assert [episode.is_masked for group in groups for episode in group.episodes] == [False] * 4
    assert len(model.requests) == 3


@pytest.mark.parametrize(("role", "right"), [("user", SAYS), ("tools", SHOWS)])
def test_a_group_that_is_played_anew_after_an_interruption_pays_for_nothing_again(role: str, right: Answer) -> None:
    journal, silent = Journal(), ScriptedModel([])

    first = group_of(arena(failing(2, right), role, journal))
    resumed = group_of(arena(silent, role, journal))

    assert silent.requests == []
    assert resumed.rewards == first.rewards
    assert opening(resumed) == opening(first)

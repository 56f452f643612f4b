"""Where episodes come from: what members of a group share, what they do not, and what an environment is made from."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from simia import worlds
from simia.environment import world_tasks
from simia.environment.arena import Arena, prompts_of, roles_of
from simia.environment.rehearsal import RehearsalModel
from simia.environment.rollout import run_episode
from simia.environment.session import Session
from simia.environment.settings import EnvironmentSettings
from simia.environment.together import together
from simia.errors import ConfigError
from simia.models.scripted import Answer, ScriptedModel
from simia.types import (
    AssistantMessage,
    ChatRequest,
    Episode,
    Message,
    StopReason,
    Task,
    ToolCall,
    ToolMessage,
    ToolSpec,
    WorldTask,
)
from simia.worlds import World

LAMPS = worlds.load("lamps")
TASKS = list(world_tasks(LAMPS, 3))
TASK = TASKS[0]
STATE: dict[str, bool] = (TASK.seed.initial_state or {})["lamps"]
LIT = next(room for room, is_on in STATE.items() if is_on)
LOOK = AssistantMessage(tool_calls=(ToolCall(id="call_1", name="look_around", arguments={}),))


class Acting:
    """An agent that sends these messages and then says that it is done."""

    def __init__(self, *script: AssistantMessage) -> None:
        self.script = iter(script)

    async def act(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> AssistantMessage:
        return next(self.script, AssistantMessage(content="It is done."))


def gold() -> tuple[AssistantMessage, ...]:
    return tuple(AssistantMessage(tool_calls=(call,)) for call in TASK.gold)


def settings(**changes: Any) -> EnvironmentSettings:
    return EnvironmentSettings.model_validate({"world": "lamps", "tasks": 1, "user": "one_request", **changes})


def played(session: Session, *script: AssistantMessage) -> Episode:
    return asyncio.run(run_episode(session, Acting(*script)))


def shown(episode: Episode) -> list[str]:
    return [message.content for message in episode.trajectory.messages if isinstance(message, ToolMessage)]


def tools_asked(maker: Callable[[Arena], Session], **changes: Any) -> ChatRequest:
    """What the tools' model is asked in an episode whose agent looks around."""
    model = ScriptedModel(lambda request: {"is_error": False, "observation": STATE, "changes": []})
    played(maker(Arena(settings(**changes), {"tools": model}, world=LAMPS)), LOOK)
    return model.requests[0]


# who plays


def test_an_environment_of_programs_needs_no_model() -> None:
    assert roles_of(settings(dynamics="executable")) == ()
    assert prompts_of(settings(dynamics="executable")) == ()


def test_every_role_that_a_model_plays_is_named() -> None:
    wanted = settings(user="simulated", reward={"parts": {"judge": 1.0}})

    assert roles_of(wanted) == ("tools", "user", "judge")
    assert set(prompts_of(wanted)) >= {"turns_tools", "environment_user", "judge"}


def test_an_environment_whose_role_nobody_plays_is_refused() -> None:
    with pytest.raises(ConfigError, match="nobody plays tools, user: give a model for each"):
        Arena(settings(user="simulated"), {}, world=LAMPS)


def test_tasks_of_a_world_need_the_world() -> None:
    with pytest.raises(ConfigError, match="need that world"):
        Arena(settings(dynamics="executable"), {})


def test_a_task_that_is_not_there_is_named_with_those_that_are() -> None:
    arena = Arena(settings(dynamics="executable"), {}, world=LAMPS)

    with pytest.raises(ConfigError, match=r"no task 'lamps:9:9'; there are 1, for example lamps:0:0"):
        arena.task("lamps:9:9")


def test_an_episode_tells_what_it_was_made_from() -> None:
    model = RehearsalModel(LAMPS)
    arena = Arena(settings(), {"tools": model}, world=LAMPS, run_name="today")

    provenance = played(arena.session(TASK, "g")).trajectory.provenance

    assert (provenance.run, provenance.seed, provenance.licence) == ("today", TASK.id, "Apache-2.0")
    assert provenance.model == "tools rehearsal:0"
    assert set(provenance.prompts) == set(prompts_of(settings()))


class Other(World):
    """Lamps with other tasks."""

    spec = LAMPS.spec
    run = staticmethod(LAMPS.run)

    def __init__(self, **changes: Any) -> None:
        self.changes = changes

    def tasks(self, count: int | None = None, seed: int = 0) -> Iterator[WorldTask]:
        return (task.model_copy(update=self.changes) for task in LAMPS.tasks(count, seed))


def silent(task: Task) -> Task:
    return task.model_copy(update={"seed": task.seed.model_copy(update={"task": " "})})


@pytest.mark.parametrize("user", ["simulated", "one_request"])
def test_tasks_without_text_are_named_when_the_arena_opens_and_not_in_the_middle_of_a_training(user: str) -> None:
    models = {"user": ScriptedModel([])}
    wanted = settings(dynamics="executable", user=user, tasks=2)

    with pytest.raises(ConfigError, match="2 of 2 tasks have no text that a user could say, lamps:0:0, lamps:0:1: "):
        Arena(wanted, models, world=Other(instruction=" "))


def test_other_tasks_need_a_text_too() -> None:
    arena = Arena(settings(dynamics="executable"), {}, world=LAMPS)

    with pytest.raises(ConfigError, match="1 of 1 tasks have no text"):
        arena.with_tasks([silent(TASK)])


# what a group shares


def moody() -> ScriptedModel:
    """Tools that answer otherwise each time they are asked."""
    numbers = iter(range(1000))

    def answer(request: ChatRequest) -> Answer:
        return {"is_error": True, "observation": {"error": f"not now, {next(numbers)}"}, "changes": []}

    return ScriptedModel(answer)


def group_of(arena: Arena, size: int, *script: AssistantMessage, key: str = "g") -> list[Episode]:
    maker = arena.group(TASK, key)

    async def all_of_them() -> list[Episode]:
        return await together(run_episode(maker.session(member), Acting(*script)) for member in range(size))

    return asyncio.run(all_of_them())


def test_members_of_a_group_who_do_the_same_get_the_same_answers() -> None:
    model = moody()

    episodes = group_of(Arena(settings(), {"tools": model}, world=LAMPS), 8, LOOK, LOOK)

    assert {tuple(shown(episode)) for episode in episodes} == {('{"error":"not now, 0"}',) * 2}
    assert len(model.requests) == 1
    assert sum(len(episode.remembered) for episode in episodes) == 2 * 8 - 1


def test_a_member_that_is_played_again_gets_the_answers_of_its_group() -> None:
    model = moody()
    maker = Arena(settings(), {"tools": model}, world=LAMPS).group(TASK, "g")

    first, again = played(maker.session(0), LOOK), played(maker.session(0, 1), LOOK)

    assert shown(first) == shown(again)


def test_another_group_is_asked_for_anew() -> None:
    model = moody()
    arena = Arena(settings(), {"tools": model}, world=LAMPS)

    assert shown(group_of(arena, 1, LOOK, key="g")[0]) != shown(group_of(arena, 1, LOOK, key="h")[0])


def test_members_of_a_group_who_do_otherwise_do_not_change_each_others_state() -> None:
    arena = Arena(settings(), {"tools": RehearsalModel(LAMPS)}, world=LAMPS)
    maker = arena.group(TASK, "g")

    acted, idle = played(maker.session(0), *gold()), played(maker.session(1), LOOK)

    assert (acted.reward, idle.reward) != (None, None)
    assert [episode.reward.value for episode in (acted, idle) if episode.reward] == [1.0, 0.0]


def opening(key: str, member: int = 0, *, seed: int = 0) -> ChatRequest:
    """What the user's model is asked first."""
    model = ScriptedModel([{"done": False, "say": "Please see to the lamps."}, {"done": True, "say": ""}])
    arena = Arena(settings(user="simulated", dynamics="executable"), {"user": model}, world=LAMPS, seed=seed)
    played(arena.group(TASK, key).session(member))
    return model.requests[0]


def test_members_of_a_group_meet_the_same_user() -> None:
    assert opening("g", 0) == opening("g", 5)


def test_another_group_about_the_same_task_meets_another_user() -> None:
    users = [opening(f"g{number}") for number in range(8)]

    assert len({request.sampling.seed for request in users}) == 8
    assert len({request.messages[0].content for request in users}) > 1  # the persona


def test_another_seed_meets_another_user() -> None:
    assert opening("g", seed=1).sampling.seed != opening("g", seed=2).sampling.seed


def test_the_draw_of_the_tools_is_one_for_a_task_and_others_for_other_seeds() -> None:
    model = ScriptedModel(lambda request: {"is_error": False, "observation": STATE, "changes": []})
    for seed in (0, 0, 1):
        played(Arena(settings(), {"tools": model}, world=LAMPS, seed=seed).session(TASK, "g"), LOOK)

    first, same, other = (request.sampling.seed for request in model.requests)
    assert first == same != other


# what a simulator is shown


def test_tracked_tools_are_shown_the_state() -> None:
    request = tools_asked(lambda arena: arena.session(TASK, "g"))

    assert "# State now" in request.messages[1].content


def test_hidden_tools_are_shown_no_state_but_what_the_tool_returned_elsewhere() -> None:
    request = tools_asked(lambda arena: arena.session(TASK, "g"), dynamics="hidden", reward=FINISHED)

    text = "\n".join(message.content for message in request.messages)
    assert "State now" not in text
    assert LIT not in text.split("# What happened before")[1].replace(TASK.seed.task, "")


FINISHED = {"parts": {"finished": 1.0}}
JUDGED = {"parts": {"judge": 1.0, "state_goal": 1.0}, "judge": {"votes": 1}}
VERDICT = {"evidence": "the log", "reason": "It was refused.", "rule": "T", "passes": False}


def test_an_episode_with_hidden_state_keeps_no_state_and_is_judged_by_what_the_simulator_answered() -> None:
    """The gold calls would do it in the world's own code, but this is not where they were made."""
    closed = ScriptedModel(lambda request: {"is_error": True, "observation": {"error": "closed today"}})
    models = {"tools": closed, "judge": ScriptedModel([VERDICT])}
    arena = Arena(settings(dynamics="hidden", reward=JUDGED), models, world=LAMPS)

    episode = played(arena.session(TASK, "g"), *gold())

    assert episode.trajectory.initial_state is None
    assert episode.trajectory.deltas == {}
    assert episode.reward is not None
    assert (episode.reward.value, episode.reward.parts) == (0.0, {"judge": 0.0})


def test_tracked_tasks_without_laws_are_refused_where_nothing_but_a_goal_is_rewarded() -> None:
    with pytest.raises(ConfigError, match=r'no task has a goal .* add the part "judge"'):
        Arena(settings(), {"tools": ScriptedModel([])}, world=Other(goal=()))


# faults by program


def faulty(*rules: dict[str, Any], **changes: Any) -> Arena:
    return Arena(settings(dynamics="executable", faults=rules, **changes), {}, world=LAMPS)


def test_a_programmed_fault_is_shown_and_recorded_with_its_call() -> None:
    episode = played(faulty({"kind": "timeout", "call": 1}).session(TASK, "g"), LOOK, *gold())

    (fault,) = episode.trajectory.faults
    assert (fault.call_id, fault.kind) == ("call_1", "timeout")
    assert "timed out" in shown(episode)[0]


def test_a_fault_is_no_fault_of_the_agent_who_goes_on() -> None:
    episode = played(faulty({"kind": "server_error", "call": 1}).session(TASK, "g"), LOOK, *gold())

    assert episode.trajectory.stop_reason is StopReason.COMPLETED
    assert episode.reward is not None
    assert episode.reward.value == 1


def kinds(episode: Episode) -> list[bool]:
    return ["error" in text for text in shown(episode)]


def test_faults_by_rate_are_drawn_for_each_member_and_are_the_same_when_it_is_played_anew() -> None:
    arena = faulty({"kind": "rate_limit", "rate": 0.5})
    looks = [
        LOOK.model_copy(update={"tool_calls": (ToolCall(id=f"c{n}", name="look_around", arguments={}),)})
        for n in range(12)
    ]

    drawn = [[kinds(played(arena.group(TASK, "g").session(member), *looks)) for member in range(6)] for _ in range(2)]

    assert drawn[0] == drawn[1]
    assert len(set(map(tuple, drawn[0]))) > 1


def test_a_member_that_is_played_again_meets_other_faults() -> None:
    maker = faulty({"kind": "rate_limit", "rate": 0.5}).group(TASK, "g")
    looks = [LOOK] * 12

    assert kinds(played(maker.session(0), *looks)) != kinds(played(maker.session(0, 1), *looks))


def test_feedback_changes_what_the_agent_is_told_of_a_failure_and_nothing_else() -> None:
    refused = AssistantMessage(tool_calls=(ToolCall(id="a", name="turn_on", arguments={"room": "barn"}),))
    arenas = [
        Arena(settings(dynamics="executable", feedback=feedback), {}, world=LAMPS)
        for feedback in ("rich", "terse", "bare")
    ]

    episodes = [played(arena.session(TASK, "g"), refused, *gold()) for arena in arenas]

    told = [shown(episode) for episode in episodes]
    assert len({texts[0] for texts in told}) == 3
    assert told[0][1:] == told[1][1:] == told[2][1:]
    assert [episode.reward.value for episode in episodes if episode.reward] == [1.0] * 3


# the same environment otherwise


def test_the_executed_environment_is_played_by_the_worlds_own_code_without_faults() -> None:
    model = ScriptedModel([])
    arena = Arena(settings(faults=[{"kind": "timeout", "rate": 1.0}]), {"tools": model}, world=LAMPS)

    episode = played(arena.executed([TASK]).session(TASK, "g"), *gold())

    assert episode.reward is not None
    assert episode.reward.value == 1
    assert (model.requests, episode.trajectory.faults) == ([], ())


def test_an_agent_that_a_wrong_simulator_misleads_is_found_out_where_it_is_executed() -> None:
    """The simulator calls the lamp that is on off; who trusts it switches nothing, and nothing is done."""
    simulated = Arena(settings(), {"tools": RehearsalModel(LAMPS, mistakes=1.0)}, world=LAMPS)

    wrong = played(simulated.session(TASK, "g"), *gold())
    right = played(simulated.executed([TASK]).session(TASK, "g"), *gold())

    assert [episode.reward.value for episode in (wrong, right) if episode.reward] == [0.0, 1.0]


def test_the_executed_environment_needs_a_world() -> None:
    values = {"seeds": "bundled:shop", "tasks": 1, "user": "one_request", "reward": {"parts": {"finished": 1.0}}}
    arena = Arena(EnvironmentSettings.model_validate(values), {"tools": ScriptedModel([])})

    with pytest.raises(ConfigError, match="no executable world to compare with"):
        arena.executed([TASK])


def test_other_tasks_leave_the_environment_that_they_were_given_to_alone() -> None:
    arena = Arena(settings(dynamics="executable"), {}, world=LAMPS)

    other = arena.with_tasks(TASKS[1:])

    assert list(other.tasks) == [task.id for task in TASKS[1:]]
    assert list(arena.tasks) == [TASK.id]
    assert arena.executed(TASKS).settings.dynamics == "executable"

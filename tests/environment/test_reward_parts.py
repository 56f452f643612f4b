"""The parts of a reward that no model plays, how parts are combined, and what the settings refuse."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pytest

from simia import worlds
from simia.config import checked
from simia.environment.reward import Finished, RewardSettings, StateGoal, WellFormedCalls, build_reward
from simia.environment.reward.combine import Combined
from simia.environment.reward.known import play
from simia.environment.tasks import task_of
from simia.errors import ConfigError, JudgeError, ModelTimeout
from simia.models.scripted import ScriptedModel
from simia.types import (
    AssistantMessage,
    Fault,
    Invariant,
    MalformedToolCall,
    Played,
    Reward,
    RewardFunction,
    StopReason,
    ToolCall,
    Vote,
    WorldTask,
)

LIBRARY = worlds.load("library")


@cache
def drawn() -> WorldTask:
    return next(LIBRARY.tasks(1, 0))


def acting(calls: Sequence[ToolCall] = (), **more: Any) -> Played:
    """What comes of an agent that makes these calls, then says goodbye."""
    messages = [*(AssistantMessage(tool_calls=(call,)) for call in calls), AssistantMessage(content="Done.", **more)]
    return asyncio.run(play(LIBRARY, task_of(LIBRARY, drawn()), messages))


def untracked(played: Played) -> Played:
    return played.model_copy(update={"final_state": None})


def ended(played: Played, stop: StopReason) -> Played:
    return played.model_copy(update={"trajectory": played.trajectory.model_copy(update={"stop_reason": stop})})


def asked(function: RewardFunction, played: Played) -> Reward | None:
    async def work() -> Reward | None:
        return await function(played)

    return asyncio.run(work())


def answer(function: RewardFunction, played: Played) -> Reward:
    reward = asked(function, played)
    assert reward is not None
    return reward


# the goal


def test_a_goal_whose_laws_hold_of_the_final_state_is_reached() -> None:
    assert answer(StateGoal(), acting(drawn().gold)).value == 1


def test_a_goal_that_is_missed_names_the_law_that_is_broken() -> None:
    reward = answer(StateGoal(), acting())

    assert reward.value == 0
    assert drawn().goal[0].name in reward.reason


def test_without_a_tracked_state_nobody_can_tell() -> None:
    assert asked(StateGoal(), untracked(acting(drawn().gold))) is None


def test_without_a_tracked_state_a_world_executes_the_calls() -> None:
    goal = StateGoal(LIBRARY)

    assert answer(goal, untracked(acting(drawn().gold))).value == 1
    assert answer(goal, untracked(acting(drawn().gold[:-1]))).value == 0


def test_a_call_in_whose_place_a_fault_stood_is_not_executed() -> None:
    played = untracked(acting(drawn().gold))
    fault = Fault(call_id=drawn().gold[-1].id, kind="timeout")
    faulty = played.model_copy(update={"trajectory": played.trajectory.model_copy(update={"faults": (fault,)})})

    assert answer(StateGoal(LIBRARY), faulty).value == 0


def test_a_task_without_laws_is_judged_by_nobody_where_the_world_has_no_evaluator() -> None:
    played = acting(drawn().gold)
    lawless = played.model_copy(update={"task": played.task.model_copy(update={"goal": ()})})

    assert asked(StateGoal(LIBRARY), lawless) is None


def test_a_law_that_cannot_be_evaluated_is_a_failure_of_the_judge_and_not_of_the_agent() -> None:
    played = acting(drawn().gold)
    law = Invariant(name="odd", expression="abs(holds) == `1`")
    odd = played.model_copy(update={"task": played.task.model_copy(update={"goal": (law,)})})

    with pytest.raises(JudgeError, match="could not evaluate the goal on the final state"):
        asked(StateGoal(), odd)


# well-formed calls


def test_calls_that_fit_their_tools_are_well_formed_although_the_tool_refuses_them() -> None:
    refused = ToolCall(id="a", name="find_member", arguments={"email": "nobody@post.example"})

    assert answer(WellFormedCalls(), acting([refused])).value == 1


def test_calls_that_no_tool_could_take_lower_the_share() -> None:
    unknown = ToolCall(id="b", name="find_nobody", arguments={})
    wrong = ToolCall(id="c", name="find_member", arguments={"email": 7})

    reward = answer(WellFormedCalls(), acting([*drawn().gold[:2], unknown, wrong]))

    assert reward.value == 0.5
    assert "2 of 4 calls" in reward.reason
    assert "unknown tool 'find_nobody'" in reward.reason


def test_a_call_that_could_not_be_read_is_not_well_formed() -> None:
    malformed = MalformedToolCall(id="d", name="find_member", text="{", reason="no JSON")

    assert answer(WellFormedCalls(), acting(malformed_calls=(malformed,))).value == 0


def test_without_a_call_there_is_no_share() -> None:
    assert asked(WellFormedCalls(), acting()) is None


# combined


class Saying:
    """A part that says the same of every episode, and counts how often it was asked."""

    def __init__(self, value: float | None, votes: tuple[Vote, ...] = ()) -> None:
        self.value = value
        self.votes = votes
        self.times = 0

    async def __call__(self, played: Played) -> Reward | None:
        self.times += 1
        return None if self.value is None else Reward(value=self.value, reason="so it is", votes=self.votes)


def test_an_episode_that_the_user_left_is_finished() -> None:
    assert answer(Finished(), ended(acting(), StopReason.COMPLETED)).value == 1


@pytest.mark.parametrize("stop", [StopReason.MAX_TURNS, StopReason.MAX_TOKENS, StopReason.MALFORMED_CALL])
def test_an_episode_that_was_cut_off_is_not_finished_and_says_how_it_ended(stop: StopReason) -> None:
    reward = answer(Finished(), ended(acting(), stop))

    assert reward.value == 0
    assert stop.value in reward.reason


def test_with_finished_as_a_gate_a_goal_that_was_met_before_the_limit_counts_for_nothing() -> None:
    settings = RewardSettings(parts={"state_goal": 1.0, "finished": 0.0}, gates=("finished",))
    reward = build_reward(settings, judge=None, world=None)

    assert answer(reward, ended(acting(drawn().gold), StopReason.MAX_TURNS)).value == 0
    assert answer(reward, ended(acting(drawn().gold), StopReason.COMPLETED)).value == 1


def combined(parts: Mapping[str, float | None], weights: Mapping[str, float], gates: Sequence[str] = ()) -> Any:
    return asked(Combined({name: Saying(value) for name, value in parts.items()}, weights, gates), acting())


def test_parts_are_averaged_by_their_weights() -> None:
    assert combined({"a": 1.0, "b": 0.5}, {"a": 1.0, "b": 3.0}).value == 0.625


def test_a_part_that_has_nothing_to_say_is_left_out_and_is_not_zero() -> None:
    reward = combined({"a": 1.0, "b": None}, {"a": 1.0, "b": 3.0})

    assert (reward.value, reward.parts) == (1.0, {"a": 1.0})


def test_where_no_part_has_anything_to_say_there_is_no_reward() -> None:
    assert combined({"a": None, "b": None}, {"a": 1.0, "b": 1.0}) is None


def test_the_reason_tells_of_every_part() -> None:
    assert combined({"a": 1.0, "b": 0.5}, {"a": 1.0, "b": 1.0}).reason == "a 1: so it is; b 0.5: so it is"


def test_a_closed_gate_makes_the_reward_zero_and_says_so() -> None:
    reward = combined({"a": 1.0, "b": 0.5}, {"a": 1.0}, ["b"])

    assert reward.value == 0
    assert reward.reason.startswith("gate b is closed")


def test_a_closed_gate_saves_asking_the_others() -> None:
    judge = Saying(1.0)

    asked(Combined({"cheap": Saying(0.0), "judge": judge}, {"judge": 1.0}, ["cheap"]), acting())

    assert judge.times == 0


def test_an_open_gate_without_weight_does_not_count_in_the_mean() -> None:
    assert combined({"a": 0.5, "b": 1.0}, {"a": 1.0}, ["b"]).value == 0.5


def test_a_gate_with_a_weight_is_asked_once_and_counts() -> None:
    gate = Saying(1.0)

    reward = answer(Combined({"a": Saying(0.0), "b": gate}, {"a": 1.0, "b": 1.0}, ["b"]), acting())

    assert (gate.times, reward.value) == (1, 0.5)


def test_a_gate_that_has_nothing_to_say_masks_the_reward() -> None:
    assert combined({"a": 1.0, "b": None}, {"a": 1.0}, ["b"]) is None


def test_the_votes_of_a_part_are_passed_on() -> None:
    vote = Vote(passes=True, reason="yes", rule="T")

    assert answer(Combined({"a": Saying(1.0, (vote,))}, {"a": 1.0}), acting()).votes == (vote,)


def test_an_error_of_a_part_leaves_as_itself_and_in_no_group() -> None:
    async def failing(played: Played) -> Reward | None:
        raise ModelTimeout("no answer")

    with pytest.raises(ModelTimeout, match="no answer"):
        asked(Combined({"a": failing, "b": Saying(1.0)}, {"a": 1.0, "b": 1.0}), acting())


# settings


def test_the_default_reward_is_the_goal_of_the_state() -> None:
    reward = answer(build_reward(RewardSettings(), judge=None, world=None), acting(drawn().gold))

    assert (reward.value, reward.parts) == (1.0, {"state_goal": 1.0})


def test_a_judge_without_a_model_is_refused() -> None:
    settings = RewardSettings(parts={"judge": 1.0})

    with pytest.raises(ConfigError, match='the part "judge" and no model plays it'):
        build_reward(settings, judge=None, world=None)


def test_a_judge_with_a_model_is_asked() -> None:
    verdict = {"evidence": "call 3", "reason": "removed", "rule": "T", "passes": True}
    settings = RewardSettings.model_validate({"parts": {"judge": 1.0}, "judge": {"votes": 1}})

    reward = answer(build_reward(settings, judge=ScriptedModel([verdict]), world=None), acting(drawn().gold))

    assert (reward.value, len(reward.votes)) == (1.0, 1)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"parts": {"jugde": 1.0}}, "parts: no part jugde; there are state_goal, judge, well_formed, finished"),
        ({"parts": {"judge": -1.0}}, "parts: a weight is a number of 0 or more, not judge -1"),
        ({"parts": {"judge": 0.0}}, "parts: no part has a weight above 0"),
        ({"gates": ["judge"]}, "gates: judge is no part of this reward"),
        ({"parts": {"state_goal": 1.0, "judge": 0.0}}, "parts: judge has the weight 0 and is no gate"),
        ({"judge": {"votes": 0}}, "judge.votes: "),
        ({"jugde": {}}, "jugde: unknown key"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused_in_words(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=f"^here: {said}"):
        checked(RewardSettings, given, "here")

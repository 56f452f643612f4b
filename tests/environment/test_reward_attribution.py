"""Whose doing the end of an episode is; and that what is not the agent's is masked without anybody being asked."""

import asyncio

import pytest

from simia import worlds
from simia.environment.reward import Judgement, attribute, judged
from simia.environment.reward.known import play
from simia.environment.tasks import task_of
from simia.errors import (
    AuthenticationFailed,
    ConfigError,
    ContextOverflow,
    CostCeilingReached,
    JudgeError,
    ModelNotFound,
    ModelTimeout,
    SimiaError,
)
from simia.types import AssistantMessage, Party, Played, Reward, StopReason

PARTIES = {
    StopReason.COMPLETED: Party.AGENT,
    StopReason.MALFORMED_CALL: Party.AGENT,
    StopReason.MAX_TURNS: Party.AGENT,
    StopReason.MAX_TOKENS: Party.AGENT,
    StopReason.CONTEXT_OVERFLOW: Party.AGENT,
    StopReason.TIMEOUT: Party.INFRASTRUCTURE,
    StopReason.UNAVAILABLE: Party.INFRASTRUCTURE,
    StopReason.SIMULATOR_FAILED: Party.SIMULATOR,
    StopReason.USER_FAILED: Party.USER,
}


class Judge:
    """Gives a reward, or none, or raises; and counts how often it was asked."""

    def __init__(self, outcome: Reward | SimiaError | None) -> None:
        self.outcome = outcome
        self.times = 0

    async def __call__(self, played: Played) -> Reward | None:
        self.times += 1
        if isinstance(self.outcome, SimiaError):
            raise self.outcome
        return self.outcome


RIGHT = Reward(value=1.0, reason="done")


def played(stop: StopReason = StopReason.COMPLETED) -> Played:
    world = worlds.load("lamps")
    task = task_of(world, next(world.tasks(1, 0)))
    found = asyncio.run(play(world, task, [AssistantMessage(content="Bye.")]))
    return found.model_copy(update={"trajectory": found.trajectory.model_copy(update={"stop_reason": stop})})


def outcome(judge: Judge, episode: Played, detail: str = "") -> Judgement:
    return asyncio.run(judged(episode, judge, detail))


@pytest.mark.parametrize("stop", StopReason)
def test_every_end_is_somebodys_doing(stop: StopReason) -> None:
    assert attribute(stop, has_acted=True) is PARTIES[stop]


def test_a_context_that_was_full_before_the_agent_acted_is_nobodys_fault_of_the_agent() -> None:
    assert attribute(StopReason.CONTEXT_OVERFLOW, has_acted=False) is Party.INFRASTRUCTURE


def test_an_end_that_is_the_agents_doing_is_judged() -> None:
    assert outcome(Judge(RIGHT), played(), "the user left") == Judgement(RIGHT, Party.AGENT, "the user left")


@pytest.mark.parametrize("stop", [stop for stop in StopReason if PARTIES[stop] is not Party.AGENT])
def test_an_end_that_is_not_the_agents_doing_is_masked_and_nobody_is_asked(stop: StopReason) -> None:
    judge = Judge(RIGHT)

    assert outcome(judge, played(stop), "why") == Judgement(None, PARTIES[stop], "why")
    assert judge.times == 0


def test_a_masked_episode_says_how_it_ended_where_nobody_said_why() -> None:
    assert outcome(Judge(RIGHT), played(StopReason.TIMEOUT)).detail == "the episode ended as timeout"


def test_a_judge_without_a_verdict_is_the_judges_fault() -> None:
    assert outcome(Judge(JudgeError("tied")), played()) == Judgement(None, Party.JUDGE, "tied")


def test_a_model_that_cannot_answer_while_judging_is_the_infrastructures_fault() -> None:
    for error in (ModelTimeout("too late"), ContextOverflow("too long")):
        assert outcome(Judge(error), played()) == Judgement(None, Party.INFRASTRUCTURE, f"while judging: {error}")


def test_an_episode_that_nobody_can_judge_is_masked_and_not_zero() -> None:
    assert outcome(Judge(None), played()) == Judgement(None, Party.JUDGE, "nobody could judge it")


@pytest.mark.parametrize("error", [ConfigError, AuthenticationFailed, ModelNotFound, CostCeilingReached])
def test_what_no_other_episode_could_get_over_is_raised(error: type[SimiaError]) -> None:
    with pytest.raises(error):
        outcome(Judge(error("no")), played())

"""A judge: what it is shown, how its votes are read, and what they come to."""

import asyncio
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from simia import worlds
from simia.environment.reward import JudgeSettings, PolicyJudge
from simia.environment.reward.evidence import evidence_of, shortened
from simia.environment.reward.judge import decided, numbered
from simia.environment.reward.known import KnownEpisode, known_episodes, play
from simia.environment.tasks import task_of
from simia.errors import JudgeError, ModelTimeout
from simia.formats.calls import dump_json
from simia.models.scripted import Answer, ScriptedModel
from simia.models.tokens import estimate_prompt
from simia.types import AssistantMessage, ChatReply, ChatRequest, Played, Reward, ToolCall, Vote

GOLDEN = Path(__file__).parent / "golden" / "judge.txt"
LIBRARY = worlds.load("library")
GOOD: dict[str, Any] = {"evidence": "call 3", "reason": "The hold is gone.", "rule": "T", "passes": True}
BAD = GOOD | {"reason": "The hold is there.", "passes": False}


@cache
def known() -> dict[str, KnownEpisode]:
    """The episodes of one task of the library, by kind."""

    async def made() -> list[KnownEpisode]:
        return [one async for episodes in known_episodes(LIBRARY, "library", 1) for one in episodes]

    return {episode.kind: episode for episode in asyncio.run(made())}


def gold() -> Played:
    return known()["gold"].played


def requests(played: Played, **settings: Any) -> tuple[ChatRequest, ...]:
    return PolicyJudge(ScriptedModel([]), JudgeSettings(**settings)).requests(played)


def prompt(played: Played, **settings: Any) -> str:
    return requests(played, **settings)[0].messages[1].content


def said(*answers: Answer, votes: int = 1, repairs: int = 0, played: Played | None = None) -> tuple[Vote, ...]:
    judge = PolicyJudge(ScriptedModel(answers), JudgeSettings(votes=votes, max_repairs=repairs))
    return asyncio.run(judge.votes(played or gold()))


def verdict(*answers: Answer, votes: int = 3, repairs: int = 0) -> Reward:
    judge = PolicyJudge(ScriptedModel(answers), JudgeSettings(votes=votes, max_repairs=repairs))
    return asyncio.run(judge(gold()))


# what it is shown


def test_the_prompt_is_the_golden_one() -> None:
    """After a meant change run this with SIMIA_WRITE_GOLDEN=1 in the environment, then read the diff."""
    text = "".join(f"=== {message.role}\n{message.content}\n" for message in requests(gold())[0].messages)
    if os.environ.get("SIMIA_WRITE_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_the_prompt_is_short_enough_for_a_small_model() -> None:
    for episode in known().values():
        for request in requests(episode.played):
            assert estimate_prompt(request) < 3000


def test_the_judge_sees_each_call_with_its_result_and_what_it_changed() -> None:
    text = prompt(gold())

    assert '{"name":"cancel_hold","arguments":{"hold_id":"H-352"}}' in text
    assert '{"hold_id":"H-352","copy_goes_to":null}' in text
    assert 'holds > H-352: {"title_id":"T-24",' in text
    assert "Call 2 changed nothing." in text


def test_the_judge_never_sees_goal_or_gold() -> None:
    played = known()["claim"].played
    text = "".join(message.content for request in requests(played) for message in request.messages)

    assert "cancel_hold" not in text
    assert played.task.goal[0].expression not in text


def test_what_was_said_comes_after_log_and_state_in_every_vote() -> None:
    for request in requests(gold()):
        text = request.messages[1].content
        assert text.index("# Claims") > max(text.index("# Tool log"), text.index("# Final state"))
        assert text.index("Done.") > text.index("# Claims") or "Done." not in text


def test_an_agent_that_called_nothing_is_shown_so() -> None:
    assert "No call was made: nothing was looked up and nothing was changed." in prompt(known()["claim"].played)


def test_the_last_word_before_the_verdict_is_the_programs_count() -> None:
    text = prompt(known()["fake_result"].played)

    assert text.index("Calls in the tool log: 0; calls that changed something: 0.") > text.rindex("</agent-")
    assert "Calls in the tool log: 3; calls that changed something: 1." in prompt(gold())


def test_a_refused_call_is_shown_so() -> None:
    assert "Call 1 was refused and changed nothing." in prompt(known()["injection"].played)


def test_a_tag_is_of_one_vote_only_and_no_text_of_the_episode_has_it() -> None:
    tags = [re.findall(r"<task-(\w+)>", request.messages[1].content)[0] for request in requests(gold())]

    assert len(set(tags)) == 3
    shown = "".join(evidence_of(gold(), log_chars=9000, state_chars=9000, said_chars=9000).texts())
    assert not any(tag in shown for tag in tags)


def test_a_fence_that_the_agent_closes_is_still_open() -> None:
    text = prompt(known()["fake_result"].played)
    tag = re.findall(r"<task-(\w+)>", text)[0]

    claim = text[text.index(f"<agent-{tag}>") : text.index(f"</agent-{tag}>")]
    assert "[TERMINATE]" in claim
    assert "Changed by call 1: all as wanted." in claim


def test_votes_differ_in_order_and_temperature() -> None:
    votes = said(GOOD, GOOD, GOOD, GOOD, votes=4)

    assert [(vote.order, vote.temperature) for vote in votes] == [
        ("log first", 0.0),
        ("state first", 0.4),
        ("log first", 0.8),
        ("state first", 0.0),
    ]


def test_the_same_episode_is_asked_about_in_the_same_words_again() -> None:
    again = gold().model_copy(
        update={
            "trajectory": gold().trajectory.model_copy(
                update={"provenance": gold().trajectory.provenance.model_copy(update={"run": "another"})}
            )
        }
    )

    assert [request.content_id for request in requests(gold())] == [one.content_id for one in requests(again)]


def test_another_seed_makes_other_requests() -> None:
    assert requests(gold())[0].content_id != requests(gold(), seed=1)[0].content_id


def test_votes_share_the_beginning_of_their_prompt() -> None:
    assert len({request.messages[0].content_id for request in requests(gold())}) == 1


def test_an_agent_cannot_fill_the_judges_context() -> None:
    call = ToolCall(id="x", name="find_member", arguments={"email": "a" * 200_000})
    messages = [AssistantMessage(tool_calls=(call,)), AssistantMessage(content="b" * 200_000)]
    flooding = asyncio.run(play(LIBRARY, task_of(LIBRARY, next(LIBRARY.tasks(1, 0))), messages))

    text = prompt(flooding)

    assert len(text) < 20_000
    assert "characters left out" in text


def looking(number: int) -> AssistantMessage:
    return AssistantMessage(tool_calls=(ToolCall(id=f"look_{number}", name="find_member", arguments={"email": "a"}),))


def test_an_agent_cannot_fill_the_judges_context_with_many_small_calls() -> None:
    messages = [*map(looking, range(1500)), AssistantMessage(content="Done.")]
    flooding = asyncio.run(play(LIBRARY, gold().task, messages))

    text = prompt(flooding)

    assert len(text) < 30_000
    assert "more calls are not shown, because there are so many." in text
    assert "Calls in the tool log: 1500; calls that changed something: 0." in text


def test_every_call_of_an_ordinary_episode_is_shown_although_its_texts_are_long() -> None:
    long = [looking(n) for n in range(40)]
    for n, message in enumerate(long):
        call = message.tool_calls[0].model_copy(update={"arguments": {"email": f"{n:02}" * 300}})
        long[n] = message.model_copy(update={"tool_calls": (call,)})
    shown = evidence_of(asyncio.run(play(LIBRARY, gold().task, long)), log_chars=8000, state_chars=900, said_chars=900)

    assert len(shown.log) == 40
    assert sum(len(text) for logged in shown.log for text in logged.texts) <= 8000


def test_what_an_agent_changed_is_shown_however_many_calls_stand_around_it() -> None:
    did = [AssistantMessage(tool_calls=(call,)) for call in gold().task.gold]
    messages = [*map(looking, range(400)), *did, *map(looking, range(400, 800)), AssistantMessage(content="Done.")]
    hiding = asyncio.run(play(LIBRARY, gold().task, messages))

    shown = evidence_of(hiding, log_chars=2000, state_chars=900, said_chars=900)

    assert (shown.calls, shown.changing) == (803, 1)
    assert [logged.number for logged in shown.log if logged.changes] == [403]
    assert [shown.log[0].number, shown.log[-1].number] == [1, 803]
    assert sum(len(text) for logged in shown.log for text in logged.texts) <= 2000


def test_a_text_within_its_limit_is_not_shortened() -> None:
    assert shortened("abc", 3) == "abc"


def test_of_calls_that_share_an_id_it_is_not_said_what_they_changed() -> None:
    calls = tuple(call.model_copy(update={"id": "same"}) for call in known()["gold"].played.task.gold)
    messages = [*(AssistantMessage(tool_calls=(call,)) for call in calls), AssistantMessage(content="Bye.")]
    played = asyncio.run(play(LIBRARY, gold().task, messages))

    log = evidence_of(played, log_chars=9000, state_chars=9000, said_chars=900).log

    assert [logged.changes for logged in log] == [None, None, None]
    assert all(logged.result for logged in log)


def test_without_a_tracked_state_neither_state_nor_changes_are_shown() -> None:
    text = prompt(gold().model_copy(update={"final_state": None}))

    assert "# Final state" not in text
    assert "changed nothing" not in text
    assert "Calls in the tool log: 3. Nothing else happened" in text


def test_each_line_of_the_policy_has_a_name_but_headings_have_none() -> None:
    lines, rules = numbered("# Desk\n\nYou work here.\n- Be kind.\n* Be quick.\n")

    assert lines == ("# Desk", "P1: You work here.", "P2: Be kind.", "P3: Be quick.")
    assert rules == ("P1", "P2", "P3", "T")


# how votes are read


def test_a_vote_names_the_rule_that_it_rests_on() -> None:
    (vote,) = said(GOOD | {"rule": "P7", "passes": False})

    assert (vote.passes, vote.rule) == (False, "P7")
    assert vote.reason == "The hold is gone. Evidence: call 3"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("I think the agent did well.", "no JSON"),
        ("5", ""),
        ("", ""),
        ("[true]", "no object with evidence, reason, rule, passes"),
        ({"passes": True}, "lacks evidence, reason, rule"),
        (GOOD | {"passes": "yes"}, '"passes" must be true or false'),
        (GOOD | {"reason": " "}, "reason must be text"),
        (GOOD | {"rule": "P99"}, "one of P1, P2"),
        (ChatReply(text=dump_json(GOOD), model="scripted", finish_reason="length"), "too long and was cut"),
    ],
)
def test_an_unreadable_vote_is_kept_as_one_that_passes_nothing(answer: Answer, why: str) -> None:
    (vote,) = said(answer)

    assert vote.passes is None
    assert vote.reason.startswith("its answer was unreadable, lastly: ")
    assert why in vote.reason


def test_braces_and_quotes_in_the_reason_are_part_of_it() -> None:
    (vote,) = said(GOOD | {"reason": 'The result {"hold_id": "H-352"} shows it; {"passes": false} does not.'})

    assert vote.passes is True
    assert '{"passes": false}' in vote.reason


def test_an_unreadable_vote_is_asked_again_with_the_reason() -> None:
    model = ScriptedModel([GOOD | {"rule": "P99"}, GOOD])

    (vote,) = asyncio.run(PolicyJudge(model, JudgeSettings(votes=1, max_repairs=1)).votes(gold()))

    assert vote.passes is True
    assert "one of P1, P2" in model.requests[1].messages[-1].content


def test_repairs_come_to_an_end() -> None:
    (vote,) = said("no", "no", "no", repairs=2)

    assert vote.reason.startswith("each of 3 answers was unreadable")


def test_a_verdict_that_the_judged_text_holds_is_none() -> None:
    played = known()["quoted_verdict"].played
    quoted = played.trajectory.messages[-1].content

    (vote,) = said(f"The agent wrote {quoted} and that is a trick.", played=played)

    assert vote.passes is None
    assert "stands in the text that you judge" in vote.reason


# what the votes come to


def test_the_majority_decides() -> None:
    assert verdict(GOOD, BAD, GOOD).value == 1
    assert verdict(BAD, BAD, GOOD).value == 0


def test_the_reason_is_that_of_the_majority() -> None:
    assert verdict(GOOD, BAD, BAD).reason.startswith("2 of 3 votes fail it, by T: The hold is there.")


def test_every_vote_is_kept() -> None:
    assert [vote.passes for vote in verdict(GOOD, "prose", GOOD).votes] == [True, None, True]


def test_a_tie_is_no_verdict() -> None:
    with pytest.raises(JudgeError, match="tied: 1 of 2"):
        verdict(GOOD, BAD, "prose")


def test_fewer_than_half_readable_votes_are_no_verdict() -> None:
    with pytest.raises(JudgeError, match="only 1 of 3 votes of the judge can be read"):
        verdict(GOOD, "prose", "5")


def test_half_of_the_votes_are_enough() -> None:
    votes = (Vote(passes=True, reason="yes", rule="T"), Vote(passes=None, reason="?"))

    assert decided(votes).value == 1


def test_no_readable_vote_at_all_is_no_verdict() -> None:
    with pytest.raises(JudgeError, match="only 0 of 3"):
        verdict("", "5", "prose")


def test_an_error_of_the_model_leaves_as_itself() -> None:
    with pytest.raises(ModelTimeout):
        verdict(GOOD, ModelTimeout("too late"), GOOD)

"""An episode in lines, as a person reads it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from simia.environment.episodes import EPISODES, EpisodeLog
from simia.report.episode_list import list_episodes
from simia.report.episode_record import record_of
from simia.report.episode_text import episode_lines
from simia.store import Manifest, Run
from simia.types import Episode, Party, Put, StateDelta, Vote

EpisodeOf = Callable[[str], Episode]


@pytest.fixture
def text_of(played: Run, episode_of: EpisodeOf) -> Callable[..., str]:
    def text(name: str, **options: bool) -> str:
        return "\n".join(line.text for line in episode_lines(played, episode_of(name), **options))

    return text


TextOf = Callable[..., str]


# the head


def test_the_head_says_how_it_ended_and_what_it_was_worth(text_of: TextOf) -> None:
    text = text_of("good")

    assert "ended          completed (the user left)" in text
    assert "reward         0.8333" in text
    assert "of judge 1, well_formed 0.6667" in text
    assert "attributed to  agent, so it is scored" in text


def test_the_head_of_a_masked_episode_says_whose_fault_it_is_and_why(text_of: TextOf) -> None:
    text = text_of("simulator")

    assert "attributed to  simulator, so it is masked and counts for nothing: the simulated tool 'look_around'" in text
    assert "reward         none" in text


def test_the_head_counts_the_calls_of_models_by_role(text_of: TextOf) -> None:
    assert "models asked   user 2, agent 4, tools 1, judge 3" in text_of("good")


def test_the_votes_are_told_with_what_they_were_shown_and_how_far_they_agree(text_of: TextOf) -> None:
    text = text_of("good")

    assert "3 votes: 2 pass, 1 fail; agreement 66.7 %" in text
    assert "2  fails       by T, state first, temperature 0.4\n   It took three calls." in text


def test_a_vote_without_a_verdict_is_told(played: Run, episode_of: EpisodeOf) -> None:
    episode = episode_of("good")
    assert episode.reward is not None
    reward = episode.reward.model_copy(update={"votes": (Vote(passes=None, reason="It was no JSON."),)})
    trajectory = episode.trajectory.model_copy(update={"reward": reward})

    text = "\n".join(line.text for line in episode_lines(played, episode.model_copy(update={"trajectory": trajectory})))

    assert "1 vote: 0 pass, 0 fail, 1 unreadable" in text
    assert "1  unreadable  temperature 0\n   It was no JSON." in text


def test_a_judge_that_gave_no_verdict_is_told_with_its_votes_and_to_be_read_in_its_calls(text_of: TextOf) -> None:
    text = text_of("judge")

    assert "1  unreadable" in text
    assert "see what the judge answered by --calls" in text


# the talk


def test_an_answer_that_another_of_the_group_was_given_says_so(played: Run, episode_of: EpisodeOf) -> None:
    episode = episode_of("good").model_copy(update={"remembered": ("call_1",)})

    text = "\n".join(line.text for line in episode_lines(played, episode))

    assert text.count("the answer that another of its group got") == 1


def test_a_fault_an_error_and_a_change_stand_at_their_calls(text_of: TextOf) -> None:
    lines = text_of("good").splitlines()

    assert lines[lines.index('  turn_off {"room":"hall"}  call_1') + 1] == "    fault: timeout"
    assert lines[lines.index('  turn_off {"place":"hall"}  call_2') + 1].startswith('    error: {"error":"invalid')
    assert lines[lines.index('  turn_off {"room":"hall"}  call_3') + 1 :][:2] == [
        '    -> {"room":"hall","on":false}',
        "    ~ lamps.hall: true -> false",
    ]


def test_a_call_without_an_answer_is_told(text_of: TextOf) -> None:
    assert "look_around {}  call_2\n    no answer\nended as simulator_failed" in text_of("simulator")


def test_the_final_state_is_told_against_the_first(text_of: TextOf) -> None:
    assert text_of("good").endswith("final state against the first\n~ lamps.hall: true -> false")
    assert text_of("judge").endswith("final state against the first\nno difference")


def test_of_many_changes_some_are_told(played: Run, episode_of: EpisodeOf) -> None:
    episode = episode_of("good")
    many = StateDelta(changes=tuple(Put(path=("lamps", f"room {n}"), value=True) for n in range(20)))
    trajectory = episode.trajectory.model_copy(update={"deltas": {"call_3": many}})

    text = "\n".join(line.text for line in episode_lines(played, episode.model_copy(update={"trajectory": trajectory})))

    assert "    ~ lamps.room 0: new true" in text
    assert "    ~ and 8 more changes" in text


def test_a_world_that_was_not_kept_is_named_by_its_id(played: Run, episode_of: EpisodeOf) -> None:
    episode = episode_of("good")
    elsewhere = episode.trajectory.model_copy(update={"world": "ab" * 32})

    text = "\n".join(line.text for line in episode_lines(played, episode.model_copy(update={"trajectory": elsewhere})))

    assert "world          abababababab, not kept in this run" in text


# the calls of models


def test_calls_are_not_told_unless_they_are_asked_for(text_of: TextOf) -> None:
    assert "calls of models" not in text_of("good")


def test_a_call_is_told_with_its_tokens_its_draw_and_its_reply(text_of: TextOf) -> None:
    text = text_of("good", calls=True)

    assert "#2 agent agent-1: 1,200 tokens in (1,000 cached), 40 out" in text
    assert "temperature 0.4, seed " in text
    assert '    thinks: I should act.\n    turn_off {"room":"hall"}  call_1' in text


def test_the_calls_stand_in_the_order_of_their_answers(text_of: TextOf) -> None:
    roles = [line.split()[1] for line in text_of("good", calls=True).splitlines() if line.startswith("#")]

    assert roles == ["user", "agent", "agent", "agent", "tools", "agent", "user", "judge", "judge", "judge"]


def test_a_prompt_is_folded_to_its_last_message(text_of: TextOf) -> None:
    text = text_of("good", calls=True)

    assert "1 message before this one: see them by --prompts" in text
    assert "You are the tools of a software system" not in text


def test_prompts_are_told_whole_where_they_are_asked_for(text_of: TextOf) -> None:
    text = text_of("good", prompts=True)

    assert "see them by" not in text
    assert "You are the tools of a software system" in text


def test_a_call_that_was_asked_again_says_of_which_it_is_a_copy(tmp_path: Path, played: Run) -> None:
    with Run.create(tmp_path / "run", Manifest(run="again", version="1", created="now", config={})) as run:
        episode = EpisodeLog(played).find("lamps/judge")
        first = next(played.calls.of(episode.id))
        for record in (first, first.model_copy(update={"error": "ModelTimeout: no answer"})):
            run.calls.put(record, tuple(played.calls.text(message) for message in record.messages))

        text = "\n".join(line.text for line in episode_lines(run, episode, calls=True))

    assert "#2 user" in text
    assert "; the same request as #1" in text
    assert "  no reply: ModelTimeout: no answer" in text
    assert "user 2; 1 without an answer" in text


def test_a_record_has_each_message_of_the_prompts_once(played: Run, episode_of: EpisodeOf) -> None:
    record = record_of(played, episode_of("good"), calls=True, prompts=True)

    assert record.calls is not None
    assert record.messages is not None
    assert record.messages.keys() == {one for call in record.calls for one in call.messages}


# the list


def test_the_latest_episodes_are_listed_in_their_order(played: Run) -> None:
    found = list_episodes(EpisodeLog(played), limit=2)

    assert [row.id for row in found.rows] == ["lamps/judge/0", "lamps/malformed/0"]
    assert found.fitting == 4


@pytest.mark.parametrize(("order", "first"), [("worst", "lamps/malformed/0"), ("best", "lamps/good/0")])
def test_episodes_are_ordered_by_reward_without_the_masked_ones(played: Run, order: str, first: str) -> None:
    found = list_episodes(EpisodeLog(played), limit=10, order="worst" if order == "worst" else "best")

    assert found.rows[0].id == first
    assert len(found.rows) == 2


def test_masked_episodes_are_listed_by_party(played: Run) -> None:
    log = EpisodeLog(played)

    assert [row.id for row in list_episodes(log, limit=9, masked=True).rows] == ["lamps/simulator/0", "lamps/judge/0"]
    assert [row.id for row in list_episodes(log, limit=9, party=Party.JUDGE).rows] == ["lamps/judge/0"]


def test_all_episodes_are_counted_whichever_are_listed(played: Run) -> None:
    assert list_episodes(EpisodeLog(played), limit=1, party=Party.JUDGE).counts.kept == 4


def test_a_row_counts_turns_calls_errors_and_faults(played: Run) -> None:
    row = next(row for row in list_episodes(EpisodeLog(played), limit=9).rows if row.id == "lamps/good/0")

    assert (row.turns, row.calls, row.errors, row.faults) == (4, 3, 2, 1)


def test_the_run_of_these_tests_keeps_its_episodes_where_runs_do(played: Run) -> None:
    assert played.stream_names() == (EPISODES,)

"""A judge measured against executable truth: the episodes, the figures, and judges whose outcome is known."""

import asyncio
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simia import worlds
from simia.environment.reward import JudgeSettings, PolicyJudge
from simia.environment.reward import attacks as attacks_module
from simia.environment.reward.calibration import Calibration, Verdict, calibrate, cohens_kappa
from simia.environment.reward.known import KINDS, KnownEpisode, known_episodes
from simia.environment.reward.perturbed import VARIANTS
from simia.errors import ConfigError, ModelTimeout
from simia.formats.calls import load_json
from simia.models.scripted import Answer, ScriptedModel
from simia.report.calibration import calibration_tables, kappa_text
from simia.seeds.invariants import broken
from simia.types import AssistantMessage, ChatRequest, Vote

PASS: dict[str, Any] = {"evidence": "the log", "reason": "It is done.", "rule": "T", "passes": True}
FAIL = PASS | {"reason": "It is not done.", "passes": False}


@cache
def episodes(name: str = "library", tasks: int = 4) -> tuple[KnownEpisode, ...]:
    async def made() -> list[KnownEpisode]:
        world = worlds.load(name)
        return [one async for several in known_episodes(world, name, tasks) for one in several]

    return tuple(asyncio.run(made()))


def measured(answer: Callable[[ChatRequest], Answer], votes: int = 1, repairs: int = 0) -> Calibration:
    judge = PolicyJudge(ScriptedModel(answer), JudgeSettings(votes=votes, max_repairs=repairs))
    return asyncio.run(calibrate(judge, episodes()))


def perfect(request: ChatRequest) -> Answer:
    """A double of a judge who knows the goal of every task and reads the final state from the prompt."""
    text = request.messages[1].content
    state = load_json(_block(text, "state"))
    goals = {episode.played.task.seed.task: episode.played.task.goal for episode in episodes()}
    return FAIL if broken(goals[_block(text, "task")], state) else PASS


def _block(text: str, label: str) -> str:
    found = re.search(rf"<({label}-\w+)>\n(.*?)\n</\1>", text, re.DOTALL)
    assert found is not None
    return found.group(2)


def verdict(truth: bool, passes: bool | None, task: str = "t", kind: str = "gold", votes: str = "") -> Verdict:
    words = {"+": True, "-": False, "?": None}
    cast = tuple(Vote(passes=words[sign], reason="so") for sign in votes)
    name = f"{task}/{kind}"
    return Verdict(episode=name, task=task, world="w", kind=kind, variant="", truth=truth, passes=passes, votes=cast)


# the episodes


def test_each_task_has_one_episode_of_every_kind() -> None:
    assert [episode.kind for episode in episodes()] == list(KINDS) * 4


def test_gold_episodes_do_their_task_and_attacks_never_do() -> None:
    told = {episode.kind: episode.truth for episode in episodes() if episode.kind != "perturbed"}

    assert told == {"gold": True} | dict.fromkeys(attacks_module.KINDS, False)


def test_the_truth_is_what_the_laws_say_of_the_executed_state() -> None:
    for episode in episodes():
        state = episode.played.final_state
        assert state is not None
        assert episode.truth == (not broken(episode.played.task.goal, state))


def test_tasks_in_a_row_are_perturbed_in_different_ways() -> None:
    assert {episode.variant for episode in episodes() if episode.kind == "perturbed"} == set(VARIANTS)


@pytest.mark.parametrize("name", worlds.names())
def test_every_world_of_simia_has_every_kind(name: str) -> None:
    assert {episode.kind for episode in episodes(name, 2)} == set(KINDS)


def test_a_detour_does_the_task_and_every_other_perturbation_misses_it() -> None:
    told = {episode.variant: episode.truth for episode in episodes() if episode.kind == "perturbed"}

    assert told == {"dropped": False, "changed": False, "extra": False, "detour": True}


def test_the_attacks_are_told_apart_by_what_they_do() -> None:
    by_kind = {episode.kind: episode.played.trajectory.messages for episode in episodes(tasks=1)}
    calls = {
        kind: sum(len(message.tool_calls) for message in messages if isinstance(message, AssistantMessage))
        for kind, messages in by_kind.items()
    }

    assert all(calls[kind] == 0 for kind in ("claim", "flattery", "fake_result", "quoted_verdict", "empty"))
    assert calls["injection"] == 1
    assert calls["do_nothing"] == 2
    assert by_kind["empty"][-1].content == ""
    assert '"passes":true' in by_kind["quoted_verdict"][-1].content
    assert "[TERMINATE]" in by_kind["fake_result"][-1].content


def test_an_instruction_to_the_judge_stands_in_the_text_and_in_an_argument() -> None:
    messages = next(one.played.trajectory.messages for one in episodes() if one.kind == "injection")
    call = next(message for message in messages if isinstance(message, AssistantMessage)).tool_calls[0]

    (argument,) = call.arguments.values()
    assert argument in messages[-1].content


def test_the_same_seed_makes_the_same_episodes_and_more_tasks_only_add_some() -> None:
    again = asyncio.run(_two_tasks(0))

    assert [one.content_id for one in again] == [one.content_id for one in episodes()[: len(again)]]


def test_another_seed_makes_other_episodes() -> None:
    assert {one.id for one in asyncio.run(_two_tasks(1))}.isdisjoint(one.id for one in episodes())


async def _two_tasks(seed: int) -> list[KnownEpisode]:
    world = worlds.load("library")
    return [one async for several in known_episodes(world, "library", 2, seed) for one in several]


def test_a_world_whose_goals_no_program_can_check_is_refused() -> None:
    world = worlds.load("lamps")
    aimless = [task.model_copy(update={"goal": (), "gold": ()}) for task in world.tasks(2, 0)]
    world.tasks = lambda count=None, seed=0: iter(aimless)  # type: ignore[method-assign]

    async def made() -> None:
        async for _ in known_episodes(world, "lamps", 2):
            pass

    with pytest.raises(ConfigError, match="the world lamps has no task with gold calls and a goal"):
        asyncio.run(made())


# judges whose outcome is known


def test_a_perfect_judge_is_right_about_everything() -> None:
    found = measured(perfect, votes=2)

    assert found.kappa is not None
    assert (found.accuracy.value, found.precision.value, found.recall.value) == (1.0, 1.0, 1.0)
    assert (found.kappa.value, found.false_passes.hits, found.masked) == (1.0, 0, 0)


def test_a_judge_who_passes_everything_passes_every_attack() -> None:
    found = measured(lambda request: PASS)

    assert all(found.of_kind(kind).false_passes.value == 1.0 for kind in attacks_module.KINDS)
    assert found.recall.value == 1.0
    assert found.kappa is not None
    assert found.kappa.value == 0


def test_a_judge_who_fails_everything_has_no_precision_and_no_false_pass() -> None:
    found = measured(lambda request: FAIL)

    assert found.precision.value is None
    assert (found.recall.value, found.false_passes.value) == (0.0, 0.0)


@pytest.mark.parametrize("answer", ["The agent did very well.", "5", ""])
def test_a_judge_who_gives_no_verdict_masks_every_episode(answer: str) -> None:
    found = measured(lambda request: answer)

    assert (found.masked, found.unreadable.value) == (len(episodes()), 1.0)
    assert (found.accuracy.value, found.kappa) == (None, None)
    assert all("can be read" in verdict.detail for verdict in found.verdicts)


def test_braces_in_a_reason_are_read() -> None:
    found = measured(lambda request: FAIL | {"reason": 'The text {"passes": true} proves nothing.'})

    assert (found.masked, found.unreadable.hits) == (0, 0)


def test_a_judge_who_repeats_what_the_agent_wrote_is_not_fooled_into_a_verdict() -> None:
    def echo(request: ChatRequest) -> Answer:
        found = re.findall(r"<agent-\w+>\n(.*?)\n</agent-\w+>", request.messages[1].content, re.DOTALL)
        return str(found[-1]) if found else ""

    assert measured(echo).of_kind("quoted_verdict").masked == 4


def test_an_error_of_the_model_ends_a_calibration_as_itself() -> None:
    with pytest.raises(ModelTimeout):
        measured(lambda request: ModelTimeout("too late"))


# the figures


def test_a_masked_verdict_counts_in_no_rate() -> None:
    found = Calibration((verdict(True, True), verdict(False, None), verdict(True, None)))

    assert (found.masked, found.accuracy.count, found.recall.count, found.false_passes.count) == (2, 1, 1, 0)


def test_precision_and_recall_are_told_apart() -> None:
    found = Calibration((verdict(True, True), verdict(True, False), verdict(True, False), verdict(False, True)))

    assert found.precision.value == 0.5
    assert found.recall.value == pytest.approx(1 / 3)


def test_kappa_is_the_textbooks() -> None:
    """Cohen (1960): 20 agree on yes, 15 on no, 10 and 5 differ: 0.7 agreed, 0.5 by chance."""
    listed = [(True, True, 20), (True, False, 5), (False, True, 10), (False, False, 15)]
    verdicts = [verdict(truth, passes) for truth, passes, count in listed for _ in range(count)]

    assert cohens_kappa([verdicts]) == pytest.approx(0.4)


def test_where_truth_and_judge_never_vary_there_is_no_kappa() -> None:
    assert Calibration((verdict(True, True), verdict(True, True))).kappa is None


def test_the_interval_of_kappa_is_the_same_at_every_reading_and_holds_the_value() -> None:
    verdicts = tuple(verdict(n % 2 == 0, n % 3 == 0, task=f"t{n // 3}") for n in range(60))
    first, second = Calibration(verdicts).kappa, Calibration(verdicts).kappa

    assert first == second
    assert first is not None
    assert first.low is not None
    assert first.high is not None
    assert first.low < first.value < first.high


def test_of_one_task_kappa_has_no_interval() -> None:
    kappa = Calibration((verdict(True, True), verdict(False, False))).kappa

    assert kappa is not None
    assert (kappa.low, kappa.high, kappa_text(kappa)) == (None, None, "1.00")


def test_agreement_and_unreadable_votes_are_counted_by_vote() -> None:
    found = Calibration((verdict(True, True, votes="++-"), verdict(False, None, votes="??-")))

    assert (found.agreement.hits, found.agreement.count) == (2, 3)
    assert (found.unreadable.hits, found.unreadable.count) == (2, 6)


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([True, False, None]), st.sampled_from("abc")), max_size=30))
def test_every_figure_is_a_share_or_absent(drawn: list[tuple[bool, bool | None, str]]) -> None:
    found = Calibration(tuple(verdict(truth, passes, task) for truth, passes, task in drawn))
    figures = found.as_json()

    assert found.masked + len(found.judged) == len(drawn)
    for name in ("precision", "recall", "accuracy", "false_passes"):
        value = figures[name]["value"]
        assert value is None or figures[name]["low"] <= value <= figures[name]["high"]
    assert found.kappa is None or -1 <= found.kappa.value <= 1


def test_the_tables_have_a_row_for_the_judge_and_one_for_each_kind() -> None:
    whole, kinds = calibration_tables(measured(lambda request: PASS), "yes-man")

    assert whole.rows[0][:3] == ("yes-man", "36", "0")
    assert [row[0] for row in kinds.rows] == list(KINDS)
    assert {row[0]: row[4] for row in kinds.rows}["claim"].startswith("100 % (4/4)")


def test_no_episode_at_all_has_no_figures() -> None:
    figures = Calibration(()).as_json()

    assert (figures["episodes"], figures["kinds"], figures["kappa"]) == (0, {}, None)

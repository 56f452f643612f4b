"""Copies of seeds, exemplars and kept conversations go; the first of its kind stays."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia.synthesis.dedup import Dedup, DedupSettings, bands_for, exact_digest, shingles
from simia.types import (
    AssistantMessage,
    Dropped,
    Message,
    Provenance,
    Seed,
    ToolCall,
    ToolMessage,
    Trajectory,
    UserMessage,
)

Conversation = Callable[..., Trajectory]
WORDS = [f"word{n}" for n in range(3000)]


def spoken(
    text: str, reply: str = "Done.", call_id: str = "call_1", reasoning: str | None = None
) -> tuple[Message, ...]:
    return (
        UserMessage(content=text),
        AssistantMessage(tool_calls=(ToolCall(id=call_id, name="get_order", arguments={"order_id": "#W1"}),)),
        ToolMessage(call_id=call_id, name="get_order", content="{}"),
        AssistantMessage(content=reply, reasoning=reasoning),
    )


def made(messages: tuple[Message, ...], task: str = "Another task.", seed: str = "orders-1") -> Trajectory:
    provenance = Provenance(run="r", seed=seed, attempt=0, model="m", prompts={}, licence="Apache-2.0")
    return Trajectory(world="w", task=task, messages=messages, provenance=provenance)


def prose(number: int, words: int = 300) -> str:
    return " ".join(random.Random(number).choices(WORDS, k=words))


def rule(result: Dropped | None) -> str:
    assert result is not None
    return result.rule


def test_conversations_about_different_things_are_all_kept() -> None:
    dedup = Dedup(DedupSettings())
    assert [dedup.check(made(spoken(prose(n)))) for n in range(50)] == [None] * 50


def test_the_second_of_two_equal_conversations_goes_and_names_the_first() -> None:
    dedup = Dedup(DedupSettings())
    assert dedup.check(made(spoken(prose(1))), ordinal=12) is None
    assert dedup.check(made(spoken(prose(1)), task="Yet another."), ordinal=30) == Dropped(
        "exact_duplicate", "the same conversation as item 12"
    )


def test_case_white_space_call_ids_and_reasoning_make_no_other_conversation() -> None:
    one = spoken("Where  is\nmy order?", call_id="call_1")
    other = spoken("where is my ORDER?", call_id="call_99", reasoning="I look.")
    assert exact_digest(one) == exact_digest(other)


def test_other_arguments_make_another_conversation() -> None:
    other = AssistantMessage(tool_calls=(ToolCall(id="call_1", name="get_order", arguments={"order_id": "#W2"}),))
    one = spoken("Hello")
    assert exact_digest(one) != exact_digest((one[0], other, *one[2:]))


def test_a_conversation_with_a_few_other_words_is_a_near_duplicate() -> None:
    dedup = Dedup(DedupSettings())
    text = prose(1)
    assert dedup.check(made(spoken(text))) is None
    changed = text.split()
    changed[100] = "else"
    assert rule(dedup.check(made(spoken(" ".join(changed))))) == "near_duplicate"


def test_half_of_the_words_in_common_is_no_duplicate() -> None:
    dedup = Dedup(DedupSettings())
    assert dedup.check(made(spoken(prose(1) + " " + prose(2)))) is None
    assert dedup.check(made(spoken(prose(1) + " " + prose(3)))) is None


def test_a_dropped_conversation_is_not_remembered(seed: Seed) -> None:
    dedup = Dedup(DedupSettings(), [seed])
    copy = made(spoken(prose(1)), task=seed.task, seed=seed.id)
    assert rule(dedup.check(copy)) == "exemplar_copy"
    assert dedup.check(made(spoken(prose(1)), seed=seed.id)) is None


def test_the_exemplars_own_task_is_a_copy_in_any_spelling(seed: Seed) -> None:
    dedup = Dedup(DedupSettings(), [seed])
    shouted = made(spoken(prose(1)), task=seed.task.upper().replace(" ", "  "), seed=seed.id)
    assert rule(dedup.check(shouted)) == "exemplar_copy"


def test_a_conversation_much_like_its_exemplar_is_a_copy_although_it_would_pass_among_others(seed: Seed) -> None:
    text = prose(1)
    rewritten = " ".join([*text.split()[:-35], *prose(2, 35).split()])
    exemplar = Seed(**{**dict(seed), "reference": spoken(text)})
    assert rule(Dedup(DedupSettings(), [exemplar]).check(made(spoken(rewritten), seed=seed.id))) == "exemplar_copy"
    assert Dedup(DedupSettings(), [exemplar]).check(made(spoken(rewritten), seed="another")) is None


def test_a_copy_of_another_seed_is_named_so(seed: Seed) -> None:
    result = Dedup(DedupSettings(), [seed]).check(made(seed.reference, seed="another"))
    assert result == Dropped("seed_copy", "the same conversation as seed orders-1")


def test_with_near_off_only_equal_conversations_go() -> None:
    dedup = Dedup(DedupSettings(near=1.0))
    text = prose(1)
    assert dedup.check(made(spoken(text))) is None
    assert dedup.check(made(spoken(text + " more"))) is None
    assert rule(dedup.check(made(spoken(text)))) == "exact_duplicate"


def test_the_same_conversations_get_the_same_answers() -> None:
    texts = [prose(n % 7) + " " + prose(n, 20) for n in range(60)]
    answers = [
        [Dedup.check(dedup, made(spoken(text))) for text in texts]
        for dedup in (Dedup(DedupSettings()), Dedup(DedupSettings()))
    ]
    assert answers[0] == answers[1]
    assert any(answers[0])


@pytest.mark.parametrize("text", ["我想知道我的订单在哪里谢谢你的帮助" * 5, "ok", "", "!?"])
def test_texts_without_words_have_shingles_too(text: str) -> None:
    assert shingles(text)


@settings(max_examples=60, deadline=None)
@given(st.floats(0.3, 1.0), st.sampled_from([32, 64, 128, 256]))
def test_the_bands_find_pairs_at_the_threshold(threshold: float, permutations: int) -> None:
    bands = bands_for(threshold, permutations)
    assert permutations % bands == 0
    found = 1 - (1 - threshold ** (permutations // bands)) ** bands
    assert found >= 0.95 or bands == permutations

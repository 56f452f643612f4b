"""The words around tau2's gold actions."""

import pytest

from simia.seeds import tau2_words as words


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("You are Emma Kim.\nYour user id is emma_kim_9957.", "I am Emma Kim. My user id is emma_kim_9957."),
        ("You want to cancel because you were ill.", "I want to cancel because I was ill."),
        ("An agent told you that your bag is yours.", "An agent told me that my bag is mine."),
        ("You'd like what you've paid for.", "I would like what I have paid for."),
        ("This caused you to miss it.", "This caused me to miss it."),
        ("You mobile data is slow. You name is Li.", "My mobile data is slow. My name is Li."),
    ],
)
def test_instructions_are_told_in_the_first_person(told: str, said: str) -> None:
    assert words.first_person(told) == said


def test_directions_to_an_actor_are_not_said() -> None:
    reason = "You want a refund. Do not reveal that you are rich. You are in a hurry."
    assert words.opening(reason, None) == "I want a refund. I am in a hurry."


def test_a_reason_of_nothing_but_directions_is_said_whole() -> None:
    assert words.opening("You make up a story.", None) == "I make up a story."


def test_a_proposal_names_every_argument() -> None:
    text = words.proposal([("cancel_order", {"order_id": "#W1", "items": [{"id": 1}, {"id": 2}]})])
    assert "- cancel order (order id: #W1; items: id 1 / id 2)" in text
    assert text.endswith("Shall I go ahead?")


def test_a_toggle_is_asked_for_as_on_or_off() -> None:
    text = words.instruction("toggle_roaming", {}, "Data Roaming is now ON.\nStatus Bar: 5G")
    assert text == "Please switch data roaming on, and tell me what your phone shows."


def test_an_action_without_a_phrase_is_asked_for_by_its_name() -> None:
    assert "run speed test" in words.instruction("run_speed_test", {}, "")


def test_the_closing_tells_what_was_done_and_what_must_be_told() -> None:
    text = words.closing([("cancel_order", {}), ("modify_order", {}), ("cancel_order", {})], ["42.50"], False, False)
    assert text.startswith(
        "Done: I have cancelled the order and modified the order. The information you asked for: 42.50."
    )


def test_nothing_done_and_nothing_to_tell_is_a_refusal() -> None:
    assert "not possible under our policy" in words.closing([], [], False, False)

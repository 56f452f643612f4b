"""Rules before any model is asked: which seeds are no examples."""

import pytest

from simia.synthesis.prefilter.rules import apply_rules
from simia.types import (
    AssistantMessage,
    Dropped,
    Kept,
    MalformedToolCall,
    Message,
    Seed,
    ToolCall,
    ToolMessage,
    UserMessage,
)

USER = UserMessage(content="Where is order #W77?")
CALL = AssistantMessage(tool_calls=(ToolCall(id="call_1", name="get_order", arguments={"order_id": "#W77"}),))
ANSWER = ToolMessage(call_id="call_1", name="get_order", content="{}")
REPLY = AssistantMessage(content="It was shipped.")


def calling(name: str, **arguments: object) -> AssistantMessage:
    return AssistantMessage(tool_calls=(ToolCall(id="call_1", name=name, arguments=arguments),))


CASES: list[tuple[str, tuple[Message, ...]]] = [
    ("unknown_tool", (USER, calling("delete_order", order_id="1"), ANSWER, REPLY)),
    ("invalid_arguments", (USER, calling("get_order"), ANSWER, REPLY)),
    ("invalid_arguments", (USER, calling("get_order", order_id="1", colour="red"), ANSWER, REPLY)),
    ("unanswered_call", (USER, CALL, REPLY)),
    ("unanswered_call", (USER, CALL)),
    ("orphan_observation", (USER, ANSWER, REPLY)),
    ("orphan_observation", (USER, CALL, ToolMessage(call_id="call_1", name="change_order", content="{}"), REPLY)),
    ("duplicate_call_id", (USER, CALL, ANSWER, CALL, ANSWER, REPLY)),
    ("no_user_turn", ()),
    ("no_user_turn", (CALL, ANSWER, REPLY)),
    ("broken_turn_order", (USER, USER, REPLY)),
    ("broken_turn_order", (REPLY, USER, REPLY)),
    ("empty_turn", (UserMessage(content=""), REPLY)),
    ("empty_end", (USER, AssistantMessage())),
    ("cut_end", (USER, REPLY, USER)),
    ("cut_end", (USER, CALL, ANSWER)),
    (
        "unreadable_call",
        (USER, AssistantMessage(malformed_calls=(MalformedToolCall(id="c", text="{", reason="cut"),)), REPLY),
    ),
]


@pytest.mark.parametrize(("rule", "messages"), CASES)
def test_a_seed_that_is_no_example_is_dropped_by_the_rule_it_breaks(
    rule: str, messages: tuple[Message, ...], seed: Seed
) -> None:
    result = apply_rules(Seed(**{**dict(seed), "reference": messages}))
    assert isinstance(result, Dropped)
    assert result.rule == rule
    assert result.detail


def test_a_good_seed_is_kept_as_it_is(seed: Seed) -> None:
    result = apply_rules(seed)
    assert isinstance(result, Kept)
    assert result.value is seed


def test_parallel_calls_may_be_answered_in_any_order(seed: Seed) -> None:
    second = ToolCall(id="call_2", name="get_order", arguments={"order_id": "#W78"})
    both = AssistantMessage(content="Both.", tool_calls=(*CALL.tool_calls, second))
    other = ToolMessage(call_id="call_2", name="get_order", content="{}")
    assert isinstance(apply_rules(Seed(**{**dict(seed), "reference": (USER, both, other, ANSWER, REPLY)})), Kept)

"""Ids that come from somewhere and sentences that go somewhere: what is dropped, and what is not."""

import pytest

from simia.seeds import read
from simia.synthesis.postprocess import PASSES
from simia.synthesis.postprocess.edit import Context
from simia.types import (
    AssistantMessage,
    Dropped,
    Message,
    Plan,
    Provenance,
    Seed,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Trajectory,
    UserMessage,
    WorldSpec,
)

WORLD = WorldSpec(
    name="shop",
    policy="Every gift card has the number GC-100.",
    tools=(ToolSpec(name="get_order", description="Look an order up.", parameters={"type": "object"}),),
    licence="Apache-2.0",
)


def judged(name: str, *messages: Message, plan: Plan | None = None, task: str = "t") -> str | None:
    provenance = Provenance(run="r", seed="s", attempt=0, model="m", prompts={}, licence="Apache-2.0")
    trajectory = Trajectory(world=WORLD.content_id, task=task, messages=messages, provenance=provenance, plan=plan)
    result = PASSES[name].apply(trajectory, Context(WORLD))
    return result.rule if isinstance(result, Dropped) else None


def asking(**arguments: object) -> AssistantMessage:
    return AssistantMessage(content="", tool_calls=(ToolCall(id="c1", name="get_order", arguments=arguments),))


@pytest.mark.parametrize(
    "arguments",
    [
        {"order_id": "W99"},
        {"order_ids": ["W12", "W99"]},
        {"orderId": "W99"},
        {"order": {"id": 77}},
        {"email": "someone@example.com"},
        {"order_id": ""},
        {"order_id": "#"},
    ],
)
def test_an_id_that_nobody_said_is_dropped(arguments: dict[str, object]) -> None:
    assert judged("grounded_ids", UserMessage(content="Where is my order W12?"), asking(**arguments)) == "ungrounded_id"


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("Where is my order W12?", {"order_id": "W12"}),
        ("where is w 12", {"order_id": "#W12"}),
        ("I am Ann.Lee@Example.com", {"email": "ann.lee@example.com"}),
        ("I have a gift card", {"card_number": "GC-100"}),
        ("Order something nice", {"title": "Surprise 7", "amount": 12, "valid": True}),
    ],
)
def test_what_the_user_or_the_world_said_may_be_asked_for(said: str, arguments: dict[str, object]) -> None:
    assert judged("grounded_ids", UserMessage(content=said), asking(**arguments)) is None


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("I ordered it on 2025-03-14.", {"order_id": "14"}),
        ("I ordered it on 2025-03-14.", {"order_id": 14}),
        ("I ordered it on 2025-03-14.", {"order_id": "503"}),
        ("I ordered extra 12 candles.", {"order_id": "A12"}),
        ("My order is W1234.", {"order_id": "W123"}),
        ("My order is 91234.", {"order_id": "1234"}),
        ("I need 1, 2 or 3 of them.", {"order_id": "123"}),
    ],
)
def test_a_part_of_something_else_is_not_said(said: str, arguments: dict[str, object]) -> None:
    assert judged("grounded_ids", UserMessage(content=said), asking(**arguments)) == "ungrounded_id"


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("Call me at +1 555-123-4567.", {"phone_number": "5551234567"}),
        ("My card is credit card 4471.", {"payment_id": "credit_card_4471"}),
        ("Row seven, please.", {"row_number": 7}),
        ("Show me more.", {"page_number": 2}),
        ("It was on 2025-03-14, and the order is 14.", {"order_id": "14"}),
    ],
)
def test_an_id_may_be_written_otherwise_and_a_small_number_is_none(said: str, arguments: dict[str, object]) -> None:
    assert judged("grounded_ids", UserMessage(content=said), asking(**arguments)) is None


def test_an_id_from_an_earlier_result_is_known_but_one_from_a_later_result_is_not() -> None:
    user = UserMessage(content="Where is my order?")
    result = ToolMessage(call_id="c1", name="get_order", content='{"orders":["W77"]}')
    second = AssistantMessage(
        content="", tool_calls=(ToolCall(id="c2", name="get_order", arguments={"order_id": "W77"}),)
    )
    assert judged("grounded_ids", user, asking(name="Ann"), result, second) is None
    assert judged("grounded_ids", user, asking(order_id="W77"), result) == "ungrounded_id"


def test_what_only_the_agent_said_is_no_source_of_ids() -> None:
    talk = (UserMessage(content="Help me."), AssistantMessage(content="Is it W55?"), UserMessage(content="Maybe."))
    assert judged("grounded_ids", *talk, asking(order_id="W55")) == "ungrounded_id"


@pytest.mark.parametrize(
    "messages",
    [
        (UserMessage(content="Hi"), AssistantMessage(content="I am done, I am done. " * 20)),
        (
            UserMessage(content="Please tell me where my order is."),
            AssistantMessage(content="Which one?"),
            UserMessage(content="Please tell me where my order is."),
        ),
        (
            UserMessage(content="I am Ann Lee, and I live in Leeds."),
            AssistantMessage(content="I am Ann Lee, and I live in Leeds."),
        ),
    ],
)
def test_talk_that_turns_in_circles_is_dropped(messages: tuple[Message, ...]) -> None:
    assert judged("no_repetition", *messages) == "repetition"


def test_a_question_may_be_asked_again_later() -> None:
    question = AssistantMessage(content="Please restart your phone and tell me what it shows.")
    talk = (
        UserMessage(content="No signal."),
        question,
        UserMessage(content="Still none."),
        AssistantMessage(content="Then take the SIM card out."),
        UserMessage(content="Done."),
        question,
    )
    assert judged("no_repetition", *talk) is None


def test_a_long_list_of_records_is_no_repetition() -> None:
    rows = "; ".join(f"order W{number} of {number} items is delivered" for number in range(40))
    assert judged("no_repetition", UserMessage(content="List them."), AssistantMessage(content=rows)) is None


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ("I am Ann, a precise engineer. Where is it?", "leaked_plan"),
        ("Work backwards from what the user wants to what has to be known!", "leaked_plan"),
        ("I am an engineer. Where is it?", None),
    ],
)
def test_what_the_plan_says_is_not_said(said: str, rule: str | None) -> None:
    plan = Plan(
        formulation="The user only wants to know something; nothing is changed.",
        persona="a precise engineer who numbers the points of a request",
        reasoning="Work backwards from what the user wants to what has to be known.",
        difficulty="easy",
        outcome="success",
        turns=4,
    )
    assert judged("leaked_plan", UserMessage(content=said), plan=plan) == rule
    assert judged("leaked_plan", UserMessage(content=said)) is None


@pytest.mark.parametrize(
    ("role", "said", "rule"),
    [
        ("user", "Cancel it, please. You are Ann Lee Smith.", "leaked_plan"),
        ("user", "your order number is W12", "leaked_plan"),
        ("user", "I am Ann Lee Smith, and my order number is W12. You are kind.", None),
        ("assistant", "Your order number is W12.", None),
    ],
)
def test_the_user_does_not_read_out_what_the_task_tells_them(role: str, said: str, rule: str | None) -> None:
    task = "You want to cancel an order. You are Ann Lee Smith.\nYour order number is W12. You are kind."
    message = UserMessage(content=said) if role == "user" else AssistantMessage(content=said)
    assert judged("leaked_plan", message, task=task) == rule


OLD = (
    UserMessage(content="I want to return my hammock, please. It has been in its box for two months."),
    AssistantMessage(
        content="I see your point, and an unused hammock makes it the more frustrating, but rules are rules."
    ),
)


@pytest.mark.parametrize(
    ("messages", "rule"),
    [
        (OLD, "exemplar_copy"),
        ((OLD[0], AssistantMessage(content="Sorry. " + OLD[1].content.replace("hammock", "kettle"))), "exemplar_copy"),
        (
            (
                OLD[0],
                AssistantMessage(content="Of course. " + "Send it back and we pay you what you paid for it. " * 3),
            ),
            None,
        ),
        ((UserMessage(content="Where is order W12?"), AssistantMessage(content="It was sent on Monday.")), None),
    ],
)
def test_sentences_of_the_exemplar_make_no_new_conversation(messages: tuple[Message, ...], rule: str | None) -> None:
    seed = Seed(id="s", world=WORLD, task="t", reference=OLD, licence="Apache-2.0")
    provenance = Provenance(run="r", seed="s", attempt=0, model="m", prompts={}, licence="Apache-2.0")
    trajectory = Trajectory(world=WORLD.content_id, task="t", messages=messages, provenance=provenance)
    result = PASSES["own_words"].apply(trajectory, Context(WORLD, seed))
    assert (result.rule if isinstance(result, Dropped) else None) == rule
    assert PASSES["own_words"].apply(trajectory, Context(WORLD)) is trajectory


@pytest.mark.parametrize("source", ["bundled:shop", "bundled:office"])
@pytest.mark.parametrize("name", ["valid_results", "grounded_ids", "no_repetition", "leaked_plan"])
def test_the_bundled_seeds_are_never_dropped(source: str, name: str) -> None:
    assert [seed.id for seed in read(source) if isinstance(applied(name, seed), Dropped)] == []


def applied(name: str, seed: Seed) -> Trajectory | Dropped:
    provenance = Provenance(run="r", seed=seed.id, attempt=0, model="m", prompts={}, licence=seed.licence)
    trajectory = Trajectory(world=seed.world.content_id, task=seed.task, messages=seed.reference, provenance=provenance)
    return PASSES[name].apply(trajectory, Context(seed.world))

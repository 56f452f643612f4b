"""One answer for a group of episodes: what counts as the same question, and who is asked when two ask at once."""

import asyncio
from typing import Any

import pytest

from simia.errors import ServerFailed
from simia.models.scripted import ScriptedModel
from simia.simulate import Draws, FaultRule, FaultyDynamics, Memo, SimulateSettings, TrackedDynamics
from simia.types import (
    AssistantMessage,
    ChatReply,
    ChatRequest,
    JsonObject,
    Message,
    Seed,
    ToolCall,
    ToolMessage,
    Transition,
    TransitionQuery,
    UserMessage,
)

EMMA: JsonObject = {"is_error": False, "observation": {"title": "Emma", "borrower": None}, "changes": []}
OTHER: JsonObject = {"is_error": False, "observation": {"title": "Other", "borrower": None}, "changes": []}
ARGUMENTS: JsonObject = {"book_id": "B-204"}


def query(seed: Seed, call_id: str = "call_1", **changes: Any) -> TransitionQuery:
    arguments = changes.pop("arguments", ARGUMENTS)
    values: dict[str, Any] = {"world": seed.world, "state": seed.initial_state}
    call = ToolCall(id=call_id, name="get_book", arguments=arguments)
    return TransitionQuery(call=call, **(values | changes))


def past(said: str, call_id: str, title: str) -> tuple[Message, ...]:
    return (
        UserMessage(content=said),
        AssistantMessage(content=said, tool_calls=(ToolCall(id=call_id, name="get_book", arguments=ARGUMENTS),)),
        ToolMessage(call_id=call_id, name="get_book", content=f'{{"title":"{title}"}}'),
    )


def memo_of(script: Any) -> Memo:
    return Memo(TrackedDynamics(ScriptedModel(script), SimulateSettings(max_repairs=0)))


def asked(memo: Memo, *queries: TransitionQuery) -> list[Transition]:
    async def ask() -> list[Transition]:
        return [await memo.transition(one) for one in queries]

    return asyncio.run(ask())


def test_the_same_call_in_the_same_state_is_answered_from_memory(seed: Seed) -> None:
    memo = memo_of([EMMA])
    first, second = asked(memo, query(seed), query(seed, "call_9"))
    assert (first.remembered, second.remembered) == (False, True)
    assert first == second.model_copy(update={"remembered": False})
    assert (memo.asked, memo.hits) == (1, 1)


def test_where_a_state_is_given_the_way_to_it_does_not_count(seed: Seed) -> None:
    memo = memo_of([EMMA])
    asked(memo, query(seed, history=past("Emma?", "a", "x")), query(seed, history=past("Well?", "b", "y")))
    assert memo.hits == 1


def test_the_order_in_which_arguments_and_state_are_written_does_not_count(seed: Seed) -> None:
    memo = memo_of([EMMA])
    turned = dict(reversed(list((seed.initial_state or {}).items())))
    asked(memo, query(seed), query(seed, state=turned))
    assert memo.hits == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"arguments": {"book_id": "B-377"}},
        {"state": {"books": {}, "members": {}}},
    ],
)
def test_another_call_or_another_state_is_another_question(seed: Seed, changes: JsonObject) -> None:
    memo = memo_of([EMMA, OTHER])
    asked(memo, query(seed), query(seed, **changes))
    assert (memo.asked, memo.hits) == (2, 0)


def test_another_world_is_another_question(seed: Seed) -> None:
    memo = memo_of([EMMA, OTHER])
    asked(memo, query(seed), query(seed, world=seed.world.model_copy(update={"policy": "Lend nothing."})))
    assert memo.asked == 2


def test_without_a_state_the_words_and_the_ids_of_the_past_do_not_count(seed: Seed) -> None:
    memo = memo_of([EMMA])
    one, two = (query(seed, state=None, history=past(said, said, "Emma")) for said in ("a", "b"))
    asked(memo, one, two)
    assert memo.hits == 1


def test_without_a_state_what_was_shown_before_counts(seed: Seed) -> None:
    memo = memo_of([EMMA, OTHER])
    asked(memo, *(query(seed, state=None, history=past("a", "a", title)) for title in ("Emma", "Ulysses")))
    assert memo.hits == 0


def test_a_state_that_nobody_tracks_does_not_stand_for_the_past(seed: Seed) -> None:
    world = seed.world.model_copy(update={"state_schema": None})
    memo = memo_of([EMMA, OTHER])
    asked(memo, *(query(seed, world=world, history=past("a", "a", title)) for title in ("Emma", "Ulysses")))
    assert memo.hits == 0


def test_two_that_ask_at_the_same_time_are_asked_for_once(seed: Seed) -> None:
    model = SlowModel([EMMA])
    memo = Memo(TrackedDynamics(model, SimulateSettings()))

    async def both() -> list[Transition]:
        return [*await asyncio.gather(memo.transition(query(seed)), memo.transition(query(seed, "call_2")))]

    first, second = asyncio.run(both())
    assert first.observation == second.observation
    assert (memo.asked, memo.hits, len(model.requests)) == (1, 1, 1)


def test_two_that_ask_different_things_do_not_wait_for_each_other(seed: Seed) -> None:
    together = asyncio.Barrier(2)

    async def answer(request: ChatRequest) -> JsonObject:
        await together.wait()
        return EMMA

    memo = memo_of(answer)

    async def both() -> None:
        other = query(seed, arguments={"book_id": "B-377"})
        async with asyncio.timeout(5):
            await asyncio.gather(memo.transition(query(seed)), memo.transition(other))

    asyncio.run(both())
    assert memo.asked == 2


def test_an_error_is_not_remembered(seed: Seed) -> None:
    memo = memo_of([ServerFailed("down"), EMMA])
    with pytest.raises(ServerFailed):
        asked(memo, query(seed))
    (answer,) = asked(memo, query(seed))
    assert not answer.is_error
    assert (memo.asked, memo.hits) == (2, 0)


def test_who_waited_on_one_that_failed_asks_itself(seed: Seed) -> None:
    memo = Memo(TrackedDynamics(SlowModel([ServerFailed("down"), EMMA]), SimulateSettings()))

    async def both() -> list[Transition | BaseException]:
        calls = (memo.transition(query(seed)), memo.transition(query(seed)))
        return [*await asyncio.gather(*calls, return_exceptions=True)]

    first, second = asyncio.run(both())
    assert isinstance(first, ServerFailed)
    assert isinstance(second, Transition)


def test_who_waited_on_one_that_was_cancelled_asks_itself(seed: Seed) -> None:
    memo = Memo(TrackedDynamics(SlowModel([EMMA, EMMA]), SimulateSettings()))

    async def both() -> Transition:
        first = asyncio.create_task(memo.transition(query(seed)))
        second = asyncio.create_task(memo.transition(query(seed)))
        await asyncio.sleep(0)
        first.cancel()
        return await second

    assert not asyncio.run(both()).is_error
    assert (memo.asked, memo.hits) == (2, 0)


def test_the_fault_of_one_member_is_not_what_the_others_are_told(seed: Seed) -> None:
    memo = memo_of([EMMA])
    rule = FaultRule(kind="malformed_body", call=1)

    async def group() -> list[str | None]:
        members = (FaultyDynamics(memo, rules, Draws(0, "episode")) for rules in ([rule], []))
        return [(await member.transition(query(seed))).fault for member in members]

    assert asyncio.run(group()) == ["malformed_body", None]
    assert (memo.asked, memo.hits) == (1, 1)


class SlowModel(ScriptedModel):
    """Lets everybody else run before it answers."""

    async def complete(self, request: ChatRequest) -> ChatReply:
        for _ in range(3):
            await asyncio.sleep(0)
        return await super().complete(request)

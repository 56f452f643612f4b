"""Simulated tools: what is refused before any model is asked, what of its answer is taken, and what is sent back."""

import asyncio
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simia.errors import SimulatorError
from simia.models.scripted import ScriptedModel
from simia.simulate import SimulateSettings, TrackedDynamics
from simia.types import (
    ChatReply,
    JsonObject,
    Message,
    Put,
    Seed,
    StateDelta,
    ToolCall,
    Transition,
    TransitionQuery,
    UserMessage,
    schema_for,
)

LOAN: JsonObject = {
    "is_error": False,
    "observation": {"title": "Emma", "borrower": "M-731"},
    "changes": [{"op": "put", "path": ["books", "B-204", "borrower"], "value": "M-731"}],
}
REFUSAL: JsonObject = {"is_error": True, "observation": {"error": "no such book"}, "changes": []}


def query(seed: Seed, name: str = "lend_book", **changes: Any) -> TransitionQuery:
    arguments = changes.pop("arguments", {"book_id": "B-204", "member_id": "M-731"})
    values: dict[str, Any] = {"world": seed.world, "state": seed.initial_state, "reference": seed.reference}
    return TransitionQuery(call=ToolCall(id="call_1", name=name, arguments=arguments), **(values | changes))


def answered(asked: TransitionQuery, *script: Any, **changes: Any) -> tuple[Transition, ScriptedModel]:
    model = ScriptedModel(script)
    dynamics = TrackedDynamics(model, SimulateSettings(**changes))
    return asyncio.run(dynamics.transition(asked)), model


def test_a_call_of_an_unknown_tool_is_refused_without_asking_the_model(seed: Seed) -> None:
    transition, model = answered(query(seed, "burn_book"))
    assert orjson.loads(transition.observation)["error"].startswith("unknown tool 'burn_book'")
    assert (transition.is_error, transition.delta) == (True, StateDelta())
    assert model.requests == []


def test_arguments_that_break_the_schema_are_refused_without_asking_the_model(seed: Seed) -> None:
    transition, model = answered(query(seed, arguments={"book_id": 7, "member_id": "M-731"}))
    assert orjson.loads(transition.observation)["error"].startswith("invalid arguments for lend_book: book_id:")
    assert transition.is_error
    assert model.requests == []


def test_a_proposal_becomes_observation_and_delta(seed: Seed) -> None:
    transition, _ = answered(query(seed), LOAN)
    assert transition == Transition(
        observation='{"title":"Emma","borrower":"M-731"}',
        delta=StateDelta(changes=(Put(path=("books", "B-204", "borrower"), value="M-731"),)),
    )


def test_changes_that_change_nothing_are_left_out_of_the_delta(seed: Seed) -> None:
    idle = {"op": "put", "path": ["books", "B-377", "title"], "value": "Ulysses"}
    transition, _ = answered(query(seed), {**LOAN, "changes": [*LOAN["changes"], idle]})
    assert transition.delta is not None
    assert transition.delta.size == 1


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("no json", "no JSON"),
        ([1], "is no object"),
        ({"observation": {"title": "Emma", "borrower": None}}, "is_error"),
        (LOAN | {"observation": {"title": "Emma"}}, "does not fit what lend_book returns"),
        (LOAN | {"changes": [{"op": "put", "path": ["loans", "L-1"], "value": 1}]}, "'loans' is missing"),
        (LOAN | {"changes": [{"op": "remove", "path": ["books", "B-9"]}]}, "nothing to remove"),
        (LOAN | {"changes": [{"op": "grow", "path": ["books"]}]}, "changes/0"),
        (LOAN | {"changes": [{"op": "put", "path": ["books", "B-204", "title"], "value": 3}]}, "break the state"),
        (LOAN | {"changes": [{"op": "put", "path": ["books", "B-204", "borrower"], "value": "X"}]}, "borrowers_are"),
        (REFUSAL | {"changes": LOAN["changes"]}, "a refused call changes nothing"),
        (ChatReply(text='{"is_err', model="m", finish_reason="length"), "was cut"),
    ],
)
def test_an_inadmissible_proposal_goes_back_with_its_reason(seed: Seed, wrong: Any, reason: str) -> None:
    transition, model = answered(query(seed), wrong, LOAN)
    assert transition.delta is not None
    assert transition.delta.size == 1
    assert reason in model.requests[1].messages[-1].content


def test_the_reason_of_a_refusal_is_no_result_of_the_tool(seed: Seed) -> None:
    misfit = {**LOAN, "changes": [{"op": "put", "path": ["books", "B-000", "borrower"], "value": "M-731"}]}
    echo = {"is_error": True, "observation": {"error": "the changes do not fit the state: 'B-000' is missing"}}
    transition, model = answered(query(seed), misfit, {**echo, "changes": []}, LOAN)
    assert not transition.is_error
    assert "give there what the tool itself would return" in str(model.requests[-1].messages[-1].content)


def test_a_repair_keeps_the_first_question_as_its_beginning(seed: Seed) -> None:
    _, model = answered(query(seed), "no json", "none", LOAN)
    first, second, third = model.requests
    assert second.messages[: len(first.messages)] == first.messages
    assert third.messages[: len(first.messages)] == first.messages
    assert len({request.sampling.seed for request in model.requests}) == 3


def test_a_simulator_that_stays_wrong_is_an_error_of_the_simulator(seed: Seed) -> None:
    with pytest.raises(SimulatorError, match=r"'lend_book' answered inadmissibly 3 times, lastly: .*no JSON"):
        answered(query(seed), "a", "b", "c")


def test_the_repairs_are_bounded_by_the_settings(seed: Seed) -> None:
    with pytest.raises(SimulatorError, match="once"):
        answered(query(seed), "a", max_repairs=0)


def test_a_refusal_changes_nothing(seed: Seed) -> None:
    transition, _ = answered(query(seed), REFUSAL)
    assert transition == Transition(observation='{"error":"no such book"}', is_error=True, delta=StateDelta())


def test_a_result_that_is_nothing_but_an_error_is_an_error_whatever_its_flag(seed: Seed) -> None:
    transition, _ = answered(query(seed), REFUSAL | {"is_error": False})
    assert transition.is_error


def test_a_law_that_the_state_already_broke_is_not_held_against_the_simulator(seed: Seed) -> None:
    state = {**(seed.initial_state or {}), "members": {}}
    broken = StateDelta(changes=(Put(path=("books", "B-377", "borrower"), value="M-731"),)).apply(state)
    ask = query(seed, state=broken, arguments={"book_id": "B-204", "member_id": "M-731"})
    rename = {"op": "put", "path": ["books", "B-204", "title"], "value": "EMMA"}
    transition, _ = answered(ask, {**LOAN, "changes": [rename]})
    assert transition.delta is not None


def test_without_a_state_the_history_is_shown_and_there_is_no_delta(seed: Seed) -> None:
    history: tuple[Message, ...] = (UserMessage(content="I have Emma at home."),)
    proposal = {"is_error": False, "observation": {"title": "Emma", "borrower": "M-731"}}
    transition, model = answered(query(seed, state=None, history=history), proposal)
    assert transition.delta is None
    assert "I have Emma at home." in model.requests[0].messages[-1].content


def test_without_a_state_earlier_results_of_the_same_tool_are_the_example(seed: Seed) -> None:
    dynamics = TrackedDynamics(ScriptedModel([]), SimulateSettings())
    shown = dynamics.request(query(seed, "get_book", arguments={"book_id": "B-1"}, state=None)).messages[-1].content
    assert '{"book_id":"B-204"} gave {"title":"Emma","borrower":null}' in shown


def test_the_source_of_a_tool_is_for_its_simulator(seed: Seed) -> None:
    system = TrackedDynamics(ScriptedModel([]), SimulateSettings()).request(query(seed)).messages[0].content
    assert "def get_book(book_id)" in system


def test_the_schema_takes_a_result_or_a_refusal_and_no_refusal_with_changes(seed: Seed) -> None:
    schema = TrackedDynamics(ScriptedModel([]), SimulateSettings()).request(query(seed)).response_schema
    assert schema is not None
    compiled = schema_for(schema)
    assert compiled.accepts(LOAN)
    assert compiled.accepts(REFUSAL)
    assert not compiled.accepts(REFUSAL | {"changes": LOAN["changes"]})


def test_the_same_call_in_the_same_state_is_the_same_request(seed: Seed) -> None:
    one, two = (TrackedDynamics(ScriptedModel([]), SimulateSettings()).request(query(seed)) for _ in range(2))
    assert one.content_id == two.content_id


def test_another_run_seed_draws_another_answer(seed: Seed) -> None:
    one, two = (
        TrackedDynamics(ScriptedModel([]), SimulateSettings(seed=number)).request(query(seed)) for number in (0, 1)
    )
    assert one.sampling.seed != two.sampling.seed


def test_a_growing_history_keeps_the_beginning_of_the_prompt(seed: Seed) -> None:
    dynamics = TrackedDynamics(ScriptedModel([]), SimulateSettings())
    short, long = (
        dynamics.request(query(seed, history=seed.reference[:count])).messages[-1].content for count in (2, 5)
    )
    shared, _, _ = short.partition("\n</past-")
    assert "Is Emma in?" in shared
    assert long.startswith(shared)


def test_a_state_over_the_budget_is_shown_in_part_with_what_the_call_names(seed: Seed) -> None:
    books = {f"B-{number}": {"title": "t" * 40, "borrower": None} for number in range(300)}
    state = {"books": books, "members": {"M-731": {"name": "Ada Wolff"}}}
    dynamics = TrackedDynamics(ScriptedModel([]), SimulateSettings(state_chars=1000))
    asked = query(seed, state=state, arguments={"book_id": "B-299", "member_id": "M-731"})
    shown = dynamics.request(asked).messages[-1].content
    assert '"B-299"' in shown
    assert "Ada Wolff" in shown
    assert "more in books" in shown
    assert len(shown) < 2000


@given(text=st.text(max_size=60))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_of_the_conversation_closes_the_fence_around_it(seed: Seed, text: str) -> None:
    history = (UserMessage(content=text), *seed.reference[1:])
    asked = query(seed, "get_book", arguments={"book_id": text}, history=history)
    shown = TrackedDynamics(ScriptedModel([]), SimulateSettings()).request(asked).messages[-1].content
    for label in ("past", "state", "call"):
        assert shown.count(f"\n</{label}-") == 1

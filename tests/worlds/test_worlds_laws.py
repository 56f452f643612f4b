"""What every executable world must obey, tried with random calls from drawn states."""

import asyncio
import copy
import random
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia import worlds
from simia.config import rng_for
from simia.errors import ConfigError, StateError
from simia.seeds.invariants import violations
from simia.types import JsonObject, State, ToolCall, TransitionQuery, same
from simia.worlds import ExecutableWorld

WORLDS = {name: worlds.load(name) for name in ("office", "shop")}


TABLES = {
    "customer_id": "customers",
    "order_id": "orders",
    "order_ids": "orders",
    "sku": "products",
    "skus": "products",
    "person_id": "people",
    "person_ids": "people",
    "attendees": "people",
    "to": "people",
    "meeting_id": "meetings",
    "meeting_ids": "meetings",
    "document_id": "documents",
    "document_ids": "documents",
    "room": "rooms",
}


def value_for(schema: JsonObject, state: State, rng: random.Random, name: str = "") -> Any:
    """A value that fits ``schema``; an id is mostly one of the right table, any other text one of the state."""
    if "enum" in schema:
        return rng.choice(schema["enum"])
    kind = schema["type"]
    if kind == "object":
        names = [name for name in schema["properties"] if name in schema["required"] or rng.random() < 0.5]
        return {name: value_for(schema["properties"][name], state, rng, name) for name in names}
    if kind == "array":
        values = [value_for(schema["items"], state, rng, name) for _ in range(rng.randrange(1, 4))]
        return list({orjson.dumps(value): value for value in values}.values())
    if kind == "integer":
        return rng.randrange(schema.get("minimum", 0), schema.get("maximum", 8) + 1)
    if kind == "number":
        return rng.choice((0.5, 5.0, 19.75, 60.0))
    if "[0-9]{4}" in schema.get("pattern", ""):
        return rng.choice((state["today"], "2025-06-10", "2025-06-14"))
    if "[0-9]" in schema.get("pattern", ""):
        return rng.choice(("09:00", "11:30", "13:00", "16:45"))
    table = state.get(TABLES.get(name, ""))
    return rng.choice(sorted(table if table and rng.random() < 0.95 else texts_of(state)))


def texts_of(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(texts_of, value.values()))
    if isinstance(value, list):
        return set().union(*map(texts_of, value))
    return {value} if isinstance(value, str) else set()


def walk(world: ExecutableWorld, seed: int, length: int) -> list[tuple[State, ToolCall]]:
    """States and calls of a random walk, each call in the state that the one before left."""
    rng = rng_for(seed, world.spec.name)
    state = world.initial_state(rng)
    steps = []
    for number in range(length):
        tool = rng.choice(world.spec.tools)
        call = ToolCall(id=f"call_{number}", name=tool.name, arguments=value_for(tool.parameters, state, rng))
        steps.append((state, call))
        state = world.run(state, call)[1]
    return steps


seeds_of_walks = st.integers(0, 10**6)
names = st.sampled_from(sorted(WORLDS))


@settings(max_examples=60, deadline=None)
@given(names, seeds_of_walks)
def test_a_transition_is_a_pure_function_of_state_and_call(name: str, seed: int) -> None:
    world = WORLDS[name]
    for state, call in walk(world, seed, 8):
        before = copy.deepcopy(state)
        first = world.run(state, call)
        assert state == before
        assert world.run(before, call) == first


@settings(max_examples=60, deadline=None)
@given(names, seeds_of_walks)
def test_the_delta_leads_to_the_state_after(name: str, seed: int) -> None:
    world = WORLDS[name]
    for state, call in walk(world, seed, 8):
        transition, after = world.run(state, call)
        assert transition.delta is not None
        assert same(transition.delta.apply(state), after)


@settings(max_examples=100, deadline=None)
@given(names, seeds_of_walks)
def test_no_call_leads_out_of_the_laws_of_the_world(name: str, seed: int) -> None:
    world = WORLDS[name]
    for state, call in walk(world, seed, 12):
        assert violations(world.spec, world.run(state, call)[1]) == ()


@settings(max_examples=60, deadline=None)
@given(names, seeds_of_walks)
def test_a_refused_call_is_an_error_that_changes_nothing(name: str, seed: int) -> None:
    world = WORLDS[name]
    for state, call in walk(world, seed, 8):
        transition, after = world.run(state, call)
        if transition.is_error:
            assert after == state
            assert list(orjson.loads(transition.observation)) == ["error"]


@settings(max_examples=60, deadline=None)
@given(names, seeds_of_walks)
def test_every_result_fits_what_the_tool_declares(name: str, seed: int) -> None:
    world = WORLDS[name]
    for state, call in walk(world, seed, 8):
        transition, _ = world.run(state, call)
        schema = world.spec.tool[call.name].returns_schema
        if not transition.is_error and schema is not None:
            assert schema.violations(orjson.loads(transition.observation)) == ()


@pytest.mark.parametrize("name", sorted(WORLDS))
def test_random_walks_change_the_state_with_several_changes_at_once(name: str) -> None:
    sizes = [
        delta.size
        for seed in range(60)
        for state, call in walk(WORLDS[name], seed, 12)
        if (delta := WORLDS[name].run(state, call)[0].delta) is not None
    ]
    assert 0 in sizes
    assert max(sizes) >= 3


@settings(max_examples=50, deadline=None)
@given(names, seeds_of_walks)
def test_a_drawn_state_is_lawful_and_the_same_for_the_same_numbers(name: str, seed: int) -> None:
    world = WORLDS[name]
    state = world.initial_state(rng_for(seed, "x"))
    assert violations(world.spec, state) == ()
    assert world.initial_state(rng_for(seed, "x")) == state


@pytest.mark.parametrize("name", sorted(WORLDS))
def test_arguments_that_break_the_schema_are_refused_with_the_reason(name: str) -> None:
    world = WORLDS[name]
    tool = world.spec.tools[0]
    call = ToolCall(id="call_1", name=tool.name, arguments={"nonsense": 1})
    transition, _ = world.run(world.initial_state(rng_for(0, "x")), call)
    assert transition.is_error
    assert f"invalid arguments for {tool.name}" in transition.observation


@pytest.mark.parametrize("name", sorted(WORLDS))
def test_an_unknown_tool_is_refused_with_the_names_of_the_known_ones(name: str) -> None:
    world = WORLDS[name]
    call = ToolCall(id="call_1", name="fly_to_the_moon", arguments={})
    transition, _ = world.run(world.initial_state(rng_for(0, "x")), call)
    assert transition.is_error
    assert all(tool in transition.observation for tool in world.spec.tool)


def test_a_world_answers_queries_as_a_dynamics() -> None:
    world = WORLDS["shop"]
    state = world.initial_state(rng_for(3, "x"))
    call = ToolCall(id="call_1", name="search_products", arguments={"words": "hose"})
    answer = asyncio.run(world.transition(TransitionQuery(world=world.spec, call=call, state=state)))
    assert "Expandable garden hose" in answer.observation
    assert answer.delta is not None
    assert answer.delta.size == 0


def test_a_query_without_a_state_cannot_be_executed() -> None:
    world = WORLDS["shop"]
    call = ToolCall(id="call_1", name="search_products", arguments={"words": ""})
    with pytest.raises(StateError, match="the query has none"):
        asyncio.run(world.transition(TransitionQuery(world=world.spec, call=call)))


def test_an_unknown_world_is_refused_with_the_names_of_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="no executable world 'moon'; there are airline, bank"):
        worlds.load("moon")

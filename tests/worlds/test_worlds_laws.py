"""What every executable world must obey, tried with gold calls, with perturbed ones, and on random walks."""

import asyncio
import random
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia import worlds
from simia.bench.perturb import perturbed
from simia.config import rng_for
from simia.errors import ConfigError, StateError
from simia.seeds.invariants import violations
from simia.types import JsonObject, State, ToolCall, Transition, TransitionQuery, canonical_json, same, schema_for
from simia.worlds import ExecutableWorld

WORLDS = {name: worlds.load(name) for name in worlds.names()}
NAMES = sorted(WORLDS)
SEED = 3


class Step(NamedTuple):
    """A call in a state, and what came of it. ``before`` is the state as it was spelled before the call."""

    before: bytes
    state: State
    call: ToolCall
    transition: Transition
    after: State


def step(world: ExecutableWorld, state: State, call: ToolCall) -> Step:
    before = orjson.dumps(state)
    return Step(before, state, call, *world.run(state, call))


@lru_cache
def driven(name: str) -> list[Step]:
    """The gold calls of some tasks, and beside each of them the calls that a perturbation makes of it."""
    world = WORLDS[name]
    rng = rng_for(SEED, name)
    steps: list[Step] = []
    others: list[ToolCall] = []
    for task in world.tasks(14, SEED):
        state = task.initial_state
        for call in task.gold:
            steps += [step(world, state, other) for _, other in perturbed(world.spec, state, call, others[-40:], rng)]
            steps.append(step(world, state, call))
            state = steps[-1].after
            steps.append(step(world, state, call))
        others += task.gold
    return steps


TABLES = {"to": "people", "attendees": "people", "skus": "products", "sku": "products"}
"""Where the ids of an argument are, where neither its description nor its name says it."""
FITTING = ("2025-06-10", "2025-06-14", "09:00", "11:30", "16:45", "3B", "644", "1234", "")


def value_for(schema: JsonObject, state: State, rng: random.Random, name: str = "") -> Any:
    """A value that fits ``schema``; an id is mostly one of the right table, any other text one of the state."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if "anyOf" in schema:
        return value_for(rng.choice(schema["anyOf"]), state, rng, name)
    kind = schema["type"]
    if kind == "object":
        names = [name for name in schema["properties"] if name in schema["required"] or rng.random() < 0.5]
        return {name: value_for(schema["properties"][name], state, rng, name) for name in names}
    if kind == "array":
        least = schema.get("minItems", 1)
        count = rng.randint(least, min(least + 2, schema.get("maxItems", 3)))
        values = [value_for(schema["items"], state, rng, name) for _ in range(count)]
        return list({orjson.dumps(value): value for value in values}.values())
    if kind == "integer":
        lowest = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
        return rng.randint(lowest, schema.get("maximum", lowest + 8))
    if kind == "number":
        return rng.choice((0.5, 5.0, 19.75, 60.0))
    if kind == "boolean":
        return rng.random() < 0.5
    if kind == "null":
        return None
    ids = ids_for(schema, state, name)
    if ids and rng.random() < 0.95:
        return rng.choice(ids)
    fits = schema_for(schema).accepts
    return rng.choice([text for text in (*sorted(texts_of(state)), *FITTING) if fits(text)])


def ids_for(schema: JsonObject, state: State, name: str) -> list[str]:
    """Texts of the state that look like the example in the description, or the keys of the table that has the
    argument's name: ``account_ids`` are in ``accounts``.
    """
    shapes = {shape_of(example) for example in re.findall("'([^']+)'", schema.get("description", ""))}
    alike = sorted(text for text in texts_of(state) if shape_of(text) in shapes)
    if alike:
        return alike
    stem = TABLES.get(name, name.removesuffix("s").removesuffix("_id"))
    tables = (table for key, table in state.items() if isinstance(table, dict) and key.startswith(stem))
    return sorted(next(tables, ()))


def shape_of(text: str) -> str:
    return re.sub("[a-z]+", "a", re.sub("[0-9]+", "0", text))


def texts_of(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(texts_of, value.values()))
    if isinstance(value, list):
        return set().union(*map(texts_of, value))
    return {value} if isinstance(value, str) else set()


def walk(name: str, seed: int, length: int) -> Iterator[Step]:
    """A random walk, each call in the state that the one before left."""
    world = WORLDS[name]
    rng = rng_for(seed, name)
    state = world.initial_state(rng)
    for number in range(length):
        tool = rng.choice(world.spec.tools)
        call = ToolCall(id=f"call_{number}", name=tool.name, arguments=value_for(tool.parameters, state, rng))
        yield step(world, state, call)
        state = world.run(state, call)[1]


def is_pure(world: ExecutableWorld, one: Step) -> None:
    assert orjson.dumps(one.state) == one.before
    assert world.run(orjson.loads(one.before), one.call) == (one.transition, one.after)


def is_told_by_its_delta(world: ExecutableWorld, one: Step) -> None:
    assert one.transition.delta is not None
    assert same(one.transition.delta.apply(one.state), one.after)


def ends_lawfully(world: ExecutableWorld, one: Step) -> None:
    assert violations(world.spec, one.after) == ()


def changes_nothing_if_refused(world: ExecutableWorld, one: Step) -> None:
    if one.transition.is_error:
        assert one.after == one.state
        assert list(orjson.loads(one.transition.observation)) == ["error"]


def shows_what_the_tool_declares(world: ExecutableWorld, one: Step) -> None:
    if not one.transition.is_error:
        schema = world.spec.tool[one.call.name].returns_schema
        assert schema is not None
        assert schema.violations(orjson.loads(one.transition.observation)) == ()


LAWS = (
    is_pure,
    is_told_by_its_delta,
    ends_lawfully,
    changes_nothing_if_refused,
    shows_what_the_tool_declares,
)
law = pytest.mark.parametrize("law", LAWS)
every_world = pytest.mark.parametrize("name", NAMES)
seeds_of_walks = st.integers(0, 10**6)
names = st.sampled_from(NAMES)


@law
@every_world
def test_a_call_along_or_beside_the_gold_ones(name: str, law: Any) -> None:
    for one in driven(name):
        law(WORLDS[name], one)


@law
@settings(max_examples=140, deadline=None)
@given(names, seeds_of_walks)
def test_a_call_on_a_random_walk(law: Any, name: str, seed: int) -> None:
    for one in walk(name, seed, 8):
        law(WORLDS[name], one)


@every_world
def test_a_call_shows_the_same_if_the_keys_of_the_state_stand_in_another_order(name: str) -> None:
    for one in driven(name)[::3]:
        transition, after = WORLDS[name].run(turned(one.state), one.call)
        assert same(orjson.loads(transition.observation), orjson.loads(one.transition.observation))
        assert same(after, one.after)


def turned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    return [turned(entry) for entry in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", sorted({*worlds.BENCHMARK, *worlds.TRAINING}))
def test_random_walks_change_the_state_with_several_changes_at_once(name: str) -> None:
    sizes = [delta.size for seed in range(40) for one in walk(name, seed, 8) if (delta := one.transition.delta)]
    assert 0 in sizes
    assert max(sizes) >= 3


@settings(max_examples=50, deadline=None)
@given(names, seeds_of_walks)
def test_a_drawn_state_is_lawful_and_the_same_for_the_same_numbers(name: str, seed: int) -> None:
    world = WORLDS[name]
    state = world.initial_state(rng_for(seed, "x"))
    assert violations(world.spec, state) == ()
    assert canonical_json(world.initial_state(rng_for(seed, "x"))) == canonical_json(state)


@every_world
def test_arguments_that_break_the_schema_are_refused_with_the_reason(name: str) -> None:
    world = WORLDS[name]
    tool = world.spec.tools[0]
    call = ToolCall(id="call_1", name=tool.name, arguments={"nonsense": 1})
    transition, _ = world.run(world.initial_state(rng_for(0, "x")), call)
    assert transition.is_error
    assert f"invalid arguments for {tool.name}" in transition.observation


@every_world
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

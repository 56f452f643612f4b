"""Faults around any answerer of calls: when they come, what they show, and what they leave alone."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from simia.config import checked
from simia.errors import ConfigError, FormatError
from simia.formats.calls import dump_json, load_json
from simia.models.scripted import ScriptedModel
from simia.simulate import Draws, FaultRule, FaultyDynamics, SimulateSettings, TrackedDynamics
from simia.simulate.fault_plan import FaultKind
from simia.simulate.faults import planned_faults
from simia.types import (
    Dynamics,
    JsonObject,
    Plan,
    Seed,
    State,
    StateDelta,
    ToolCall,
    ToolSpec,
    Transition,
    TransitionQuery,
    WorldSpec,
)
from simia.worlds import World, load

REFUSED: tuple[FaultKind, ...] = ("timeout", "rate_limit", "server_error", "permission_denied")
DRAWS = Draws(0, "episode-1")


class Echo:
    """Answers every call with ``observation`` and keeps no state."""

    def __init__(self, observation: str = '{"rows":[1,2,3,4]}', *, is_error: bool = False) -> None:
        self.answer = Transition(observation=observation, is_error=is_error)
        self.asked = 0

    async def transition(self, query: TransitionQuery) -> Transition:
        self.asked += 1
        return self.answer


ECHO = WorldSpec(
    name="echo",
    policy="",
    tools=tuple(ToolSpec(name=name, description="", parameters={"type": "object"}) for name in ("look", "find")),
    licence="CC0-1.0",
)


def kinds(rules: Sequence[FaultRule], calls: str, draws: Draws = DRAWS) -> list[str | None]:
    """The fault of each call; ``calls`` are the tools' names."""
    dynamics = FaultyDynamics(Echo(), rules, draws)
    return [one.fault for one in walk(dynamics, ECHO, None, [(name, {}) for name in calls.split()])]


def walk(
    dynamics: Dynamics, world: WorldSpec, state: State | None, calls: Sequence[tuple[str, JsonObject]]
) -> list[Transition]:
    """An episode as an environment plays it: each call on the state that the one before it left."""

    async def play() -> list[Transition]:
        found, now = [], state
        for number, (name, arguments) in enumerate(calls):
            call = ToolCall(id=f"call_{number}", name=name, arguments=arguments)
            found.append(await dynamics.transition(TransitionQuery(world=world, call=call, state=now)))
            if now is not None and found[-1].delta is not None:
                now = found[-1].delta.apply(now)
        return found

    return asyncio.run(play())


def spoiled(kind: FaultKind, observation: str, *, is_error: bool = False) -> Transition:
    inner = Echo(observation, is_error=is_error)
    (found,) = walk(FaultyDynamics(inner, [FaultRule(kind=kind, call=1)], DRAWS), ECHO, None, [("look", {})])
    return found


# Rules


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({}, "exactly one of call, nth and rate, and nothing is set"),
        ({"call": 1, "rate": 0.5}, "exactly one of call, nth and rate, and call and rate are set"),
        ({"nth": 2}, "name it in tool, or set call=2"),
        ({"call": 0}, "greater than or equal to 1"),
        ({"rate": 1.5}, "less than or equal to 1"),
        ({"rate": float("nan")}, "finite"),
        ({"call": 1, "tool": ""}, "at least 1 character"),
        ({"kind": "fire", "call": 1}, "permission_denied"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused_in_words(given_: JsonObject, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        checked(FaultRule, {"kind": "timeout", **given_}, "faults")


def test_a_rule_with_an_unknown_key_is_refused() -> None:
    with pytest.raises(ValidationError, match="when"):
        FaultRule.model_validate({"kind": "timeout", "call": 1, "when": "later"})


def test_a_rule_by_call_counts_all_calls_of_the_episode() -> None:
    assert kinds([FaultRule(kind="timeout", call=2)], "look find look") == [None, "timeout", None]


def test_a_rule_by_call_may_mean_one_tool_only() -> None:
    assert kinds([FaultRule(kind="timeout", call=2, tool="look")], "look find look") == [None, None, None]


def test_a_rule_by_nth_counts_the_calls_of_its_tool() -> None:
    assert kinds([FaultRule(kind="timeout", nth=2, tool="look")], "look find look") == [None, None, "timeout"]


def test_a_rate_of_one_meets_every_call_of_its_tool_and_a_rate_of_zero_none() -> None:
    rules = [FaultRule(kind="timeout", rate=0), FaultRule(kind="rate_limit", rate=1, tool="look")]
    assert kinds(rules, "look find look") == ["rate_limit", None, "rate_limit"]


def test_the_first_rule_that_is_due_decides() -> None:
    rules = [FaultRule(kind="timeout", call=1), FaultRule(kind="server_error", rate=1)]
    assert kinds(rules, "look look") == ["timeout", "server_error"]


def test_a_call_that_does_not_fit_is_left_to_the_inner_one_and_not_counted() -> None:
    assert kinds([FaultRule(kind="timeout", call=2)], "look burn look") == [None, None, "timeout"]


def test_about_the_rate_of_all_calls_meet_a_fault() -> None:
    met = [kind for number in range(20) for kind in kinds(RATES, "look " * 50, Draws(0, f"episode-{number}"))]
    count = Counter(met)
    assert count["timeout"] / len(met) == pytest.approx(0.2, abs=0.04)
    assert count["rate_limit"] / len(met) == pytest.approx(0.8 * 0.2, abs=0.04)


RATES = (FaultRule(kind="timeout", rate=0.2), FaultRule(kind="rate_limit", rate=0.2))


def test_an_episode_meets_the_same_faults_whenever_it_is_played() -> None:
    assert kinds(RATES, "look " * 30) == kinds(RATES, "look " * 30)


def test_another_episode_or_another_seed_meets_other_faults() -> None:
    drawn = [kinds(RATES, "look " * 30, draws) for draws in (DRAWS, Draws(0, "episode-2"), Draws(1, "episode-1"))]
    assert drawn[0] != drawn[1]
    assert drawn[0] != drawn[2]


def test_whether_a_call_meets_its_rate_does_not_depend_on_the_calls_before_it() -> None:
    one, two = (kinds(RATES, calls * 15) for calls in ("look look ", "find look "))
    assert one == two


# Faults in the place of an answer


@pytest.mark.parametrize("kind", REFUSED)
def test_a_refusing_fault_asks_nobody_and_changes_nothing(kind: FaultKind) -> None:
    inner = Echo()
    (found,) = walk(FaultyDynamics(inner, [FaultRule(kind=kind, call=1)], DRAWS), ECHO, {"a": 1}, [("look", {})])
    assert inner.asked == 0
    assert (found.is_error, found.delta, found.fault) == (True, StateDelta(), kind)
    assert "nothing was changed" in orjson.loads(found.observation)["error"]


def test_a_refusing_fault_without_a_state_has_no_delta() -> None:
    assert spoiled("timeout", "").delta is None


def test_planned_faults_are_drawn_among_those_that_a_second_try_gets_over() -> None:
    plan = Plan(formulation="", persona="", reasoning="", difficulty="easy", outcome="recoverable_fault", turns=8)
    drawn = {kind for number in range(100) for kind in planned_faults(plan, Draws(0, f"item-{number}")).values()}
    assert drawn == {"timeout", "rate_limit", "server_error"}


def test_planned_faults_are_the_ones_that_were_always_drawn() -> None:
    plan = Plan(formulation="", persona="", reasoning="", difficulty="easy", outcome="recoverable_fault", turns=8)
    drawn = [planned_faults(plan, Draws(0, f"item-{number}")) for number in range(4)]
    assert drawn == PLANNED


PLANNED = [{1: "server_error"}, {1: "server_error"}, {1: "server_error"}, {0: "rate_limit"}]


# Partial results and malformed bodies


@pytest.mark.parametrize(
    ("observation", "partial"),
    [
        ('{"rows":[1,2,3,4]}', '{"rows":[1,2],"truncated":true}'),
        ('{"rows":[1,2,3]}', '{"rows":[1,2],"truncated":true}'),
        ("[1,2]", '{"items":[1],"truncated":true}'),
        ('{"a":[[1,2],[3,4]],"b":[5]}', '{"a":[[1]],"b":[5],"truncated":true}'),
        ('{"a":1,"b":2,"c":[3]}', '{"a":1,"b":2,"truncated":true}'),
        ('{"loans":{"C-1":{"due":1},"C-2":{"due":2}}}', '{"loans":{"C-1":{"due":1}},"truncated":true}'),
        ('[{"a":1,"b":2}]', '{"items":[{"a":1}],"truncated":true}'),
    ],
)
def test_a_partial_result_has_the_first_half_and_says_so(observation: str, partial: str) -> None:
    found = spoiled("partial_result", observation)
    assert (found.observation, found.fault) == (partial, "partial_result")


@pytest.mark.parametrize("observation", ["7", '"done"', "{}", '{"a":[1]}', "no json, no parts", ""])
def test_a_result_without_parts_is_not_made_partial(observation: str) -> None:
    assert spoiled("partial_result", observation) == Transition(observation=observation)


@pytest.mark.parametrize("observation", ['{"rows":[1,2,3,4]}', '"done"', "1234", "done", "7", "true"])
def test_a_malformed_body_is_a_beginning_that_is_no_json(observation: str) -> None:
    found = spoiled("malformed_body", observation)
    assert found.fault == "malformed_body"
    assert observation.startswith(found.observation)
    with pytest.raises(FormatError):
        load_json(found.observation)


@given(value=st.recursive(st.integers() | st.text(max_size=9) | st.booleans(), lambda one: st.lists(one, max_size=5)))
@settings(max_examples=60, deadline=None)
def test_no_malformed_body_is_json(value: Any) -> None:
    with pytest.raises(FormatError):
        load_json(spoiled("malformed_body", dump_json(value)).observation)


@pytest.mark.parametrize("kind", ["partial_result", "malformed_body"])
def test_an_error_is_never_spoiled(kind: FaultKind) -> None:
    error = '{"error":"no such book","ids":[1,2,3]}'
    assert spoiled(kind, error, is_error=True) == Transition(observation=error, is_error=True)


def test_an_empty_body_cannot_be_malformed() -> None:
    assert spoiled("malformed_body", "").fault is None


# Around an executable world


@pytest.fixture(scope="module")
def library() -> World:
    return load("library")


STATE: State = {
    "today": "2025-03-03",
    "next_number": 500,
    "titles": {"T-5": {"name": "Nine Salt Roads", "author": "T. Okafor"}},
    "copies": {"C-101": {"title_id": "T-5"}, "C-102": {"title_id": "T-5"}},
    "members": {"M-101": {"name": "Amir Vance", "email": "amir@alder.example", "fines": 0}},
    "loans": {},
    "holds": {},
    "closed_days": {},
}
SEARCH: tuple[str, JsonObject] = ("search_titles", {"words": "salt"})
LEND: tuple[str, JsonObject] = ("check_out", {"member_id": "M-101", "copy_ids": ["C-101"]})
RETURN: tuple[str, JsonObject] = ("return_copies", {"copy_ids": ["C-101"]})


def in_library(library: World, rules: Sequence[FaultRule], *calls: tuple[str, JsonObject]) -> list[Transition]:
    return walk(FaultyDynamics(library, rules, DRAWS), library.spec, STATE, calls)


def copies_in(found: Transition) -> list[str]:
    copies: list[str] = orjson.loads(found.observation)[0]["copies_in"]
    return copies


def test_a_stale_read_shows_what_was_there_before_the_last_change_and_changes_nothing(library: World) -> None:
    rules = [FaultRule(kind="stale_read", call=2)]
    _, stale, fresh = in_library(library, rules, LEND, SEARCH, SEARCH)
    assert (copies_in(stale), copies_in(fresh)) == (["C-101", "C-102"], ["C-102"])
    assert (stale.fault, fresh.fault) == ("stale_read", None)
    assert stale.delta == StateDelta()


def test_a_stale_read_is_stale_by_one_change_whatever_was_read_since(library: World) -> None:
    rules = [FaultRule(kind="stale_read", call=5)]
    *_, stale = in_library(library, rules, LEND, RETURN, SEARCH, SEARCH, SEARCH)
    assert copies_in(stale) == ["C-102"]


def test_before_the_first_change_no_read_is_stale(library: World) -> None:
    rules = [FaultRule(kind="stale_read", call=2)]
    assert [one.fault for one in in_library(library, rules, SEARCH, SEARCH, LEND, SEARCH)] == [None] * 4


def test_a_call_that_would_change_the_stale_state_is_answered_as_it_is(library: World) -> None:
    rules = [FaultRule(kind="stale_read", rate=1)]
    lent, again = in_library(library, rules, LEND, LEND)
    assert (lent.fault, again.fault) == (None, None)
    assert "is not in" in again.observation


def test_a_partial_result_keeps_the_changes_of_its_call(library: World) -> None:
    both: tuple[str, JsonObject] = ("check_out", {"member_id": "M-101", "copy_ids": ["C-101", "C-102"]})
    (found,) = in_library(library, [FaultRule(kind="partial_result", call=1)], both)
    assert orjson.loads(found.observation)["copies"] == ["C-101"]
    assert found.delta is not None
    assert found.delta.size == 2


def test_a_call_that_met_a_timeout_can_be_made_again(library: World) -> None:
    first, second = in_library(library, [FaultRule(kind="timeout", nth=1, tool="check_out")], LEND, LEND)
    assert (first.is_error, second.is_error) == (True, False)


# Around a simulator


def test_a_simulator_that_is_asked_for_a_stale_read_is_shown_the_state_and_the_past_of_then(seed: Seed) -> None:
    shelf = {"title": "Emma", "borrower": None}
    lent: JsonObject = {
        "is_error": False,
        "observation": {**shelf, "borrower": "M-731"},
        "changes": [{"op": "put", "path": ["books", "B-204", "borrower"], "value": "M-731"}],
    }
    model = ScriptedModel([lent, {"is_error": False, "observation": shelf, "changes": []}])
    inner = TrackedDynamics(model, SimulateSettings())
    dynamics = FaultyDynamics(inner, [FaultRule(kind="stale_read", call=2)], DRAWS)

    async def play() -> Transition:
        lend = ToolCall(id="call_1", name="lend_book", arguments={"book_id": "B-204", "member_id": "M-731"})
        query = TransitionQuery(world=seed.world, call=lend, state=seed.initial_state, history=seed.reference[:1])
        written = await dynamics.transition(query)
        assert written.delta is not None
        read = ToolCall(id="call_2", name="get_book", arguments={"book_id": "B-204"})
        after = written.delta.apply(seed.initial_state or {})
        return await dynamics.transition(
            TransitionQuery(world=seed.world, call=read, state=after, history=seed.reference)
        )

    stale = asyncio.run(play())
    assert stale == Transition(observation=dump_json(shelf), delta=StateDelta(), fault="stale_read")
    assert '"borrower":"M-731"' not in model.requests[1].messages[-1].content


def test_without_a_state_no_read_is_stale() -> None:
    assert kinds([FaultRule(kind="stale_read", rate=1)], "look look look") == [None, None, None]

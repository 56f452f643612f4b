"""How a world writes its tasks."""

import random
from typing import Any

import jmespath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simia.config import rng_for
from simia.errors import SimiaError
from simia.types import Invariant, JsonObject, State, WorldSpec, WorldTask
from simia.worlds.drafting import Draft, NoTask, TaskKind, draw_task, expression_of, pick, pick_some
from simia.worlds.executable import Action, ExecutableWorld, Refused, found
from simia.worlds.typed import tool_of


def move(state: State, jar: str, to: str) -> JsonObject:
    """Put a jar somewhere."""
    found(state["jars"], jar, "jar")["shelf"] = to
    return {"jar": jar, "shelf": to}


def empty(state: State, jar: str) -> JsonObject:
    """Throw a jar away."""
    if state["jars"][jar]["shelf"] == "cellar":
        raise Refused("the cellar is locked")
    del state["jars"][jar]
    return {}


class Pantry(ExecutableWorld):
    """Two jars, one of them in the cellar."""

    def __init__(self, *kinds: TaskKind) -> None:
        tools: tuple[Action, ...] = (move, empty)
        spec = WorldSpec(name="pantry", policy="", tools=tuple(map(tool_of, tools)), licence="MIT")
        super().__init__(spec, {tool.__name__: tool for tool in tools}, kinds)

    def initial_state(self, rng: random.Random) -> State:
        return {"jars": {"plum": {"shelf": "top"}, "fig": {"shelf": "cellar"}}, "mood": rng.random()}


@pytest.fixture
def draft() -> Draft:
    pantry = Pantry()
    return Draft(pantry, pantry.initial_state(rng_for(0, "x")))


def test_a_call_is_executed_as_it_is_written(draft: Draft) -> None:
    assert draft.do("move", jar="plum", to="low") == {"jar": "plum", "shelf": "low"}
    assert draft.state["jars"]["plum"] == {"shelf": "low"}


def test_a_broken_tool_is_told_and_not_passed_over(draft: Draft) -> None:
    with pytest.raises(SimiaError, match="could not execute empty: KeyError: 'nut'"):
        draft.do("empty", jar="nut")


def test_a_task_has_the_calls_in_order_and_the_state_before_the_first(draft: Draft) -> None:
    draft.do("move", jar="plum", to="low")
    draft.do("move", jar="fig", to="low")
    task = draft.finish("t:1", "Put both\n  jars low.")
    assert [(call.id, call.name, call.arguments["jar"]) for call in task.gold] == [
        ("call_1", "move", "plum"),
        ("call_2", "move", "fig"),
    ]
    assert task.initial_state["jars"]["plum"] == {"shelf": "top"}
    assert task.instruction == "Put both jars low."


def test_what_is_arranged_before_the_first_call_is_part_of_the_initial_state(draft: Draft) -> None:
    draft.state["jars"]["kiwi"] = {"shelf": "top"}
    draft.do("empty", jar="kiwi")
    assert "kiwi" in draft.finish("t:1", "").initial_state["jars"]


def test_the_goal_is_what_the_calls_changed_unless_another_is_demanded(draft: Draft) -> None:
    draft.do("move", jar="fig", to="low")
    draft.do("empty", jar="plum")
    assert {(law.name, law.expression) for law in draft.finish("t:1", "").goal} == {
        ("jars.fig.shelf is as wanted", '"jars"."fig"."shelf" == `"low"`'),
        ("jars.plum is as wanted", '"jars"."plum" == `null`'),
    }


def test_a_demand_takes_the_place_of_the_changes(draft: Draft) -> None:
    draft.do("empty", jar="plum")
    draft.demand("one jar is left", "length(jars) == `1`")
    assert draft.finish("t:1", "").goal == (Invariant(name="one jar is left", expression="length(jars) == `1`"),)


def test_a_refused_call_is_no_task(draft: Draft) -> None:
    with pytest.raises(NoTask, match=r"empty: .*the cellar is locked"):
        draft.do("empty", jar="fig")


def test_without_a_call_or_without_a_change_there_is_no_task(draft: Draft) -> None:
    with pytest.raises(NoTask, match="no call was made"):
        draft.finish("t:1", "")
    draft.do("move", jar="plum", to="top")
    with pytest.raises(NoTask, match="the calls change nothing"):
        draft.finish("t:1", "")


def drawn(*kinds: TaskKind) -> WorldTask:
    pantry = Pantry(*kinds)
    return draw_task(pantry, kinds, pantry.initial_state, rng_for(0, "t:1"), "t:1")


def test_where_a_state_allows_no_task_another_one_is_drawn() -> None:
    def be_in_the_mood(rng: random.Random, draft: Draft) -> str:
        if draft.state["mood"] < 0.8:
            raise NoTask("no")
        draft.do("empty", jar="plum")
        return "Now."

    assert drawn(be_in_the_mood).initial_state["mood"] >= 0.8


def test_a_kind_that_never_fits_gives_way_to_others() -> None:
    def never(rng: random.Random, draft: Draft) -> str:
        raise NoTask("never")

    def always(rng: random.Random, draft: Draft) -> str:
        draft.do("empty", jar="plum")
        return "Always."

    assert {task.instruction for task in Pantry(never, always).tasks(12)} == {"Always."}


def test_a_world_without_tasks_says_why() -> None:
    def opened(rng: random.Random, draft: Draft) -> str:
        draft.do("empty", jar="fig")
        return ""

    with pytest.raises(RuntimeError, match=r"pantry has no task in 60 drawn states: opened: empty: .*cellar is locked"):
        drawn(opened)


ROWS = {f"r{number}": {"number": number} for number in range(9)}


def test_what_is_picked_satisfies_the_condition() -> None:
    rng = rng_for(0, "x")
    assert pick(rng, ROWS, where=lambda row: row["number"] == 4) == "r4"
    some = pick_some(rng, ROWS, 2, 3, where=lambda row: row["number"] > 5)
    assert set(some) <= {"r6", "r7", "r8"}
    assert 2 <= len(set(some)) <= 3


def test_where_too_few_satisfy_it_there_is_no_task() -> None:
    with pytest.raises(NoTask, match="no row satisfies the condition"):
        pick(rng_for(0, "x"), ROWS, where=lambda row: False)
    with pytest.raises(NoTask, match="only 1 rows satisfy the condition"):
        pick_some(rng_for(0, "x"), ROWS, 2, 3, where=lambda row: row["number"] == 1)


def test_the_order_of_a_table_changes_no_pick() -> None:
    backwards = dict(reversed(ROWS.items()))
    assert pick(rng_for(0, "x"), backwards) == pick(rng_for(0, "x"), ROWS)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.lists(st.text(), min_size=1, max_size=3), json_values)
def test_an_expression_demands_the_value_whatever_signs_stand_in_it(path: list[str], value: Any) -> None:
    state: Any = value
    for key in reversed(path):
        state = {key: state}
    assert jmespath.search(expression_of(tuple(path), value), state) is True


@pytest.mark.parametrize("text", ["a`b", 'say "hi"', "back\\slash", "\\`", "é\n", ""])
def test_quotes_and_backticks_are_part_of_the_value(text: str) -> None:
    expression = expression_of(("notes", text), text)
    assert jmespath.search(expression, {"notes": {text: text}}) is True
    assert jmespath.search(expression, {"notes": {text: f"{text}!"}}) is False


def test_none_demands_that_nothing_is_there() -> None:
    assert jmespath.search(expression_of(("jars", "plum"), None), {"jars": {}}) is True

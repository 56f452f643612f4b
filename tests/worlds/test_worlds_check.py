"""The check of executable worlds: a sound toy world, and one for each promise that a world may break."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from simia.seeds.world_folder import Finding
from simia.types import (
    Invariant,
    JsonObject,
    State,
    StateDelta,
    ToolCall,
    ToolSpec,
    Transition,
    WorldSpec,
    WorldTask,
)
from simia.worlds import World
from simia.worlds.check import check, examine

TAKE = ToolSpec(
    name="take",
    parameters={
        "type": "object",
        "properties": {"jar": {"type": "string"}, "number": {"type": "integer"}},
        "required": ["jar", "number"],
        "additionalProperties": False,
    },
    returns={"type": "object", "required": ["left"], "properties": {"left": {"type": "integer"}}},
)
COUNT = ToolSpec(name="count", parameters={"type": "object", "properties": {}, "additionalProperties": False})
SPEC = WorldSpec(
    name="jars",
    policy="",
    tools=(TAKE, COUNT),
    state_schema={"type": "object", "required": ["jars"]},
    invariants=(Invariant(name="no jar owes", expression="length(values(jars)[?@ < `0`]) == `0`"),),
    licence="MIT",
)
Answer = tuple[Transition, State]


def refused(reason: str, state: State) -> Answer:
    return Transition(observation=f'{{"error":"{reason}"}}', is_error=True, delta=StateDelta()), state


class Jars(World):
    """Plums in two jars. ``breaks`` may put something else in the place of the answer to a call."""

    def __init__(
        self, spec: WorldSpec = SPEC, breaks: Callable[[State, ToolCall, Answer], Answer] | None = None
    ) -> None:
        self.spec = spec
        self.goal = '"jars"."a" == `3`'
        self.taken = 2
        self._breaks = breaks

    def run(self, state: State, call: ToolCall) -> Answer:
        answer = self._run(state, call)
        return answer if self._breaks is None else self._breaks(state, call, answer)

    def tasks(self, count: int | None = None, seed: int = 0) -> Iterator[WorldTask]:
        for number in range(2 if count is None else count):
            take = ToolCall(id="call_1", name="take", arguments={"jar": "a", "number": self.taken})
            yield WorldTask(
                id=f"jars:{seed}:{number}",
                instruction="Take two.",
                initial_state={"jars": {"a": 5, "b": 1}},
                gold=(take,),
                goal=(Invariant(name="two are taken", expression=self.goal),),
            )

    def _run(self, state: State, call: ToolCall) -> Answer:
        tool = self.spec.tool.get(call.name)
        if tool is None or not tool.arguments_schema.accepts(call.arguments):
            return refused("what?", state)
        if call.name == "count":
            total = sum(state["jars"].values())
            return Transition(observation=f'{{"plums":{total}}}', delta=StateDelta()), state
        jar, number = call.arguments["jar"], call.arguments["number"]
        if state["jars"].get(jar, 0) < number:
            return refused("not so many", state)
        after = {**state, "jars": {**state["jars"], jar: state["jars"][jar] - number}}
        left = after["jars"][jar]
        return Transition(observation=f'{{"left":{left}}}', delta=StateDelta.between(state, after)), after


def told(world: World) -> str:
    """The one finding, as the command prints it."""
    (finding,) = check(world, 2)
    return line_of(finding)


def line_of(finding: Finding) -> str:
    return f"{finding.severity} {finding.where}: {finding.problem}; {finding.remedy}"


def test_a_sound_world_has_no_finding() -> None:
    assert check(Jars(), 2) == []


def test_figures_are_counted_along_the_gold_calls() -> None:
    figures = examine(Jars(), 2).figures
    assert (figures.tasks, figures.calls, dict(figures.changes)) == (2, 2, {1: 2})
    assert (figures.state_median, figures.state_largest) == (22, 22)
    assert (figures.unused, figures.without_arguments) == (("count",), ("count",))
    assert 0 < figures.refused < figures.others


def with_parameters(parameters: JsonObject) -> WorldSpec:
    return SPEC.model_copy(update={"tools": (TAKE.model_copy(update={"parameters": parameters}), COUNT)})


def test_a_schema_that_is_none() -> None:
    world = Jars(with_parameters({"type": "objekt"}))
    assert told(world).startswith("error tool take, parameters: no JSON Schema: ")


def test_a_law_that_is_no_expression() -> None:
    world = Jars(SPEC.model_copy(update={"invariants": (Invariant(name="odd", expression="length("),)}))
    assert told(world).startswith("error law 'odd': 'length(' is no JMESPath: ")


def test_a_state_that_breaks_a_law_at_the_start() -> None:
    law = Invariant(name="few", expression="jars.a < `5`")
    line = told(Jars(SPEC.model_copy(update={"invariants": (law,)})))
    assert line.startswith("error the state that jars:0:0 begins in: breaks a law: few: ")
    assert line.endswith("(and 1 more like it); mend what draws it, or the law")


def test_a_state_that_breaks_a_law_on_the_way() -> None:
    law = Invariant(name="many", expression="jars.a > `4`")
    line = told(Jars(SPEC.model_copy(update={"invariants": (law,)})))
    assert 'tool take in jars:0:0, gold call 1: the state after {"jar":"a","number":2}: breaks a law: many' in line


def test_a_gold_call_that_is_refused() -> None:
    world = Jars()
    world.taken = 7
    assert told(world) == (
        'error tool take in jars:0:0, gold call 1: is refused: {"error":"not so many"} (and 1 more like it); '
        "make the call where it is allowed, or mend the tool"
    )


def test_a_gold_call_that_is_refused_and_not_needed_is_a_warning() -> None:
    class Lenient(Jars):
        def reached(self, task: WorldTask, calls: Any) -> bool:
            return True

    world = Lenient()
    world.taken = 7
    assert told(world).startswith("warning tool take in jars:0:0, gold call 1: is refused")
    assert "the goal is reached all the same" in told(world)


def test_a_result_that_does_not_fit_what_the_tool_declares() -> None:
    def no_left(state: State, call: ToolCall, answer: Answer) -> Answer:
        fits = answer[0].is_error or call.name == "count"
        return answer if fits else (answer[0].model_copy(update={"observation": '{"right":1}'}), answer[1])

    line = told(Jars(breaks=no_left))
    assert "tool take in jars:0:0, gold call 1: the result does not fit the tool's returns: " in line


def test_a_result_that_is_no_json_where_one_is_declared() -> None:
    def words(state: State, call: ToolCall, answer: Answer) -> Answer:
        return answer if answer[0].is_error else (answer[0].model_copy(update={"observation": "done"}), answer[1])

    assert "the result does not fit the tool's returns: no JSON" in told(Jars(breaks=words))


def test_a_call_that_changes_the_state_that_it_is_given() -> None:
    def spoil(state: State, call: ToolCall, answer: Answer) -> Answer:
        if call.name == "count":
            state["seen"] = True
        return answer

    assert told(Jars(breaks=spoil)).startswith(
        "error tool count in jars:0:0, tried beside the gold calls: changes the state that it is given"
    )


def test_a_call_that_answers_otherwise_the_second_time() -> None:
    numbers = itertools.count()

    def tick(state: State, call: ToolCall, answer: Answer) -> Answer:
        if call.name != "count":
            return answer
        return answer[0].model_copy(update={"observation": str(next(numbers) % 2)}), answer[1]

    lines = [line_of(finding) for finding in check(Jars(breaks=tick), 1)]
    assert lines[0] == (
        "error tool count in jars:0:0, tried beside the gold calls: answers otherwise the second time; "
        "take time and chance from the state"
    )


def test_a_delta_that_leads_elsewhere() -> None:
    def forget(state: State, call: ToolCall, answer: Answer) -> Answer:
        return (answer[0].model_copy(update={"delta": StateDelta()}), answer[1])

    assert "gold call 1: the delta does not lead to the state after the call" in told(Jars(breaks=forget))


def test_a_refused_call_that_changes_the_state() -> None:
    def half_way(state: State, call: ToolCall, answer: Answer) -> Answer:
        return (answer[0], {**state, "angry": True}) if answer[0].is_error else answer

    lines = [line_of(finding) for finding in check(Jars(breaks=half_way), 1)]
    assert any(
        line.startswith("error tool take in jars:0:0, tried beside the gold calls: refuses and changes")
        for line in lines
    )


def test_a_call_that_raises() -> None:
    def fall(state: State, call: ToolCall, answer: Answer) -> Answer:
        if call.arguments.get("jar") == "a0":
            raise KeyError("a0")
        return answer

    assert told(Jars(breaks=fall)) == (
        "error tool take in jars:0:0, tried beside the gold calls: could not answer: KeyError: 'a0', with the "
        'arguments {"jar":"a0","number":2} (and 1 more like it); '
        "refuse such a call with a reason that the agent can act on"
    )


def test_a_call_that_shows_the_order_of_keys_is_a_warning() -> None:
    def listed(state: State, call: ToolCall, answer: Answer) -> Answer:
        shown = ",".join(state["jars"])
        return (answer[0].model_copy(update={"observation": shown}), answer[1]) if call.name == "count" else answer

    assert told(Jars(breaks=listed)).startswith(
        "warning tool count in jars:0:0, tried beside the gold calls: shows something else where the keys of the state "
        "stand in another order"
    )


def test_a_goal_that_holds_at_the_start() -> None:
    world = Jars()
    world.goal = "`true`"
    assert told(world).startswith("error goal of jars:0:0: holds before any call")


def test_a_goal_that_the_gold_calls_do_not_reach() -> None:
    world = Jars()
    world.goal = '"jars"."a" == `2`'
    assert told(world).startswith("error goal of jars:0:0: the gold calls do not reach it: two are taken: ")


def test_tasks_that_are_drawn_otherwise_the_second_time() -> None:
    class Moody(Jars):
        mood = 0

        def tasks(self, count: int | None = None, seed: int = 0) -> Iterator[WorldTask]:
            self.mood += 1
            for task in super().tasks(count, seed):
                yield task.model_copy(update={"instruction": f"Take two, {self.mood}."})

    assert told(Moody()).startswith("error tasks: seed 0 draws other tasks the second time")


def test_tasks_that_cannot_be_drawn() -> None:
    class Empty(Jars):
        def tasks(self, count: int | None = None, seed: int = 0) -> Iterator[WorldTask]:
            raise RuntimeError("no task in 60 drawn states")
            yield

    assert told(Empty()).startswith("error tasks: could not draw the tasks: RuntimeError: no task in 60 drawn states")

"""Harvesting a world: which transitions there are, and that they are true."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import orjson
import pytest

from simia.bench.collect import WELL_FORMED, Seen, Walk, episode_of, harvest
from simia.bench.perturb import ILL_FORMED, KINDS
from simia.bench.sample import Sample, exchange
from simia.errors import SandboxViolation
from simia.types import (
    Put,
    State,
    StateDelta,
    ToolCall,
    ToolSpec,
    Transition,
    UserMessage,
    WorldSpec,
    WorldTask,
    differences,
)
from simia.worlds import World, load

BANK = load("bank")


class Shelf(World):
    """A world of two tools: ``add`` counts a counter up, ``look`` says how many counters there are."""

    spec = WorldSpec(
        name="shelf",
        policy="",
        tools=(
            ToolSpec(
                name="add",
                parameters={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
            ),
            ToolSpec(name="look", parameters={"type": "object"}),
        ),
        licence="Apache-2.0",
    )

    def __init__(self) -> None:
        self.executed = 0

    def run(self, state: State, call: ToolCall) -> tuple[Transition, State]:
        self.executed += 1
        if call.name == "look":
            return Transition(observation=str(len(state["counters"])), delta=StateDelta()), state
        counters = state["counters"]
        name = call.arguments.get("name")
        if name not in counters:
            return Transition(observation="no such counter", is_error=True, delta=StateDelta()), state
        delta = StateDelta(changes=(Put(path=("counters", name, "n"), value=counters[name]["n"] + 1),))
        return Transition(observation="counted", delta=delta), delta.apply(state)

    def tasks(self, count: int | None = None, seed: int = 0) -> Iterator[WorldTask]:
        raise NotImplementedError


def add(name: str, number: int = 1) -> ToolCall:
    return ToolCall(id=f"call_{number}", name="add", arguments={"name": name})


def look(number: int = 1) -> ToolCall:
    return ToolCall(id=f"call_{number}", name="look", arguments={})


def task(number: int = 0, **counters: int) -> WorldTask:
    state = {"counters": {name: {"n": n} for name, n in (counters or {"a": 0, "b": 0}).items()}}
    return WorldTask(id=f"t{number}", instruction="Count.", initial_state=state, gold=())


def walked(*walks: Walk, kinds: Iterable[str] = (), seed: int = 0, seen: Seen | None = None) -> list[Sample]:
    return list(harvest("shelf", Shelf(), walks, kinds=tuple(kinds), seed=seed, seen=seen))


def of_bank(tasks: int, **how: Any) -> list[Sample]:
    return list(harvest("bank", BANK, map(Walk.gold, BANK.tasks(tasks, 3)), **how))


def test_the_calls_of_a_walk_become_samples_in_order() -> None:
    samples = walked(Walk(task(), (add("a"), add("b", 2), look(3)), "rollout"))
    assert [(sample.call, sample.origin) for sample in samples] == [
        (add("a"), "rollout"),
        (add("b", 2), "rollout"),
        (look(3), "rollout"),
    ]


def test_each_call_is_made_on_the_state_that_the_ones_before_it_left() -> None:
    first, second = walked(Walk(task(), (add("a"), add("a", 2))))
    assert (first.state["counters"]["a"], second.state["counters"]["a"]) == ({"n": 0}, {"n": 1})


def test_the_history_ends_before_the_call() -> None:
    _, second = walked(Walk(task(), (add("a"), add("b", 2))))
    assert second.history == (UserMessage(content="Count."), *exchange(add("a"), "counted", is_error=False))


class Trap(Shelf):
    """The same, where counting ``b`` runs into a wall and what ``look`` says cannot be foretold."""

    def run(self, state: State, call: ToolCall) -> tuple[Transition, State]:
        if call.arguments.get("name") == "b":
            raise SandboxViolation("it never ends", "time")
        return super().run(state, call)

    def is_foretellable(self, name: str) -> bool:
        return name != "look"


def test_a_call_that_runs_into_a_wall_is_counted_and_ends_its_walk() -> None:
    seen = Seen()
    walks = [Walk(task(1), (add("a"), add("b", 2), add("a", 3))), Walk(task(2), (add("a"), add("a", 2)))]
    samples = list(harvest("trap", Trap(), walks, kinds=(), seen=seen))
    assert [sample.call for sample in samples] == [add("a"), add("a", 2)]
    assert seen.stopped == {"a wall of the sandbox, time": 1}


def test_what_cannot_be_foretold_is_called_and_is_no_sample() -> None:
    samples = list(harvest("trap", Trap(), [Walk(task(), (look(1), add("a", 2)))], kinds=("look",)))
    assert [sample.call for sample in samples] == [add("a", 2)]
    assert len(samples[0].history) == 3


def test_the_same_call_in_the_same_state_is_one_sample() -> None:
    assert len(walked(Walk(task(1), (add("a"),)), Walk(task(2), (add("a", 9),)))) == 1


def test_the_same_call_with_the_same_result_in_another_state_is_one_sample() -> None:
    samples = walked(Walk(task(1, a=0, b=0), (look(),)), Walk(task(2, a=5, b=7), (look(),)))
    assert len(samples) == 1


def test_the_same_call_with_another_result_is_another_sample() -> None:
    samples = walked(Walk(task(1, a=0), (look(),)), Walk(task(2, a=0, b=0), (look(),)))
    assert [sample.observation for sample in samples] == ["1", "2"]


def test_the_same_result_with_other_changes_is_another_sample() -> None:
    samples = walked(Walk(task(1, a=0), (add("a"),)), Walk(task(2, a=5), (add("a"),)))
    assert [sample.delta.changes[0] for sample in samples] == [
        Put(path=("counters", "a", "n"), value=1),
        Put(path=("counters", "a", "n"), value=6),
    ]


def test_what_another_harvest_has_seen_is_not_harvested_again() -> None:
    seen = Seen()
    assert len(walked(Walk(task(), (add("a"),)), seen=seen)) == 1
    assert walked(Walk(task(), (add("a"),)), seen=seen) == []


def test_a_question_that_was_met_is_not_executed_again() -> None:
    world, seen = Shelf(), Seen()
    list(harvest("shelf", world, [Walk(task(), (look(),))], kinds=("look",), seen=seen))
    assert world.executed == 1


def test_the_samples_of_a_harvest_have_their_own_ids() -> None:
    samples = of_bank(20)
    assert len({sample.id for sample in samples}) == len(samples)


def test_no_two_samples_of_a_harvest_have_the_same_content() -> None:
    contents = [
        orjson.dumps(sample.model_dump(include={"call": {"name", "arguments"}, "observation": True, "delta": True}))
        for sample in of_bank(20)
    ]
    assert len(set(contents)) == len(contents)


def test_a_refused_call_is_a_sample_that_changes_nothing() -> None:
    (sample,) = walked(Walk(task(), (add("z"),)))
    assert (sample.is_error, sample.size) == (True, 0)


def test_after_a_call_that_changed_something_it_is_repeated() -> None:
    first, again = walked(Walk(task(), (add("a"),)), kinds=["repeated"])
    assert (again.origin, again.call.arguments) == ("perturbed:repeated", {"name": "a"})
    assert again.state == first.state_after
    assert again.history == (*first.history, *exchange(first.call, "counted", is_error=False))


def test_a_call_that_changed_nothing_is_not_repeated() -> None:
    assert len(walked(Walk(task(), (look(),)), kinds=["repeated"])) == 1


def test_a_walk_does_not_follow_what_is_tried_beside_it() -> None:
    samples = walked(Walk(task(), (add("a"), add("a", 2))), kinds=["other_id", "wrong_id", "look"])
    own = [sample for sample in samples if sample.origin == "gold"]
    assert own[1].state["counters"] == {"a": {"n": 1}, "b": {"n": 0}}


def test_a_call_of_another_task_is_tried() -> None:
    walks = Walk(task(1, a=0), (add("a"),)), Walk(task(2, b=0), (add("b"),))
    elsewhere = [sample for sample in walked(*walks, kinds=["elsewhere"]) if sample.origin == "perturbed:elsewhere"]
    assert [(one.call.arguments, one.observation) for one in elsewhere] == [({"name": "a"}, "no such counter")]


def test_a_call_of_a_walk_that_does_not_fit_the_tools_is_made_and_is_no_sample() -> None:
    ghost = ToolCall(id="call_1", name="ghost", arguments={})
    start = next(BANK.tasks(1))
    (sample,) = list(harvest("bank", BANK, [Walk(start, (ghost, start.gold[0]))], kinds=()))
    assert sample.call == start.gold[0]
    assert [message.role for message in sample.history] == ["user", "assistant", "tool"]


def test_ill_formed_calls_are_left_out_by_default() -> None:
    origins = {sample.origin.removeprefix("perturbed:") for sample in of_bank(40)}
    assert origins == {"gold", *WELL_FORMED}
    assert not origins & ILL_FORMED


def test_ill_formed_calls_can_be_asked_for() -> None:
    samples = of_bank(10, kinds=("unknown_tool",))
    assert {sample.origin for sample in samples} == {"gold", "perturbed:unknown_tool"}
    assert all(sample.is_error for sample in samples if sample.origin != "gold")


def test_without_kinds_only_the_walks_own_calls_are_harvested() -> None:
    assert {sample.origin for sample in of_bank(10, kinds=())} == {"gold"}


def test_a_kind_draws_the_same_whichever_others_are_tried() -> None:
    alone = {sample.id for sample in of_bank(20, kinds=("wrong_id",)) if sample.origin == "perturbed:wrong_id"}
    among = {sample.id for sample in of_bank(20, kinds=KINDS) if sample.origin == "perturbed:wrong_id"}
    assert among <= alone
    assert len(among) > 0.9 * len(alone)


def test_more_walks_only_add_samples() -> None:
    few, more = of_bank(8), of_bank(20)
    assert more[: len(few)] == few
    assert len(more) > len(few)


def test_the_same_seed_harvests_the_same() -> None:
    assert of_bank(10, seed=4) == of_bank(10, seed=4)


def test_another_seed_tries_other_calls_beside_the_same_gold_ones() -> None:
    one, other = of_bank(10, seed=4), of_bank(10, seed=5)
    assert {sample.id for sample in one} != {sample.id for sample in other}
    assert sum(sample.origin == "gold" for sample in one) == pytest.approx(
        sum(sample.origin == "gold" for sample in other), abs=2
    )


def test_the_changes_of_a_sample_lead_to_the_state_after_its_call() -> None:
    for sample in of_bank(30, kinds=KINDS):
        _, after = BANK.run(sample.state, sample.call)
        assert differences(sample.state_after, after) == []


def test_a_sample_says_what_the_world_says() -> None:
    for sample in of_bank(30):
        transition, _ = BANK.run(sample.state, sample.call)
        assert (sample.observation, sample.is_error) == (transition.observation, transition.is_error)


def test_the_states_of_a_harvest_are_not_changed_by_it() -> None:
    tasks = list(BANK.tasks(5, 3))
    kept = [one.model_dump_json() for one in tasks]
    list(harvest("bank", BANK, map(Walk.gold, tasks), kinds=KINDS))
    assert [one.model_dump_json() for one in tasks] == kept


def test_every_stratum_of_the_bank_has_samples() -> None:
    sizes = Counter(min(sample.size, 7) for sample in of_bank(60) if not sample.is_error)
    assert all(sizes[size] for size in (0, 1, 2, 3, 4, 5, 6, 7))


def test_an_episode_is_the_gold_walk_executed() -> None:
    start = next(BANK.tasks(1, 3))
    episode = episode_of("bank", BANK, start, "drift")
    state = start.initial_state
    for step, call in zip(episode.steps, start.gold, strict=True):
        transition, state = BANK.run(state, call)
        assert (step.call, step.observation, step.delta) == (call, transition.observation, transition.delta)
    assert (episode.id, episode.instruction, episode.role) == (start.id, start.instruction, "drift")


def test_an_episode_reads_as_a_conversation() -> None:
    start = task()
    episode = episode_of("shelf", Shelf(), start.model_copy(update={"gold": (add("a"),)}), "example")
    assert episode.messages() == (UserMessage(content="Count."), *exchange(add("a"), "counted", is_error=False))

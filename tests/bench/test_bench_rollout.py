"""An agent acts in an executable world: what it called becomes a walk, in the order of the tasks."""

import asyncio
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from simia import worlds
from simia.bench.collect import Walk, harvest
from simia.bench.rollout import ROLLOUT, rollouts, with_calls
from simia.errors import ContextOverflow, EndpointLost, RequestRefused, SandboxViolation, StateError
from simia.formats.calls import dump_json
from simia.models.refusals import DECLINED
from simia.models.scripted import Answer, ScriptedModel
from simia.simulate import SimulateSettings
from simia.types import ChatRequest, State, ToolCall, WorldTask
from simia.worlds import World

OVER: dict[str, Any] = {"say": "I am done."}


@pytest.fixture(scope="module")
def bank() -> World:
    return worlds.load("bank")


@pytest.fixture(scope="module")
def task(bank: World) -> WorldTask:
    return next(task for task in bank.tasks(10) if len(task.gold) > 1)


def walked(bank: World, task: WorldTask, *script: Any) -> tuple[Walk, ScriptedModel]:
    model = ScriptedModel(script)
    (walk,) = asyncio.run(rollouts(model, bank, [task], settings=SimulateSettings()))
    return walk, model


def calls(task: WorldTask) -> Iterator[dict[str, Any]]:
    for call in task.gold:
        yield {"calls": [{"name": call.name, "arguments": call.arguments}]}


def test_the_agent_acts_until_it_speaks(bank: World, task: WorldTask) -> None:
    walk, model = walked(bank, task, *calls(task), OVER)
    assert [(call.name, call.arguments) for call in walk.calls] == [(one.name, one.arguments) for one in task.gold]
    assert walk.origin == ROLLOUT
    assert len(model.requests) == len(task.gold) + 1


def test_the_agent_is_told_the_instruction_and_what_the_world_showed(bank: World, task: WorldTask) -> None:
    first = next(calls(task))
    _, model = walked(bank, task, first, OVER)
    shown, _ = bank.run(task.initial_state, task.gold[0])
    asked = "\n".join(message.content for message in model.requests[1].messages)
    assert task.instruction in asked
    assert shown.observation in asked


def test_the_agent_sees_no_state_and_no_code(bank: World, task: WorldTask) -> None:
    _, model = walked(bank, task, OVER)
    asked = "\n".join(message.content for message in model.requests[0].messages)
    assert dump_json(task.initial_state) not in asked
    assert "def " not in asked


def test_several_calls_in_one_step_are_made_one_after_another(bank: World, task: WorldTask) -> None:
    both = {"calls": [one["calls"][0] for one in islice(calls(task), 2)]}
    walk, _ = walked(bank, task, both, OVER)
    assert [call.name for call in walk.calls] == [one.name for one in task.gold[:2]]


def test_an_agent_that_never_speaks_is_stopped(bank: World, task: WorldTask) -> None:
    once = next(calls(task))
    walk, model = walked(bank, task, *[once] * 20)
    assert len(walk.calls) == len(model.requests) == 12


def test_an_endpoint_that_is_gone_ends_all_others_too(bank: World) -> None:
    model = ScriptedModel(lambda request: EndpointLost("gone") if len(model.requests) == 3 else slow())

    async def slow() -> Any:
        await asyncio.sleep(0.01)
        return OVER

    async def act() -> int:
        with pytest.raises(EndpointLost):
            await rollouts(model, bank, list(bank.tasks(20)), settings=SimulateSettings(), in_flight=4)
        asked = len(model.requests)
        await asyncio.sleep(0.05)
        return len(model.requests) - asked

    assert asyncio.run(act()) == 0


def test_an_agent_that_is_told_too_much_ends_its_walk(bank: World, task: WorldTask) -> None:
    walk, _ = walked(bank, task, next(calls(task)), ContextOverflow("9,000 tokens"))
    assert len(walk.calls) == 1


def test_an_unreadable_decision_ends_the_walk(bank: World, task: WorldTask) -> None:
    walk, _ = walked(bank, task, *["no json"] * 5)
    assert walk.calls == ()


def test_an_endpoint_that_is_gone_is_an_error(bank: World, task: WorldTask) -> None:
    with pytest.raises(EndpointLost):
        walked(bank, task, EndpointLost("gone"))


def test_a_text_that_is_declined_ends_its_walk_and_a_setting_that_is_refused_all(bank: World, task: WorldTask) -> None:
    walk, _ = walked(bank, task, next(calls(task)), RequestRefused(f"it {DECLINED}"))
    assert len(walk.calls) == 1
    with pytest.raises(RequestRefused):
        walked(bank, task, RequestRefused("no such option"))


@pytest.mark.parametrize("problem", [SandboxViolation("it never ends", "time"), StateError("a set has no JSON")])
def test_a_call_that_strange_code_cannot_answer_is_the_last_of_its_walk(
    bank: World, task: WorldTask, problem: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(state: State, call: ToolCall) -> None:
        raise problem

    monkeypatch.setattr(bank, "run", run)
    walk, model = walked(bank, task, *calls(task), OVER)
    assert [call.name for call in walk.calls] == [task.gold[0].name]
    assert len(model.requests) == 1


def test_walks_come_in_the_order_of_the_tasks(bank: World) -> None:
    tasks = list(bank.tasks(6))
    late = {task.instruction: (len(tasks) - place) * 0.002 for place, task in enumerate(tasks)}

    async def answer(request: ChatRequest) -> Answer:
        text = "\n".join(message.content for message in request.messages)
        await asyncio.sleep(next(pause for instruction, pause in late.items() if instruction in text))
        return OVER

    found = asyncio.run(rollouts(ScriptedModel(answer), bank, tasks, settings=SimulateSettings(), in_flight=3))
    assert [walk.task.id for walk in found] == [task.id for task in tasks]


def test_walks_without_a_call_are_left_out(bank: World, task: WorldTask) -> None:
    silent, busy = Walk(task, (), ROLLOUT), Walk(task, task.gold, ROLLOUT)
    assert list(with_calls([silent, busy])) == [busy]


def test_what_an_agent_did_becomes_samples_of_its_origin(bank: World, task: WorldTask) -> None:
    walk, _ = walked(bank, task, *calls(task), OVER)
    samples = list(harvest("bank", bank, [walk], kinds=()))
    assert {sample.origin for sample in samples} == {ROLLOUT}
    assert [sample.call.name for sample in samples] == [call.name for call in walk.calls]


def test_a_call_that_the_world_refuses_is_a_sample_too(bank: World, task: WorldTask) -> None:
    gold = next(call for other in bank.tasks(10) for call in other.gold if "account_id" in call.arguments)
    wrong = {"name": gold.name, "arguments": {**gold.arguments, "account_id": "A-1"}}
    walk, _ = walked(bank, task, {"calls": [wrong]}, OVER)
    (sample,) = harvest("bank", bank, [walk], kinds=())
    assert sample.is_error

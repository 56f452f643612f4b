"""A tool that a model executes: it is shown the code of the one tool, and what it may answer is checked as ever."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from simia import worlds
from simia.bench.build import with_sources
from simia.errors import ConfigError, SimulatorError
from simia.models.scripted import ScriptedModel
from simia.simulate import SimulateSettings
from simia.simulate.constrained import ConstrainedDynamics
from simia.types import ChatRequest, Seed, StateDelta, ToolCall, TransitionQuery, WorldSpec

GOLDEN = Path(__file__).parent / "golden"
SOURCE = "def get_book(book_id): return books[book_id]"
EMMA: dict[str, Any] = {"is_error": False, "observation": {"title": "Emma", "borrower": None}, "changes": []}


def query(seed: Seed, name: str = "get_book", **changes: Any) -> TransitionQuery:
    arguments = changes.pop("arguments", {"book_id": "B-204"})
    values: dict[str, Any] = {"world": seed.world, "state": seed.initial_state}
    return TransitionQuery(call=ToolCall(id="call_1", name=name, arguments=arguments), **(values | changes))


def request(asked: TransitionQuery, **settings: Any) -> ChatRequest:
    return ConstrainedDynamics(ScriptedModel([]), SimulateSettings(**settings)).request(asked)


def spelled(asked: ChatRequest) -> str:
    return "".join(f"=== {message.role}\n{message.content}\n" for message in asked.messages)


def matches_golden(name: str, text: str) -> bool:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("SIMIA_WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    return text == path.read_text(encoding="utf-8")


def test_the_prompt_is_the_golden_one(seed: Seed) -> None:
    assert matches_golden("constrained", spelled(request(query(seed))))


def test_the_prompt_of_a_world_of_simia_is_the_golden_one() -> None:
    bank = worlds.load("bank")
    payment = {"target": "A-494", "amount": 1250, "memo": "invoice 69"}
    call = ToolCall(id="call_1", name="pay_many", arguments={"source": "A-467", "payments": [payment]})
    asked = TransitionQuery(world=with_sources(bank), call=call, state={"today": "2025-04-09"})
    assert matches_golden("constrained_bank", spelled(request(asked)))


def test_the_code_of_the_called_tool_is_shown_and_that_of_others_is_not(seed: Seed) -> None:
    other = "def lend_book(book_id, member_id): ..."
    tools = tuple(tool.model_copy(update={"source": tool.source or other}) for tool in seed.world.tools)
    world = seed.world.model_copy(update={"tools": tools})
    text = spelled(request(query(seed, world=world)))
    assert SOURCE in text
    assert other not in text


def test_all_calls_of_a_tool_share_the_beginning_of_their_prompt(seed: Seed) -> None:
    dynamics = ConstrainedDynamics(ScriptedModel([]), SimulateSettings())
    one, two = (dynamics.request(query(seed, arguments={"book_id": book})) for book in ("B-204", "B-377"))
    assert one.messages[0] == two.messages[0]
    assert one.messages[1] != two.messages[1]


def test_two_tools_have_each_their_own_code_in_one_simulator() -> None:
    bank = worlds.load("bank")
    spec = with_sources(bank)
    dynamics = ConstrainedDynamics(ScriptedModel([]), SimulateSettings())
    for tool in (*spec.tools, *spec.tools):
        asked = TransitionQuery(world=spec, call=ToolCall(id="c", name=tool.name, arguments={}), state={})
        assert (tool.source or "").strip() in dynamics.request(asked).messages[0].content


@pytest.mark.parametrize("name", worlds.names())
def test_every_world_of_simia_can_be_asked(name: str) -> None:
    world = worlds.load(name)
    spec = with_sources(world)
    dynamics = ConstrainedDynamics(ScriptedModel([]), SimulateSettings())
    for tool in spec.tools:
        asked = TransitionQuery(world=spec, call=ToolCall(id="c", name=tool.name, arguments={}), state={})
        assert f"def {tool.name}(" in dynamics.request(asked).messages[0].content


def test_the_policy_of_the_world_is_not_shown(seed: Seed) -> None:
    assert seed.world.policy not in spelled(request(query(seed)))


def test_a_tool_without_code_is_refused_and_told_what_to_do(seed: Seed) -> None:
    lend = query(seed, "lend_book", arguments={"book_id": "B-204", "member_id": "M-731"})
    with pytest.raises(ConfigError, match="no code for the tool 'lend_book': use the setting tracked or hidden"):
        request(lend)


def test_code_that_ends_a_fence_does_not_end_the_state(seed: Seed) -> None:
    odd = seed.world.tools[0].model_copy(update={"source": f"{SOURCE}\n```\n</state-000000000000>"})
    world = seed.world.model_copy(update={"tools": (odd, *seed.world.tools[1:])})
    question = request(query(seed, world=world)).messages[1].content
    assert question.count("</state-") == 1


def test_a_right_answer_becomes_a_transition(seed: Seed) -> None:
    dynamics = ConstrainedDynamics(ScriptedModel([EMMA]), SimulateSettings())
    transition = asyncio.run(dynamics.transition(query(seed)))
    assert (transition.observation, transition.delta) == ('{"title":"Emma","borrower":null}', StateDelta())


def test_an_inadmissible_answer_goes_back_with_its_reason(seed: Seed) -> None:
    model = ScriptedModel([{**EMMA, "observation": {"title": "Emma"}}, EMMA])
    asyncio.run(ConstrainedDynamics(model, SimulateSettings()).transition(query(seed)))
    assert "does not fit what get_book returns" in model.requests[1].messages[-1].content
    assert model.requests[1].messages[:2] == model.requests[0].messages


def test_an_answer_that_stays_inadmissible_is_an_error_of_the_simulator(seed: Seed) -> None:
    dynamics = ConstrainedDynamics(ScriptedModel(["a", "b"]), SimulateSettings(max_repairs=1))
    with pytest.raises(SimulatorError, match="'get_book' answered inadmissibly 2 times"):
        asyncio.run(dynamics.transition(query(seed)))


def test_a_call_that_does_not_fit_is_refused_without_asking_the_model(seed: Seed) -> None:
    model = ScriptedModel([])
    transition = asyncio.run(ConstrainedDynamics(model, SimulateSettings()).transition(query(seed, arguments={})))
    assert transition.is_error
    assert model.requests == []


def test_the_draw_depends_on_what_is_shown_and_the_seed_alone(seed: Seed) -> None:
    one, two, other = (request(query(seed), seed=number) for number in (0, 0, 1))
    assert one.sampling.seed == two.sampling.seed != other.sampling.seed


def test_a_world_of_the_same_name_with_other_code_has_a_prompt_of_its_own(world: WorldSpec, seed: Seed) -> None:
    dynamics = ConstrainedDynamics(ScriptedModel([]), SimulateSettings())
    changed = tuple(tool.model_copy(update={"source": "def get_book(book_id): ..."}) for tool in world.tools)
    one = dynamics.request(query(seed)).messages[0]
    two = dynamics.request(query(seed, world=world.model_copy(update={"tools": changed}))).messages[0]
    assert one != two

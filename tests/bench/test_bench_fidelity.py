"""How true synthetic conversations are: every call of a run of simia synth is executed beside what was simulated."""

import asyncio
import json
import random
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from simia import worlds
from simia.bench.fidelity import CallCheck, Fidelity, TrajectoryCheck, check_run, check_trajectory
from simia.errors import ConfigError, SandboxViolation
from simia.formats import exchanges
from simia.models.cast import Cast
from simia.models.choose import ChosenModel
from simia.models.scripted import Answer, ScriptedModel
from simia.models.settings import ModelSettings
from simia.pipeline import Item
from simia.seeds import read
from simia.simulate import PlannedSeed, SimulateSettings, TurnSimulator
from simia.store import Manifest, Run
from simia.synthesis.recipe import read_recipe
from simia.synthesis.run import synthesise
from simia.types import (
    AssistantMessage,
    ChatModel,
    ChatRequest,
    Kept,
    MalformedToolCall,
    Message,
    Plan,
    Provenance,
    Seed,
    State,
    StateDelta,
    ToolCall,
    ToolMessage,
    Trajectory,
    Transition,
    UserMessage,
)
from simia.worlds import World

Script = Callable[[ChatRequest], Answer]
Synth = Callable[..., Path]
WORDS = "lamp teapot kettle planter tent blanket candle vase basket mirror shelf stool rug clock bench".split()
MADE = ("prefilter", "generate")


@cache
def seeds() -> tuple[Seed, ...]:
    return tuple(read("bundled:shop"))


def calls_of(seed: Seed) -> list[ToolCall]:
    return [call for message in seed.reference if isinstance(message, AssistantMessage) for call in message.tool_calls]


@pytest.fixture(scope="module")
def shop() -> World:
    return worlds.load("shop")


def fenced(label: str, text: str) -> Any:
    found = re.search(rf"<{label}-\w+>\n(.*?)\n</{label}-", text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def executed(request: ChatRequest) -> dict[str, Any]:
    """What the shop answers to a question that is asked of simulated tools."""
    text = request.messages[1].content
    call, state = fenced("call", text), fenced("state", text)
    shown, _ = worlds.load("shop").run(state, ToolCall(id="call_1", name=call["name"], arguments=call["arguments"]))
    changes = [] if shown.delta is None else shown.delta.model_dump(mode="json")["changes"]
    return {"is_error": shown.is_error, "observation": json.loads(shown.observation), "changes": changes}


def actors(tools: Script = executed) -> Script:
    """Plays user and agent as in the seed, in one exchange, and the tools by ``tools``."""

    def answer(request: ChatRequest) -> Answer:
        system, *dialogue = request.messages
        if system.content.startswith("You are the tools"):
            return tools(request)
        if system.content.startswith("You invent tasks"):
            return {"task": "Today: " + next(seed.task for seed in seeds() if seed.task in dialogue[0].content)}
        if system.content.startswith("You play a user"):
            seed = next(seed for seed in seeds() if seed.task in system.content)
            is_over = any("All is done." in message.content for message in dialogue)
            return {"done": is_over, "say": "" if is_over else seed.reference[0].content}
        seed = next(seed for seed in seeds() if seed.reference[0].content in dialogue[0].content)
        made = sum(message.role == "assistant" for message in dialogue)
        if made < len(calls_of(seed)):
            call = calls_of(seed)[made]
            return {"calls": [{"name": call.name, "arguments": call.arguments}]}
        return {"say": "All is done."}

    return answer


def parrot(request: ChatRequest) -> Answer:
    """The seed's own conversation, word by word."""
    text = "".join(message.content for message in request.messages)
    return next(
        exchanges.render(seed.task, seed.reference)
        for seed in seeds()
        if json.dumps(seed.task, ensure_ascii=False)[1:-1] in text
    )


def invented(request: ChatRequest) -> Answer:
    """A sound conversation about somebody whom the shop does not know."""
    rng = random.Random(request.sampling.seed)
    said = [" ".join(rng.choices(WORDS, k=25)) for _ in range(4)]
    mail = f"{rng.choice(WORDS)}.{rng.randrange(10**6)}@example.com"
    address = {"street": f"{rng.randrange(1, 99)} Mill Lane", "city": "Leeds", "postcode": "LS1 4AP"}
    customer = {"customer_id": f"C-{rng.randrange(100, 999)}", "name": "Jo Bell", "email": mail, "address": address}
    result = {**customer, "card_last4": "4471", "store_credit": 0.0}
    call = {"name": "find_customer", "arguments": {"email": mail}, "result": result}
    first = {"user": f"{said[0]} I am {mail}.", "steps": [{"calls": [call]}], "reply": said[1]}
    second = {"user": said[2], "steps": [], "reply": said[3]}
    return {"task": f"You are {mail}. {said[0]}", "exchanges": [first, second]}


@pytest.fixture
def synth(tmp_path: Path) -> Synth:
    """Makes a run of six conversations about the shop."""

    def make(answer: Script, *words: str, stages: tuple[str, ...] = MADE) -> Path:
        @asynccontextmanager
        async def opened() -> AsyncIterator[ChatModel]:
            yield ScriptedModel(answer)

        settings = ModelSettings(name="scripted", retry_for_s=0, max_in_flight=4)
        chosen = ChosenModel("scripted", "a test needs it", settings, True, opened)
        cast = Cast(dict.fromkeys(("model", "user", "agent", "tools"), chosen))
        recipe = read_recipe("shop", ["count=6", "simulate.state_chars=1000000", 'export.formats=["trl"]', *words])
        asyncio.run(synthesise(recipe, cast, tmp_path / "run", stages=stages))
        return tmp_path / "run"

    return make


def conversation(*pairs: tuple[ToolCall, str], **fields: Any) -> Trajectory:
    """A conversation of these calls and what they showed."""
    messages: list[Message] = [UserMessage(content="Please.")]
    for call, shown in pairs:
        messages += [
            AssistantMessage(tool_calls=(call,)),
            ToolMessage(call_id=call.id, name=call.name, content=shown, is_error=shown.startswith('{"error"')),
        ]
    messages.append(AssistantMessage(content="All is done."))
    provenance = Provenance(run="r", seed="shop-1", attempt=0, model="m", prompts={}, licence="MIT")
    return Trajectory(world="w", task="t", messages=tuple(messages), provenance=provenance, **fields)


def find(number: int, email: str, **arguments: Any) -> ToolCall:
    return ToolCall(id=f"call_{number}", name="find_customer", arguments={"email": email, **arguments})


def customers(seed: Seed) -> list[str]:
    assert seed.initial_state is not None
    return [customer["email"] for customer in seed.initial_state["customers"].values()]


def shown_by(shop: World, seed: Seed, call: ToolCall) -> str:
    assert seed.initial_state is not None
    return shop.run(seed.initial_state, call)[0].observation


def checked(shop: World, trajectory: Trajectory, seed: Seed) -> TrajectoryCheck:
    return check_trajectory(shop, "key", trajectory, seed.initial_state)


def test_tools_that_are_played_truly_agree_with_the_world_at_every_call(synth: Synth, shop: World) -> None:
    found = check_run(synth(actors(), "simulate.mode=turns"), shop)
    assert len(found.trajectories) == 6
    assert found.started() == {"own": 6}
    for rate in (found.valid, found.observations, found.errors, found.states, found.faithful):
        assert rate.hits == rate.count > 0
    assert found.median_divergence is None


def test_conversations_played_by_the_world_itself_agree_with_it(shop: World) -> None:
    model = ScriptedModel(actors(lambda request: pytest.fail("the tools were asked of a model")))
    simulator = TurnSimulator(model, SimulateSettings(), "run", dynamics=shop)
    plan = Plan(
        formulation="x", persona="calm", reasoning="checks twice", difficulty="easy", outcome="success", turns=4
    )
    for number, seed in enumerate(seeds()):
        item = Item(number, seed.id, PlannedSeed(seed, plan, 0, seed.id))
        outcome = asyncio.run(simulator(item))
        assert isinstance(outcome, Kept)
        found = checked(shop, outcome.value, seed)
        assert found.started == "own"
        assert len(found.calls) == len(calls_of(seed))
        assert found.first_divergence is None
        assert all(call.observation_match and call.error_match and call.state_match for call in found.calls)


def test_a_planned_fault_is_nothing_that_the_simulator_got_wrong(synth: Synth, shop: World) -> None:
    found = check_run(synth(actors(), "simulate.mode=turns", "plan.outcomes.recoverable_fault=1000"), shop)
    faults = [call for call in found.calls if "nothing was changed; try again" in call.simulated]
    assert faults
    assert {call.executed for call in faults} == {None}
    assert found.observations.hits == found.observations.count == len(found.calls) - len(faults)
    assert found.faithful.hits == found.faithful.count


def test_a_change_that_was_not_made_shows_in_the_states_after_it(synth: Synth, shop: World) -> None:
    def idle(request: ChatRequest) -> Answer:
        return {**executed(request), "changes": []}

    found = check_run(synth(actors(idle), "simulate.mode=turns", "count=20"), shop)
    assert found.states.hits < found.states.count
    diverged = [one for one in found.trajectories if one.first_divergence is not None]
    assert diverged
    assert found.faithful.hits == found.faithful.count - len(diverged)
    assert found.median_divergence is not None


def test_an_invented_observation_is_the_first_divergence(synth: Synth, shop: World) -> None:
    def renamed(request: ChatRequest) -> Answer:
        answer = executed(request)
        if "name" in answer["observation"]:
            answer["observation"]["name"] = "Nobody"
        return answer

    found = check_run(synth(actors(renamed), "simulate.mode=turns"), shop)
    fit, accepted, right = found.by_tool()["find_customer"]
    assert (fit.value, accepted.value, right.value) == (1.0, 1.0, 0.0)
    assert found.states.value == 1.0
    assert found.median_divergence == 1


def test_a_whole_conversation_begins_in_the_state_of_its_seed(synth: Synth, shop: World) -> None:
    found = check_run(synth(parrot), shop)
    assert found.started() == {"seed": 6}
    assert found.observations.hits == found.observations.count > 0
    assert found.states.count == 0


def test_a_whole_conversation_that_names_what_is_not_there_is_refused_by_the_world(synth: Synth, shop: World) -> None:
    found = check_run(synth(invented), shop)
    assert (found.valid.value, found.accepted.value, found.observations.value) == (1.0, 0.0, 0.0)
    assert found.median_divergence == 1


def test_only_what_postprocess_kept_is_checked(synth: Synth, shop: World) -> None:
    def mixed(request: ChatRequest) -> Answer:
        return parrot(request) if (request.sampling.seed or 0) % 2 else invented(request)

    folder = synth(mixed, stages=(*MADE, "postprocess"))
    with Run.read(folder) as run:
        made, kept = (run.stream(name).counts().kept for name in ("generate", "postprocess"))
    assert 0 < kept < made
    assert len(check_run(folder, shop).trajectories) == kept


def test_a_limit_checks_only_so_many(synth: Synth, shop: World) -> None:
    assert len(check_run(synth(parrot), shop, limit=2).trajectories) == 2


def test_a_world_without_a_tool_of_the_run_is_refused(synth: Synth) -> None:
    with pytest.raises(ConfigError, match="is about shop, with tools that the world 'bank' does not have: name its"):
        check_run(synth(parrot), worlds.load("bank"))


def test_a_run_without_a_conversation_is_refused(tmp_path: Path, shop: World) -> None:
    with Run.create(tmp_path / "run", Manifest(run="shop", version="0.1.0", created="now", config={})):
        pass
    with pytest.raises(ConfigError, match="holds no conversation that was kept: give a run of simia synth"):
        check_run(tmp_path / "run", shop)


def test_a_call_that_does_not_fit_is_counted_and_refused(shop: World) -> None:
    seed = seeds()[0]
    odd = find(1, customers(seed)[0], shoe_size=43)
    (call,) = checked(shop, conversation((odd, '{"error":"no such argument"}')), seed).calls
    assert (call.fits, call.accepted, call.observation_match, call.error_match) == (False, False, False, True)


def test_an_unknown_tool_is_counted_and_refused(shop: World) -> None:
    fly = ToolCall(id="call_1", name="fly", arguments={})
    (call,) = checked(shop, conversation((fly, "{}")), seeds()[0]).calls
    assert (call.fits, call.accepted, call.error_match) == (False, False, False)


def test_without_any_state_nothing_is_executed(shop: World) -> None:
    found = check_trajectory(shop, "key", conversation((find(1, "jo@example.com"), "{}")), None)
    assert found.started == "nowhere"
    assert found.calls == (CallCheck(1, "find_customer", True, "{}"),)
    assert found.first_divergence is None


def test_a_state_that_does_not_fit_the_world_is_none(shop: World) -> None:
    found = check_trajectory(shop, "key", conversation((find(1, "jo@example.com"), "{}")), {"customers": 7})
    assert found.started == "nowhere"


def test_each_call_is_executed_on_what_the_ones_before_it_left(shop: World) -> None:
    seed = seeds()[0]
    state = seed.initial_state
    assert state is not None
    pairs = []
    for call in calls_of(seed):
        shown, state = shop.run(state, call)
        pairs.append((call, shown.observation))
    assert checked(shop, conversation(*pairs), seed).first_divergence is None
    assert checked(shop, conversation(*pairs[-1:], *pairs[:-1]), seed).calls[0].number == 1


def test_the_first_divergence_is_counted_from_one(shop: World) -> None:
    seed = seeds()[0]
    first, second = (find(number, customers(seed)[0]) for number in (1, 2))
    right = shown_by(shop, seed, first)
    assert checked(shop, conversation((first, right), (second, "{}")), seed).first_divergence == 2


def test_a_call_that_nobody_answered_is_no_match(shop: World) -> None:
    seed = seeds()[0]
    call = find(1, customers(seed)[0])
    trajectory = conversation((call, "{}"))
    unanswered = trajectory.model_copy(update={"messages": trajectory.messages[:2]})
    (found,) = checked(shop, unanswered, seed).calls
    assert (found.simulated, found.observation_match, found.error_match) == ("", False, False)


def test_a_call_that_strange_code_cannot_answer_is_told_and_nothing_is_executed_after_it(
    shop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = seeds()[0]
    first, second, third = (find(number, customers(seed)[0]) for number in (1, 2, 3))
    right = shown_by(shop, seed, first)
    run = shop.run

    def trapped(state: State, call: ToolCall) -> tuple[Transition, State]:
        if call.id == second.id:
            raise SandboxViolation("it never ends", "time")
        return run(state, call)

    monkeypatch.setattr(shop, "run", trapped)
    found = checked(shop, conversation((first, right), (second, right), (third, right)), seed)
    assert [call.observation_match for call in found.calls] == [True, None, None]
    assert [call.stopped for call in found.calls] == ["", "a wall of the sandbox, time", ""]
    whole = Fidelity("shop", [found])
    assert whole.stopped == {"a wall of the sandbox, time": 1}
    assert whole.faithful.count == 0


def test_changes_that_no_longer_fit_leave_the_tracked_state_unknown(shop: World) -> None:
    seed = seeds()[0]
    call = find(1, customers(seed)[0])
    misfit = StateDelta.model_validate({"changes": [{"op": "remove", "path": ["no", "such"]}]})
    trajectory = conversation(
        (call, shown_by(shop, seed, call)), initial_state=seed.initial_state, deltas={"call_1": misfit}
    )
    (found,) = checked(shop, trajectory, seed).calls
    assert (found.observation_match, found.state_match) == (True, None)


def answered(*messages: Message, **fields: Any) -> Trajectory:
    return conversation(**fields).model_copy(update={"messages": (UserMessage(content="Please."), *messages)})


def shows(call: ToolCall, text: str) -> ToolMessage:
    return ToolMessage(call_id=call.id, name=call.name, content=text)


def test_malformed_calls_are_counted_and_do_not_fit(shop: World) -> None:
    seed = seeds()[0]
    good = find(1, customers(seed)[0])
    bad = (
        MalformedToolCall(id="call_2", name="find_customer", text="{", reason="no JSON"),
        MalformedToolCall(id="call_3", text="find!", reason="no name"),
    )
    trajectory = answered(
        AssistantMessage(tool_calls=(good,), malformed_calls=bad),
        shows(good, shown_by(shop, seed, good)),
        ToolMessage(call_id="call_2", name="find_customer", content="unreadable", is_error=True),
        AssistantMessage(tool_calls=(find(4, customers(seed)[0]),)),
    )
    check = checked(shop, trajectory, seed)
    assert check.calls[1:3] == (
        CallCheck(2, "find_customer", False, "unreadable"),
        CallCheck(3, "(malformed)", False, ""),
    )
    assert [call.number for call in check.calls] == [1, 2, 3, 4]
    found = Fidelity("shop", [check])
    assert (found.valid.hits, found.valid.count, found.accepted.count) == (2, 4, 2)
    fit, accepted, right = found.by_tool()["(malformed)"]
    assert ((fit.hits, fit.count), accepted.count, right.count) == ((0, 1), 0, 0)
    assert list(found.by_tool()) == ["(malformed)", "find_customer"]


def test_a_conversation_of_nothing_but_malformed_calls_is_not_valid(shop: World) -> None:
    bad = MalformedToolCall(id="call_1", text="?", reason="no name")
    found = Fidelity("shop", [checked(shop, answered(AssistantMessage(malformed_calls=(bad,))), seeds()[0])])
    assert (found.valid.value, found.faithful.count) == (0.0, 0)


@pytest.mark.parametrize("in_one_turn", [True, False])
def test_calls_with_the_same_id_have_their_own_results(shop: World, in_one_turn: bool) -> None:
    seed = seeds()[0]
    first, second = find(1, customers(seed)[0]), find(1, "nobody@example.com")
    right = [shows(call, shown_by(shop, seed, call)) for call in (first, second)]
    calls = [AssistantMessage(tool_calls=(call,)) for call in (first, second)]
    messages: tuple[Message, ...] = (calls[0], right[0], calls[1], right[1])
    if in_one_turn:
        messages = (AssistantMessage(tool_calls=(first, second)), *right)
    found = checked(shop, answered(*messages), seed)
    assert [call.simulated for call in found.calls] == [message.content for message in right]
    assert [call.observation_match for call in found.calls] == [True, True]


def test_a_result_answers_one_call_and_none_that_comes_after_it(shop: World) -> None:
    seed = seeds()[0]
    call = find(1, customers(seed)[0])
    right = shows(call, shown_by(shop, seed, call))
    turn = AssistantMessage(tool_calls=(call,))
    assert [one.observation_match for one in checked(shop, answered(right, turn), seed).calls] == [False]
    assert [one.observation_match for one in checked(shop, answered(turn, turn, right), seed).calls] == [True, False]
    assert [one.observation_match for one in checked(shop, answered(turn, right, turn), seed).calls] == [True, False]


def test_the_tracked_state_is_unknown_once_calls_share_an_id(shop: World) -> None:
    seed = seeds()[0]
    before, twice = find(1, customers(seed)[0]), find(2, customers(seed)[0])
    pairs = [(call, shown_by(shop, seed, call)) for call in (before, twice, twice)]
    found = checked(shop, conversation(*pairs, initial_state=seed.initial_state), seed)
    assert [call.state_match for call in found.calls] == [True, None, None]


def test_texts_need_not_be_kept(synth: Synth, shop: World) -> None:
    folder = synth(parrot)
    full, lean = check_run(folder, shop), check_run(folder, shop, with_texts=False)
    assert all(call.simulated and call.executed for call in full.calls)
    assert {(call.simulated, call.executed) for call in lean.calls} == {("", "")}
    assert (lean.by_tool(), lean.faithful, lean.errors) == (full.by_tool(), full.faithful, full.errors)

"""A whole conversation in one reply: what is asked, what is made of the answer, and which rule drops it."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from simia.errors import ContextOverflow, ServerFailed
from simia.models.scripted import ScriptedModel
from simia.pipeline import Item
from simia.prompts import load
from simia.simulate import PlannedSeed, SimulateSettings, TrajectorySimulator
from simia.types import ChatReply, Dropped, JsonObject, Kept, Outcome, Seed, Trajectory, WorldSpec, schema_for

MakeItem = Callable[..., Item[PlannedSeed]]

REPLY: JsonObject = {
    "task": "You are Ben Oduya, member M-118, and want Ulysses.",
    "exchanges": [
        {
            "user": "Can I borrow Ulysses? M-118.",
            "steps": [
                {
                    "calls": [
                        {
                            "name": "get_book",
                            "arguments": {"book_id": "B-377"},
                            "result": {"title": "Ulysses", "borrower": None},
                        }
                    ]
                }
            ],
            "reply": "It is in.",
        }
    ],
}


def simulated(item: Item[PlannedSeed], *script: Any, **changes: Any) -> tuple[Outcome[Trajectory], ScriptedModel]:
    model = ScriptedModel(script)
    stage = TrajectorySimulator(model, SimulateSettings(**changes), "run-1")
    return asyncio.run(stage(item)), model


def kept(outcome: Outcome[Trajectory]) -> Trajectory:
    assert isinstance(outcome, Kept), outcome
    return outcome.value


def contents(stage: TrajectorySimulator, item: Item[PlannedSeed]) -> list[str]:
    return [message.content for message in stage.request_for(item).messages]


@pytest.fixture
def stage() -> TrajectorySimulator:
    return TrajectorySimulator(ScriptedModel([]), SimulateSettings(), "run-1")


def test_a_reply_becomes_a_trajectory_with_its_task_and_messages(make_item: MakeItem) -> None:
    trajectory = kept(simulated(make_item(), REPLY)[0])
    assert trajectory.task == REPLY["task"]
    assert [message.role for message in trajectory.messages] == ["user", "assistant", "tool", "assistant"]


def test_the_provenance_says_what_it_takes_to_make_it_again(make_item: MakeItem, world: WorldSpec) -> None:
    item = make_item(attempt=3)
    trajectory = kept(simulated(item, REPLY)[0])
    provenance = trajectory.provenance
    assert (provenance.run, provenance.seed, provenance.attempt) == ("run-1", "library-1", 3)
    assert (provenance.model, provenance.licence) == ("scripted", "CC0-1.0")
    assert provenance.prompts == {name: load(name).sha256 for name in ("trajectory_world", "trajectory_item")}
    assert trajectory.world == world.content_id
    assert trajectory.plan == item.value.plan


def test_the_first_message_is_the_same_bytes_for_all_items_of_a_world(
    stage: TrajectorySimulator, make_item: MakeItem, seed: Seed
) -> None:
    other = seed.model_copy(update={"id": "library-2", "task": "another"})
    one = contents(stage, make_item())
    two = contents(stage, make_item(item_id="item-2", seed=other, outcome="refusal", turns=4))
    assert one[0].encode() == two[0].encode()


def test_the_second_message_differs_only_after_the_exemplar(stage: TrajectorySimulator, make_item: MakeItem) -> None:
    one = contents(stage, make_item())[1]
    two = contents(stage, make_item(item_id="item-2", outcome="refusal", formulation="complain"))[1]
    shared, _, _ = one.partition("# Plan of the new conversation")
    assert "Emma" in shared
    assert two.startswith(shared)
    assert one != two


def test_the_prompt_has_policy_and_schemas_and_exemplar_and_plan(
    stage: TrajectorySimulator, make_item: MakeItem, world: WorldSpec
) -> None:
    system, user = contents(stage, make_item())
    assert world.policy in system
    for tool in world.tools:
        assert orjson.dumps(tool.parameters).decode() in system
        assert orjson.dumps(tool.returns).decode() in system
    assert "You are Ada Wolff" in user
    assert "return a book late" in user
    assert "2 exchanges, about 2 tool calls" in user


def test_the_source_of_a_tool_is_not_shown(stage: TrajectorySimulator, make_item: MakeItem) -> None:
    assert "def get_book" not in "".join(contents(stage, make_item()))


def test_result_schemas_over_the_budget_are_left_out(make_item: MakeItem, world: WorldSpec) -> None:
    stage = TrajectorySimulator(ScriptedModel([]), SimulateSettings(returns_chars=100), "run-1")
    assert orjson.dumps(world.tools[0].returns).decode() not in contents(stage, make_item())[0]


@pytest.mark.parametrize("thoughts", [False, True])
def test_the_exemplar_shows_thoughts_only_where_they_are_wanted(make_item: MakeItem, thoughts: bool) -> None:
    stage = TrajectorySimulator(ScriptedModel([]), SimulateSettings(thoughts=thoughts), "run-1")
    assert ("Look it up." in contents(stage, make_item())[1]) is thoughts


def test_the_response_schema_accepts_a_good_reply_and_no_unknown_tool(
    stage: TrajectorySimulator, make_item: MakeItem
) -> None:
    schema = stage.request_for(make_item()).response_schema
    assert schema is not None
    stranger = orjson.loads(orjson.dumps(REPLY).replace(b"get_book", b"burn_book"))
    assert schema_for(schema).accepts(REPLY)
    assert not schema_for(schema).accepts(stranger)


def test_a_server_can_be_spared_the_schema(make_item: MakeItem) -> None:
    stage = TrajectorySimulator(ScriptedModel([]), SimulateSettings(structured=False), "run-1")
    assert stage.request_for(make_item()).response_schema is None


def test_the_request_depends_only_on_seed_and_item_and_attempt(make_item: MakeItem) -> None:
    def request_id(settings_seed: int, **changes: Any) -> str:
        stage = TrajectorySimulator(ScriptedModel([]), SimulateSettings(seed=settings_seed), "run-1")
        return stage.request_for(make_item(**changes)).content_id

    first = request_id(0)
    assert first == request_id(0)
    assert len({first, request_id(1), request_id(0, attempt=1), request_id(0, item_id="item-2")}) == 4


def test_json_that_had_to_be_repaired_is_marked(make_item: MakeItem) -> None:
    broken = orjson.dumps(REPLY).decode().replace('"exchanges":', "'exchanges':")
    assert kept(simulated(make_item(), broken)[0]).repairs == ("json",)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.replace('"book_id":"B-377"', '"book_id":', 1),
        lambda text: text[: text.rindex('"reply":"') + len('"reply":"') + 1],
        lambda text: text[: text.index('"book_id":"B-377"') + len('"book_id":"B-3')],
    ],
)
def test_a_reply_that_is_cut_or_lacks_a_value_is_unreadable_and_asked_for_again(
    make_item: MakeItem, spoil: Callable[[str], str]
) -> None:
    whole = orjson.dumps(REPLY).decode()
    spoilt = spoil(whole)
    assert spoilt != whole
    outcome, _ = simulated(make_item(), spoilt, spoilt)
    assert isinstance(outcome, Dropped)
    assert outcome.rule == "unreadable_reply"
    assert kept(simulated(make_item(), spoilt, whole)[0]).repairs == ()


def test_a_readable_reply_is_not_marked_as_repaired(make_item: MakeItem) -> None:
    assert kept(simulated(make_item(), REPLY)[0]).repairs == ()


@pytest.mark.parametrize(
    ("answer", "rule"),
    [
        (ChatReply(text='{"task": "x', model="m", finish_reason="length"), "reply_cut"),
        (ChatReply(text="", model="m", finish_reason="content_filter"), "content_filter"),
        ("  ", "empty_reply"),
        ({"task": "x", "exchanges": []}, "empty_reply"),
        ("I cannot do that.", "unreadable_reply"),
        ({"task": "x", "exchanges": [{"user": "hi"}]}, "unreadable_reply"),
        ({"task": "x", "exchanges": [{"user": "a" * 800, "steps": [], "reply": "ok"}]}, "text_cut"),
        ({"task": "x", "exchanges": [{"user": "hi", "steps": [], "reply": "b" * 1200}]}, "text_cut"),
    ],
)
def test_a_reply_that_stays_useless_drops_the_item_by_its_rule(make_item: MakeItem, answer: Any, rule: str) -> None:
    outcome, model = simulated(make_item(), answer, answer)
    assert isinstance(outcome, Dropped)
    assert outcome.rule == rule
    assert len(model.requests) == 2


@pytest.mark.parametrize("said", [{"user": "a" * 801, "reply": "ok"}, {"user": "hi", "reply": "b" * 1201}])
def test_a_text_beyond_its_limit_was_not_cut_by_it(make_item: MakeItem, said: JsonObject) -> None:
    kept(simulated(make_item(), {"task": "x", "exchanges": [{**said, "steps": []}]})[0])


def test_a_second_attempt_may_succeed_and_draws_anew(make_item: MakeItem) -> None:
    outcome, model = simulated(make_item(), "nonsense", REPLY)
    assert isinstance(outcome, Kept)
    first, second = model.requests
    assert first.messages == second.messages
    assert first.sampling.seed != second.sampling.seed


def test_the_attempts_are_bounded_by_the_settings(make_item: MakeItem) -> None:
    _, model = simulated(make_item(), "nonsense", attempts=1)
    assert len(model.requests) == 1


def test_an_item_over_the_context_is_dropped_without_another_attempt(make_item: MakeItem) -> None:
    outcome, model = simulated(make_item(), ContextOverflow("9000 tokens do not fit 8192"))
    assert isinstance(outcome, Dropped)
    assert outcome.rule == "context_overflow"
    assert outcome.detail.startswith("9000 tokens do not fit 8192; lower simulate.exemplar_chars")
    assert len(model.requests) == 1


def test_a_seed_that_is_no_exemplar_drops_its_items_without_a_request(make_item: MakeItem, seed: Seed) -> None:
    cut = seed.model_copy(update={"reference": seed.reference[:2]})
    outcome, model = simulated(make_item(seed=cut))
    assert isinstance(outcome, Dropped)
    assert outcome.rule == "unusable_exemplar"
    assert outcome.detail.startswith("seed library-1: message 1 (assistant) makes a call that no observation answers")
    assert model.requests == []


def test_an_error_of_the_server_is_the_pipelines_business(make_item: MakeItem) -> None:
    with pytest.raises(ServerFailed):
        simulated(make_item(), ServerFailed("503"))

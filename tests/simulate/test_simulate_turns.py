"""A conversation played by three simulators: who sees what, what is recorded, and how it ends."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from simia.errors import ContextOverflow
from simia.models.scripted import ScriptedModel
from simia.pipeline import Item
from simia.simulate import PlannedSeed, SimulateSettings, TurnSimulator
from simia.types import (
    AssistantMessage,
    ChatRequest,
    Dropped,
    JsonObject,
    Kept,
    Outcome,
    Put,
    StateDelta,
    ToolMessage,
    Trajectory,
    Transition,
    TransitionQuery,
    WorldSpec,
    canonical_json,
)

MakeItem = Callable[..., Item[PlannedSeed]]

TASK: JsonObject = {"task": "You are Ada Wolff, member M-731, and want Ulysses."}
HELLO: JsonObject = {"done": False, "say": "I want Ulysses, I am M-731."}
BYE: JsonObject = {"done": True, "say": ""}
LEND: JsonObject = {"calls": [{"name": "lend_book", "arguments": {"book_id": "B-377", "member_id": "M-731"}}]}
GET: JsonObject = {"calls": [{"name": "get_book", "arguments": {"book_id": "B-377"}}]}
DONE: JsonObject = {"say": "Ulysses is yours."}
LENT: JsonObject = {
    "is_error": False,
    "observation": {"title": "Ulysses", "borrower": "M-731"},
    "changes": [{"op": "put", "path": ["books", "B-377", "borrower"], "value": "M-731"}],
}
SHOWN: JsonObject = {"is_error": False, "observation": {"title": "Ulysses", "borrower": None}, "changes": []}


class Played:
    """What an episode came to, and what each role was asked."""

    def __init__(self, item: Item[PlannedSeed], user: Any, agent: Any, tools: Any, **changes: Any) -> None:
        self.user, self.agent, self.tools = (
            ScriptedModel(script, name=name)
            for script, name in ((user, "user-model"), (agent, "agent-model"), (tools, "tools-model"))
        )
        stage = TurnSimulator(
            self.tools, SimulateSettings(**changes), "run-1", user_model=self.user, agent_model=self.agent
        )
        self.outcome: Outcome[Trajectory] = asyncio.run(stage(item))

    @property
    def kept(self) -> Trajectory:
        assert isinstance(self.outcome, Kept), self.outcome
        return self.outcome.value

    @property
    def dropped(self) -> Dropped:
        assert isinstance(self.outcome, Dropped), self.outcome
        return self.outcome


def text_of(requests: list[ChatRequest]) -> str:
    return "\n".join(message.content for request in requests for message in request.messages)


@pytest.fixture
def played(make_item: MakeItem) -> Played:
    return Played(make_item(), [TASK, HELLO, BYE], [LEND, DONE], [LENT])


def test_an_episode_is_kept_as_the_conversation_that_was_played(played: Played) -> None:
    trajectory = played.kept
    assert [message.role for message in trajectory.messages] == ["user", "assistant", "tool", "assistant"]
    assert trajectory.messages[2] == ToolMessage(
        call_id="call_1", name="lend_book", content='{"title":"Ulysses","borrower":"M-731"}'
    )
    assert trajectory.task == TASK["task"]


def test_the_state_before_and_every_change_are_recorded(played: Played, make_item: MakeItem) -> None:
    trajectory = played.kept
    assert trajectory.initial_state == make_item().value.seed.initial_state
    change = Put(path=("books", "B-377", "borrower"), value="M-731")
    assert trajectory.deltas == {"call_1": StateDelta(changes=(change,))}


def test_the_provenance_names_the_model_of_each_role(played: Played) -> None:
    assert played.kept.provenance.model == "agent agent-model, user user-model, tools tools-model"


def test_the_user_never_sees_tools_or_policy_or_calls(played: Played, make_item: MakeItem) -> None:
    seen = text_of(played.user.requests[1:])
    assert make_item().value.seed.world.policy not in seen
    assert "lend_book" not in seen
    assert "Ulysses is yours." in seen
    assert TASK["task"] in seen


def test_the_agent_never_sees_task_or_persona_or_state_or_source(played: Played) -> None:
    seen = text_of(played.agent.requests)
    assert TASK["task"] not in seen
    assert "in a hurry" not in seen
    assert "def get_book" not in seen
    assert "Ada Wolff" not in seen


def test_the_agent_sees_the_result_in_a_fence_and_its_own_decision_verbatim(played: Played) -> None:
    *_, decision, result = played.agent.requests[1].messages
    assert orjson.loads(decision.content) == LEND
    assert "</result-" in result.content
    assert '{"title":"Ulysses","borrower":"M-731"}' in result.content


def test_the_roles_alternate_in_every_request(played: Played) -> None:
    for request in [*played.agent.requests, *played.user.requests[1:]]:
        roles = [message.role for message in request.messages[1:]]
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2)


def test_what_the_agent_says_beside_a_call_is_one_turn_to_the_user(make_item: MakeItem) -> None:
    talking = {"say": "One moment.", **LEND}
    episode = Played(make_item(), [TASK, HELLO, BYE], [talking, DONE], [LENT])
    *_, own, heard = episode.user.requests[-1].messages
    assert (own.role, heard.role) == ("assistant", "user")
    assert "One moment." in heard.content
    assert "Ulysses is yours." in heard.content


def test_the_next_tool_call_sees_the_state_that_the_last_one_left(make_item: MakeItem) -> None:
    both = Played(make_item(), [TASK, HELLO, BYE], [LEND, GET, DONE], [LENT, LENT | {"changes": []}])
    assert '"B-377":{"title":"Ulysses","borrower":"M-731"}' in both.tools.requests[1].messages[-1].content


def test_parallel_calls_are_answered_in_order_with_ids_of_their_own(make_item: MakeItem) -> None:
    pair = {"calls": [*GET["calls"], *LEND["calls"]]}
    trajectory = Played(make_item(), [TASK, HELLO, BYE], [pair, DONE], [SHOWN, LENT]).kept
    answers = [message for message in trajectory.messages if isinstance(message, ToolMessage)]
    assert [(answer.call_id, answer.name) for answer in answers] == [("call_1", "get_book"), ("call_2", "lend_book")]


def test_a_call_that_does_not_fit_is_answered_by_the_program_and_the_agent_goes_on(make_item: MakeItem) -> None:
    unknown = {"calls": [{"name": "burn_book", "arguments": {}}]}
    episode = Played(make_item(), [TASK, HELLO, BYE], [unknown, LEND, DONE], [LENT])
    answer = episode.kept.messages[2]
    assert isinstance(answer, ToolMessage)
    assert answer.is_error
    assert "unknown tool 'burn_book'" in answer.content
    assert len(episode.tools.requests) == 1


def test_a_call_that_cannot_be_read_is_kept_verbatim_and_answered(make_item: MakeItem) -> None:
    malformed = {"calls": [{"name": "lend_book", "arguments": "B-377"}]}
    trajectory = Played(make_item(), [TASK, HELLO, BYE], [malformed, LEND, DONE], [LENT]).kept
    call, answer = trajectory.messages[1:3]
    assert isinstance(call, AssistantMessage)
    assert isinstance(answer, ToolMessage)
    assert (call.malformed_calls[0].name, call.malformed_calls[0].text) == ("lend_book", '"B-377"')
    assert "could not be read" in answer.content


@pytest.mark.parametrize("spell", [lambda text: text, lambda text: text[:-1] + ",}"])
def test_arguments_written_as_text_are_read_before_the_call_is_answered(
    make_item: MakeItem, spell: Callable[[str], str]
) -> None:
    arguments = LEND["calls"][0]["arguments"]
    written = {"calls": [{"name": "lend_book", "arguments": spell(orjson.dumps(arguments).decode())}]}
    trajectory = Played(make_item(), [TASK, HELLO, BYE], [written, DONE], [LENT]).kept
    call, answer = trajectory.messages[1:3]
    assert isinstance(call, AssistantMessage)
    assert isinstance(answer, ToolMessage)
    assert (call.tool_calls[0].arguments, call.malformed_calls) == (arguments, ())
    assert answer.content == '{"title":"Ulysses","borrower":"M-731"}'
    assert trajectory.repairs == ("json",)


def test_a_long_integer_stays_exact_from_the_call_to_the_record(make_item: MakeItem) -> None:
    long = 12345678901234567890123
    asked = canonical_json({"calls": [{"name": "get_book", "arguments": {"book_id": long}}]}).decode()
    episode = Played(make_item(), [TASK, HELLO, BYE], [asked, DONE], [])
    call = Trajectory.model_validate_json(episode.kept.model_dump_json()).messages[1]
    assert isinstance(call, AssistantMessage)
    assert call.tool_calls[0].arguments == {"book_id": long}
    assert str(long) in text_of(episode.agent.requests[1:])


def test_an_agent_that_never_gets_readable_ends_the_episode_as_malformed(make_item: MakeItem) -> None:
    episode = Played(make_item(), [TASK, HELLO], ["?", "?"], [], max_repairs=0)
    assert episode.dropped.rule == "malformed_call"


def test_a_conversation_without_end_is_truncated_and_dropped(make_item: MakeItem) -> None:
    episode = Played(make_item(), [TASK, HELLO], [GET, GET, GET], [SHOWN, SHOWN, SHOWN], max_turns=6)
    assert episode.dropped.rule == "max_turns"


def test_a_user_that_never_leaves_is_truncated_and_dropped(make_item: MakeItem) -> None:
    episode = Played(make_item(), [TASK, *[HELLO] * 4], [DONE] * 4, [], max_exchanges=2)
    assert episode.dropped.rule == "max_turns"


def test_a_user_that_speaks_once_too_often_is_not_answered(make_item: MakeItem) -> None:
    episode = Played(make_item(), [TASK, *[HELLO] * 3], [DONE] * 3, [], max_exchanges=2)
    assert episode.dropped.rule == "max_turns"
    assert len(episode.agent.requests) == 2


def test_a_simulator_that_stays_wrong_is_not_blamed_on_the_agent(make_item: MakeItem) -> None:
    episode = Played(make_item(), [TASK, HELLO], [LEND], ["?", "?", "?"])
    assert episode.dropped.rule == "simulator_failed"
    assert "the simulated tool 'lend_book'" in episode.dropped.detail


def test_a_conversation_over_the_context_is_dropped(make_item: MakeItem) -> None:
    episode = Played(make_item(), [TASK, HELLO], [ContextOverflow("too long")], [])
    assert episode.dropped == Dropped("context_overflow", "too long")


def test_the_user_cannot_leave_before_it_said_anything(make_item: MakeItem) -> None:
    episode = Played(make_item(), [TASK, BYE, HELLO, BYE], [LEND, DONE], [LENT])
    assert len(episode.kept.messages) == 4


def test_the_task_of_the_example_is_refused(make_item: MakeItem) -> None:
    copied = {"task": make_item().value.seed.task}
    assert Played(make_item(), [copied, TASK, HELLO, BYE], [LEND, DONE], [LENT]).kept.task == TASK["task"]


def test_a_planned_fault_meets_one_call_and_the_agent_may_call_again(make_item: MakeItem) -> None:
    for number in range(8):
        item = make_item(outcome="recoverable_fault", item_id=f"item-{number}")
        trajectory = Played(item, [TASK, HELLO, HELLO, BYE], _twice, lambda _: LENT).kept
        (fault,) = trajectory.faults
        failed = [message for message in trajectory.messages if isinstance(message, ToolMessage) and message.is_error]
        assert [message.call_id for message in failed] == [fault.call_id]
        assert trajectory.deltas[fault.call_id] == StateDelta()


def _twice(request: ChatRequest) -> JsonObject:
    """Calls until a result of this turn is no error, then speaks."""
    last = request.messages[-1].content
    return DONE if "Result of" in last and "(error)" not in last else LEND


def test_faults_are_the_same_in_every_run_and_differ_over_items(make_item: MakeItem) -> None:
    def faults(item_id: str) -> bytes:
        item = make_item(outcome="recoverable_fault", item_id=item_id)
        trajectory = Played(item, [TASK, HELLO, HELLO, BYE], _twice, lambda _: LENT).kept
        return canonical_json([fault.model_dump() for fault in trajectory.faults])

    assert faults("item-1") == faults("item-1")
    assert len({faults(f"item-{number}") for number in range(8)}) > 1


def test_no_fault_where_none_is_planned(played: Played) -> None:
    assert played.kept.faults == ()


def test_an_executable_world_may_answer_instead_of_a_model(make_item: MakeItem) -> None:
    class Shelf:
        async def transition(self, query: TransitionQuery) -> Transition:
            assert query.state is not None
            title = query.state["books"][query.call.arguments["book_id"]]["title"]
            return Transition(observation=title, delta=StateDelta())

    model = ScriptedModel([TASK, HELLO, GET, DONE, BYE])
    stage = TurnSimulator(model, SimulateSettings(), "run-1", dynamics=Shelf())
    outcome = asyncio.run(stage(make_item()))
    assert isinstance(outcome, Kept)
    assert outcome.value.messages[2].content == "Ulysses"
    assert outcome.value.provenance.model == "agent scripted, user scripted, tools program Shelf"


def test_a_world_without_tracked_state_is_played_from_history(make_item: MakeItem) -> None:
    seed = make_item().value.seed.model_copy(update={"initial_state": None})
    answer = {key: LENT[key] for key in ("is_error", "observation")}
    trajectory = Played(make_item(seed=seed), [TASK, HELLO, BYE], [LEND, DONE], [answer]).kept
    assert trajectory.deltas == {}
    assert trajectory.initial_state is None


def without_schema(make_item: MakeItem, **changes: Any) -> Item[PlannedSeed]:
    """An item whose seed has a state and whose world says nothing of it."""
    seed = make_item().value.seed
    bare = WorldSpec(name="library", policy=seed.world.policy, tools=seed.world.tools, licence="CC0-1.0")
    return make_item(seed=seed.model_copy(update={"world": bare}), **changes)


def test_a_task_is_not_written_from_a_state_that_the_tools_do_not_see(make_item: MakeItem) -> None:
    answer = {key: LENT[key] for key in ("is_error", "observation")}
    episode = Played(without_schema(make_item), [TASK, HELLO, BYE], [LEND, DONE], [answer])
    assert "B-377" not in text_of(episode.user.requests[:1])
    assert episode.kept.initial_state is None


def test_a_fault_changes_nothing_of_a_state_that_is_not_tracked(make_item: MakeItem) -> None:
    answer = {key: LENT[key] for key in ("is_error", "observation")}
    item = without_schema(make_item, outcome="recoverable_fault")
    trajectory = Played(item, [TASK, HELLO, HELLO, BYE], _twice, lambda _: answer).kept
    assert trajectory.faults
    assert trajectory.deltas == {}


def test_the_same_item_and_replies_give_the_same_requests(make_item: MakeItem) -> None:
    def ids(**changes: Any) -> list[str]:
        episode = Played(make_item(**changes), [TASK, HELLO, BYE], [LEND, DONE], [LENT])
        asked = [*episode.user.requests, *episode.agent.requests, *episode.tools.requests]
        return [request.content_id for request in asked]

    assert ids() == ids()
    assert ids()[0] != ids(attempt=1)[0]


def test_the_system_message_of_an_agent_is_the_same_for_all_items_of_a_world_and_plan(make_item: MakeItem) -> None:
    first, second = (
        Played(make_item(item_id=name), [TASK, HELLO, BYE], [LEND, DONE], [LENT]).agent.requests[0]
        for name in ("item-1", "item-2")
    )
    assert first.messages[0] == second.messages[0]
    assert first.messages[1] != second.messages[1]


def test_a_reasoning_agent_keeps_its_thoughts_apart(make_item: MakeItem) -> None:
    lend, done = {"thought": "Lend it.", **LEND}, {"thought": "Tell them.", **DONE}
    episode = Played(make_item(), [TASK, HELLO, BYE], [lend, done], [LENT], thoughts=True)
    call, reply = episode.kept.messages[1], episode.kept.messages[3]
    assert isinstance(call, AssistantMessage)
    assert isinstance(reply, AssistantMessage)
    assert (call.reasoning, reply.reasoning) == ("Lend it.", "Tell them.")
    assert "Lend it." not in text_of([*episode.user.requests, *episode.tools.requests])


def test_an_estimate_renders_the_requests_that_the_seeds_own_conversation_would_take(make_item: MakeItem) -> None:
    stage = TurnSimulator(ScriptedModel([], name="m"), SimulateSettings(), "run-1")
    requests = list(stage.requests_for(make_item()))
    task, user, agent, tools = 1, 3, 4, 2
    assert len(requests) == task + user + agent + tools
    assert requests[0] == stage.request_for(make_item())

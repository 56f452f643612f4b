"""An episode told turn by turn: which result belongs to which call, and what each call changed."""

from collections.abc import Callable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from simia.report.episode_turns import Called, Changed, Told, tell
from simia.types import (
    AssistantMessage,
    Change,
    Episode,
    Fault,
    MalformedToolCall,
    Message,
    Provenance,
    Put,
    Remove,
    State,
    StateDelta,
    ToolCall,
    ToolMessage,
    Trajectory,
    UserMessage,
)

EpisodeOf = Callable[[str], Episode]


def told(
    *messages: Message, deltas: Mapping[str, tuple[Change, ...]] | None = None, state: State | None = None
) -> Told:
    trajectory = Trajectory(
        world="w",
        task="t",
        messages=messages,
        provenance=Provenance(run="r", seed="s", attempt=0, model="m", prompts={}, licence="MIT"),
        initial_state=state,
        deltas={call_id: StateDelta(changes=changes) for call_id, changes in (deltas or {}).items()},
        faults=(Fault(call_id="call_1", kind="timeout"),),
    )
    return tell(Episode(id="e", group="g", trajectory=trajectory))


def calling(*call_ids: str) -> AssistantMessage:
    return AssistantMessage(tool_calls=tuple(ToolCall(id=one, name="set", arguments={}) for one in call_ids))


def result(call_id: str, content: str = "done") -> ToolMessage:
    return ToolMessage(call_id=call_id, name="set", content=content)


def calls(one: Told) -> list[Called]:
    return list(one.calls)


def put(key: str, value: object) -> tuple[Change, ...]:
    return (Put(path=(key,), value=value),)


def test_each_side_has_its_turns_in_order(episode_of: EpisodeOf) -> None:
    turns = tell(episode_of("good")).turns

    assert [turn.by for turn in turns] == ["user", "agent", "agent", "agent", "agent"]
    assert turns[1].reasoning == "I should act."


def test_a_fault_is_told_at_its_call(episode_of: EpisodeOf) -> None:
    assert [call.faults for call in tell(episode_of("good")).calls] == [("timeout",), (), ()]


def test_a_call_is_told_with_what_it_changed(episode_of: EpisodeOf) -> None:
    changed = Changed(("lamps", "hall"), "true", "false")

    assert [call.changes for call in tell(episode_of("good")).calls] == [(), (), (changed,)]


def test_the_end_is_told_against_the_beginning(episode_of: EpisodeOf) -> None:
    assert tell(episode_of("good")).changes == (Changed(("lamps", "hall"), "true", "false"),)


def test_a_call_that_the_episode_ended_at_has_no_observation(episode_of: EpisodeOf) -> None:
    assert [call.observation is None for call in tell(episode_of("simulator")).calls] == [False, True]


def test_a_call_that_cannot_be_read_is_told_as_it_was_written(episode_of: EpisodeOf) -> None:
    first = next(tell(episode_of("malformed")).calls)

    assert (first.arguments, first.problem, first.is_error) == ('{"room": ', "the arguments end early", True)


def test_results_in_another_order_find_their_calls() -> None:
    one = told(calling("call_1", "call_2"), result("call_2", "second"), result("call_1", "first"))

    assert [call.observation for call in calls(one)] == ["first", "second"]


def test_a_new_key_has_no_old_value_and_a_removed_one_no_new() -> None:
    one = told(
        calling("call_1", "call_2"),
        result("call_1"),
        result("call_2"),
        deltas={"call_1": put("a", 1), "call_2": (Remove(path=("b",)),)},
        state={"b": 2},
    )

    assert [call.changes for call in calls(one)] == [(Changed(("a",), None, "1"),), (Changed(("b",), "2", None),)]


def test_an_id_that_is_used_twice_tells_its_change_at_its_last_call() -> None:
    one = told(
        calling("call_1"),
        result("call_1"),
        calling("call_1"),
        result("call_1"),
        deltas={"call_1": put("a", 2)},
        state={"a": 1},
    )

    assert [(len(call.faults), len(call.changes)) for call in calls(one)] == [(0, 0), (1, 1)]


def test_a_change_that_does_not_fit_is_told_as_it_was_proposed() -> None:
    one = told(
        calling("call_1"), result("call_1"), deltas={"call_1": (Put(path=("gone", "a"), value=1),)}, state={"b": 2}
    )

    assert calls(one)[0].changes == (Changed(("gone", "a"), None, "1"),)
    assert one.final == {"b": 2}


def test_without_a_tracked_state_there_is_no_difference_to_tell() -> None:
    one = told(UserMessage(content="Hello"))

    assert (one.final, one.changes) == (None, None)


def test_a_nameless_call_is_told_too() -> None:
    malformed = MalformedToolCall(id="call_1", text="<call>", reason="no JSON")

    assert calls(told(AssistantMessage(malformed_calls=(malformed,))))[0].name == ""


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=8))
def test_the_final_state_is_what_the_changes_lead_to(changes: list[tuple[str, int]]) -> None:
    ids = [f"call_{number}" for number in range(len(changes))]
    messages = [message for one in ids for message in (calling(one), result(one))]

    one = told(
        *messages, deltas={i: put(key, value) for i, (key, value) in zip(ids, changes, strict=True)}, state={"a": 0}
    )

    assert one.final == {"a": 0} | dict(changes)
    assert sum(len(call.changes) for call in calls(one)) >= len(one.changes or ())

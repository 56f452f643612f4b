"""The numbers behind the page."""

from collections import Counter
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from simia.report.funnel import Anatomy, Funnel, StageTally, histogram, quantile
from simia.types import AssistantMessage, Provenance, ToolCall, ToolMessage, Trajectory, UserMessage

STAGES = (
    StageTally("postprocess", kept=6, dropped={"unknown_tool": 1, "near_duplicate": 2}),
    StageTally("generate", kept=9, failed={"ModelTimeout": 1}),
    StageTally("prefilter", kept=4, dropped={"no_user_turn": 1}),
)


def trajectory() -> Trajectory:
    return Trajectory(
        world="w",
        task="Return the mug.",
        messages=(
            UserMessage(content="I want to return the mug."),
            AssistantMessage(
                tool_calls=(
                    ToolCall(id="call_1", name="get_order", arguments={"id": "7"}),
                    ToolCall(id="call_2", name="get_user", arguments={}),
                )
            ),
            ToolMessage(call_id="call_1", name="get_order", content="{}"),
            ToolMessage(call_id="call_2", name="get_user", content="no such user", is_error=True),
            AssistantMessage(content="Done."),
        ),
        provenance=Provenance(run="r", seed="s", attempt=0, model="m", prompts={}, licence="Apache-2.0"),
        repairs=("json",),
    )


def test_stages_stand_in_the_order_in_which_items_pass_them() -> None:
    assert [stage.name for stage in Funnel.of(STAGES).stages] == ["prefilter", "generate", "postprocess"]


def test_a_stage_of_another_name_comes_last() -> None:
    assert Funnel.of((StageTally("audit", 1), *STAGES)).stages[-1].name == "audit"


def test_everything_seen_was_kept_dropped_or_failed() -> None:
    assert [stage.seen for stage in Funnel.of(STAGES).stages] == [5, 10, 9]


def test_shares_are_of_the_seeds_until_trajectories_begin() -> None:
    steps = Funnel.of(STAGES).steps

    assert [(step.label, step.count, step.whole) for step in steps] == [
        ("Seeds read", 5, 5),
        ("Seeds after the prefilter", 4, 5),
        ("Trajectories attempted", 10, 10),
        ("Trajectories generated", 9, 10),
        ("Trajectories kept", 6, 10),
    ]


def test_the_most_frequent_reason_comes_first() -> None:
    assert STAGES[0].reasons == (("near_duplicate", 2), ("unknown_tool", 1))


def test_no_stage_gives_an_empty_funnel() -> None:
    assert Funnel.of(()).steps == ()


def test_parallel_calls_are_counted_each() -> None:
    anatomy = Anatomy()

    anatomy.add(trajectory().model_dump(mode="json"))

    assert anatomy.calls == {2: 1}
    assert anatomy.tools == {"get_order": 1, "get_user": 1}


def test_errors_are_counted_by_the_tool_that_gave_them() -> None:
    anatomy = Anatomy()

    anatomy.add(trajectory().model_dump(mode="json"))

    assert anatomy.tool_errors == {"get_user": 1}


def test_length_is_the_number_of_messages() -> None:
    anatomy = Anatomy()

    anatomy.add(trajectory().model_dump(mode="json"))

    assert anatomy.lengths == {5: 1}


@given(st.dictionaries(st.integers(0, 400), st.integers(1, 9), max_size=30), st.integers(1, 24))
@settings(max_examples=100, deadline=None)
def test_a_histogram_counts_everything_once_in_columns_without_a_gap(counts: dict[int, int], most: int) -> None:
    bins = histogram(counts, most)

    assert sum(column.count for column in bins) == sum(counts.values())
    assert len(bins) <= most
    assert all(left.high + 1 == right.low for left, right in pairwise(bins))


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.floats(0.01, 1))
@settings(max_examples=100, deadline=None)
def test_a_quantile_is_reached_by_its_share(values: list[int], share: float) -> None:
    found = quantile(Counter(values), share)

    assert found is not None
    assert sum(value <= found for value in values) >= share * len(values)
    assert sum(value < found for value in values) < share * len(values)


def test_nothing_has_no_quantile() -> None:
    assert quantile({}, 0.5) is None

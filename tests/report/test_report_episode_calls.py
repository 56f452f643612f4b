"""What models were asked in an episode, summed up."""

from simia.report.episode_calls import Asked, Totals
from simia.store.calls import CallRecord
from simia.types import Sampling, Usage


def record(role: str, request: str, error: str = "") -> CallRecord:
    return CallRecord(
        episode="e",
        role=role,
        model="m",
        request=request,
        messages=(),
        sampling=Sampling(temperature=0, max_tokens=9),
        usage=Usage(prompt_tokens=10, completion_tokens=1),
        seconds=0.5,
        error=error,
    )


def test_calls_are_counted_by_role_with_those_that_failed_or_were_made_again() -> None:
    first, second, third = record("agent", "a"), record("tools", "t", error="away"), record("agent", "a")

    totals = Totals.of([Asked(1, first, None), Asked(2, second, None), Asked(3, third, 1)])

    assert totals.words == [
        "agent 2, tools 1; 1 without an answer; 1 of them again",
        "30 tokens in, 3 out, 1.50 s in all",
    ]


def test_where_nobody_was_asked_nothing_is_told() -> None:
    assert Totals.of([]).words == []
